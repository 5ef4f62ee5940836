"""The families' models, kept up to date: refitted in other processes some while after the ledger has changed."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from coxswain.core.forecasts.learning import FamilyModel, learn
from coxswain.shell.ledger import Ledger
from coxswain.shell.metrics import Metrics
from coxswain.shell.processes import Processes

_log = logging.getLogger("coxswain")


class Learning:
    """Models by the key of their family. A family that nobody asked about is not learned."""

    def __init__(
        self, ledger: Ledger, processes: Processes, metrics: Metrics, debounce: float, learned: Callable[[str], None]
    ) -> None:
        self._ledger, self._processes, self._metrics = ledger, processes, metrics
        self._debounce, self._learned = debounce, learned
        self._models: dict[str, FamilyModel] = {}
        self._stale: set[str] = set()
        self._news = asyncio.Event()
        self._asked: set[str] = set()
        self._unknown = asyncio.Event()

    def of(self, family: str) -> FamilyModel | None:
        """What a family's observations taught; None until that is known, which it will be soon."""
        if family not in self._models and family not in self._asked:
            self._asked.add(family)
            self._unknown.set()
            self.changed(family)
        return self._models.get(family)

    def changed(self, family: str) -> None:
        """The ledger has other observations of a family now."""
        self._stale.add(family)
        self._news.set()

    async def run(self) -> None:
        """Learn for ever what has changed."""
        while True:
            await self._news.wait()
            # Observations often come several at a time. A family that is asked about for the first time is not kept
            # waiting for that: its jobs do not start before it is known what it has taught.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._unknown.wait(), self._debounce)
            self._news.clear()
            self._unknown.clear()
            families, self._stale = self._stale, set()
            for family in sorted(families):
                await self._learn(family)

    async def _learn(self, family: str) -> None:
        entries = list(self._ledger.entries(family))
        began = time.monotonic()
        try:
            self._models[family] = await self._processes.run(learn, entries)
        except Exception:  # noqa: BLE001 - whatever a model chokes on, jobs go on without a forecast
            self._metrics.model_fit_failures.inc()
            _log.exception("the models of family %s could not be fitted", family)
            self._models[family] = FamilyModel(len(entries), problem="its models could not be fitted.")
        self._metrics.model_fit_duration.observe(time.monotonic() - began)
        self._metrics.families_drifting.set(sum(each.drifting for each in self._models.values()))
        self._learned(family)
