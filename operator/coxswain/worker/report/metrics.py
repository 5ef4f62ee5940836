"""A job's progress as Prometheus metrics, on an endpoint of the worker's own.

Progress is set once an epoch; what the job uses of its machine is read when somebody asks. The operator recognises its
job by the UID in coxswain_worker_info: an address may by now belong to another pod.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge, Info, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coxswain.worker.report import usage
from coxswain.worker.report.contract import Failure, Reason, State
from coxswain.worker.report.message import Epoch
from coxswain.worker.report.settings import Settings

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer


class Metrics:
    """The gauges of one worker, and the server that shows them."""

    def __init__(self, settings: Settings) -> None:
        self._registry = CollectorRegistry()
        self._server: WSGIServer | None = None
        self._info = Info("coxswain_worker", "Which job this is.", registry=self._registry)
        self._info.info(
            {
                "job_uid": settings.job_uid,
                "attempt": str(settings.attempt),
                "worker": str(settings.worker),
                "engine": settings.engine,
                "network": settings.network,
                "dataset": settings.dataset,
            }
        )
        self._state = self._gauge("state", "1 for the state the worker is in, 0 for the others.", "state")
        self._gauge("planned_epochs", "Epochs the job is to train.").set(settings.planned_epochs)
        self._epoch = self._gauge("epochs", "Epochs trained so far, those of earlier attempts too.")
        self._seconds = self._gauge("epoch_duration_seconds", "Training time of the last epoch, without validation.")
        self._validation = self._gauge("validation_duration_seconds", "Validation time of the last epoch.")
        self._speed = self._gauge("samples_per_second", "Training samples a second in the last epoch, all workers.")
        self._startup = self._gauge("startup_seconds", "From the start of the process to the first training step.")
        self._loss = self._gauge("loss", "Mean loss of the last epoch.", "phase")
        self._accuracy = self._gauge("accuracy_ratio", "Share of right answers in the last epoch.", "phase")
        self._registry.register(_UsageCollector())
        self.state(State.STARTING)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(f"coxswain_worker_{name}", help_text, labels, registry=self._registry)

    def serve(self, host: str, port: int) -> int:
        """Open the endpoint and return its port; port 0 takes any free one."""
        try:
            server, _ = start_http_server(port, host, self._registry)
        except OSError as error:
            raise Failure(
                Reason.BAD_PARAMETER, f"metrics cannot be shown on {host}:{port} ({error.strerror}); use another port."
            ) from error
        self._server = server
        return server.server_port

    def close(self) -> None:
        """Close the endpoint."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def state(self, current: State) -> None:
        """Say where the worker is in its life."""
        for state in State:
            self._state.labels(state).set(state is current)

    def startup(self, seconds: float) -> None:
        """Say how long it took until training began."""
        self._startup.set(seconds)

    def epoch(self, row: Epoch, samples: int | None) -> None:
        """Show a finished epoch."""
        self._epoch.set(row.epoch)
        self._seconds.set(row.seconds)
        self._validation.set(row.validation_seconds)
        if samples and row.seconds > 0:
            self._speed.set(samples / row.seconds)
        for gauge, phase, value in (
            (self._loss, "training", row.training_loss),
            (self._loss, "validation", row.loss),
            (self._accuracy, "training", row.training_accuracy),
            (self._accuracy, "validation", row.accuracy),
        ):
            if value is not None:
                gauge.labels(phase).set(value)


class _UsageCollector(Collector):
    """Reads what the job uses of its machine at the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        used = usage.processes()
        yield _counter("cpu_seconds", "CPU time of all processes of the worker.", used.cpu_seconds)
        yield _counter("disk_read_bytes", "Bytes fetched from storage.", used.disk_read_bytes)
        yield _counter("disk_written_bytes", "Bytes sent to storage.", used.disk_written_bytes)
        yield GaugeMetricFamily(
            "coxswain_worker_resident_memory_bytes", "Resident memory of all processes.", used.resident_bytes
        )
        operations = usage.operations()
        if operations is not None:
            yield _counter("disk_reads_completed", "Read operations of the container's storage.", operations.reads)
            yield _counter("disk_writes_completed", "Write operations of the container's storage.", operations.writes)
        waiting = usage.waiting()
        waited = CounterMetricFamily(
            "coxswain_worker_io_wait_seconds", "Time in which some process waited for storage.", labels=["scope"]
        )
        waited.add_metric([waiting.scope], waiting.seconds)
        yield waited
        yield from _network()
        yield from _gpus()


def _network() -> Iterator[Metric]:
    interfaces = usage.network()
    for name, help_text, field in (
        ("network_receive_bytes", "Bytes received.", "received_bytes"),
        ("network_receive_packets", "Packets received.", "received_packets"),
        ("network_transmit_bytes", "Bytes sent.", "sent_bytes"),
        ("network_transmit_packets", "Packets sent.", "sent_packets"),
    ):
        family = CounterMetricFamily(f"coxswain_worker_{name}", help_text, labels=["device"])
        for interface in interfaces:
            family.add_metric([interface.name], getattr(interface, field))
        yield family


def _gpus() -> Iterator[Metric]:
    busy = GaugeMetricFamily("coxswain_worker_gpu_busy_ratio", "Share of time the GPU is busy.", labels=["gpu"])
    memory = GaugeMetricFamily("coxswain_worker_gpu_memory_bytes", "GPU memory in use.", labels=["gpu"])
    for gpu in usage.gpus():
        busy.add_metric([gpu.index], gpu.busy_share)
        memory.add_metric([gpu.index], gpu.memory_bytes)
    yield busy
    yield memory


def _counter(name: str, help_text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"coxswain_worker_{name}", help_text, value)
