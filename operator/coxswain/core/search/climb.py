"""HillClimb: start, double while the response falls, then small steps from the best.

One factor after the other is moved from the best setting so far: by large steps (doubled where the logarithm counts,
else each step twice the last) while each is enough of an improvement, then by small ones of a tenth. If the first step
in a direction does not pay, the other direction is tried. With several factors this goes round until a whole round
brings nothing. It is the learning-rate search of the BigDL study, which went upwards alone, for any factor.

A climb is written as a generator that asks for one setting at a time and is sent its trial. Run again from the start
with trials that are known, it comes to the same place.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from coxswain.core.designs.base import Settings
from coxswain.core.errors import InputError
from coxswain.core.search.judge import Judge
from coxswain.core.search.space import Space
from coxswain.core.search.trials import Trial

UP, DOWN = 1, -1

Asking = Generator[Settings, Trial, bool]
"""Asks for the trials of settings one by one; in the end tells whether any was better."""

_Step = Callable[[float, int, int], float | None]
"""The value after a step from a value, in a direction, after so many that were better; None where there is none."""


@dataclass
class Climb:
    """A climb under way: the best trial so far, and what became of each setting."""

    space: Space
    judge: Judge
    best: Trial | None = None
    verdicts: dict[Settings, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for factor in self.space.factors:
            if not factor.is_numeric:
                raise InputError(
                    f"factor {factor.name} has categories, and a HillClimb goes up and down in numbers; "
                    "use BayesianOptimization."
                )

    def asking(self) -> Generator[Settings, Trial, str]:
        """Asks for one trial after the other; in the end gives the reason why there is nothing more to ask."""
        start = self.space.start
        self.best = yield start
        self.verdicts[start] = self.best.problem(self.judge.search) or "the start"
        improved = True
        while improved:
            improved = False
            for place in range(len(self.space.axes)):
                improved |= yield from self._along(place)
            if len(self.space.axes) == 1:
                break
        if self.best.problem(self.judge.search) is not None:
            return "no setting that was tried may be chosen"
        least = self.judge.search.stop_when_improvement_below_percent
        by = f" by {least:g} % or more" if least else ""
        where = self.space.told(self.best.settings)
        return f"around {where} no step lowers {self.judge.search.minimize}{by} beyond chance"

    def _along(self, place: int) -> Asking:
        """Move one factor, by large steps and then by small ones."""
        axis = self.space.axes[place]
        large = yield from self._either_way(place, axis.large_step)
        small = yield from self._either_way(place, lambda value, direction, _: axis.small_step(value, direction, large))
        return large + small > 0

    def _either_way(self, place: int, step: _Step) -> Generator[Settings, Trial, int]:
        """How many steps up were better, or if none was, how many down."""
        for direction in (UP, DOWN):
            better = yield from self._walk(place, direction, step)
            if better:
                return better
        return 0

    def _walk(self, place: int, direction: int, step: _Step) -> Generator[Settings, Trial, int]:
        """Steps in one direction while each is better by enough; how many were better."""
        better = 0
        while self.best is not None:
            value = step(float(self.best.settings[place]), direction, better)
            if value is None:
                break
            settings = (*self.best.settings[:place], value, *self.best.settings[place + 1 :])
            trial = yield settings
            judgement = self.judge.compare(trial, self.best)
            self.verdicts.setdefault(settings, judgement.sentence)
            if judgement.better:
                self.best, better = trial, better + 1
            if not judgement.enough:
                break
        return better
