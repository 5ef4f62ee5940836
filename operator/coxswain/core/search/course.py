"""The course of a search: its rows so far, the best of them, and what to run next or why it is over.

A row is known by its settings: what was begun keeps its number, whatever else becomes known later, and a setting that
is asked for again is not run again. So an observation that is excluded, or replications that are raised, may turn the
search another way, and still nothing is made twice. Rows that it no longer asks for stay, with the runs they had.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from coxswain.core.api.design import Search
from coxswain.core.api.experiment import ExperimentSpec
from coxswain.core.designs.base import Settings
from coxswain.core.errors import InputError
from coxswain.core.search.bayes import advise, best_of, first_rows
from coxswain.core.search.climb import Climb
from coxswain.core.search.judge import Judge
from coxswain.core.search.space import Space, space_of
from coxswain.core.search.trials import Begun, Trial, search_of, trials_of

Refusal = Callable[[Settings], str | None]
"""Why no job can have these settings; None where one can."""


@dataclass(frozen=True)
class Step:
    """A row of the search: what was asked for, what came out of it so far, and what that means."""

    row: int
    settings: Settings
    trial: Trial | None
    verdict: str
    wanted: bool
    """Whether all its replicates are to be run."""

    def runs(self, replicate: int) -> bool:
        """Whether a replicate is to be run, or was."""
        return self.wanted or (self.trial is not None and replicate in self.trial.begun)


@dataclass(frozen=True)
class Course:
    """A search so far."""

    search: Search
    space: Space
    steps: tuple[Step, ...]
    start: Trial | None
    """Where a climb started; a model begins at no particular setting."""
    best: Trial | None
    over: str | None
    """Why there is nothing more to run."""

    @property
    def found(self) -> str:
        """The best setting and its response, in words."""
        if self.best is None:
            return "no setting that may be chosen was found"
        return f"the best is {self.space.told(self.best.settings)} with {self.search.minimize} {mean_of(self.best)}"

    @property
    def message(self) -> str:
        """Where it is, in a sentence."""
        if self.over is not None:
            return f"{_capital(self.over)}; {self.found}."
        so_far = f"; so far {self.found}" if self.best else ""
        tried = [step for step in self.steps if step.wanted and not (step.trial and step.trial.done)]
        more = f" and {len(tried) - 1} more" if len(tried) > 1 else ""
        return f"Trying row {tried[0].row} ({self.space.told(tried[0].settings)}){more}{so_far}."


def mean_of(trial: Trial) -> str:
    """The response of a trial with its standard error."""
    return f"{trial.mean:.4g}" if trial.error is None else f"{trial.mean:.4g} ± {trial.error:.2g}"


class _Book:
    """What was tried and what is asked for; settings that no job can have are answered at once."""

    def __init__(self, trials: Iterable[Trial], most_rows: int, refusal: Refusal) -> None:
        self.known = {trial.settings: trial for trial in trials}
        self.asked: dict[Settings, None] = {}
        self.full = False
        self._most_rows, self._refusal = most_rows, refusal

    @property
    def done(self) -> list[Trial]:
        """The trials that are done."""
        return [trial for trial in self.known.values() if trial.done]

    @property
    def waits(self) -> bool:
        """Whether something that was asked for is not done."""
        return any(settings not in self.known or not self.known[settings].done for settings in self.asked)

    def possible(self, settings: Settings) -> bool:
        """Whether a job can have these settings."""
        return self._refusal(settings) is None

    def ask(self, settings: Settings) -> Trial | None:
        """The trial of settings; None until it is done, or where there are no runs left for it."""
        if settings not in self.known and settings not in self.asked:
            refused = self._refusal(settings)
            if refused is not None:
                return Trial(row=-1, settings=settings, begun=frozenset(), done=True, refused=refused)
            if len(self.known.keys() | self.asked.keys()) >= self._most_rows:
                self.full = True
                return None
        self.asked[settings] = None
        trial = self.known.get(settings)
        return trial if trial and trial.done else None


@dataclass(frozen=True)
class _Outcome:
    """What a search makes of its trials."""

    best: Trial | None
    over: str | None = None
    start: Trial | None = None
    verdicts: Mapping[Settings, str] = field(default_factory=dict)


def course_of(spec: ExperimentSpec, begun: Iterable[Begun], refusal: Refusal) -> Course:
    """The course of an experiment's search, from what was begun.

    Raises:
        InputError: if the experiment asks for what cannot be searched.
    """
    search = search_of(spec)
    space = space_of(spec.factors, spec.design.seed)
    trials = trials_of(spec, begun)
    book = _Book(trials.values(), search.max_runs // spec.design.replications, refusal)
    if spec.design.type == "HillClimb":
        outcome = _climb(book, Climb(space, Judge(search, spec.analysis.alpha)))
    else:
        outcome = _explore(book, space, search, spec.design.replications)
    over = outcome.over
    if book.full and not book.waits:
        over = f"a further row would make more runs than maxRuns ({search.max_runs})"
    steps = _steps(search, book, outcome, trials)
    if not steps:
        raise InputError(f"no setting makes a job, for example {space.told(space.start)}: {refusal(space.start)}")
    return Course(search, space, steps, outcome.start, outcome.best, over)


def _climb(book: _Book, climb: Climb) -> _Outcome:
    """Climb again as far as trials are known."""
    asking = climb.asking()
    over = None
    try:
        start = trial = book.ask(next(asking))
        while trial is not None:
            trial = book.ask(asking.send(trial))
    except StopIteration as ended:
        over = str(ended.value)
    best = climb.best if climb.best and climb.best.problem(climb.judge.search) is None else None
    return _Outcome(best, over, start if start and start.has_values else None, climb.verdicts)


def _explore(book: _Book, space: Space, search: Search, replications: int) -> _Outcome:
    """The first rows and all that followed, and once nothing is open the one that a model advises."""
    first = first_rows(space, book.possible)
    for settings in (*first, *book.known):
        book.ask(settings)
    best = best_of(search, book.done)
    if book.waits or book.full:
        return _Outcome(best)
    advice = advise(space, search, book.done, best, replications=replications, first=len(first), possible=book.possible)
    if advice.ask is not None:
        book.ask(advice.ask)
    return _Outcome(best, advice.over)


def _steps(search: Search, book: _Book, outcome: _Outcome, trials: Mapping[int, Trial]) -> tuple[Step, ...]:
    """All rows by their number: those that were begun keep theirs, new ones take the lowest that are free."""
    rows = {trial.settings: row for row, trial in trials.items()}
    free = (row for row in itertools.count() if row not in trials)
    for settings in book.asked:
        if settings not in rows:
            rows[settings] = next(free)
    steps = []
    for settings, row in sorted(rows.items(), key=lambda item: item[1]):
        trial = trials.get(row)
        steps.append(
            Step(
                row=row,
                settings=settings,
                trial=trial,
                verdict=_verdict(search, outcome, settings, trial),
                wanted=settings in book.asked and not (trial and trial.failed),
            )
        )
    return tuple(steps)


def _verdict(search: Search, outcome: _Outcome, settings: Settings, trial: Trial | None) -> str:
    if trial is None or not trial.done:
        return "to be tried"
    told = outcome.verdicts.get(settings) or trial.problem(search) or ""
    best = outcome.best
    if best is not None and best.settings == settings:
        return f"the best: {told}" if told else "the best"
    if not told and best is not None and best.mean:
        return f"{100 * (trial.mean - best.mean) / abs(best.mean):+.1f} % from the best"
    return told


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
