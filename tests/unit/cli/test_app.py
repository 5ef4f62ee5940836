"""`cox` itself, before any of its commands."""

from coxswain import __version__
from tests.unit.cli.conftest import Cox


def test_it_tells_its_version(cox: Cox) -> None:
    assert cox("--version") == (0, f"cox {__version__}\n", "")


def test_without_a_command_it_tells_what_there_is(cox: Cox) -> None:
    _, printed, told = cox()
    assert "--version" in printed + told
    assert "analyze" in printed + told
