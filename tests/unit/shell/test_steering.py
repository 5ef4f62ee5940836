"""Rewriting on the cluster: written once, by a manager of its own, and never over what somebody has just edited."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from coxswain.core.api.status import Adjusted
from coxswain.core.cost import Prices
from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.jobs.life import decide
from coxswain.core.jobs.view import Snapshot
from coxswain.core.planning.values import Capacity
from coxswain.shell.cache import Cache
from coxswain.shell.cluster import JOBS, Cluster, Manifest
from coxswain.shell.errors import Conflict, Refused
from coxswain.shell.events import Recorder
from coxswain.shell.metrics import Metrics
from coxswain.shell.steering import FIELD_MANAGER, Steering
from tests.unit.forecasts.making import NOON, job
from tests.unit.steering.making import EPOCHS, taught

ONE_CORE = Capacity(1000)
FAR = {"at": "2999-01-01T00:00:00Z"}


class Jobs:
    """TrainingJobs as the API server keeps them: an apply with an old resourceVersion is a conflict."""

    def __init__(self) -> None:
        self.objects: dict[str, Manifest] = {}
        self.applied: list[tuple[str, Manifest]] = []
        self.events: list[Manifest] = []

    def put(self, manifest: Manifest) -> Manifest:
        name = manifest["metadata"]["name"]
        version = int(self.objects.get(name, {}).get("metadata", {}).get("resourceVersion", "0")) + 1
        self.objects[name] = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(version)}}
        return self.objects[name]

    async def apply(self, _resource: Any, _namespace: str, name: str, manifest: Manifest, *, manager: str) -> Manifest:
        self.applied.append((manager, manifest))
        current = self.objects[name]
        if current["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise Conflict(409, "the object has been modified")
        spec = {name: value for name, value in current["spec"].items() if name != "steered"}
        return self.put({**current, "spec": {**spec, **manifest["spec"]}})

    async def create(self, _resource: Any, _namespace: str, manifest: Manifest) -> Manifest:
        self.events.append(manifest)
        return manifest


def asking(name: str, epochs: int = 40) -> Manifest:
    # Created long ago, so that the deadline is given as a time yet to come.
    deadline = FAR if epochs < 40 else {"within": "1s"}
    return dict(job(name, parameters={"epochs": epochs}, adjust=[EPOCHS], deadline=deadline).manifest)


def steering(store: Jobs, cache: Cache, model: Callable[[], FamilyModel | None] = taught) -> Steering:
    cluster = cast("Cluster", store)
    return Steering(
        cluster,
        cache,
        Recorder(cluster),
        Metrics(),
        Prices(),
        family=lambda _: "family",
        model=lambda _: model(),
        progress=lambda _: None,
    )


def planned(cache: Cache, each: Steering) -> tuple[list[Any], set[Any]]:
    waiting = [found for found in cache.jobs() if not found.status.finished]
    return asyncio.run(each.plan("default", waiting, [], ONE_CORE))


def test_a_job_is_rewritten_once_and_then_left_alone() -> None:
    store, cache = Jobs(), Cache()
    cache.put(JOBS, store.put(asking("late")))
    each = steering(store, cache)
    changed, unsettled = planned(cache, each)
    assert (changed, unsettled) == ([("here", "late")], set())
    ((manager, manifest),) = store.applied
    assert manager == FIELD_MANAGER
    # The deadline has passed: it runs anyway, with the least.
    assert manifest["spec"] == {"steered": {"epochs": 1}}
    assert store.objects["late"]["spec"]["parameters"] == {"epochs": 40}
    planned(cache, each)
    assert len(store.applied) == 1
    assert len(store.events) == 1


def test_no_second_rewrite_before_the_first_is_on_record_and_its_reason_is_kept() -> None:
    store, cache = Jobs(), Cache()
    cache.put(JOBS, store.put(asking("late")))
    each = steering(store, cache)
    planned(cache, each)
    why = each.advice(("here", "late"))
    assert why is not None
    assert [change.to for change in why.adjusted] == [1]
    # All the time there is, suddenly: but nobody has noted yet what was written first.
    edited = {**store.objects["late"], "spec": {**store.objects["late"]["spec"], "deadline": FAR}}
    cache.put(JOBS, store.put(edited))
    assert planned(cache, each) == ([("here", "late")], {("here", "late")})
    assert each.advice(("here", "late")) is why
    (found,) = cache.jobs()
    status = decide(Snapshot(found, datetime.now(UTC), advice=why)).status
    cache.put(JOBS, store.put({**edited, "status": status.render()}))
    assert planned(cache, each) == ([("here", "late")], set())
    assert [manifest["spec"].get("steered") for _, manifest in store.applied] == [{"epochs": 1}, None]


def test_who_edits_a_job_while_it_is_rewritten_wins() -> None:
    store, cache = Jobs(), Cache()
    cache.put(JOBS, store.put(asking("mine")))
    each = steering(store, cache)
    # The cache has not heard of it yet: the user asks for less, and for plenty of time.
    store.put(asking("mine", epochs=7))
    changed, unsettled = planned(cache, each)
    assert (changed, unsettled) == ([], {("here", "mine")})
    assert store.objects["mine"]["spec"]["parameters"] == {"epochs": 7}
    assert "steered" not in store.objects["mine"]["spec"]
    assert each.advice(("here", "mine")) is None
    # Once it is heard of, the new request is what is planned. It has all the time there is, so more is better.
    cache.put(JOBS, store.objects["mine"])
    _, unsettled = planned(cache, each)
    assert unsettled == set()
    assert store.objects["mine"]["spec"]["parameters"] == {"epochs": 7}


def test_a_hundred_jobs_are_written_once_each_in_one_pass() -> None:
    store, cache = Jobs(), Cache()
    for number in range(100):
        cache.put(JOBS, store.put(asking(f"job-{number}")))
    each = steering(store, cache)
    changed, unsettled = planned(cache, each)
    assert (len(changed), unsettled) == (100, set())
    names = [manifest["metadata"]["name"] for _, manifest in store.applied]
    assert sorted(names) == sorted(store.objects)
    planned(cache, each)
    assert len(store.applied) == 100


def test_an_operator_that_has_just_started_waits_for_the_models_and_takes_nothing_for_news() -> None:
    store, cache = Jobs(), Cache()
    models: list[FamilyModel] = []
    each = steering(store, cache, lambda: models[0] if models else None)
    fresh = job("fresh", adjust=[EPOCHS], deadline=FAR)
    plain, strict = job("plain", deadline=FAR), job("strict", steering={"whenInfeasible": "Fail"})
    assert [each.awaits_lessons(one) for one in (fresh, plain, strict)] == [True, False, True]
    assert not each.awaits_lessons(job("off", adjust=[EPOCHS], steering={"mode": "Disabled"}))
    # It was given 12 epochs after the last run had ended; 40 would be better, but nothing has been observed since.
    steered = {"parameters": {"epochs": 20}, "adjust": [EPOCHS], "deadline": FAR, "steered": {"epochs": 12}}
    change = Adjusted(time=datetime.now(UTC), field="epochs", before=20, to=12, reason="that was best.")
    known = job("known", **steered)
    status = known.status.model_copy(update={"adjustments": (change,)})
    cache.put(JOBS, store.put({**known.manifest, "status": status.render()}))
    planned(cache, each)
    models.append(taught())
    planned(cache, each)
    assert store.applied == []
    assert not each.awaits_lessons(fresh)


def test_what_the_server_refuses_does_not_keep_a_job_from_starting() -> None:
    class Strict(Jobs):
        async def apply(self, *_: Any, **__: Any) -> Manifest:
            raise Refused(422, "steered cannot change once the job has started")

    store, cache = Strict(), Cache()
    cache.put(JOBS, store.put(asking("late")))
    assert planned(cache, steering(store, cache))[1] == set()


def test_jobs_that_somebody_else_starts_are_planned_each_by_itself() -> None:
    store, cache = Jobs(), Cache()
    far, near = ({"at": f"2026-01-01T12:{minute}:00Z"} for minute in ("10", "02"))
    for name, deadline in (("ample", far), ("tight", near), ("late", near)):
        asked = job(name, parameters={"epochs": 12}, adjust=[EPOCHS], deadline=deadline)
        cache.put(JOBS, store.put(dict(asked.manifest)))
    each = steering(store, cache)
    waiting = sorted(cache.jobs(), key=lambda found: found.name)
    changed, unsettled = asyncio.run(each.plan_apart("default in Kueue", waiting, NOON))
    assert (len(changed), unsettled) == (3, set())
    chosen = {name: found["spec"]["steered"]["epochs"] for name, found in store.objects.items()}
    # Neither of the two that are due soon leaves the other less time.
    assert chosen["late"] == chosen["tight"] < chosen["ample"] == 40
    assert {(wait := each.wait(("here", name))) and wait.high for name in chosen} == {0.0}
    # Once they are gone, nothing is said of them any more.
    asyncio.run(each.plan_apart("default in Kueue", [], NOON))
    assert each.advice(("here", "tight")) is None
