"""What torch's exceptions mean in the words of the contract."""

import torch
import torch.distributed as dist

from coxswain.core.errors import InputError
from coxswain.worker import report
from coxswain.worker.report import Failure, Reason
from coxswain.worker.torch.data.labelled import DataError

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


def explain(error: BaseException) -> Failure:
    """The failure behind an exception."""
    match error:
        case DataError():
            return Failure(Reason.BAD_DATA, str(error))
        case InputError():
            return Failure(Reason.BAD_PARAMETER, str(error))
        case torch.OutOfMemoryError():
            return _out_of_memory()
        case RuntimeError() if any(sign in str(error) for sign in _NO_MEMORY):
            return _out_of_memory()
        case RuntimeError() if broken_connection(error):
            # gloo's text: [where in its source] what happened. Friendly advice.
            what = str(error).splitlines()[0].partition("] ")[2].partition(". ")[0] or str(error)
            return Failure(Reason.PEER_LOST, f"another worker went away during the training ({what}).")
    return report.explain(error)


def broken_connection(error: BaseException) -> bool:
    """Whether an exception comes from talking to other processes."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))


def _out_of_memory() -> Failure:
    return Failure(Reason.OUT_OF_MEMORY, "memory ran out; raise memoryPerWorker or lower batchSize.")
