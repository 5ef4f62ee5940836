"""Entries for tests, as a cluster would record them."""

from dataclasses import replace

from coxswain.core.api.job import JobSpec, Parameters
from coxswain.core.families import family_of, fields_of
from coxswain.core.ledger import Entry
from coxswain.core.observations import SUCCEEDED, Curve, Observation


def observation(number: int = 0, experiment: str = "screening") -> Observation:
    return Observation(
        experiment=experiment,
        run=f"{experiment}-row{number}-0",
        job=f"{experiment}-row{number}-0",
        row=number,
        replicate=0,
        block=0,
        digest=f"sha256:{number:064x}",
        settings={"batch": 64.0, "topology": "deep-cnn"},
        responses={"duration": 10.25 + number, "accuracy": 0.75, "startup": 1.5},
        state=SUCCEEDED,
        started="2026-11-16T10:00:00Z",
        finished="2026-11-16T10:00:12Z",
        epochs=3,
        load=1.5,
        curve=Curve((1, 2, 3), (3.0, 2.0, 2.5), (0.5, None, 0.25), (0.5, None, 0.75), (0.4,) * 3, (0.7,) * 3),
        versions={"torch": "2.15"},
    )


def entry(number: int = 0, namespace: str = "vision", node_type: str = "n2-standard-4") -> Entry:
    spec = JobSpec(parameters=Parameters(epochs=3))
    return Entry(
        uid=f"{number:08x}-0000-4000-8000-000000000000",
        family=family_of(namespace, spec, node_type),
        experiment_uid="eeeeeeee-0000-4000-8000-000000000000",
        fields=fields_of(spec),
        observation=observation(number),
    )


def excluded(one: Entry, reason: str) -> Entry:
    return replace(one, excluded=reason)
