"""Queues with deadlines whose truth is known: 200 jobs come at random to four servers, again and again planned anew.

Jobs train for 1 to 10 epochs and ask for 6; how long an epoch takes differs between jobs and is predicted with an
error of 14 %, half of which all jobs of a run have in common. Utilisation is what the jobs as requested would cause.
The seeds' policies choose when a job comes, as if nobody waited, and serve first come, first served. With contention,
jobs that run at the same time slow each other down, and a planner that does not know it is tried as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.baselines.queued import SERVER, Arrival, Served, first_come, steered
from coxswain.core.planning import Candidate, lognormal

JOBS, SERVERS = 200, 4
EPOCHS = range(1, 11)
REQUESTED = 6
USUAL_EPOCH = 10.0
SPREAD, SHARED = 0.14, 0.5
CONFIDENCE = 0.95
PATIENCE = 30 * 60.0
FIRST_COME = ("requested", "seeds", "random", "minimum")
UNAWARE = "thinks c = 0"


@dataclass(frozen=True)
class Outcome:
    """What came of one run of a policy."""

    met: float
    value: float
    longest_wait: float
    waits_held: list[bool]
    kept: list[bool]


def draw_jobs(utilisation: float, seed: int) -> list[Arrival]:
    """The jobs of one run."""
    rng = np.random.default_rng([seed, int(100 * utilisation)])
    comes = np.cumsum(rng.exponential(REQUESTED * USUAL_EPOCH / (SERVERS * utilisation), JOBS))
    common = np.sqrt(SHARED) * rng.standard_normal()
    jobs = []
    for number, at in enumerate(comes.tolist()):
        epoch = float(USUAL_EPOCH * np.exp(rng.normal(-0.08, 0.4)))
        error = common + np.sqrt(1 - SHARED) * rng.standard_normal()
        due = at + float(rng.uniform(0.5, 4.0)) * REQUESTED * epoch
        candidates = tuple(
            Candidate({"epochs": count}, SERVER, lognormal(count * epoch, SPREAD, SHARED), 1 - 0.5 / count)
            for count in EPOCHS
        )
        truly = epoch * float(np.exp(SPREAD * error)) * np.array(EPOCHS, dtype=float)
        jobs.append(Arrival(f"job {number}", at, due, candidates, truly, REQUESTED - 1, CONFIDENCE, family="all"))
    return jobs


def served(jobs: Sequence[Arrival], policy: str, seed: int, contention: float = 0.0) -> list[Served]:
    """Our plan, or first come, first served with epochs chosen when a job comes."""
    if policy in ("coxswain", UNAWARE):
        return steered(
            jobs,
            SERVERS,
            patience=PATIENCE,
            least_span=REQUESTED * USUAL_EPOCH,
            contention=contention,
            believed=0.0 if policy == UNAWARE else contention,
        )
    rng = np.random.default_rng(seed)
    choices = []
    for job in jobs:
        within = [place for place, each in enumerate(job.candidates) if each.times.quantile(0.5) <= job.due - job.comes]
        chosen = {"seeds": max(within, default=0), "random": int(rng.integers(len(EPOCHS))), "minimum": 0}
        choices.append(chosen.get(policy, REQUESTED - 1))
    return first_come(jobs, choices, SERVERS, contention=contention)


def _outcome(jobs: Sequence[Arrival], outcomes: Sequence[Served]) -> Outcome:
    pairs = list(zip(jobs, outcomes, strict=True))
    met = [each.ends <= job.due for job, each in pairs]
    return Outcome(
        met=float(np.mean(met)),
        value=float(np.mean([job.candidates[each.choice].value * (each.ends <= job.due) for job, each in pairs])),
        longest_wait=max(each.starts - job.comes for job, each in pairs),
        waits_held=[
            each.starts - job.comes <= each.told_wait + 1e-6 for job, each in pairs if each.told_wait is not None
        ],
        kept=[ok for ok, (_, each) in zip(met, pairs, strict=True) if each.promised],
    )


def queues(utilisations: Sequence[float], repetitions: int, contention: float = 0.0) -> None:
    """Print attainment against first come, first served with the seeds' policies."""
    print(f"  {'utilisation':>11s} {'policy':>12s} {'in time':>8s} {'value':>6s} {'longest wait':>12s}", end="")
    print(f" {'promised kept':>16s} {'wait bound held':>16s}")
    for utilisation in utilisations:
        for policy in ("coxswain", *([UNAWARE] if contention else []), *FIRST_COME):
            runs = []
            for seed in range(repetitions):
                jobs = draw_jobs(utilisation, seed)
                runs.append(_outcome(jobs, served(jobs, policy, seed, contention)))
            told = [_share([run.kept for run in runs]), _share([run.waits_held for run in runs])]
            print(
                f"  {utilisation:11.1f} {policy:>12s} {np.mean([run.met for run in runs]):8.1%} "
                f"{np.mean([run.value for run in runs]):6.3f} {max(run.longest_wait for run in runs):10.0f} s "
                f"{told[0]:>16s} {told[1]:>16s}",
                flush=True,
            )


def _share(runs: Sequence[Sequence[bool]]) -> str:
    """A share over all runs, with the standard error that the runs, not the jobs, give."""
    if not any(runs):
        return "–"
    shares = np.array([np.mean(run) for run in runs if run])
    error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
    return f"{shares.mean():.1%} ± {error:.1%}"
