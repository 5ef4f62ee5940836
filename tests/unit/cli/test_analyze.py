import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coxswain.core.results import analyze_experiment
from coxswain.local.folder import Folder
from tests.unit.analysis.tables import factorial, unbalanced
from tests.unit.cli.conftest import Cox
from tests.unit.report.made import experiment, observe


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    factorial({"a": 2, "ab": 1}, replicates=2, noise=0.5).to_csv(path, index=False)
    return path


def test_json_has_the_promised_names(cox: Cox, data: Path) -> None:
    code, out, err = cox("analyze", data, "--response", "y", "--factors", "a,b,c", "-o", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert {"anova", "coefficients", "r2", "r2_adjusted", "r2_predicted", "s", "checks"} <= set(found)
    assert [row["term"] for row in found["anova"]] == ["a", "b", "c", "a:b", "a:c", "b:c", "Residual", "Total"]
    assert set(found["anova"][0]) == {"term", "df", "sum_sq", "mean_sq", "f", "p", "percent"}
    assert found["anova"][-2]["f"] is None


def test_csv_is_the_table_of_variances(cox: Cox, data: Path) -> None:
    _, out, _ = cox("analyze", data, "--response", "y", "--factors", "a,b", "--interactions", "1", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["term"] for row in rows] == ["a", "b", "Residual", "Total"]
    assert float(rows[0]["sum_sq"]) > float(rows[1]["sum_sq"])
    assert sum(float(row["percent"]) for row in rows[:-1]) == pytest.approx(100)


def test_a_table_fits_a_hundred_columns_and_shows_everything(cox: Cox, data: Path) -> None:
    _, out, _ = cox("analyze", data, "-r", "y", "-f", "a,b,c,d", columns=100)
    assert max(map(len, out.splitlines())) <= 100
    for title in ("Analysis of variance of y (type III)", "How well the model fits", "Effects and coefficients"):
        assert title in out
    for title in ("What stands out", "Can it be trusted?", "Correlation of each factor with y"):
        assert title in out
    assert "In natural units: y = " in out
    assert "█" in out


def test_without_an_error_the_chart_is_lenths_and_shows_the_longest_bars(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    grid = pd.DataFrame(itertools.product([-1, 1], repeat=5), columns=list("abcde"))
    grid.assign(y=10 * grid["a"] + rng.normal(size=32)).to_csv(path, index=False)
    _, out, _ = cox("analyze", path, "-r", "y", "-f", "a,b,c,d,e", "--interactions", "5")
    assert "Lenth's method: margin of error" in out
    assert "11 shorter bars are not shown." in out
    starred = [line for line in out.splitlines() if "│ * │" in line]
    assert starred[0].split()[1] == "a"


def test_categories_keep_their_brackets(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    unbalanced().to_csv(path, index=False)
    _, out, _ = cox("analyze", path, "-r", "time", "-f", "cores,net", "--log", "cores")
    assert "net[shallow]" in out
    assert "log(cores)*net[wide]" in out
    assert "With powers added" in out


def test_a_formula_a_type_a_level_and_a_reduction_are_taken(cox: Cox, data: Path) -> None:
    arguments = ("--formula", "a*b + c", "--type", "I", "--alpha", "0.01", "--reduce", "-o", "json")
    _, out, _ = cox("analyze", data, "-r", "y", "-f", "a,b,c", *arguments)
    found = json.loads(out)
    assert found["terms"] == ["a", "b", "a:b"]
    assert found["type"] == "I"
    assert found["alpha"] == 0.01
    assert [removal["term"] for removal in found["removed"]] == ["c"]


def test_a_response_may_be_an_expression(cox: Cox, data: Path) -> None:
    _, out, _ = cox("analyze", data, "-r", "log(y)", "-f", "a,b", "-o", "json")
    assert json.loads(out)["response"] == "log(y)"


def test_groups_are_units(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    factorial({"a": 2}, replicates=4, noise=0.5).assign(run=[n // 2 for n in range(64)]).to_csv(path, index=False)
    # Two jobs a run, with d different in each: a split plot.
    _, out, _ = cox("analyze", path, "-r", "y", "-f", "a,d", "--group", "run", "-o", "json")
    assert "Units" in [row["term"] for row in json.loads(out)["anova"]]
    _, out, _ = cox("analyze", path, "-r", "y", "-f", "a", "--group", "run", "-o", "json")
    assert json.loads(out)["rows"] == 32


def test_failed_runs_may_be_left_out_and_that_is_said(cox: Cox, data: Path) -> None:
    lines = data.read_text(encoding="utf-8").splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    data.write_text("\n".join(lines), encoding="utf-8")
    code, _, err = cox("analyze", data, "-r", "y", "-f", "a,b,c,d")
    assert code == 2
    assert err == "cox: column y has 1 missing value; fill in or drop that row.\n"
    _, out, _ = cox("analyze", data, "-r", "y", "-f", "a,b,c,d", "--drop-missing", "-o", "json")
    assert json.loads(out)["notes"][0] == "1 row without a value of y left out."


def test_a_failed_run_of_an_experiment_is_left_out_of_its_table_and_that_is_said(cox: Cox, tmp_path: Path) -> None:
    _, observations = observe(experiment())
    failed = replace(observations[3], state="failed", responses={"duration": 0.5})
    with Folder(tmp_path) as folder:
        table = folder.write_table([*observations[:3], failed, *observations[4:]])
    arguments = ("-r", "duration", "-f", "batch_size,network,epochs", "--log", "batch_size")
    code, _, err = cox("analyze", table, *arguments)
    assert (code, err) == (2, "cox: column duration has 1 missing value; fill in or drop that row.\n")
    _, out, _ = cox("analyze", table, *arguments, "--drop-missing", "-o", "json")
    found = json.loads(out)
    assert (found["rows"], found["notes"][0]) == (15, "1 row without a value of duration left out.")
    of_experiment = analyze_experiment(experiment().spec, [*observations[:3], failed, *observations[4:]])[0].analysis
    assert of_experiment is not None
    assert found["s"] == pytest.approx(of_experiment.s)


def test_blocks_are_accounted_for(cox: Cox, data: Path) -> None:
    table = pd.read_csv(data)
    table["day"] = [1] * 16 + [2] * 16
    table["y"] += 50 * (table["day"] == 2)
    table.to_csv(data, index=False)
    _, plain, _ = cox("analyze", data, "-r", "y", "-f", "a,b", "-o", "json")
    _, out, _ = cox("analyze", data, "-r", "y", "-f", "a,b", "--block", "day", "-o", "json")
    found = json.loads(out)
    assert found["terms"] == ["day", "a", "b", "a:b"]
    assert found["s"] < 1
    assert json.loads(plain)["s"] > 10
    assert [bar["term"] for bar in found["pareto"]["bars"]][:2] == ["a", "a:b"]
    assert "day[2]" not in [bar["term"] for bar in found["pareto"]["bars"]]


def test_a_factor_of_numbers_may_be_declared_to_have_categories(cox: Cox, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    nodes = pd.DataFrame({"node": [1, 2, 3, 4] * 4})
    nodes.assign(y=nodes["node"].map({1: 5.0, 2: 9.0, 3: 4.0, 4: 6.0}) + np.arange(16) / 100).to_csv(path, index=False)
    _, out, _ = cox("analyze", path, "-r", "y", "-f", "node", "-o", "json")
    assert json.loads(out)["anova"][0]["df"] == 1
    _, out, _ = cox("analyze", path, "-r", "y", "-f", "node", "--categories", "node", "-o", "json")
    assert json.loads(out)["anova"][0]["df"] == 3


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("a,b,y\n1,1,5\n2,2,6\n", ["-r", "speed", "-f", "a"], "there is no column speed; the columns are a, b, y."),
        ("a,b,y\n1,1,5\n2,2,6\n", ["-r", "y", "-f", "a,gpus"], "there is no column gpus; the columns are a, b, y."),
        ("a,y\n1,5\n2,fast\n", ["-r", "y", "-f", "a"], "column y must be numbers, but has fast; correct or leave out"),
        ("a,y\n1,5\n1,6\n", ["-r", "y", "-f", "a"], "factor a has only one value (1); leave it out or vary it."),
        ("a,y\n1,5\n2,\n", ["-r", "y", "-f", "a"], "column y has 1 missing value; fill in or drop that row."),
        ("a,y\n1,5\nNaN,6\n", ["-r", "y", "-f", "a"], "column a has 1 missing value; fill in or drop that row."),
        (
            "a,b,y\n1,1,5\n2,1,6\n1,2,7\n",
            ["-r", "y", "-f", "a,b"],
            "3 rows cannot estimate the 4 coefficients of this model: a:b is the first that cannot be estimated;",
        ),
        ("a,y\n1,5\n2,6\n", ["-r", "y", "-f", "a", "--log", "b"], "a coding is given for b, which is not a factor;"),
        ("a,y\n1,5\n2,6\n", ["-r", "y", "-f", "a", "--group", "g"], "there is no column g; the columns are a, y."),
        ("a,y\n1,5\n2,6\n", ["-r", "y", "-f", "a", "--formula", "a*q"], "formula 'a*q': there is no factor q;"),
        ("a,y\n1,5\n2,6\n", ["-r", "y", "-f", "a", "--interactions", "0"], "interactions up to order 0 make no model"),
        (
            "a,y\n1,5\n2,6\n",
            ["-r", "y", "-f", "a", "--interactions", "1", "--formula", "a"],
            "--interactions and --formula both say what the model is; give one of them.",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    cox: Cox, tmp_path: Path, text: str, arguments: list[str], sentence: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    code, out, err = cox("analyze", path, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"cox: {sentence}")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
