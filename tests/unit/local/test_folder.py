import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest

from coxswain.core.api import parse_experiment
from coxswain.core.api.design import FactorSpec
from coxswain.core.errors import InputError
from coxswain.core.observations import FAILED, Observation
from coxswain.local.folder import OBSERVATIONS, Folder, read_observations
from tests.unit.local.conftest import experiment, runs_of

RUNS = runs_of(experiment())


def observation(number: int, **changes: object) -> Observation:
    run = RUNS[number]
    made = Observation(
        experiment="tiny",
        run=run.name,
        job=run.jobs[0].name,
        row=run.row,
        replicate=run.replicate,
        block=run.block,
        digest=run.jobs[0].digest,
        settings=run.settings,
        responses={"duration": 1.5},
        state="succeeded",
        started="2026-11-16T08:00:00.000Z",
        finished="2026-11-16T08:00:01.500Z",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_what_was_recorded_is_there_again(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        folder.record([observation(1)])
        folder.record([observation(0, message="a line\u2028of its own\n")])
    with Folder(tmp_path) as folder:
        assert folder.of(RUNS) == [observation(0, message="a line\u2028of its own\n"), observation(1)]


def test_a_line_that_was_cut_short_was_never_recorded(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        folder.record([observation(0)])
    with (tmp_path / OBSERVATIONS).open("a") as file:
        file.write(observation(1).to_json()[:100])
    with Folder(tmp_path) as folder:
        assert folder.of(RUNS) == [observation(0)]
        folder.record([observation(2)])
    assert read_observations(tmp_path) == [observation(0), observation(2)]


def test_the_last_word_on_a_failed_run_counts(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        folder.record([observation(0, state=FAILED, digest="before it was mended")])
        assert folder.of(RUNS) == []
        folder.record([observation(0, attempts=2)])
        assert folder.of(RUNS) == [observation(0, attempts=2)]


@pytest.mark.parametrize("change", [{"digest": "of another manifest"}, {"job": "of-another-experiment"}])
def test_results_of_something_else_are_refused(tmp_path: Path, change: dict[str, str]) -> None:
    with Folder(tmp_path) as folder:
        folder.record([observation(0, **change)])
        with pytest.raises(InputError, match="give another --out"):
            folder.of(RUNS)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / OBSERVATIONS).write_text(f"{observation(0).to_json()}\nnonsense\n")
    with pytest.raises(InputError, match="line 2 is no observation"):
        Folder(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="give another folder by --out"):
        Folder(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be read"):
        read_observations(tmp_path / "nowhere")


def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, folder._file)
        os.close(full)
        with pytest.raises(InputError, match="No space left on device"):
            folder.record([observation(0)])
    with Folder(tmp_path) as folder:
        assert folder.of(RUNS) == []


def test_the_table_has_a_row_for_each_observation(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        path = folder.write_table([observation(0), observation(1)])
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    factors = [spec.factor() for spec in _spec_factors()]
    assert [Observation.from_row(row, factors) for row in rows] == [observation(0), observation(1)]


def _spec_factors() -> list[FactorSpec]:
    return list(parse_experiment(experiment()).spec.factors)
