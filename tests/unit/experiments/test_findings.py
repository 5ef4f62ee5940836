"""What an experiment's results say beside the effects: the queue its runs saw, and the promises they were given."""

import json
from dataclasses import replace

import numpy as np
import pytest

from coxswain.core.api import parse_experiment
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.experiments.findings import find
from coxswain.core.ledger.entry import Entry
from tests.unit.experiments.test_life import manifest
from tests.unit.forecasts.making import STARTUP, after, entry, issued, text
from tests.unit.report.made import experiment, observe

MEAN_SERVICE, UTILIZATION = 100.0, 0.6


def spec(**more: object) -> ExperimentSpec:
    return parse_experiment(manifest(**more)).spec


def one_after_the_other(jobs: int) -> list[Entry]:
    """Jobs that come at random to one server and take times that vary little, each with its wait."""
    rng = np.random.default_rng(3)
    arrivals = np.cumsum(rng.exponential(MEAN_SERVICE / UTILIZATION, jobs))
    services = rng.uniform(0.8 * MEAN_SERVICE, 1.2 * MEAN_SERVICE, jobs)
    entries, free = [], 0.0
    for number, (arrival, service) in enumerate(zip(arrivals, services, strict=True)):
        start = max(arrival, free)
        free = start + service
        made = entry(number, [service - STARTUP], began=after(start))
        responses = {**made.observation.responses, "wait": start - arrival}
        entries.append(replace(made, observation=replace(made.observation, responses=responses)))
    return entries


def test_what_blocks_differ_by_is_in_the_analysis_but_is_no_effect() -> None:
    made = experiment(design={"type": "FullFactorial", "replications": 2, "blocks": 2})
    _, observations = observe(made)
    entries = []
    for number, each in enumerate(observations):
        slower = {"duration": each.responses["duration"] + 30 * each.block}
        entries.append(replace(entry(number, [1.0]), observation=replace(each, responses=slower)))
    found = find(made.spec, entries)
    whole = json.loads(found.text)["responses"][0]["anova"]
    assert whole[0]["term"] == "Block"
    assert whole[0]["percent"] > 90
    assert "Block" not in {effect.term for effect in found.effects}
    assert (found.largest or "").startswith("epochs")


def test_the_queue_that_runs_saw_stands_beside_what_the_formula_gives() -> None:
    entries = one_after_the_other(2000)
    found = find(spec(arrivals={"type": "Poisson", "ratePerHour": 21.6}, parallelism=1), entries)
    assert found.queue is not None
    assert found.queue.arrivals_per_hour == pytest.approx(21.6, rel=0.05)
    assert found.queue.utilization == pytest.approx(UTILIZATION, rel=0.05)
    # Pollaczek and Khinchine: rho / (1 - rho) * (1 + cv2) / 2 service times, cv2 being 0.4 ** 2 / 12.
    expected = UTILIZATION / (1 - UTILIZATION) * (1 + 0.4**2 / 12) / 2 * MEAN_SERVICE
    assert found.queue.expected_wait_seconds == pytest.approx(expected, rel=0.1)
    # Waits follow each other: over so many jobs a standard error of their mean is a tenth of it.
    assert found.queue.mean_wait_seconds == pytest.approx(expected, rel=0.3)
    assert json.loads(found.text)["queue"]["looks_poisson"] is True


def test_runs_that_follow_each_other_say_nothing_of_a_queue() -> None:
    assert find(spec(), one_after_the_other(20)).queue is None
    few = find(spec(arrivals={"type": "Poisson", "ratePerHour": 21.6}), one_after_the_other(2))
    assert few.queue is None
    strange = [
        replace(each, observation=replace(each.observation, started="at dawn")) for each in one_after_the_other(20)
    ]
    assert find(spec(arrivals={"type": "Poisson", "ratePerHour": 21.6}), strange).queue is None


def test_a_queue_that_grows_without_end_has_no_wait_to_expect() -> None:
    # All come at once, and each waits for all before it.
    crowded = [
        replace(
            each,
            observation=replace(
                each.observation,
                started=text(after(100.0 * number)),
                responses={"duration": 99.0, "wait": 98.0 * number},
            ),
        )
        for number, each in enumerate(one_after_the_other(50))
    ]
    found = find(spec(arrivals={"type": "Poisson", "ratePerHour": 21.6}, parallelism=1), crowded).queue
    assert found is not None
    assert found.utilization > 1
    assert found.expected_wait_seconds is None


def test_promises_are_counted_and_so_is_how_many_were_kept() -> None:
    sure = issued(20.0, chance_percent=99.0)
    kept = entry(0, [5.0, 5.0], first=sure, deadline=after(30))
    broken = entry(1, [50.0, 50.0], first=sure, deadline=after(30))
    unsure = entry(2, [5.0, 5.0], first=issued(20.0, chance_percent=50.0), deadline=after(30))
    promises = find(spec(), [kept, broken, unsure]).promises
    assert promises is not None
    assert (promises.promised, promises.kept) == (2, 1)
    excluded = replace(broken, excluded="a power cut")
    promises = find(spec(), [kept, excluded]).promises
    assert promises is not None
    assert (promises.promised, promises.kept) == (1, 1)
    assert find(spec(), [entry(3)]).promises is None
