"""When families are learned: at once if nothing is known of them yet, and else a while after what is new."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from coxswain.core.forecasts.learning import FamilyModel
from coxswain.core.ledger.entry import Entry
from coxswain.shell.learning import Learning
from coxswain.shell.metrics import Metrics

if TYPE_CHECKING:
    from coxswain.shell.ledger import Ledger
    from coxswain.shell.processes import Processes

AN_HOUR = 3600.0


class Nothing:
    """A ledger without entries, and processes that are this one."""

    def entries(self, _family: str) -> Sequence[Entry]:
        return ()

    async def run(self, work: Callable[..., Any], *given: Any) -> Any:
        return work(*given)


def test_a_family_that_is_asked_about_for_the_first_time_is_learned_at_once() -> None:
    learned: list[str] = []

    async def play() -> tuple[FamilyModel | None, FamilyModel | None]:
        world = Nothing()
        learning = Learning(cast("Ledger", world), cast("Processes", world), Metrics(), AN_HOUR, learned.append)
        running = asyncio.create_task(learning.run())
        # An observation of another family is waited with, and is no reason to wait with this one.
        learning.changed("other")
        await asyncio.sleep(0)
        before = learning.of("new")
        learning.of("new")
        for _ in range(20):
            await asyncio.sleep(0)
        learning.changed("new")
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        return before, learning.of("new")

    before, after = asyncio.run(play())
    assert (before, after and after.runs) == (None, 0)
    assert learned == ["new", "other"]
