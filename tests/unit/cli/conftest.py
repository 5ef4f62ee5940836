"""What tests of commands share."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coxswain.cli import main

Outcome = tuple[int, str, str]
Cox = Callable[..., Outcome]


@pytest.fixture
def cox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cox:
    """Runs `cox` as a person would, and gives its exit code, standard output and standard error."""

    def run(*arguments: str | Path, columns: int = 200) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["cox", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        captured = capsys.readouterr()
        return code or 0, captured.out, captured.err

    return run
