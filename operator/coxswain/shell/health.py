"""What the kubelet is told about this process: whether it lives (/livez) and whether it is ready (/readyz).

It lives unless something is wrong that a new process would not have:

- the event loop is stuck: then nobody answers here either, and the kubelet's own time-out notices;
- the loop answers, but was late by more than a probe should bear, or is no longer measured;
- the resync, which lists everything, has not been done for several of its periods;
- a watch is dead: resync after resync finds news of a kind of object, and the watch of that kind has said nothing. Each
  is judged by itself, for the others go on talking, if only of what the operator has just written.

It is ready once its caches are complete. A second operator that waits for the Lease is ready too: it does all it
should. kopf's own probe is of no use for this: it answers 200 whatever its handlers say.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from aiohttp import web

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the kubelet comes from outside of the pod
_BEAT_SECONDS = 1.0
_MOST_LAG_SECONDS = 15.0
_RESYNC_PERIODS = 4
_SILENT_RESYNCS = 3

_log = logging.getLogger(__name__)
Clock = Callable[[], float]


class Health:
    """How the operator is, told by its parts as they work."""

    def __init__(self, resync_seconds: float, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._most_silence = _RESYNC_PERIODS * resync_seconds
        self._last_beat = clock()
        self._last_lag = 0.0
        self._last_resync: float | None = None
        self._silent_resyncs: Counter[str] = Counter()
        self._ready = False

    def standing_by(self) -> None:
        """The operator has reached the API server and waits for its turn to lead."""
        self._ready = True

    def started(self) -> None:
        """The operator leads now; until its caches are complete it is not ready."""
        self._ready = False
        self._last_resync = self._clock()

    def resynced(self, *, missed: Collection[str]) -> None:
        """A resync is done, and so the caches are complete; of these kinds it found changes that no watch had told of.

        A change that is only just under way is found too, so one resync means nothing. One that finds nothing new means
        nothing either: a watch that is dead has then merely missed nothing.
        """
        self._ready = True
        self._last_resync = self._clock()
        self._silent_resyncs.update(set(missed))

    def watch_spoke(self, kind: str) -> None:
        """The watch of a kind of object has told of a change."""
        self._silent_resyncs.pop(kind, None)

    def beat(self, lag: float) -> None:
        """The event loop has been measured: it was late by so much."""
        self._last_beat = self._clock()
        self._last_lag = lag

    def problem(self) -> str | None:
        """Why this process should be replaced, or None."""
        now = self._clock()
        if self._last_lag > _MOST_LAG_SECONDS:
            return f"The event loop was stuck for {self._last_lag:.0f} s."
        if now - self._last_beat > 2 * _MOST_LAG_SECONDS:
            return f"The event loop has not been measured for {now - self._last_beat:.0f} s."
        if self._last_resync is not None and now - self._last_resync > self._most_silence:
            return f"No resync has been done for {now - self._last_resync:.0f} s."
        for kind, silent in self._silent_resyncs.items():
            if silent >= _SILENT_RESYNCS:
                return f"The watch of {kind} objects is dead: {silent} resyncs found changes that it had not told of."
        return None

    @property
    def ready(self) -> bool:
        """Whether the operator does what it should."""
        return self._ready


async def measure_lag(health: Health, observe: Callable[[float], object]) -> None:
    """Measure for ever how late the event loop is."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(_BEAT_SECONDS)
        lag = max(0.0, time.monotonic() - began - _BEAT_SECONDS)
        health.beat(lag)
        observe(lag)


@asynccontextmanager
async def served(health: Health, port: int) -> AsyncIterator[int]:
    """Answer probes on a port (0 takes a free one) as long as this lasts."""

    async def live(_request: web.Request) -> web.Response:
        problem = health.problem()
        if problem:
            _log.error("%s", problem)  # the kubelet keeps no answer's text
        return web.Response(text=problem or "ok", status=503 if problem else 200)

    async def ready(_request: web.Request) -> web.Response:
        return web.Response(text="ok") if health.ready else web.Response(text="Caches are incomplete.", status=503)

    application = web.Application()
    application.add_routes([web.get("/livez", live), web.get("/readyz", ready)])
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, _EVERYWHERE, port).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
