"""The words a worker and whoever started it agree on: states, reasons, exit codes.

The exit code says whether trying again can help; the reason and the sentence in the termination message say why. A
process killed by the kernel writes neither: then the container's own reason (OOMKilled) and signal are all there is.
"""

import errno
import traceback
from enum import IntEnum, StrEnum

MESSAGE_LIMIT = 4096
"""What the kubelet keeps of a termination message, in bytes."""

LOCAL_PROCESS = "COXSWAIN_LOCAL_PROCESS"
"""The variable by which a worker's main process numbers the further processes it starts; nobody else sets it."""


class ExitCode(IntEnum):
    """How a worker ends. The two failures are sysexits' EX_USAGE and EX_TEMPFAIL, which no interpreter uses itself."""

    SUCCESS = 0
    """Trained, or stopped when asked to: the message tells which."""
    USER_ERROR = 64
    """Something in the job must change first; the same again fails the same way."""
    INFRASTRUCTURE = 75
    """Something around the job broke; the same again may well succeed."""


class State(StrEnum):
    """Where a worker is in its life. The last three are final."""

    STARTING = "starting"
    TRAINING = "training"
    SUCCEEDED = "succeeded"
    STOPPED = "stopped"
    FAILED = "failed"


class Reason(StrEnum):
    """Why a worker failed."""

    BAD_PARAMETER = "BadParameter"
    BAD_DATA = "BadData"
    CHECKPOINT_REFUSED = "CheckpointRefused"
    DISK_FULL = "DiskFull"
    DIVERGED = "Diverged"
    OUT_OF_MEMORY = "OutOfMemory"
    ERROR = "Error"
    """An exception nobody foresaw, in a user's script most likely."""

    PEER_LOST = "PeerLost"
    RENDEZVOUS_TIMEOUT = "RendezvousTimeout"
    UNREACHABLE = "Unreachable"
    """A connection of the script itself broke or timed out."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that goes with the reason."""
        infrastructure = {Reason.PEER_LOST, Reason.RENDEZVOUS_TIMEOUT, Reason.UNREACHABLE}
        return ExitCode.INFRASTRUCTURE if self in infrastructure else ExitCode.USER_ERROR


class Failure(Exception):  # noqa: N818 - it is what the message calls it
    """The job failed for a known reason; the sentence says what to change."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


class Stopped(BaseException):
    """Somebody asked the job to stop (SIGTERM), and it has come to a good place to do so.

    Not an error, and no `except Exception` of a script should swallow it.
    """


def explain(error: BaseException) -> Failure:
    """What went wrong, in the contract's words; an exception nobody foresaw leaves its traceback in the log."""
    match error:
        case Failure():
            return error
        case MemoryError():
            return Failure(Reason.OUT_OF_MEMORY, "memory ran out; raise memoryPerWorker or lower batchSize.")
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            where = f" while writing {error.filename}" if error.filename else ""
            return Failure(Reason.DISK_FULL, f"the disk is full{where}; give the output more room.")
        case ConnectionError() | TimeoutError():
            return Failure(Reason.UNREACHABLE, f"a connection broke: {error}.")
    traceback.print_exception(error)
    return Failure(Reason.ERROR, f"{type(error).__name__}: {error}")
