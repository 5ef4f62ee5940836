"""The operator's own metrics, in a registry of their own and served by a thread of their own.

Label values come from short fixed lists, or from the settings; no object's name is ever one, so that their number does
not grow with the cluster. docs/metrics.md says what each is for.
"""

import contextlib
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, start_http_server

from coxswain import __version__
from coxswain.core.forecasts.scores import Made, scored_entry
from coxswain.core.ledger.entry import Entry
from coxswain.shell.scraping import Outcome

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - whoever scrapes comes from outside of the pod
_QUICK = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LONG = (1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400)
_FIT = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_RATIO = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2)

JOB_STATES = ("Pending", "Suspended", "Held", "Starting", "Running", "Stopping", "Succeeded", "Failed")
EXPERIMENT_STATES = ("Pending", "Running", "Suspended", "Analysing", "Succeeded", "Failed")


class Metrics:
    """All of them, as attributes to count and measure with."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        info = Info("coxswain_build", "Which Coxswain this is.", registry=self.registry)
        info.info({"version": __version__})
        self._make_metrics_of_the_operator()
        self._make_metrics_of_jobs()

    def _make_metrics_of_the_operator(self) -> None:
        kind = ("kind",)
        self.leader = self._gauge("leader", "1 while this operator is the one that leads, else 0.")
        self.reconciles = self._counter("reconciles", "Decisions about an object, by how they ended.", *kind, "outcome")
        self.reconcile_duration = self._histogram("reconcile_duration_seconds", "Time a decision took.", _QUICK, *kind)
        self.work_queue_length = self._gauge("work_queue_length", "Objects that wait for a decision.")
        self.work_queue_wait = self._histogram("work_queue_wait_seconds", "Time objects waited for one.", _QUICK)
        self.api_requests = self._counter(
            "api_requests", "Requests to the API server, by status (0: no answer).", "verb", "kind", "code"
        )
        self.api_request_duration = self._histogram(
            "api_request_duration_seconds", "Time the API server took to answer.", _QUICK, "verb"
        )
        self.event_loop_lag = self._histogram(
            "event_loop_lag_seconds", "How late the event loop was, measured once a second.", _QUICK
        )
        self.scrapes = self._counter("scrapes", "Workers asked for their metrics, by how it ended.", "outcome")
        self.scrape_duration = self._histogram("scrape_round_duration_seconds", "Time to ask all workers once.", _QUICK)
        self.model_fit_duration = self._histogram(
            "model_fit_duration_seconds", "Time to fit the models of one family.", _FIT
        )
        self.families_drifting = self._gauge(
            "families_drifting", "Families whose runs have changed and whose forecasts do not hold yet."
        )
        self.model_fit_failures = self._counter("model_fit_failures", "Fits that failed.")
        for outcome in Outcome:
            self.scrapes.labels(outcome)

    def _make_metrics_of_jobs(self) -> None:
        self.jobs = self._gauge("jobs", "Training jobs, by state.", "state")
        self.experiments = self._gauge("experiments", "Training experiments, by state.", "state")
        self.queue_jobs = self._gauge("queue_pending_jobs", "Jobs that wait for capacity.", "queue")
        self.queue_wait = self._histogram("queue_wait_seconds", "From a job's creation to its start.", _LONG, "queue")
        self.queue_cores = self._gauge(
            "queue_cores", "Cores of a queue: its capacity, and what is used.", "queue", "of"
        )
        self.queue_gpus = self._gauge("queue_gpus", "GPUs of a queue: its capacity, and what is used.", "queue", "of")
        self.observations = self._counter("observations", "Finished runs written into the ledger.")
        made = ("made",)
        self.forecast_error = self._histogram(
            "forecast_error_ratio", "Of a finished job, |expected / actual time - 1|.", _RATIO, *made
        )
        self.forecast_bounds_issued = self._counter(
            "forecast_bounds_issued", "Finished jobs of which a latest finish had been forecast.", *made
        )
        self.forecast_bounds_kept = self._counter("forecast_bounds_kept", "Those finished by then.", *made)
        self.deadlines_promised = self._counter(
            "deadlines_promised", "Finished jobs whose deadline was forecast to be met.", *made
        )
        self.deadlines_kept = self._counter("deadlines_kept", "Those of them that met it.", *made)
        for each in Made:
            for metric in (self.forecast_error, self.forecast_bounds_issued, self.forecast_bounds_kept):
                metric.labels(each)
            for metric in (self.deadlines_promised, self.deadlines_kept):
                metric.labels(each)
        self.adjustments = self._counter("adjustments", "Rewrites of waiting jobs, by field.", "field")

    def observe_request(self, verb: str, kind: str, status: int, seconds: float) -> None:
        """Count a request to the API server: the observer of a Cluster."""
        self.api_requests.labels(verb, kind, str(status)).inc()
        self.api_request_duration.labels(verb).observe(seconds)

    def observe_scrape(self, outcome: Outcome) -> None:
        """Count a worker that was asked for its metrics."""
        self.scrapes.labels(outcome).inc()

    def observe_forecasts(self, entry: Entry) -> None:
        """Count what had been forecast of a job that has finished."""
        for made in Made:
            found = scored_entry(entry, made)
            if found is None:
                continue
            if found.finished:
                self.forecast_error.labels(made).observe(found.error)
                self.forecast_bounds_issued.labels(made).inc()
                self.forecast_bounds_kept.labels(made).inc(found.bound_held)
            self.deadlines_promised.labels(made).inc(found.promised)
            self.deadlines_kept.labels(made).inc(found.kept)

    def show_jobs(self, counts: Mapping[str, int]) -> None:
        """Show how many jobs are in which state; a state that is not named has none."""
        for state in JOB_STATES:
            self.jobs.labels(state).set(counts.get(state, 0))

    def show_experiments(self, counts: Mapping[str, int]) -> None:
        """Show how many experiments are in which state; a state that is not named has none."""
        for state in EXPERIMENT_STATES:
            self.experiments.labels(state).set(counts.get(state, 0))

    @contextlib.contextmanager
    def served(self, port: int) -> Iterator[int]:
        """Show the metrics on a port (0 takes a free one) as long as this lasts."""
        server, thread = start_http_server(port, _EVERYWHERE, self.registry)
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"coxswain_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"coxswain_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"coxswain_{name}", meaning, labels, buckets=buckets, registry=self.registry)
