"""`cox design` as a person types it."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from coxswain.cli import main

MANIFEST = """
apiVersion: coxswain.dev/v1alpha1
kind: TrainingExperiment
metadata: {name: screening}
spec:
  factors:
  - {name: cores,           field: resources.coresPerWorker, levels: [0.5, 1]}
  - {name: parallelization, field: resources.workers,        levels: [1, 2]}
  - {name: batch_size,      field: parameters.batchSize,     levels: [32, 64, 256], coding: Log}
  - {name: learning_rate,   field: parameters.learningRate,  levels: [0.01, 0.05]}
  - {name: max_epoch,       field: parameters.epochs,        levels: [1, 3]}
  design: DESIGN
  template: {spec: {}}
"""
FRACTION = "{type: FractionalFactorial, generators: [D=AB, E=AC], replications: 3, seed: 42}"


@pytest.fixture
def cox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `cox design` on a manifest; its exit code, output and error output."""

    def run(manifest: str, *options: str) -> tuple[Any, str, str]:
        file = tmp_path / "experiment.yaml"
        file.write_text(manifest, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["cox", "design", str(file), *options])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def document(cox: Any, design: str, *options: str) -> dict[str, Any]:
    code, out, _ = cox(MANIFEST.replace("DESIGN", design), "-o", "json", *options)
    assert code == 0
    read: dict[str, Any] = json.loads(out)
    return read


def test_json_has_rows_runs_aliases_and_power(cox: Any) -> None:
    found = document(cox, FRACTION)
    assert found["type"] == "FractionalFactorial"
    assert found["digest"].startswith("sha256:")
    assert (len(found["rows"]), len(found["runs"])) == (8, 24)
    assert found["rows"][0] == {
        "row": 0,
        "settings": {
            "cores": 0.5,
            "parallelization": 1.0,
            "batch_size": 32.0,
            "learning_rate": 0.05,
            "max_epoch": 3.0,
        },
        "coded": {"cores": -1, "parallelization": -1, "batch_size": -1, "learning_rate": 1, "max_epoch": 1},
        "center": False,
        "block": None,
    }
    assert [run["position"] for run in found["runs"]] == list(range(24))
    assert found["letters"]["D"] == "learning_rate"
    assert found["resolution"] == 3
    assert found["generators"] == ["D=AB", "E=AC"]
    assert found["defining_relation"] == ["ABD", "ACE", "BCDE"]
    assert found["word_lengths"] == {"3": 2, "4": 1}
    assert found["aliases"]["groups"][0] == ["A", "BD", "CE"]
    assert found["notes"] == ["batch_size has 3 levels; this two-level design uses 32 and 256."]
    assert found["power"]["residual_df"] == 16
    assert found["power"]["terms"][0]["term"] == "cores"
    assert found["power"]["terms"][0]["smallest_effect"] == pytest.approx(1.2184, abs=1e-4)
    assert [row["runs"] for row in found["power"]["replications"]] == [8, 16, 24, 32, 40]


def test_order_of_aliases_and_noise_are_as_asked(cox: Any) -> None:
    found = document(cox, FRACTION, "--aliases", "1", "--noise", "10")
    assert found["aliases"] == {"order": 1, "groups": [["A"], ["B"], ["C"], ["D"], ["E"]]}
    assert found["power"]["terms"][0]["smallest_effect"] == pytest.approx(12.184, abs=1e-3)


def test_designs_without_aliases_or_error_say_so(cox: Any) -> None:
    hypercube = document(cox, "{type: LatinHypercube, runs: 20}")
    assert (hypercube["aliases"]["groups"], hypercube["resolution"], hypercube["letters"]) == (None, None, {})
    saturated = document(cox, "{type: FractionalFactorial, generators: [D=AB, E=AC]}")
    assert saturated["power"]["interactions"] == 1
    code, out, _ = cox(MANIFEST.replace("DESIGN", "{type: DOptimal, model: Main, runs: 6}"))
    assert code == 0
    assert "no degrees of freedom for the error" in " ".join(out.split())


def test_a_design_that_cannot_find_every_factor_says_so(cox: Any) -> None:
    settings = [("cores", 1), ("parallelization", 2), ("batch_size", 64), ("learning_rate", 0.01), ("max_epoch", 2)]
    row = ", ".join(f"{{name: {name}, level: {level}}}" for name, level in settings)
    found = document(cox, f"{{type: Rows, rows: [{{settings: [{row}]}}], replications: 4}}")
    assert found["power"]["terms"] == []
    assert found["power"]["residual_df"] == 3
    assert {entry["smallest_effect"] for entry in found["power"]["replications"]} == {None}


def test_replications_come_in_multiples_of_blocks_that_hold_whole_replicates(cox: Any) -> None:
    found = document(cox, "{type: FractionalFactorial, resolution: 3, replications: 2, blocks: 2}")
    assert found["confounded_with_blocks"] == []
    assert [row["replications"] for row in found["power"]["replications"]] == [2, 4, 6, 8, 10]


def test_one_of_several_experiments_is_chosen_by_name(cox: Any) -> None:
    one = MANIFEST.replace("DESIGN", FRACTION)
    other = MANIFEST.replace("DESIGN", "{type: PlackettBurman}").replace("name: screening", "name: other")
    code, out, _ = cox(f"{one}---{other}", "--name", "other", "-o", "json")
    assert code == 0
    assert json.loads(out)["type"] == "PlackettBurman"


def test_csv_is_the_runs_with_stable_columns(cox: Any) -> None:
    code, out, _ = cox(MANIFEST.replace("DESIGN", FRACTION), "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0])[:5] == ["position", "row", "replicate", "block", "center"]
    assert len(rows) == 24
    assert {row["batch_size"] for row in rows} == {"32", "256"}
    assert {row["cores"] for row in rows} == {"0.5", "1"}


def test_tables_for_people_name_what_matters(cox: Any) -> None:
    code, out, _ = cox(MANIFEST.replace("DESIGN", FRACTION))
    words = " ".join(out.split())
    assert code == 0
    assert "24 runs in their order" in words
    assert "I = ABD = ACE = BCDE" in words
    assert "batch_size has 3 levels; this two-level design uses 32 and 256." in words
    assert "What replications buy" in words
    assert "block" not in words.partition("Design")[0]


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("a: [", "is not YAML (line 1: "),
        ("a: &x *x", "is not YAML ("),
        ("kind: TrainingJob", "has no documents of kind TrainingExperiment; give a file with one."),
        ("", "has no documents of kind TrainingExperiment; give a file with one."),
        ("kind: TrainingExperiment\n---\nkind: TrainingExperiment", "has 2 documents of kind TrainingExperiment"),
        ("kind: TrainingExperiment", "apiVersion is None; it must be coxswain.dev/v1alpha1."),
        (MANIFEST.replace("DESIGN", "{type: Guess}"), "design.type"),
        (
            MANIFEST.replace("DESIGN", "{type: FractionalFactorial, generators: [D=AB, E=ABD]}"),
            "generators: together they imply I=",
        ),
        (
            MANIFEST.replace("DESIGN", "{type: HillClimb, search: {minimize: duration}}"),
            "design.type HillClimb is a search, not a design",
        ),
    ],
)
def test_bad_manifests_are_one_sentence_and_exit_code_two(cox: Any, manifest: str, sentence: str) -> None:
    code, out, error = cox(manifest)
    assert (code, out) == (2, "")
    assert error.startswith("cox: ")
    assert sentence in error
    assert error.count("\n") == 1


def test_runs_at_a_time_beside_jobs_at_a_time_are_noted(cox: Any) -> None:
    manifest = MANIFEST.replace("DESIGN", "{type: FullFactorial}").replace("resources.workers", "concurrency")
    note = "Up to 2 runs are made at a time, each with as many jobs as parallelization says"
    assert json.loads(cox(manifest, "-o", "json")[1])["notes"] == []
    code, out, _ = cox(f"{manifest}  parallelism: 2\n", "-o", "json")
    assert code == 0
    (told,) = json.loads(out)["notes"]
    assert told.startswith(note)
    assert note.split(",", maxsplit=1)[0] in " ".join(cox(f"{manifest}  parallelism: 2\n")[1].split())


def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\xfa")
    for path, sentence in (
        (tmp_path / "absent.yaml", "there is no file"),
        (tmp_path, "cannot be read"),
        (binary, "is not text in UTF-8"),
    ):
        monkeypatch.setattr(sys, "argv", ["cox", "design", str(path)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert sentence in capsys.readouterr().err
