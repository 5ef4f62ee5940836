"""What is said of Spark's errors."""

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from coxswain.core.errors import InputError
from coxswain.worker.report import Failure, Reason, usage
from coxswain.worker.spark import failures


def nobody_knows() -> Failure | None:
    return None


def spark_says(text: str) -> PySparkException:
    return PySparkException(message=text)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (Failure(Reason.DIVERGED, "training diverged."), Failure(Reason.DIVERGED, "training diverged.")),
        (Failure(Reason.BAD_DATA, "x is damaged."), Failure(Reason.BAD_DATA, "x is damaged.")),
        (InputError("format CSV is not known."), Failure(Reason.BAD_PARAMETER, "format CSV is not known.")),
        (FileNotFoundError(2, "No such file", "x.png"), None),
    ],
)
def test_a_task_tells_the_driver_what_it_knows(error: Exception, failure: Failure | None) -> None:
    with pytest.raises(RuntimeError) as caught, failures.told():
        raise error
    trace = f"Job aborted.\nTraceback (most recent call last):\n  …\nRuntimeError: {caught.value}\n\n\tat org.apache.x"
    found = failures.explain(spark_says(trace), nobody_knows)
    expected = failure or Failure(Reason.ERROR, f"FileNotFoundError: {error}")
    assert (found.reason, found.sentence) == (expected.reason, expected.sentence)


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        ("… ExecutorLostFailure (executor 1 exited unrelated to the running tasks) …", "PeerLost", "an executor was"),
        ("java.lang.OutOfMemoryError: Java heap space", "OutOfMemory", "memory ran out; raise memoryPerExecutor or"),
        ("java.io.IOException: No space left on device", "DiskFull", "the disk is full; give the job's temporary"),
        ("Job 0 cancelled because SparkContext was shut down", "PeerLost", "the cluster ended before its work was"),
        ("something new\nwith a second line", "Error", "Spark failed: something new"),
    ],
)
def test_spark_is_understood(text: str, reason: str, sentence: str) -> None:
    found = failures.explain(spark_says(text), nobody_knows)
    assert found.reason == reason
    assert found.sentence.startswith(sentence)


def test_a_dead_jvm_is_a_lost_peer() -> None:
    assert failures.explain(Py4JNetworkError("Answer from Java side is empty"), nobody_knows).reason is Reason.PEER_LOST


def test_of_a_loss_others_may_know_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, known = spark_says("ExecutorLostFailure"), Failure(Reason.PEER_LOST, "node 1 is gone.")
    for seen in (lost, BrokenPipeError(), Failure(Reason.UNREACHABLE, "a connection broke."), ValueError("of Spark")):
        assert failures.explain(seen, lambda: known) is known
    assert failures.explain(Failure(Reason.BAD_DATA, "x"), lambda: known).reason is Reason.BAD_DATA
    monkeypatch.setattr(usage, "out_of_memory_kills", lambda: failures._MEMORY_KILLS + 1)
    assert failures.explain(lost, lambda: known).reason is Reason.OUT_OF_MEMORY
