"""The course of a search as plain values, for programs."""

from typing import Any

from coxswain.core.queueing.formulas import Queue
from coxswain.core.search.course import Course, Step
from coxswain.core.search.queue import queues_of


def search_document(course: Course) -> dict[str, Any]:
    """The steps, the best of them, why it ended, and the queue before and after."""
    names = [factor.name for factor in course.space.factors]
    steps = [_step(step, names) for step in course.steps]
    best = course.best
    return {
        "minimize": course.search.minimize,
        "steps": steps,
        "best": next((step for step in steps if best is not None and step["row"] == best.row), None),
        "over": course.over,
        "message": course.message,
        "queue": [{"before": _queue(each.before), "after": _queue(each.after)} for each in queues_of(course)],
    }


def _step(step: Step, names: list[str]) -> dict[str, Any]:
    trial = step.trial
    known = trial is not None and trial.has_values
    return {
        "row": step.row,
        "settings": dict(zip(names, step.settings, strict=True)),
        "runs": len(trial.begun) if trial else 0,
        "mean": trial.mean if trial and known else None,
        "standard_error": trial.error if trial and known else None,
        "verdict": step.verdict,
    }


def _queue(queue: Queue) -> dict[str, Any]:
    stable = queue.is_stable
    return {
        "name": queue.name,
        "arrivals_per_hour": 3600 * queue.arrival_rate,
        "service_seconds": 1 / queue.service_rate,
        "utilization": queue.utilization,
        "response_seconds": queue.response_time if stable else None,
    }
