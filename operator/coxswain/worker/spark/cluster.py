"""Node 0: the Master, the driver and the first Worker, and the work that is done with them.

The three share one JVM, as in Spark's own local cluster: a Master and a Worker do little, and two JVMs less start
sooner and leave their memory to the executors, which are processes of their own as everywhere.
"""

import contextlib
import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from coxswain.worker import report
from coxswain.worker.report import Failure, Reason, Settings, State, Stopped
from coxswain.worker.spark import failures, node
from coxswain.worker.spark.exchange import Exchange
from coxswain.worker.spark.follow import follow
from coxswain.worker.spark.shape import Shape, configuration


@dataclass(frozen=True)
class Cluster:
    """A running cluster, seen from its driver."""

    context: SparkContext
    shape: Shape
    exchange: Exchange
    members: frozenset[str]
    """The driver and the executors it has begun with, by their addresses."""

    @property
    def hosts(self) -> list[str]:
        """The addresses of the nodes in their order."""
        return [self.exchange.addresses[number] for number in range(self.shape.nodes)]

    def check(self) -> None:
        """See whether all executors are still there: Spark replaces one that is lost without a word."""
        if not self.members <= _members(self.context):
            raise Failure(Reason.PEER_LOST, "an executor was lost.")


Work = Callable[[Cluster], None]


def run(job: report.Job, prepare: Callable[[report.Job], Work], *, whole_executors: bool = False) -> None:
    """Be a node of the job's cluster: node 0 does the work, the others help. A task may need a whole executor.

    The work is prepared before the cluster is started, so that a mistake in the job is told at once.
    """
    _know_secret(job)
    if job.settings.worker > 0:
        follow(job)
        return
    shape, address = Shape.from_settings(job.settings), node.own_address(job.settings)
    with Exchange(job, shape, address) as exchange:
        try:
            work = prepare(job)
            with _running(job.settings, shape, exchange, shape.slots_per_executor if whole_executors else 1) as context:
                job.describe({"spark": pyspark.__version__})
                try:
                    work(Cluster(context, shape, exchange, _members(context)))
                except Exception as error:  # here, where the JVM can still be asked what it meant
                    raise failures.explain(error, exchange.cause) from error
                exchange.end(State.SUCCEEDED)  # before the Master goes, or the Workers would miss it
        except Stopped:
            exchange.end(State.STOPPED)
            raise
        except Exception as error:
            failure = error if isinstance(error, Failure) else failures.explain(error, exchange.cause)
            exchange.end(State.FAILED, failure)
            raise failure from error


def _know_secret(job: report.Job) -> None:
    """See to it that there is a secret; the processes of this node find it in their environment."""
    if not job.settings.spark_secret:
        if job.settings.nodes > 1:
            raise Failure(Reason.BAD_PARAMETER, f"{node.SECRET} is missing; by it the nodes know each other.")
        job.settings = replace(job.settings, spark_secret=secrets.token_hex(32))
    os.environ[node.SECRET] = job.settings.spark_secret


@contextlib.contextmanager
def _running(settings: Settings, shape: Shape, exchange: Exchange, slots_per_task: int) -> Iterator[SparkContext]:
    """The cluster with all its executors, from start to end."""
    address, secret = exchange.addresses[0], settings.spark_secret
    with tempfile.TemporaryDirectory(prefix="coxswain-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        settings_of_spark = configuration(
            shape, address=address, secret=secret, folder=folder, slots_per_task=slots_per_task
        )
        node.prepare(folder, settings_of_spark)
        # In a session of its own: a wish to stop is for this process, which ends the JVM in good order.
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of every connection it closes
        start: Any = launch_gateway
        gateway = start(SparkConf(loadDefaults=False), {"start_new_session": True})
        try:
            master = _start_master(gateway, address)
            exchange.open(master)
            _start_worker(gateway, shape, folder, address, master)
            conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("coxswain")
            with SparkContext(conf=conf, gateway=gateway) as context:
                _wait_for_executors(context, shape, exchange)
                yield context
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()  # what the JVM waits for to end
            node.reap(gateway.proc)


def _start_master(gateway: Any, address: str) -> str:
    spark = gateway.jvm.org.apache.spark
    started = spark.deploy.master.Master.startRpcEnvAndEndpoint(address, 0, 0, spark.SparkConf())
    return f"spark://{address}:{started.productElement(0).address().port()}"


def _start_worker(gateway: Any, shape: Shape, folder: Path, address: str, master: str) -> None:
    spark, nothing = gateway.jvm.org.apache.spark, gateway.jvm.scala.Option.empty()
    masters = gateway.new_array(gateway.jvm.String, 1)
    masters[0] = master
    spark.deploy.worker.Worker.startRpcEnvAndEndpoint(
        address,
        0,
        0,
        shape.slots_per_node,
        shape.heap_per_node,
        masters,
        str(folder / "work"),
        nothing,
        spark.SparkConf(),
        nothing,
    )


def _wait_for_executors(context: SparkContext, shape: Shape, exchange: Exchange) -> None:
    """Wait for all, so that no task starts where it should not for want of its own executor."""

    def absent() -> int:
        return shape.executors + 1 - len(_members(context))  # the driver is one of them

    def missing() -> str:
        nodes = [str(number) for number in range(shape.nodes) if number not in exchange.addresses]
        return f"node {', '.join(nodes)}" if nodes else f"{absent()} of {shape.executors} executors"

    exchange.wait_for(lambda: absent() <= 0, missing)


def _members(context: SparkContext) -> frozenset[str]:
    scala: Any = context._jsc.sc()  # noqa: SLF001 - Python has no way of its own to ask
    if scala.isStopped():
        raise Failure(Reason.PEER_LOST, "the cluster ended before its work was done.")
    infos = scala.statusTracker().getExecutorInfos()
    return frozenset(f"{one.host()}:{one.port()}" for one in infos if one.port())  # without a port it is not up yet
