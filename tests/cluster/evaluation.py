"""FLTK's evaluation for real: models from its screening experiment, then jobs with limits that not every setting meets.

    python -m tests.cluster.evaluation [JOBS]        # 20 unless told; some twenty minutes

The experiment of examples/fltk-screening.yaml teaches the operator. Then jobs come one at a time, each with the setting
of one of its rows, at most MOST epochs, and a limit drawn evenly between what one epoch and what MOST epochs take there
by the experiment's own measurements. Every one of them comes twice, in turns: once steered by the operator, once with a
number of epochs drawn at random. A limit counts from the creation of a job, so that its pods' start is part of it.

Progress goes to standard error, the tables (Markdown) to standard output. That the steered jobs ran with what was
written into them is checked for each.
"""

import json
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from tests.cluster.examples import FOLDER, followed, operator_alone, say
from tests.cluster.operating import Manifest, Operating, job

EXAMPLE = FOLDER / "fltk-screening.yaml"
JOBS, MOST, SEED = 20, 40, 42
CONFIDENCE = 95
POLICIES = ("coxswain", "random")
PATIENCE_SECONDS = 900.0


@dataclass(frozen=True)
class Context:
    """A row of the experiment without its epochs, and what its runs took from creation to completion."""

    spec: Manifest
    fixed_seconds: float
    epoch_seconds: float

    def seconds(self, epochs: int) -> float:
        """What a job of so many epochs is expected to take by the experiment's own means."""
        return self.fixed_seconds + epochs * self.epoch_seconds


@dataclass(frozen=True)
class Outcome:
    """One job at its end."""

    policy: str
    limit: float
    took: float
    epochs: int
    accuracy: float
    promised: bool
    forecast: Mapping[str, float]
    """Of its time from start to finish, when it started."""

    @property
    def met(self) -> bool:
        """Whether it was done within its limit."""
        return self.took <= self.limit


def main(jobs: int) -> int:
    """Teach, draw, run, tell."""
    with operator_alone("worker-torch") as release, release.cluster.namespace() as namespace:
        operating = Operating(release, namespace)
        experiment = yaml.safe_load(EXAMPLE.read_text())
        operating.apply(experiment)
        followed(operating, experiment)
        contexts = _contexts(operating)
        _await_models(operating, contexts[0])
        outcomes = _evaluated(operating, contexts, jobs)
    _tell(outcomes)
    return 0


def _contexts(operating: Operating) -> list[Context]:
    """Each row's setting with the means over its replicates."""
    runs = {each["metadata"]["name"]: each for each in operating.all("trainingjob")}
    rows: dict[int, list[Manifest]] = {}
    for entry in operating.observations():
        rows.setdefault(entry["observation"]["row"], []).append(entry["observation"])
    contexts = []
    for _, observations in sorted(rows.items()):
        epoch = statistics.mean(statistics.mean(each["curve"]["seconds"]) for each in observations)
        whole = statistics.mean(_took(runs[each["job"]]) - epoch * each["epochs"] for each in observations)
        spec = runs[observations[0]["job"]]["spec"]
        contexts.append(Context(spec, max(whole, 0.0), epoch))
    return contexts


def _took(done: Mapping[str, Any]) -> float:
    """From creation, when it waited for nothing, to completion."""
    status = done["status"]
    began, ended = (datetime.fromisoformat(status[key]) for key in ("startTime", "completionTime"))
    return (ended - began).total_seconds()


def _await_models(operating: Operating, context: Context) -> None:
    """Wait until every run has been learned from, as a job that does not start tells."""
    count = len(operating.observations())
    operating.apply(_job("witness", context, MOST, 60.0, steered=True, suspend=True))
    learned = f"forecast from {count} finished runs like it."
    operating.until("the models", lambda: operating.condition("witness", "ModelReady").get("message") == learned)


def _job(name: str, context: Context, epochs: int, limit: float, *, steered: bool, **more: Any) -> Manifest:
    parameters = {**context.spec.get("parameters", {}), "epochs": epochs}
    adjust = {"adjust": [{"field": "epochs", "min": 1, "max": MOST}]} if steered else {}
    kept = {key: context.spec[key] for key in ("workload", "resources", "engine") if key in context.spec}
    steering = {"confidencePercent": CONFIDENCE, "mode": "Auto" if steered else "Disabled"}
    deadline = {"within": f"{max(round(limit), 1)}s"}
    return job(name, **kept, parameters=parameters, deadline=deadline, steering=steering, **adjust, **more)


def _evaluated(operating: Operating, contexts: Sequence[Context], jobs: int) -> list[Outcome]:
    chance = random.Random(SEED)
    outcomes = []
    for number in range(jobs):
        context = contexts[number % len(contexts)]
        limit = float(round(chance.uniform(context.seconds(1), context.seconds(MOST))))
        drawn = chance.randint(1, MOST)
        for policy in POLICIES if number % 2 else reversed(POLICIES):
            steered = policy == "coxswain"
            name = f"{policy}-{number}"
            operating.apply(_job(name, context, MOST if steered else drawn, limit, steered=steered))
            outcomes.append(_outcome(operating, name, policy, limit))
            say(json.dumps(vars(outcomes[-1]) | {"job": name, "met": outcomes[-1].met}))
    return outcomes


def _outcome(operating: Operating, name: str, policy: str, limit: float) -> Outcome:
    done = operating.until_state(name, "Succeeded", "Failed", seconds=PATIENCE_SECONDS)
    spec, status = done["spec"], done["status"]
    wanted = spec.get("steered", {}).get("epochs", spec["parameters"]["epochs"])
    ran = status["startedParameters"]["epochs"]
    assert wanted == ran == status["result"]["epochs"], f"{name} was to train {wanted} epochs and trained {ran}"
    began, ended = (
        datetime.fromisoformat(each) for each in (done["metadata"]["creationTimestamp"], status["completionTime"])
    )
    issued = status.get("issued", {}).get("atStart", {})
    return Outcome(
        policy,
        limit,
        (ended - began).total_seconds(),
        ran,
        status["result"]["accuracy"],
        promised=(issued.get("chancePercent") or 0.0) >= CONFIDENCE,
        forecast=issued.get("durationSeconds", {}),
    )


def _tell(outcomes: Sequence[Outcome]) -> None:
    print("\n| policy | jobs | in time | promised | kept of these | mean epochs | mean accuracy | of those in time |")
    print("|---|---|---|---|---|---|---|---|")
    for policy in POLICIES:
        own = [each for each in outcomes if each.policy == policy]
        met, promised = [each for each in own if each.met], [each for each in own if each.promised]
        kept = f"{sum(each.met for each in promised)}" if policy == "coxswain" else "–"
        cells = (
            policy,
            len(own),
            f"{len(met)} ({100 * len(met) / len(own):.0f} %)",
            len(promised) if policy == "coxswain" else "–",
            kept,
            f"{statistics.mean(each.epochs for each in own):.1f}",
            f"{statistics.mean(each.accuracy for each in own):.3f}",
            f"{statistics.mean(each.accuracy for each in met):.3f}" if met else "–",
        )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS))
