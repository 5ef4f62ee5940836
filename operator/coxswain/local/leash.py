"""The process between `cox` and a worker: it pins the worker to its cores and sees that none outlives `cox`.

It holds one end of a pipe whose other end `cox` has. However `cox` ends, even killed, the pipe closes, and the leash
stops the worker and everything the worker has started. SIGTERM to the leash asks the worker to stop, SIGUSR1 kills it.
The leash ends as the worker ended: with its exit code, or by the same signal.

It is run as a file by an interpreter without packages, so that it starts in a few milliseconds and costs nothing:

    python -I -S leash.py LIFELINE CORES COMMAND…

LIFELINE is the descriptor of the pipe, CORES a list such as 0,1.
"""

import contextlib
import os
import signal
import sys
import threading
import time

GRACE_SECONDS = 5.0
"""From asking a worker to stop until it is killed, when `cox` is gone."""
KILL = signal.SIGUSR1


# Waited for one by one rather than handled: a handler may be late when its signal comes just before a blocking call.
_SIGNALS = {signal.SIGTERM, KILL, signal.SIGCHLD}


class Worker:
    """The worker's process, the leader of a group of its own."""

    def __init__(self, command: list[str]) -> None:
        self._pid = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigmask=[])

    @property
    def ended(self) -> bool:
        """Whether it has ended; it keeps its number until it is buried."""
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, number)

    def bury(self) -> int:
        """End what it left behind and return its exit code, negative for a signal."""
        self.send(signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def main(lifeline: int, cores: str, command: list[str]) -> None:
    """Start the worker and stay until it has ended."""
    os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        worker = Worker(command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")
    threading.Thread(target=_hold, args=(lifeline, worker), daemon=True).start()
    while not worker.ended:
        number = signal.sigwait(_SIGNALS)
        if number != signal.SIGCHLD:
            worker.send(signal.SIGKILL if number == KILL else signal.SIGTERM)
    code = worker.bury()
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to take away
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _hold(lifeline: int, worker: Worker) -> None:
    """Nothing is ever written to the pipe: the read returns when `cox` has ended."""
    os.read(lifeline, 1)
    worker.send(signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    worker.send(signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
