"""What a job does while too little is known to forecast it."""

from typing import Any

import pytest

from coxswain.core.api import parse_job
from coxswain.core.factors import Level
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.forecasts.outlook import outlook
from coxswain.core.jobs import actions
from coxswain.core.jobs.cold import most_telling, waits
from coxswain.core.jobs.decision import Decision
from coxswain.core.jobs.view import Job, Outlook
from tests.unit.jobs.making import NOON, begun, decide, job, next_job, seen

BATCHES = {"field": "batchSize", "values": [32, 64, 256]}


def unknown(missing: int = 3, *observed: dict[str, Level]) -> Outlook:
    return Outlook(None, "TooFewObservations", "too few.", missing=missing, observed=observed)


LEARNED = Outlook(None, "UnlikeAnyObserved", "something else.")


def cold(kind: str, name: str = "train", **spec: Any) -> Job:
    return job(metadata={"name": name, "uid": name}, steering={"coldStart": kind}, **spec)


def made(decision: Decision) -> Job:
    """The probe that a decision creates, as the API server would hold it."""
    (action,) = decision.actions
    assert isinstance(action, actions.Probe)
    assert action.name == action.manifest["metadata"]["name"]
    metadata = {**action.manifest["metadata"], "uid": action.name, "creationTimestamp": "2026-01-01T12:00:00Z"}
    parse_job(action.manifest)
    return Job({**action.manifest, "metadata": metadata})


def over(probe: Job, state: str = "Succeeded") -> Job:
    return Job({**probe.manifest, "status": {"state": state}})


def admitted(decision: Decision) -> tuple[str, str, str]:
    condition = decision.status.condition("Admitted")
    assert condition is not None
    return decision.status.state, condition.reason, condition.message


def test_without_saying_so_a_job_runs_as_it_was_asked_to() -> None:
    assert not waits(cold("Run"), unknown())
    assert decide(seen(cold("Run"), outlook=unknown())).status.state == "Pending"


def test_a_held_job_is_told_how_many_runs_are_missing_and_goes_on_when_they_are_there() -> None:
    one = cold("Hold")
    held = decide(seen(one, outlook=unknown(2)))
    assert admitted(held) == (
        "Held",
        "ColdStart",
        "coldStart is Hold: 2 more finished runs like it are needed before it can be forecast.",
    )
    assert (held.actions, waits(one, unknown(2))) == ((), True)
    free = decide(seen(next_job(one, held), outlook=LEARNED))
    assert admitted(free)[:2] == ("Pending", "Waiting")
    # Until a moment after the operator's start nobody knows what a family has taught.
    assert decide(seen(one)).status.state == "Held"


def test_a_job_that_has_run_before_is_not_held_any_more() -> None:
    assert not waits(begun(steering={"coldStart": "Hold"}), unknown())


def test_probes_are_made_one_at_a_time_and_no_more_than_are_missing() -> None:
    one = cold("Probe", parameters={"epochs": 50}, adjust=[BATCHES])
    probes: list[Job] = []
    for number in (1, 2, 3):
        decision = decide(seen(one, outlook=unknown(), probes=tuple(probes)))
        probe = made(decision)
        assert probe.name == f"train-probe-{number}"
        assert decision.notes[0].reason == "Probing"
        assert admitted(decision)[:2] == ("Held", "ColdStart")
        waiting = decide(seen(one, outlook=unknown(), probes=(*probes, probe)))
        assert waiting.actions == ()
        assert f"now {probe.name}" in admitted(waiting)[2]
        probes.append(over(probe, "Failed"))
    # Whatever has become of them, a job does not wait for ever.
    assert decide(seen(one, outlook=unknown(), probes=tuple(probes))).status.state == "Pending"
    assert not waits(one, unknown(), probes)
    assert decide(seen(one, outlook=LEARNED, probes=tuple(probes[:1]))).status.state == "Pending"


def test_jobs_of_one_family_do_not_probe_at_the_same_time() -> None:
    theirs = made(decide(seen(cold("Probe", "other"), outlook=unknown())))
    waiting = decide(seen(cold("Probe"), outlook=unknown(), probes=(theirs,)))
    assert (waiting.actions, waiting.status.state) == ((), "Held")
    assert made(decide(seen(cold("Probe"), outlook=unknown(2), probes=(over(theirs),)))).name == "train-probe-1"


def test_a_probe_is_short_belongs_to_its_job_and_touches_nothing_of_its_result() -> None:
    one = cold(
        "Probe",
        parameters={"epochs": 50, "batchSize": 64, "seed": 7},
        resources={"workers": 2},
        output={"claim": "models"},
        deadline={"within": "10m"},
        adjust=[{"field": "epochs", "min": 10, "max": 60}, BATCHES],
    )
    probe = made(decide(seen(one, outlook=unknown())))
    spec = probe.spec
    assert probe.probe_of == one.uid
    assert (spec.parameters.epochs, spec.parameters.seed, spec.resources.workers) == (2, 7, 2)
    assert (spec.output, spec.deadline, spec.adjust, spec.steered) == (None, None, None, None)
    assert (spec.steering.mode, spec.steering.cold_start) == ("Disabled", "Run")
    assert made(decide(seen(cold("Probe", "x" * 60), outlook=unknown()))).name.endswith("-probe-1")
    assert len(made(decide(seen(cold("Probe", "x" * 60), outlook=unknown()))).name) <= 60


@pytest.mark.parametrize(
    ("observed", "chosen"),
    [([], 32), ([32], 256), ([256], 32), ([32, 256], 32), ([64], 256)],
)
def test_a_probe_runs_where_it_teaches_most(observed: list[float], chosen: int) -> None:
    spec = job(parameters={"batchSize": 64}, adjust=[BATCHES]).spec
    found = most_telling(spec, [{"batchSize": batch} for batch in observed])
    assert found is not None
    assert found.batch_size == chosen


def test_two_fields_are_told_apart_and_what_cannot_run_is_not_tried() -> None:
    workers = {"field": "workers", "values": [1, 4]}
    spec = job(parameters={"batchSize": 64}, adjust=[BATCHES, workers]).spec
    corners: list[dict[str, Level]] = []
    for _ in range(3):
        found = most_telling(spec, corners)
        assert found is not None
        corners.append({"batchSize": float(found.batch_size or 0), "workers": float(found.workers or 0)})
    assert len({tuple(corner.values()) for corner in corners}) == 3
    wide = job(parameters={"batchSize": 2}, adjust=[{"field": "workers", "values": [1, 128]}]).spec
    assert most_telling(wide, [{"workers": 1.0}]) is None
    assert most_telling(job().spec, []) is None


def test_a_forecast_that_cannot_be_made_says_what_is_known_of_the_runs_so_far() -> None:
    model = FamilyModel(1, observed=({"batchSize": 64.0},))
    told = outlook(job(), model, NOON, load=1.0)
    assert (told.missing, told.observed) == (2, ({"batchSize": 64.0},))
