"""When to end before the last epoch: because somebody asked, or because nothing gets better.

A wish to stop reaches the processes at different moments, but they must leave a synchronous training at the same
step, or those who stay wait for those who left. So they ask each other now and then, about twice a second; how many
steps that is they work out from the slowest one's pace, which makes it the same number for all.
"""

import math
import time
from collections.abc import Callable, Sequence

from coxswain.worker.report import Epoch
from coxswain.worker.torch.world import World

_EVERY_SECONDS = 0.5
_MOST_STEPS = 1000


class Stopper:
    """Asked after every step; the answer is the same in all processes that share their gradients."""

    def __init__(self, world: World, wanted: Callable[[], bool]) -> None:
        self._world, self._wanted = world, wanted
        self._steps, self._next = 0, 1
        self._asked = time.perf_counter()

    def now(self, loss: Callable[[], float]) -> bool:
        """Whether to leave the epoch here: somebody wants it, or the loss is no number any more."""
        self._steps += 1
        if self._steps < self._next:
            return False
        now = time.perf_counter()
        pace = (now - self._asked) / self._steps
        hopeless = not math.isfinite(loss())
        stop, pace = self._world.most([float(self._wanted() or hopeless), pace])
        self._steps, self._asked = 0, now
        self._next = max(1, min(_MOST_STEPS, round(_EVERY_SECONDS / max(pace, 1e-6))))
        return stop > 0


def no_better(history: Sequence[Epoch], patience: int) -> bool:
    """Whether the validation loss has not reached a new low in so many epochs; patience 0 waits for ever."""
    losses = [row.loss for row in history if row.loss is not None]
    return 0 < patience < len(losses) and min(losses[-patience:]) >= min(losses[:-patience])
