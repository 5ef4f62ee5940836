"""One operator leads at a time, by a Lease; the others wait.

The holder renews the Lease; whoever has seen it unchanged for its whole duration, by his own clock, may take it. The
server refuses all but the first that try. Clocks of two machines are never compared, and none of them may jump: times
are measured by the monotonic clock.

A holder that cannot renew must stop before another may start. It counts from the moment it last asked with success, and
the time until it gives up is shorter than the Lease. It ends the whole process, because nothing less is sure to stop
what is under way; and a thread of its own watches over this, because the event loop may be what is stuck.

The client library's own election (kubernetes.aio.leaderelection) is not used: it goes by the clock on the wall, ends
when a connection breaks, counts from the end of a renewal, does not release the Lease, and cancels a task where a
process should end.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from coxswain.shell.cluster import LEASES, Cluster, Manifest
from coxswain.shell.errors import AlreadyExists, ApiError, Conflict
from coxswain.shell.settings import Lease

_EXIT_CODE = 75
"""sysexits' EX_TEMPFAIL: start it again."""

_log = logging.getLogger(__name__)
Fence = Callable[[str], Any]


def end_process(reason: str) -> None:
    """End this process at once; what it has not written yet stays unwritten."""
    os.write(2, f"{reason} This process ends.\n".encode())  # not by logging, whose lock a stuck thread may hold
    os._exit(_EXIT_CODE)


class Leader:
    """A candidate for the Lease: `acquire`, then `hold` for as long as there is work, then `release`."""

    def __init__(
        self,
        cluster: Cluster,
        settings: Lease,
        identity: str,
        fence: Fence = end_process,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._seen: tuple[str, float] = ("", 0.0)
        self._lease: Manifest = {}
        self._watchdog = _Watchdog(fence, clock)

    async def acquire(self) -> None:
        """Wait until this operator leads."""
        told = None
        while not await self.try_once():
            if self._holder not in {None, told}:
                told = self._holder
                _log.info("%s leads; this operator waits.", told)
            await asyncio.sleep(self._settings.retry_seconds)
        _log.info("This operator leads.")
        self._watchdog.start()

    async def hold(self) -> None:
        """Renew the Lease for ever; when that fails for too long, or another holds it, the process ends."""
        while True:
            await asyncio.sleep(self._settings.retry_seconds)
            if not await self.try_once() and self._holder not in {self._identity, None}:
                self._watchdog.lose(f"{self._holder} has taken the Lease.")

    async def release(self) -> None:
        """Give the Lease back, so that a successor need not wait for its end. Nothing may be under way any more."""
        with contextlib.suppress(ApiError, TimeoutError):  # then it ends by itself
            async with asyncio.timeout(self._settings.retry_seconds):
                found = await self._cluster.find(LEASES, self._settings.namespace, self._settings.name)
                if found and found["spec"].get("holderIdentity") == self._identity:
                    spec = {**found["spec"], "holderIdentity": None, "leaseDurationSeconds": 1}
                    await self._cluster.replace(LEASES, {**found, "spec": spec})
        self._watchdog.stop()

    async def try_once(self) -> bool:
        """Take or renew the Lease, if it is free or ours; a server out of reach is no answer."""
        asked = self._clock()
        try:
            async with asyncio.timeout(self._settings.renew_seconds / 2):
                held = await self._take(asked)
        except (ApiError, TimeoutError) as error:
            _log.warning("The Lease could not be reached: %s", error or "no answer in time")
            return False
        if held:
            self._watchdog.deadline = asked + self._settings.renew_seconds
        return held

    @property
    def _holder(self) -> str | None:
        holder: str | None = self._lease.get("spec", {}).get("holderIdentity")
        return holder

    async def _take(self, now: float) -> bool:
        settings = self._settings
        found = await self._cluster.find(LEASES, settings.namespace, settings.name)
        try:
            if found is None:
                fresh = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": self._spec({})}
                fresh["metadata"] = {"name": settings.name}
                self._lease = await self._cluster.create(LEASES, settings.namespace, fresh)
                return True
            self._lease = found
            if not self._may_take(found, now):
                return False
            self._lease = await self._cluster.replace(LEASES, {**found, "spec": self._spec(found["spec"])})
        except (AlreadyExists, Conflict):  # somebody was quicker
            return False
        return True

    def _may_take(self, lease: Manifest, now: float) -> bool:
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, now)
        if self._holder in {self._identity, None, ""}:
            return True
        duration = lease["spec"].get("leaseDurationSeconds") or self._settings.duration_seconds
        return now >= self._seen[1] + duration

    def _spec(self, before: Manifest) -> Manifest:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {**before, "leaseDurationSeconds": self._settings.duration_seconds, "renewTime": now}
        if before.get("holderIdentity") != self._identity:
            spec |= {"holderIdentity": self._identity, "acquireTime": now}
            spec["leaseTransitions"] = before.get("leaseTransitions", -1) + 1
        return spec


class _Watchdog(threading.Thread):
    """Ends the process when the deadline passes, whatever the event loop does."""

    def __init__(self, fence: Fence, clock: Callable[[], float]) -> None:
        super().__init__(name="lease-watchdog", daemon=True)
        self.deadline = 0.0
        self._fence = fence
        self._clock = clock
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(max(0.0, self.deadline - self._clock())):
            if self._clock() >= self.deadline:
                self.lose("The Lease could not be renewed in time.")
                return

    def lose(self, reason: str) -> None:
        """End the process now, unless the Lease was given back on purpose."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._fence(reason)

    def stop(self) -> None:
        self._stopped.set()
