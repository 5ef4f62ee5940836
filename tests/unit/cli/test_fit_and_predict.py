import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from coxswain.core import models
from coxswain.core.models.families.gaussian import LOG_LOG
from coxswain.core.models.families.learners import TREE
from tests.unit.cli.conftest import Cox

OPTIONS = ("--response", "seconds", "--factors", "workers,batch,network")
AT = "workers=3,batch=100,network=deep"


def _table(replicates: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {"workers": w, "batch": b, "network": n, "seconds": 100 / w * (1 + 16 / b) * {"deep": 3, "flat": 1}[n]}
        for w, b, n in itertools.product((1, 2, 4), (32, 64, 128, 256), ("deep", "flat"))
        for _ in range(replicates)
    ]
    table = pd.DataFrame(rows)
    table["seconds"] *= np.exp(rng.normal(0, 0.05, len(table)))
    table["killed"] = 0
    table["wave"] = np.arange(len(table)) // 2
    return table


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    _table().to_csv(path, index=False)
    return path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two quick families compete, in place of all."""
    full = models.fit

    def fit(*arguments: Any, **options: Any) -> models.FittedModel:
        return full(*arguments, **{**options, "families": (LOG_LOG, TREE)})

    monkeypatch.setattr(models, "fit", fit)


@pytest.mark.usefixtures("quick")
def test_json_of_fit_has_the_promised_names(cox: Cox, data: Path) -> None:
    code, out, err = cox("fit", data, *OPTIONS, "-o", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert {"models", "chosen", "nested", "importance", "setting", "rows", "observations"} <= set(found)
    names = {"name", "r2", "rmse", "mae", "mape", "crps", "score", "coverage", "bound_ratio"}
    assert all(set(model) == names for model in found["models"])
    assert [model["name"] for model in found["models"]] == ["loglog", "tree"]
    assert found["chosen"] == "loglog"
    assert found["nested"]["mape"] < 0.15
    assert {each["factor"] for each in found["importance"]} == {"workers", "batch", "network"}


@pytest.mark.usefixtures("quick")
def test_csv_of_fit_is_the_table_of_models(cox: Cox, data: Path) -> None:
    _, out, _ = cox("fit", data, *OPTIONS, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["name"] for row in rows] == ["loglog", "tree"]
    assert float(rows[0]["mape"]) < float(rows[1]["mape"])


@pytest.mark.usefixtures("quick")
def test_people_read_what_was_chosen_and_how_well_it_does(cox: Cox, data: Path) -> None:
    code, out, _ = cox("fit", data, *OPTIONS)
    assert code == 0
    assert "Chosen: loglog" in out
    assert "fitted to 24 rows" in out
    assert "folds of its own" not in out
    assert "What the predictions go by" in out


@pytest.mark.usefixtures("quick")
def test_people_read_why_another_model_leads_the_table_than_was_chosen(
    cox: Cox, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_it_is = models.fit

    def fit(*arguments: Any, **options: Any) -> models.FittedModel:
        model = as_it_is(*arguments, **options)
        return replace(model, models=model.models[::-1])

    monkeypatch.setattr(models, "fit", fit)
    _, out, _ = cox("fit", data, *OPTIONS)
    assert "Choosing has folds of its own, apart from those above, where tree leads." in " ".join(out.split())


@pytest.mark.usefixtures("quick")
def test_what_is_lost_without_a_factor_is_told(cox: Cox, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coxswain.core.models.explanation.fit", models.fit)
    _, out, _ = cox("fit", data, *OPTIONS, "--without", "network", "-o", "json")
    found = json.loads(out)
    assert found["without"]["factor"] == "network"
    assert found["without"]["nested"]["mape"] > 2 * found["nested"]["mape"]


@pytest.mark.usefixtures("quick")
def test_a_prediction_has_a_point_a_bound_an_interval_and_what_they_rest_on(cox: Cox, data: Path) -> None:
    code, out, err = cox("predict", data, *OPTIONS, "--at", AT, "--confidence", "95", "--limit", "500", "-o", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    (prediction,) = found["predictions"]
    assert prediction["point"] == pytest.approx(100 / 3 * 1.16 * 3, rel=0.15)
    assert prediction["low"] < prediction["point"] < prediction["bound"] < prediction["high"]
    assert prediction["basis"] == "conformal"
    assert prediction["seen"] is False
    assert prediction["extrapolation"] == []
    assert prediction["chance"] > 0.99
    assert "best" not in found


@pytest.mark.usefixtures("quick")
def test_of_a_share_no_bound_is_above_1_however_far_from_what_was_run(cox: Cox, tmp_path: Path) -> None:
    table = _table()
    table["accuracy"] = 1 / (1 + np.log10(table["seconds"]) / table["workers"])
    path = tmp_path / "accuracy.csv"
    table.to_csv(path, index=False)
    asked = (path, "--response", "accuracy", "--factors", "workers,batch,network")
    far = ("--at", "workers=64,batch=100,network=flat")
    bounds = {}
    for options in ((), ("--share",)):
        code, out, _ = cox("predict", *asked, *far, *options, "-o", "json")
        assert code == 0
        (prediction,) = json.loads(out)["predictions"]
        bounds[options] = prediction["high"]
    assert bounds[()] > 1
    assert "say so by --share" in cox("predict", *asked, *far)[1]
    assert "say so by --share" not in cox("predict", *asked, *far, "--share")[1]
    assert max(table["accuracy"]) < bounds["--share",] <= 1
    _, out, _ = cox("fit", *asked, "--share", "--without", "batch", "-o", "json")
    assert json.loads(out)["setting"]["scale"] == "logit"


@pytest.mark.usefixtures("quick")
def test_with_several_settings_the_best_has_a_bound_that_allows_for_the_pick(cox: Cox, data: Path) -> None:
    others = [f"workers={workers},batch=100,network=flat" for workers in (2, 3, 3.5)]
    at = [part for text in (AT, *others) for part in ("--at", text)]
    _, out, _ = cox("predict", data, *OPTIONS, *at, "-o", "json")
    found = json.loads(out)
    assert len(found["predictions"]) == 4
    assert found["best"]["at"]["workers"] >= 3
    alone = min(prediction["bound"] for prediction in found["predictions"])
    assert found["best"]["bound"] >= alone
    assert found["best"]["level"] >= 95


@pytest.mark.usefixtures("quick")
def test_extrapolation_is_said_for_people_too(cox: Cox, data: Path) -> None:
    _, out, _ = cox("predict", data, *OPTIONS, "--at", "workers=16,batch=64,network=flat")
    assert "workers = 16 is beyond the measured range 1 to 4" in " ".join(out.replace("│", " ").split())


@pytest.mark.usefixtures("quick")
def test_a_setting_run_before_is_told_as_seen(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    _table(replicates=2).to_csv(path, index=False)
    _, out, _ = cox("predict", path, *OPTIONS, "--at", "workers=2,batch=64,network=flat", "-o", "json")
    assert json.loads(out)["predictions"][0]["seen"] is True


@pytest.mark.usefixtures("quick")
def test_killed_runs_and_groups_are_read_from_columns(cox: Cox, data: Path) -> None:
    table = pd.read_csv(data)
    table.loc[table["seconds"] > 250, "killed"] = 1
    table["seconds"] = table["seconds"].clip(upper=250)
    table.to_csv(data, index=False)
    code, out, _ = cox("predict", data, *OPTIONS, "--censored", "killed", "--group", "wave", "--at", AT, "-o", "json")
    assert code == 0
    assert json.loads(out)["rows"] == 12


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("command", [("fit",), ("predict", "--at", AT)])
def test_rows_without_a_response_may_be_left_out_and_that_is_said(
    cox: Cox, data: Path, command: tuple[str, ...]
) -> None:
    table = pd.read_csv(data)
    table["seconds"] = table["seconds"].mask(table.index == 0)
    table["killed"] = [1, *[0] * (len(table) - 1)]  # of the row that is left out: the marks go with their rows
    table.to_csv(data, index=False)
    options = (*OPTIONS, "--drop-missing", "--censored", "killed")
    _, out, _ = cox(command[0], data, *options, *command[1:], "-o", "json")
    found = json.loads(out)
    assert (found["rows"], found["notes"]) == (23, ["1 row without a value of seconds left out."])
    _, out, _ = cox(command[0], data, *options, *command[1:])
    assert "1 row without a value of seconds left out." in out


@pytest.mark.usefixtures("quick")
def test_numbers_may_be_names_without_order(cox: Cox, data: Path) -> None:
    table = pd.read_csv(data)
    table["network"] = table["network"].map({"deep": 7, "flat": 3})
    table.to_csv(data, index=False)
    names = (*OPTIONS, "--categories", "network")
    at = "workers=3,batch=100,network=7"
    _, out, _ = cox("predict", data, *names, "--at", at, "-o", "json")
    [prediction] = json.loads(out)["predictions"]
    assert prediction["at"] == {"workers": 3, "batch": 100, "network": "7"}
    code, _, err = cox("predict", data, *names, "--at", at.replace("7", "5"))
    assert (code, err) == (2, "cox: factor network has no category 5; it has 3, 7.\n")
    code, _, _ = cox("fit", data, *names)
    assert code == 0


@pytest.mark.parametrize("command", [("fit",), ("predict", "--at", AT)])
def test_a_seed_is_no_negative_number(cox: Cox, data: Path, command: tuple[str, ...]) -> None:
    code, _, err = cox(command[0], data, *OPTIONS, *command[1:], "--seed", "-1")
    assert code == 2
    assert "Invalid value for '--seed'" in err


def _spoilt(data: Path, **columns: Any) -> Path:
    table = pd.read_csv(data).astype(object)
    for name, value in columns.items():
        table.loc[0, name] = value
    table.to_csv(data, index=False)
    return data


@pytest.mark.parametrize("command", [("fit",), ("predict", "--at", AT)])
@pytest.mark.parametrize(
    ("options", "spoil", "sentence"),
    [
        (("--response", "time", "--factors", "workers"), {}, "there is no column time"),
        (("--response", "seconds", "--factors", "workers,memory"), {}, "there is no column memory"),
        (OPTIONS, {"seconds": "slow"}, "column seconds must be numbers, but has slow"),
        (OPTIONS, {"seconds": None}, "column seconds has 1 missing value"),
        (OPTIONS, {"batch": None}, "column batch has 1 missing value"),
        (("--response", "seconds", "--factors", "workers,killed"), {}, "factor killed has only one value"),
        (("--response", "seconds", "--factors", "network"), {}, "has 2 distinct rows of settings"),
        ((*OPTIONS, "--censored", "dead"), {}, "there is no column dead"),
        ((*OPTIONS, "--censored", "batch"), {}, "column batch must be 1 for runs that were killed"),
        ((*OPTIONS, "--group", "week"), {}, "there is no column week"),
        ((*OPTIONS, "--share"), {}, "seconds is no share: it is"),
    ],
)
def test_bad_data_is_told_in_one_sentence(
    cox: Cox, data: Path, *, command: tuple[str, ...], options: tuple[str, ...], spoil: dict[str, Any], sentence: str
) -> None:
    code, out, err = cox(command[0], _spoilt(data, **spoil), *options, *command[1:])
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ("workers=3,batch=100,network=deep,memory=2", "there is no factor memory"),
        ("workers=3,batch=100", "factor network has no value"),
        ("workers=3,batch=100,network=wide", "factor network has no category wide"),
        ("workers=many,batch=100,network=deep", "factor workers must be a number, but is many"),
        ("workers,batch=100,network=deep", "cannot be read at 'workers'"),
        ("workers=1,workers=2,batch=100,network=deep", "names workers twice"),
        ("workers=0,batch=100,network=deep", "factor workers was above 0"),
    ],
)
def test_a_bad_setting_is_told_in_one_sentence(cox: Cox, data: Path, at: str, sentence: str) -> None:
    code, out, err = cox("predict", data, *OPTIONS, "--at", at)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("confidence", ["0", "100", "20"])
def test_a_confidence_is_a_percentage(cox: Cox, data: Path, confidence: str) -> None:
    code, _, err = cox("predict", data, *OPTIONS, "--at", AT, "--confidence", confidence)
    assert code == 2
    assert "not a percentage" in err


def test_a_limit_is_a_number(cox: Cox, data: Path) -> None:
    code, _, err = cox("predict", data, *OPTIONS, "--at", AT, "--limit", "nan")
    assert code == 2
    assert "--limit nan is not a finite number" in err


def test_a_factor_to_leave_out_must_be_one(cox: Cox, data: Path) -> None:
    code, _, err = cox("fit", data, *OPTIONS, "--without", "memory")
    assert code == 2
    assert "there is no factor memory" in err
