"""One leader at a time: taking, renewing, losing and giving back the Lease."""

import asyncio
import copy
import os
import threading
from typing import Any

import pytest

from coxswain.shell.cluster import Cluster, Manifest, Resource
from coxswain.shell.errors import AlreadyExists, Conflict, Unavailable
from coxswain.shell.leader import Leader, end_process
from coxswain.shell.settings import Lease

SETTINGS = Lease()


class Leases(Cluster):
    """One Lease, kept as the API server keeps it."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self.version = 0
        self.down = False
        self.before_write: Any = lambda: None

    async def find(self, resource: Resource, namespace: str | None, name: str) -> Manifest | None:
        assert (resource.kind, namespace, name) == ("Lease", "default", "coxswain")
        self._must_be_up()
        return copy.deepcopy(self.lease)

    async def create(self, resource: Resource, namespace: str | None, manifest: Any) -> Manifest:
        self._must_be_up()
        if self.lease:
            raise AlreadyExists(409, "there is one")
        assert namespace == "default"
        return self._store(resource, manifest)

    async def replace(self, resource: Resource, manifest: Manifest, subresource: str | None = None) -> Manifest:
        self._must_be_up()
        assert subresource is None
        self.before_write()
        if not self.lease or self.lease["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise Conflict(409, "changed")
        return self._store(resource, manifest)

    def _store(self, resource: Resource, manifest: Manifest) -> Manifest:
        assert resource.kind == "Lease"
        self.version += 1
        self.lease = copy.deepcopy(manifest)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.lease)

    def _must_be_up(self) -> None:
        if self.down:
            raise Unavailable(0, "out of reach")

    @property
    def holder(self) -> str | None:
        return self.lease["spec"]["holderIdentity"] if self.lease else None


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def attempt(leader: Leader) -> bool:
    return asyncio.run(leader.try_once())


def test_the_first_leads_and_the_second_waits(clock: Clock) -> None:
    leases = Leases()
    one, two = (Leader(leases, SETTINGS, name, clock=clock) for name in ("one", "two"))
    assert attempt(one)
    assert not attempt(two)
    for _ in range(20):
        clock.time += 2
        assert attempt(one)
        assert not attempt(two)
    assert leases.lease
    assert leases.lease["spec"]["leaseTransitions"] == 0
    assert leases.lease["spec"]["leaseDurationSeconds"] == 15


def test_a_silent_leader_is_followed_only_after_the_whole_duration_by_the_successor_s_own_clock(clock: Clock) -> None:
    leases = Leases()
    one, two = (Leader(leases, SETTINGS, name, clock=clock) for name in ("one", "two"))
    assert attempt(one)
    clock.time += 100  # the second has not been there; it must see the silence itself
    assert not attempt(two)
    clock.time += 14.9
    assert not attempt(two)
    clock.time += 0.2
    assert attempt(two)
    assert leases.holder == "two"
    assert leases.lease
    assert leases.lease["spec"]["leaseTransitions"] == 1
    assert not attempt(one)


def test_a_leader_gives_up_before_another_may_start(clock: Clock) -> None:
    leases = Leases()
    leader = Leader(leases, SETTINGS, "one", clock=clock)
    asked = clock.time

    def slow_answer() -> None:
        clock.time += 4

    assert attempt(leader)
    leases.before_write = slow_answer
    clock.time = asked + 2
    assert attempt(leader)
    assert leader._watchdog.deadline == asked + 2 + SETTINGS.renew_seconds
    assert SETTINGS.renew_seconds < SETTINGS.duration_seconds


def test_of_two_that_see_a_free_lease_one_gets_it(clock: Clock) -> None:
    leases = Leases()
    one, two, three = (Leader(leases, SETTINGS, name, clock=clock) for name in ("one", "two", "three"))
    assert attempt(one)
    asyncio.run(one.release())
    assert leases.holder is None
    stolen = []

    def be_quicker() -> None:
        leases.before_write = lambda: None
        stolen.append(leases._store(Resource("Lease", "leases"), {**(leases.lease or {}), "spec": two._spec({})}))

    leases.before_write = be_quicker
    assert not attempt(three)
    assert leases.holder == "two"


def test_a_server_out_of_reach_is_no_answer_and_no_end(clock: Clock) -> None:
    leases = Leases()
    leader = Leader(leases, SETTINGS, "one", clock=clock)
    leases.down = True
    assert not attempt(leader)
    leases.down = False
    assert attempt(leader)


def test_a_released_lease_is_taken_at_once(clock: Clock) -> None:
    leases = Leases()
    one, two = (Leader(leases, SETTINGS, name, clock=clock) for name in ("one", "two"))
    assert attempt(one)
    assert not attempt(two)
    asyncio.run(one.release())
    assert attempt(two)


def test_who_does_not_lead_releases_nothing(clock: Clock) -> None:
    leases = Leases()
    one, two = (Leader(leases, SETTINGS, name, clock=clock) for name in ("one", "two"))
    assert attempt(one)
    assert not attempt(two)
    asyncio.run(two.release())
    assert leases.holder == "one"


def quick(**changes: float) -> Lease:
    return Lease.model_construct(**{**SETTINGS.model_dump(), "retry_seconds": 0.05, **changes})


def test_a_leader_that_another_has_followed_ends_its_process() -> None:
    async def run() -> list[str]:
        leases, reasons = Leases(), list[str]()
        ended = asyncio.Event()

        def fence(reason: str) -> None:
            reasons.append(reason)
            ended.set()

        leader = Leader(leases, quick(), "one", fence)
        await leader.acquire()
        holding = asyncio.create_task(leader.hold())
        assert leases.lease
        leases.lease["spec"]["holderIdentity"] = "two"
        await asyncio.wait_for(ended.wait(), 30)
        holding.cancel()
        return reasons

    assert asyncio.run(run()) == ["two has taken the Lease."]


def test_a_second_operator_waits_and_starts_when_the_first_is_done() -> None:
    async def run() -> str | None:
        leases = Leases()
        one, two = (Leader(leases, quick(), name) for name in ("one", "two"))
        await one.acquire()
        waiting = asyncio.create_task(two.acquire())
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await one.release()
        await asyncio.wait_for(waiting, 30)
        await two.release()
        return leases.holder

    assert asyncio.run(run()) is None


def test_a_stuck_loop_ends_the_process_before_the_lease_ends() -> None:
    ended = threading.Event()

    async def run() -> bool:
        leader = Leader(Leases(), quick(renew_seconds=0.5), "one", lambda _reason: ended.set())
        await leader.acquire()
        holding = asyncio.create_task(leader.hold())
        await asyncio.sleep(1.5)
        assert not ended.is_set()  # it renews
        found = ended.wait(30)  # and now nothing in this loop runs
        holding.cancel()
        return found

    assert asyncio.run(run())


def test_a_server_out_of_reach_for_too_long_ends_the_process() -> None:
    async def run() -> list[str]:
        leases, reasons, ended = Leases(), list[str](), threading.Event()

        def fence(reason: str) -> None:
            reasons.append(reason)
            ended.set()

        leader = Leader(leases, quick(renew_seconds=0.5), "one", fence)
        await leader.acquire()
        holding = asyncio.create_task(leader.hold())
        leases.down = True
        await asyncio.to_thread(ended.wait, 30)
        holding.cancel()
        return reasons

    assert asyncio.run(run()) == ["The Lease could not be renewed in time."]


def test_the_end_is_at_once_and_says_why(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    end_process("The Lease is lost.")
    assert codes == [75]
    assert capfd.readouterr().err == "The Lease is lost. This process ends.\n"
