"""From a job whose last attempt has ended to its entry in the ledger."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from coxswain.core.api.status import parse_time
from coxswain.core.cost import Prices
from coxswain.core.demand import demand_of
from coxswain.core.expand import PlannedJob, PlannedRun
from coxswain.core.families import family_of, fields_of
from coxswain.core.jobs.ending import START_TIMEOUT
from coxswain.core.jobs.view import RUN_ANNOTATION, Job
from coxswain.core.ledger.entry import Entry, Promised
from coxswain.core.observing import observe
from coxswain.core.verdict import Verdict


def entry_of(
    job: Job, verdict: Verdict, *, ended: datetime, node_type: str, prices: Prices, load: float | None
) -> Entry:
    """What the ledger keeps of a job; `load` is how many jobs the cluster ran meanwhile, this one included.

    One that has ended without an attempt under way has nothing to tell but that.
    """
    attempt = job.status.attempt
    joined = arrival_of(job) or job.created
    began = attempt.start_time if attempt else ended
    seconds = max((ended - began).total_seconds(), 0.0)
    observation = observe(
        job.experiment[0] if job.experiment else "",
        run_of(job),
        PlannedJob(job.name, job.effective),
        verdict,
        attempt=job.status.attempts[-1].number if job.status.attempts else 0,
        began=began,
        seconds=seconds if attempt else None,
        wait=max((began - joined).total_seconds(), 0.0) if attempt else None,
        load=load,
    )
    responses = dict(observation.responses)
    if verdict.word and "duration" in responses:
        # Until its pods ran, and from their end until the cluster said so: to the user that is a part of how long a job
        # takes, and to its deadline, but the worker cannot know of it. However long a training, it is as long.
        outside = max(seconds - responses["duration"], 0.0)
        responses["duration"] += outside
        responses["startup"] = responses.get("startup", 0.0) + outside
    paid = _seconds_before(job) + responses.get("duration", seconds)
    responses["money"] = prices.of_run(demand_of(job.effective).reserved, paid)
    return Entry(
        uid=job.uid,
        family=family_of(job.namespace, job.effective, node_type),
        experiment_uid=job.experiment[1] if job.experiment else None,
        fields=fields_of(job.effective),
        observation=replace(observation, responses=responses),
        promised=_promised(job, ended) if attempt else None,
    )


def _seconds_before(job: Job) -> float:
    """How long earlier attempts ran: they are paid for as well, though nothing came out of them."""
    return sum(
        max((each.completion_time - each.start_time).total_seconds(), 0.0)
        for each in job.status.attempts
        if each.completion_time and each.jobUID and not each.queued and each.reason != START_TIMEOUT
    )


def _promised(job: Job, ended: datetime) -> Promised | None:
    issued = job.status.issued
    if issued is None:
        return None
    return Promised(first=issued.first, at_start=issued.at_start, ended=ended, deadline=job.deadline)


def arrival_of(job: Job) -> datetime | None:
    """When the job's run arrived, where runs arrive by themselves: it may have waited before the job was created."""
    arrived = _told(job).get("arrived")
    return parse_time(arrived) if arrived else None


def run_of(job: Job) -> PlannedRun:
    """Which run of its experiment the job is; a job by itself is a run without factors."""
    told = _told(job)
    return PlannedRun(
        name=told.get("run", job.name),
        row=told.get("row", 0),
        replicate=told.get("replicate", 0),
        block=told.get("block", 0),
        settings=told.get("settings", {}),
        jobs=(),
    )


def load_during(job: Job, jobs: Iterable[Job], start: datetime, end: datetime) -> float:
    """How many of some jobs ran on average in a span of time of one of them, itself included."""
    span = (end - start).total_seconds()
    if span <= 0:
        return 1.0
    shared = sum(
        max((min(end, attempt.completion_time or end) - max(start, attempt.start_time)).total_seconds(), 0.0)
        for other in jobs
        if other.uid != job.uid
        for attempt in other.status.attempts
        if not attempt.queued
    )
    return 1.0 + shared / span


def _told(job: Job) -> dict[str, Any]:
    annotations = job.manifest["metadata"].get("annotations") or {}
    told: dict[str, Any] = json.loads(annotations.get(RUN_ANNOTATION) or "{}")
    return told
