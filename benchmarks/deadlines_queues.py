"""Queues with deadlines whose truth is known: 200 jobs come at random to four servers, again and again planned anew.

Jobs train for 1 to 10 epochs and ask for 6; how long an epoch takes differs between jobs and is predicted with an
error of 14 %, half of which all jobs of a run have in common. Utilisation is what the jobs as requested would cause.
The seeds' policies choose when a job comes, as if nobody waited, and serve first come, first served.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from coxswain.core.planning import Arrivals, Candidate, Capacity, Pending, Running, Snapshot, Times, lognormal, plan
from coxswain.core.planning.times import SCORES

JOBS, SERVERS = 200, 4
EPOCHS = range(1, 11)
REQUESTED = 6
SPREAD, SHARED = 0.14, 0.5
CONFIDENCE = 0.95
CORE = Capacity(1000)
PATIENCE = 30 * 60.0
FIRST_COME = ("requested", "seeds", "random", "minimum")


@dataclass
class Job:
    """One job: when it comes, is due, how long an epoch is thought to take and takes; what became of it."""

    name: str
    comes: float
    due: float
    epoch: float
    truly: float
    epochs: int = REQUESTED
    starts: float = np.inf
    told_wait: float | None = None
    promised: bool = False

    @property
    def ends(self) -> float:
        """When it is done."""
        return self.starts + self.epochs * self.truly

    def candidates(self) -> tuple[Candidate, ...]:
        """Its settings, as they are predicted."""
        return tuple(
            Candidate({"epochs": count}, CORE, lognormal(count * self.epoch, SPREAD, SHARED), 1 - 0.5 / count)
            for count in EPOCHS
        )


@dataclass
class Outcome:
    """What came of one run of a policy."""

    met: float
    value: float
    longest_wait: float
    waits_held: list[bool] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)


def draw_jobs(utilisation: float, seed: int) -> list[Job]:
    """The jobs of one run."""
    rng = np.random.default_rng([seed, int(100 * utilisation)])
    usual = 10.0
    service = REQUESTED * usual
    comes = np.cumsum(rng.exponential(service / (SERVERS * utilisation), JOBS))
    common = np.sqrt(SHARED) * rng.standard_normal()
    jobs = []
    for number, at in enumerate(comes.tolist()):
        epoch = float(usual * np.exp(rng.normal(-0.08, 0.4)))
        error = common + np.sqrt(1 - SHARED) * rng.standard_normal()
        due = at + float(rng.uniform(0.5, 4.0)) * REQUESTED * epoch
        jobs.append(Job(f"job {number}", at, due, epoch, epoch * float(np.exp(SPREAD * error))))
    return jobs


def first_come(jobs: Sequence[Job], policy: str, seed: int) -> Outcome:
    """Serve first come, first served, with epochs chosen when a job comes."""
    rng = np.random.default_rng(seed)
    free = [0.0] * SERVERS
    for job in jobs:
        within = [count for count in EPOCHS if count * job.epoch <= job.due - job.comes]
        chosen = {"seeds": max(within, default=1), "random": int(rng.choice(EPOCHS)), "minimum": 1}
        job.epochs = chosen.get(policy, REQUESTED)
        server = int(np.argmin(free))
        job.starts = max(free[server], job.comes)
        free[server] = job.ends
    return _outcome(jobs)


def steered(jobs: Sequence[Job]) -> Outcome:
    """Plan anew whenever a job comes or ends, and start what the plan starts."""
    waiting: dict[str, Job] = {}
    running: list[Job] = []
    coming = list(jobs)
    choices: dict[str, int] = {}
    while coming or running:
        now = min([coming[0].comes] if coming else [], default=np.inf)
        now = min(now, min((job.ends for job in running), default=np.inf))
        running = [job for job in running if job.ends > now]
        while coming and coming[0].comes <= now:
            job = coming.pop(0)
            waiting[job.name] = job
        if not waiting or (len(running) == SERVERS and all(job.told_wait is not None for job in waiting.values())):
            continue
        snapshot = Snapshot(
            now=now,
            capacity=Capacity(1000 * SERVERS),
            pending=tuple(_pending(job, choices.get(job.name)) for job in waiting.values()),
            running=tuple(Running(job.name, CORE, _remaining(job, now), family="all") for job in running),
            arrivals=_expected([job for job in jobs if job.comes <= now]),
            patience=PATIENCE,
        )
        for decision in plan(snapshot, effort=0).decisions:
            job = waiting[decision.name]
            choices[job.name] = decision.choice
            if job.told_wait is None:
                job.told_wait = decision.forecast.wait.bound
                job.promised = bool(decision.attainable)
            if decision.starts_now:
                job.epochs, job.starts = EPOCHS[decision.choice], now
                running.append(waiting.pop(job.name))
    return _outcome(jobs)


def _expected(so_far: Sequence[Job]) -> Arrivals:
    """What is to come, if it is like what has come: how often, how long, how urgent."""
    span = max(so_far[-1].comes, 60.0)
    lasting = [job.epochs * job.epoch for job in so_far]
    levels = ndtr(SCORES)
    return Arrivals(
        rate=len(so_far) / span,
        need=CORE,
        times=Times(np.quantile(lasting, levels)),
        due=Times(np.quantile([job.due - job.comes for job in so_far], levels)),
    )


def _pending(job: Job, current: int | None) -> Pending:
    return Pending(
        job.name,
        job.comes,
        job.candidates(),
        requested=REQUESTED - 1,
        current=current,
        promised=job.promised,
        deadline=job.due,
        confidence=CONFIDENCE,
        family="all",
    )


def _remaining(job: Job, now: float) -> Times:
    """What is left of a running job, by what was predicted, given that it is not done yet."""
    whole = job.epochs * job.epoch * np.exp(SPREAD * SCORES)
    return Times(np.maximum(whole - (now - job.starts), 0.5), SHARED)


def _outcome(jobs: Sequence[Job]) -> Outcome:
    met = [job.ends <= job.due for job in jobs]
    told = [job for job in jobs if job.told_wait is not None]
    return Outcome(
        met=float(np.mean(met)),
        value=float(np.mean([(1 - 0.5 / job.epochs) * ok for job, ok in zip(jobs, met, strict=True)])),
        longest_wait=max(job.starts - job.comes for job in jobs),
        waits_held=[job.starts - job.comes <= job.told_wait + 1e-6 for job in told if job.told_wait is not None],
        kept=[job.ends <= job.due for job in told if job.promised],
    )


def queues(utilisations: Sequence[float], repetitions: int) -> None:
    """Print attainment against first come, first served with the seeds' policies."""
    print(f"  {'utilisation':>11s} {'policy':>10s} {'in time':>8s} {'value':>6s} {'longest wait':>12s}", end="")
    print(f" {'promised kept':>16s} {'wait bound held':>16s}")
    for utilisation in utilisations:
        for policy in ("coxswain", *FIRST_COME):
            runs = []
            for seed in range(repetitions):
                jobs = draw_jobs(utilisation, seed)
                ours = policy == "coxswain"
                runs.append(steered(jobs) if ours else first_come(jobs, policy, seed))
            told = [_share([run.kept for run in runs]), _share([run.waits_held for run in runs])]
            print(
                f"  {utilisation:11.1f} {policy:>10s} {np.mean([run.met for run in runs]):8.1%} "
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
