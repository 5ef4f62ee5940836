"""Whether one setting is better than another, or only seems so.

The means of a few runs differ even where nothing differs. Where both settings were run more than once, a lower mean
counts only if chance alone would hardly give it (Welch's test, one-sided, at the experiment's alpha: the runs of a slow
setting may scatter more than those of a fast one). With a single run of each the mean is all there is.
"""

import math
from dataclasses import dataclass
from statistics import stdev

from scipy import stats

from coxswain.core.api.design import Search
from coxswain.core.search.trials import Trial


@dataclass(frozen=True)
class Judgement:
    """Whether a setting is better, whether by enough to go on in its direction, and why, in words."""

    better: bool
    enough: bool
    sentence: str


@dataclass(frozen=True)
class Judge:
    """How settings are compared."""

    search: Search
    alpha: float

    def compare(self, new: Trial, best: Trial) -> Judgement:
        """Whether a new setting is better than the best one so far."""
        problem = new.problem(self.search)
        if problem is not None:
            return Judgement(better=False, enough=False, sentence=problem)
        if best.problem(self.search) is not None:
            return Judgement(better=True, enough=True, sentence="the first that may be chosen")
        fall = best.mean - new.mean
        if fall <= 0:
            return Judgement(better=False, enough=False, sentence=f"no lower than {best.mean:.4g}")
        percent = 100 * fall / abs(best.mean) if best.mean else math.inf
        lower = f"{percent:.1f} % lower"
        by_chance = _p(new, best)
        if by_chance > self.alpha:
            sentence = f"{lower}, which may be chance (p = {by_chance:.2f})"
            return Judgement(better=False, enough=False, sentence=sentence)
        return Judgement(better=True, enough=percent >= self.search.stop_when_improvement_below_percent, sentence=lower)


def _p(new: Trial, best: Trial) -> float:
    """How often chance alone would make the new mean so much lower; 0 where no runs tell how much chance does."""
    if min(len(new.values), len(best.values)) < 2:
        return 0.0
    spreads = stdev(new.values), stdev(best.values)
    if not any(spreads):
        return 0.0
    tested = stats.ttest_ind_from_stats(
        new.mean,
        spreads[0],
        len(new.values),
        best.mean,
        spreads[1],
        len(best.values),
        equal_var=False,
        alternative="less",
    )
    return float(tested.pvalue)
