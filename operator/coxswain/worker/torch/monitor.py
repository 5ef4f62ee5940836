"""Nobody waits for the dead: every process watches over the others.

A process that dies closes its connections, and whoever talks to it gets an error at once. But a machine that is cut
off, or a process that hangs, closes nothing. So every process beats once a second in the store; the first one watches
everybody's beat and everybody watches the first. The same store carries what others should know: that somebody wants
to stop, or has failed and why, so that the last word of every worker names the cause and not just "connection closed".
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

import torch.distributed as dist

from coxswain.worker.report import Failure, Reason, usage
from coxswain.worker.torch.world import Place

_BEAT = 1.0
_PATIENCE = 3.0
"""Seconds that news needs to reach everybody, and that the main thread has to end by itself."""


class Monitor:
    """Watches the processes of a training from one of them."""

    def __init__(
        self,
        store: dist.Store,
        place: Place,
        *,
        stop: threading.Event,
        silence: float,
        abort: Callable[[Failure], None],
        children: Sequence[subprocess.Popen[bytes]] = (),
    ) -> None:
        self._store, self._place, self._stop, self._silence = store, place, stop, silence
        self._abort, self._children = abort, children
        self._leaving = threading.Event()
        self._beats: dict[int, tuple[int, float]] = {}
        self._memory_kills = usage.out_of_memory_kills()
        self.failure: Failure | None = None
        self._beat()  # before the others can meet this process, so that they never take it for one yet to come
        self._looked = time.monotonic()
        for work in (self._look, self._guard):
            threading.Thread(target=work, name=f"monitor {work.__name__}", daemon=True).start()

    def _look(self) -> None:
        """Look around once a second; if the store's keeper hangs, this hangs too."""
        while self.failure is None and not self._leaving.wait(_BEAT):
            try:
                found = self._news() or self._silent_peer() or self._dead_child()
            except RuntimeError as error:
                why = str(error).splitlines()[0]
                found = Failure(Reason.PEER_LOST, f"worker 0 is gone: its store does not answer ({why}).")
            self.failure = self.failure or found
            self._looked = time.monotonic()

    def _guard(self) -> None:
        """Never wait for anybody: end the process if it must end and does not."""
        while self.failure is None and not self._leaving.wait(_BEAT):
            if time.monotonic() - self._looked > self._silence:
                self.failure = self._silent(0)
        # The main thread usually gets an error of its own now. Stuck in a collective call it cannot be woken.
        if self.failure and not self._leaving.wait(2 * _PATIENCE):
            self._abort(self.failure)

    def leave(self) -> None:
        """From here on others may go: what follows is no failure."""
        self._leaving.set()

    def tell(self, failure: Failure) -> None:
        """Let the others know why this process ends, and give them the time to read it."""
        self.leave()
        try:
            if not self._store.check(["failure"]):
                who = f"worker {self._place.worker}" if self._place.workers > 1 else f"process {self._place.local}"
                news = {"reason": failure.reason, "sentence": f"{who}: {failure.sentence}"}
                self._store.set("failure", json.dumps(news))
            if self._place.rank == 0:
                time.sleep(_PATIENCE)  # the store goes with this process
        except RuntimeError:
            return  # the keeper of the store is gone already

    def cause(self) -> Failure | None:
        """What the others, or the children, have to say about a connection that broke a moment ago."""
        deadline = time.monotonic() + _PATIENCE
        while self.failure is None and time.monotonic() < deadline:
            time.sleep(0.1)
        self.leave()
        return self.failure

    def _beat(self) -> None:
        self._store.add(f"beat/{self._place.rank}", 1)

    def _news(self) -> Failure | None:
        """Beat, pass on a wish to stop in both directions, and see whether somebody has failed."""
        self._beat()
        if self._store.check(["stop"]):
            self._stop.set()
        elif self._stop.is_set():
            self._store.set("stop", "yes")
        if not self._store.check(["failure"]):
            return None
        news = json.loads(self._store.get("failure"))
        return Failure(Reason(news["reason"]), news["sentence"])

    def _silent_peer(self) -> Failure | None:
        watched = range(1, self._place.size) if self._place.rank == 0 else (0,)
        now = time.monotonic()
        for rank in watched:
            beats = self._store.add(f"beat/{rank}", 0)
            before, since = self._beats.get(rank, (0, now))
            self._beats[rank] = (beats, since if beats == before else now)
            # A process that has not signed in yet is waited for by the rendezvous.
            if beats == before and beats > 0 and now - since > self._silence:
                return self._silent(rank)
        return None

    def _silent(self, rank: int) -> Failure:
        worker = rank // self._place.processes
        return Failure(Reason.PEER_LOST, f"worker {worker} has been silent for {self._silence:g} s.")

    def _dead_child(self) -> Failure | None:
        for local, child in enumerate(self._children, start=1):
            code = child.poll()
            if code is None or code == 0:
                continue
            if code == -9 and usage.out_of_memory_kills() > self._memory_kills:
                sentence = f"process {local} was killed for want of memory; raise memoryPerWorker or lower batchSize."
                return Failure(Reason.OUT_OF_MEMORY, sentence)
            # One that ended by itself has left word, unless it could not even start.
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return self._news() or Failure(Reason.PEER_LOST, f"process {local} of this worker {how}.")
        return None
