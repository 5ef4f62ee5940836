"""How far the waiting-time formulas are from simulation, and where one fast server loses to k slow ones.

Prints tables in Markdown: the exact formulas, where the difference is the simulation's own noise; Lee and Longton's
approximation over servers, load, and the shape and variability of the service times; the crossing of one fast server
with three slow ones; and how often the intervals of estimates from records hold.

    python -m benchmarks.queueing
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from coxswain.core.queueing.comparison import crossing_cv2, crossing_utilization, curves
from coxswain.core.queueing.distributions import Shape, Times, exponential, with_cv2
from coxswain.core.queueing.estimation import Estimate, estimate
from coxswain.core.queueing.formulas import Queue
from coxswain.core.queueing.records import JobRecords
from coxswain.core.queueing.simulation import Mean, Simulated, simulate, waits

REPLICATIONS = 400
HISTORIES = 1_000
LOADS = (0.5, 0.7, 0.8, 0.9)
SERVICES = (
    (Shape.DETERMINISTIC, 0.0),
    (Shape.ERLANG, 0.25),
    (Shape.HYPEREXPONENTIAL, 2.0),
    (Shape.LOGNORMAL, 2.0),
    (Shape.HYPEREXPONENTIAL, 4.0),
    (Shape.LOGNORMAL, 4.0),
    (Shape.HYPEREXPONENTIAL, 10.0),
)


def run() -> None:
    """Print all tables; takes a few minutes."""
    _exact_formulas()
    _lee_and_longton()
    _crossings()
    _curves()
    _records()


def _exact_formulas() -> None:
    print("\n### Exact formulas against simulation\n")
    queues = [Queue.at_utilization(load, 1.0, servers) for servers in (1, 4, 16) for load in LOADS]
    queues += [Queue.at_utilization(load, 1.0, cv2=cv2) for cv2 in (0.0, 0.25, 4.0) for load in LOADS]
    columns = ("queue", "cv2", "load", "E[T]", "simulated", "difference", "standard error")
    _print_table(columns, map(_exact_formula, queues))


def _exact_formula(queue: Queue) -> Sequence[str]:
    shapes = {0.0: Shape.DETERMINISTIC, 0.25: Shape.ERLANG, 1.0: Shape.EXPONENTIAL, 4.0: Shape.HYPEREXPONENTIAL}
    services = Times(shapes[queue.cv2], 1.0, queue.cv2)
    response = _simulated_mean(queue, services, lambda run: run.response_time, precision=0.004)
    return (
        queue.name,
        f"{queue.cv2:g}",
        f"{queue.utilization:g}",
        f"{queue.response_time:.4f}",
        f"{response.value:.4f}",
        f"{queue.response_time / response.value - 1:+.2%}",
        f"{response.standard_error / response.value:.2%}",
    )


def _lee_and_longton() -> None:
    print("\n### Error of the mean wait of M/G/k by Lee and Longton (standard error of the simulation)\n")
    rows = (
        (str(servers), shape.value, f"{cv2:g}", *(_error_of_wait(servers, shape, cv2, load) for load in LOADS))
        for servers in (2, 4, 16)
        for shape, cv2 in SERVICES
    )
    _print_table(("k", "service", "cv2", *(f"load {load:g}" for load in LOADS)), rows)


def _error_of_wait(servers: int, shape: Shape, cv2: float, load: float) -> str:
    queue = Queue.at_utilization(load, 1.0, servers, cv2)
    wait = _simulated_mean(queue, Times(shape, 1.0, cv2), lambda run: run.wait_time, precision=0.01)
    return f"{queue.wait_time / wait.value - 1:+.1%} ({wait.standard_error / wait.value:.1%})"


def _crossings() -> None:
    print("\n### The cv2 above which k slow servers answer sooner than one k times as fast\n")
    loads = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
    rows = [(str(servers), *(f"{crossing_cv2(servers, load):.2f}" for load in loads)) for servers in (2, 3, 4, 8, 16)]
    _print_table(("k", *(f"load {load:g}" for load in loads)), rows)
    print("\n### The same for k = 3 by simulation: the formula is Lee and Longton's, the truth depends on the shape\n")
    rows = [
        (
            f"{load:g}",
            f"{crossing_cv2(3, load):.2f}",
            f"{_simulated_crossing(Shape.HYPEREXPONENTIAL, load):.2f}",
            f"{_simulated_crossing(Shape.LOGNORMAL, load):.2f}",
        )
        for load in (0.7, 0.8, 0.9)
    ]
    _print_table(("load", "formula", "hyperexponential", "lognormal"), rows)


def _simulated_crossing(shape: Shape, load: float) -> float:
    """Where one fast and three slow servers take equally long, between two cv2 tried.

    Both get the same jobs at the same times: of two noisy means, the difference is not.
    """
    tried = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0)
    lost = []
    for cv2 in tried:
        (choice,) = curves([load], 3, cv2)
        slow, fast = (
            _long_run(queue, Times(shape, 1 / queue.service_rate, cv2), seed=1).response_time.value
            for queue in (choice.slow, choice.fast)
        )
        lost.append(slow - fast)
    return float(np.interp(0.0, lost[::-1], tried[::-1]))


def _curves() -> None:
    print("\n### Three slow servers over one fast one: mean response in units of the slow service time\n")
    loads = (0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    rows = [("three slow", "0.29", "", *_responses(choice.slow for choice in curves(loads, 3, 0.29)))]
    rows += [
        ("one fast", "0.29", f"{speedup:g}", *_responses(choice.fast for choice in curves(loads, 3, 0.29, speedup)))
        for speedup in (3.0, 2.2)
    ]
    rows += [("three slow", "5", "", *_responses(choice.slow for choice in curves(loads, 3, 5.0)))]
    rows += [("one fast", "5", "3", *_responses(choice.fast for choice in curves(loads, 3, 5.0)))]
    _print_table(("servers", "cv2", "speed-up", *(f"load {load:g}" for load in loads)), rows)
    for cv2, speedup in ((0.29, 3.0), (0.29, 2.2), (5.0, 3.0)):
        turn = crossing_utilization(3, cv2, speedup)
        told = "at no load" if turn is None else f"above load {turn:.3f}"
        print(f"\ncv2 {cv2:g}, speed-up {speedup:g}: three slow servers win {told}.")


def _records() -> None:
    print(f"\n### Estimates from records: how many of {HISTORIES} histories' 95 % intervals hold\n")
    cases = ((1, 1.0, 50), (1, 1.0, 4_000), (3, 0.25, 500), (3, 4.0, 4_000))
    _print_table(
        ("queue", "load", "cv2", "jobs", "lambda", "service time", "cv2 held", "Poisson", "waits differ by", "told"),
        (_estimates(Queue.at_utilization(0.8, 1.0, servers, cv2), jobs) for servers, cv2, jobs in cases),
    )


def _estimates(queue: Queue, jobs: int) -> Sequence[str]:
    found = [estimate(records, queue.servers) for records in _histories(queue, jobs)]
    waits_found = np.array([one.wait_time for one in found])
    return (
        queue.name,
        f"{queue.utilization:g}",
        f"{queue.cv2:g}",
        str(jobs),
        _share_held([one.arrival_rate for one in found], queue.arrival_rate),
        _share_held([one.service_time for one in found], 1.0),
        _share_held([one.service_cv2 for one in found], queue.cv2),
        f"{np.mean([one.looks_poisson for one in found]):.1%}",
        f"{waits_found.std() / waits_found.mean():.0%}",
        f"{np.median([one.wait_time_relative_error for one in found]):.0%}",
    )


def _share_held(estimates: Iterable[Estimate], true: float) -> str:
    return f"{np.mean([one.low <= true <= one.high for one in estimates]):.1%}"


def _histories(queue: Queue, jobs: int) -> Iterator[JobRecords]:
    """Records that begin long after the queue did."""
    earlier = 5_000
    generator = np.random.default_rng(3)
    size = (earlier + jobs, HISTORIES)
    gaps = exponential(1 / queue.arrival_rate).draw(generator, size)
    services = with_cv2(1.0, queue.cv2).draw(generator, size)
    arrival = gaps.cumsum(axis=0)
    start = arrival + waits(gaps, services, np.zeros((queue.servers, HISTORIES)))
    end = start + services
    for history in range(HISTORIES):
        kept = (slice(earlier, None), history)
        yield JobRecords(arrival[kept], start[kept], end[kept])


def _responses(queues: Iterable[Queue]) -> list[str]:
    return [f"{queue.response_time:.3f}" for queue in queues]


def _simulated_mean(queue: Queue, services: Times, mean_of: Callable[[Simulated], Mean], precision: float) -> Mean:
    """Independent long runs until the standard error is small enough, or after eight as small as it got."""
    runs: list[Mean] = []
    for seed in range(1, 9):
        runs.append(mean_of(_long_run(queue, services, seed)))
        value = float(np.mean([run.value for run in runs]))
        error = float(np.sqrt(np.sum([run.standard_error**2 for run in runs])) / len(runs))
        if error < precision * value:
            break
    return Mean(value, error)


def _long_run(queue: Queue, services: Times, seed: int) -> Simulated:
    memory = 2 * (1 + queue.cv2) / (1 - queue.utilization) ** 2  # in how many jobs the queue forgets
    return simulate(
        exponential(1 / queue.arrival_rate),
        services,
        queue.servers,
        jobs=10_000 + int(50 * memory),
        warm_up=int(10 * memory),
        replications=REPLICATIONS,
        generator=np.random.default_rng(seed),
    )


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Each row as soon as it is there."""
    for row in chain((columns, ["---"] * len(columns)), rows):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    run()
