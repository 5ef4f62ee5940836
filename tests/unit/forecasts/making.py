"""Runs of one family with what was forecast of them, as the ledger would keep them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from coxswain.core.api.status import Interval, Issued
from coxswain.core.families import family_of, fields_of
from coxswain.core.forecasts.fan import SCORES
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry, Promised
from coxswain.core.observations import SUCCEEDED, Curve, Observation

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STARTUP, PER_EPOCH = 10.0, 5.0
SPREAD = 0.1
"""Of the logarithm of a made-up forecast's duration."""


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job(name: str = "train", **spec: Any) -> Job:
    metadata = {"name": name, "namespace": "here", "uid": name, "creationTimestamp": "2026-01-01T12:00:00Z"}
    return Job({"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": metadata, "spec": spec})


def issued(median: float, made: datetime = NOON, **more: Any) -> Issued:
    """A log-normal forecast with a spread of `SPREAD`, and an interval of 90 %."""
    low, high = median * np.exp(SPREAD * -1.645), median * np.exp(SPREAD * 1.645)
    given: dict[str, Any] = {
        "time": made,
        "settings": "any",
        "confidence_percent": 90,
        "duration_seconds": Interval(low=low, expected=median, high=high),
        "finish_time": made + timedelta(seconds=median),
        "latest_finish_time": made + timedelta(seconds=float(median * np.exp(SPREAD * 1.2816))),
        "quantiles": tuple(median * np.exp(SPREAD * SCORES)),
    }
    return Issued(**{**given, **more})


def entry(
    number: int,
    seconds: Iterable[float] = (5.0, 5.0),
    *,
    began: datetime = NOON,
    forecast: Issued | None = None,
    first: Issued | None = None,
    deadline: datetime | None = None,
    load: float = 1.0,
    **parameters: Any,
) -> Entry:
    """A run with a start-up and epochs of so many seconds."""
    seconds = list(seconds)
    done = job(f"run-{number}", parameters={"epochs": len(seconds), **parameters})
    duration = STARTUP + float(sum(seconds))
    ended = began + timedelta(seconds=duration)
    observation = Observation(
        experiment="",
        run=done.name,
        job=done.name,
        row=0,
        replicate=0,
        block=0,
        digest="",
        settings={},
        responses={"duration": duration, "startup": STARTUP},
        state=SUCCEEDED,
        started=text(began),
        finished=text(ended),
        epochs=len(seconds),
        load=load,
        curve=Curve(tuple(range(1, len(seconds) + 1)), tuple(map(float, seconds))),
    )
    promised = Promised(first=first, at_start=forecast, ended=ended, deadline=deadline) if forecast or first else None
    return Entry(
        uid=done.uid,
        family=family_of("here", done.spec, ""),
        fields=fields_of(done.effective),
        observation=observation,
        promised=promised,
    )
