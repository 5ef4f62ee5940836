"""How good and how fast plans are: small queues against every possibility, large ones by the clock.

Small queues: every order of the jobs and every combination of their settings is tried on the same luck, and the best of
them compared with the plan, by the plan's own goal. Large ones: jobs of one to eight cores for 64 cores, four settings
each, in five families; times are seconds of one core, so that other work on the machine does not count.
"""

import time
from itertools import permutations, product

import numpy as np

from coxswain.core.planning import Candidate, Capacity, Pending, Snapshot, lognormal, plan
from coxswain.core.planning.board import Board
from coxswain.core.planning.search import goals_of

# Jobs, settings each, instances, and replicates to judge by: as many as a plan has in the end, where there is time.
SMALL = ((3, 3, 60, 512), (4, 2, 60, 512), (4, 3, 30, 512), (5, 2, 30, 512), (6, 2, 6, 64))
SIZES = (1_000, 10_000, 100_000)


def run() -> None:
    """Print both tables."""
    small_queues()
    large_queues()


def small_queues() -> None:
    """Plans of a few jobs against all there are."""
    print("  jobs settings instances   value of best   as many in time   feasible found")
    ratios, found_of, instances = [], [], 0
    for jobs, settings, count, replicates in SMALL:
        ratio, in_time, feasible = [], [], []
        for seed in range(count):
            snapshot = _small(jobs, settings, np.random.default_rng([seed, jobs, settings]))
            best, ours = _goals(snapshot, replicates)
            in_time.append(ours[0] >= best[0])
            ratio.append(1.0 if best[1] == 0 else min(ours[1] / best[1], 1.0))
            if best[0] == jobs:
                feasible.append(ours[0] == jobs)
        told = f"{np.mean(feasible):.1%} of {len(feasible)}" if feasible else "none has one"
        print(
            f"  {jobs:4d} {settings:8d} {count:9d} {np.mean(ratio):15.2%} {np.mean(in_time):17.1%}   {told}", flush=True
        )
        ratios += ratio
        found_of += feasible
        instances += count
    print(
        f"  all  {instances} instances: value {np.mean(ratios):.2%} of the best, feasible found {np.mean(found_of):.1%}"
    )


def _small(jobs: int, settings: int, rng: np.random.Generator) -> Snapshot:
    capacity = int(rng.integers(1, 4))
    pending = []
    for number in range(jobs):
        base = float(np.exp(rng.normal(4, 0.5)))
        curve = float(rng.uniform(0.1, 0.5))
        cores = int(rng.integers(1, min(capacity, 2) + 1))
        candidates = tuple(
            Candidate(
                {"epochs": epochs}, Capacity(1000 * cores), lognormal(base * epochs, 0.15, 0.3), 1 - curve / epochs
            )
            for epochs in range(1, settings + 1)
        )
        deadline = float(rng.uniform(1.0, 3.0) * base + rng.uniform(0, jobs / capacity) * 60)
        pending.append(Pending(f"job {number}", 0.0, candidates, deadline=deadline, confidence=0.9, family="f"))
    return Snapshot(0.0, Capacity(1000 * capacity), tuple(pending))


def _goals(snapshot: Snapshot, replicates: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The goal that the best of everything reaches, and the one that the plan does."""
    board = Board(snapshot, replicates, 0)
    choices = [range(board.first[job], board.first[job + 1]) for job in range(len(snapshot.pending))]
    everything = np.array(list(product(*choices)))
    best = max(
        tuple(goal)
        for order in permutations(range(len(snapshot.pending)))
        for goal in goals_of(board, np.array(order), everything)[0].tolist()
    )
    number = {job.name: place for place, job in enumerate(snapshot.pending)}
    decisions = plan(snapshot).decisions
    order = np.array([number[each.name] for each in decisions])
    rows = np.empty(len(order), dtype=np.int64)
    rows[order] = [board.first[number[each.name]] + each.choice for each in decisions]
    return best, tuple(goals_of(board, order, rows[None, :])[0][0].tolist())


def large_queues() -> None:
    """How long it takes to plan many jobs."""
    print("    jobs   seconds of one core   a job")
    for size in SIZES:
        snapshot = _large(size, np.random.default_rng(size))
        started = time.process_time()
        plan(snapshot)
        seconds = time.process_time() - started
        print(f"  {size:6d} {seconds:21.2f}   {1e6 * seconds / size:.0f} µs", flush=True)


def _large(jobs: int, rng: np.random.Generator) -> Snapshot:
    pending = []
    for number in range(jobs):
        need = Capacity(1000 * int(rng.integers(1, 9)))
        base = 60 * float(np.exp(rng.normal(0, 0.5)))
        candidates = tuple(
            Candidate({"epochs": epochs}, need, lognormal(base * epochs, 0.1, 0.4), 1 - 1 / (epochs + 1))
            for epochs in range(1, 5)
        )
        deadline = float(rng.uniform(100, 300 + 8 * jobs))
        pending.append(Pending(f"job {number}", 0.0, candidates, deadline=deadline, family=f"family {number % 5}"))
    return Snapshot(0.0, Capacity(64_000), tuple(pending))


if __name__ == "__main__":
    run()
