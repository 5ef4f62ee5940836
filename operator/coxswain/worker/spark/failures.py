"""What Spark's exceptions mean in the words of the contract.

What goes wrong inside a task reaches the driver as a text with two stack traces, Python's and Java's. So a task that
knows what is wrong writes its reason and its sentence where they can be found in that text again.
"""

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from coxswain.core.errors import InputError
from coxswain.worker import report
from coxswain.worker.report import ExitCode, Failure, Reason, usage

LOG = logging.getLogger(__name__)
_MARK = "coxswain failure "
_MEMORY_KILLS = usage.out_of_memory_kills()
_NO_MEMORY = ("java.lang.OutOfMemoryError", "exit code 137", "exited with code 137")
_LOST = ("ExecutorLostFailure", "executor lost", "ExecutorLoss", "Remote RPC client disassociated")
_STOPPED = ("SparkContext was shut down", "All masters are unresponsive")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Let what goes wrong in a task be understood by `explain` on the driver."""
    try:
        yield
    except Exception as error:
        failure = _known(error) or report.explain(error)
        note = json.dumps({"reason": failure.reason, "message": failure.sentence})
        raise RuntimeError(_MARK + note) from error


def explain(error: BaseException, cause: Callable[[], Failure | None]) -> Failure:
    """The failure behind an exception; of a loss, or of what a loss looks like from afar, others may know the cause."""
    failure = _explain(error)
    if failure.reason.exit_code is not ExitCode.INFRASTRUCTURE and failure.reason is not Reason.ERROR:
        return failure
    if usage.out_of_memory_kills() > _MEMORY_KILLS:
        return _out_of_memory()
    return cause() or failure


def _explain(error: BaseException) -> Failure:
    match error:
        case Py4JJavaError():
            return _from_text(str(error.java_exception.toString()))
        case PySparkException():
            return _from_text(str(error))
        case Py4JNetworkError() | ConnectionError():
            return Failure(Reason.PEER_LOST, "the driver's JVM ended unexpectedly.")
    return _known(error) or report.explain(error)


def _known(error: BaseException) -> Failure | None:
    match error:
        case Failure():
            return error
        case InputError():
            return Failure(Reason.BAD_PARAMETER, str(error))
    return None


def _from_text(text: str) -> Failure:
    noted = re.search(rf"{_MARK}(\{{.*\}})$", text, re.MULTILINE)
    if noted:
        note = json.loads(noted[1])
        return Failure(Reason(note["reason"]), note["message"])
    if any(sign in text for sign in _NO_MEMORY):
        return _out_of_memory()
    if "No space left on device" in text:
        return Failure(Reason.DISK_FULL, "the disk is full; give the job's temporary folder or its output more room.")
    if any(sign in text for sign in _LOST):
        return Failure(Reason.PEER_LOST, "an executor was lost.")
    if any(sign in text for sign in _STOPPED):
        return Failure(Reason.PEER_LOST, "the cluster ended before its work was done.")
    LOG.error("%s", text)
    return Failure(Reason.ERROR, f"Spark failed: {text.splitlines()[0]}")


def _out_of_memory() -> Failure:
    return Failure(Reason.OUT_OF_MEMORY, "memory ran out; raise memoryPerExecutor or lower batchSize.")
