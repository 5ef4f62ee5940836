"""From an experiment's manifest to its design."""

from typing import Any

import pytest

from coxswain.core.api import parse_experiment
from coxswain.core.designs import Alpha, CentralComposite, Design, DOptimal, FractionalFactorial, Model, Order
from coxswain.core.designs.from_spec import design_of
from coxswain.core.errors import InputError

WORKERS = {"name": "workers", "field": "resources.workers", "levels": [1, 4]}
BATCH = {"name": "batch_size", "field": "parameters.batchSize", "levels": [32, 64, 256], "coding": "Log"}
RATE = {"name": "rate", "field": "parameters.learningRate", "levels": [0.01, 0.05]}
NETWORK = {"name": "network", "field": "workload.network", "categories": ["mlp", "fashion-cnn"]}


def made(design: dict[str, Any], *factors: dict[str, Any]) -> Design:
    manifest = {
        "apiVersion": "coxswain.dev/v1alpha1",
        "kind": "TrainingExperiment",
        "metadata": {"name": "try"},
        "spec": {"factors": list(factors), "design": design, "template": {"spec": {}}},
    }
    return design_of(parse_experiment(manifest).spec)


@pytest.mark.parametrize(
    ("design", "rows"),
    [
        ({"type": "FullFactorial"}, 12),
        ({"type": "FullFactorial", "centerPoints": 2}, 14),
        ({"type": "FractionalFactorial", "resolution": 3}, 4),
        ({"type": "FractionalFactorial", "generators": ["rate=-workers*batch_size"]}, 4),
        ({"type": "PlackettBurman"}, 8),
        ({"type": "PlackettBurman", "runs": 12}, 12),
        ({"type": "DefinitiveScreening"}, 9),
        ({"type": "CentralComposite"}, 20),
        ({"type": "BoxBehnken"}, 15),
        ({"type": "LatinHypercube", "runs": 7}, 7),
        ({"type": "DOptimal", "runs": 9}, 9),
    ],
)
def test_every_type_makes_its_rows(design: dict[str, Any], rows: int) -> None:
    built = made({**design, "replications": 2, "seed": 5}, WORKERS, BATCH, RATE)
    assert built.options.kind == design["type"]
    assert len(built.rows) == rows
    assert built.run_count == len(built.runs) == 2 * rows
    assert built.options.seed == 5
    assert all(float(row.settings["workers"]).is_integer() for row in built.rows)
    assert all(float(row.settings["batch_size"]).is_integer() for row in built.rows)


def test_options_reach_their_design() -> None:
    fraction = made({"type": "FractionalFactorial", "generators": ["C=-AB"], "order": "Standard"}, WORKERS, BATCH, RATE)
    assert fraction.options == FractionalFactorial(generators=("C=-AB",), order=Order.STANDARD)
    assert fraction.fraction is not None
    assert fraction.fraction.generators == ("C=-AB",)
    composite = made({"type": "CentralComposite", "alpha": "Orthogonal", "centerPoints": 2}, BATCH, {**BATCH, **RATE})
    assert composite.options == CentralComposite(alpha=Alpha.ORTHOGONAL, center_points=2)
    blocked = made({"type": "FullFactorial", "blocks": 2}, WORKERS, RATE, NETWORK)
    assert [str(word) for word in blocked.confounded] == ["ABC"]


def test_rows_and_exclusions_are_read_with_levels_and_categories() -> None:
    row = {"settings": [{"name": "network", "category": "mlp"}, {"name": "workers", "level": 3}]}
    given = made({"type": "Rows", "rows": [row]}, WORKERS, NETWORK)
    assert [dict(each.settings) for each in given.rows] == [{"workers": 3.0, "network": "mlp"}]
    exclude = {"settings": [{"name": "network", "category": "mlp"}, {"name": "workers", "level": 4}]}
    design = {"type": "DOptimal", "runs": 5, "model": "Main", "rows": [row], "exclude": [exclude]}
    optimal = made(design, WORKERS, NETWORK)
    assert isinstance(optimal.options, DOptimal)
    assert optimal.options.model is Model.MAIN
    assert optimal.earlier == ((3.0, "mlp"),)
    assert {"workers": 4.0, "network": "mlp"} not in [dict(each.settings) for each in optimal.rows]


def test_a_search_has_no_design() -> None:
    with pytest.raises(InputError, match="HillClimb is a search, not a design"):
        made({"type": "HillClimb", "search": {"minimize": "duration"}}, WORKERS)


def test_axial_points_that_no_job_can_have_are_refused() -> None:
    rate = {**RATE, "levels": [0.001, 0.05]}
    with pytest.raises(
        InputError, match=r"factor rate: the design asks for -0\.0\d+, but parameters.learningRate must"
    ):
        made({"type": "CentralComposite", "alpha": "Rotatable"}, rate, BATCH)
    made({"type": "CentralComposite", "alpha": "Rotatable"}, {**rate, "coding": "Log"}, BATCH)
    gpus = {"name": "gpus", "field": "resources.gpusPerWorker", "levels": [0, 2]}
    made({"type": "CentralComposite"}, gpus, BATCH)
