"""A design: which settings to run, how often, and in which order.

A row is one combination of settings, a run is one replicate of a row. A design is never stored row by row: it is
computed again from factors and options whenever it is needed, so the same options must give the same rows and the same
order everywhere and always. Its digest shows whether they did.

Rows, replicates, blocks and positions are counted from 0.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from coxswain.core.designs.base import DesignOptions, Order, Settings
from coxswain.core.designs.words import Fraction, Word
from coxswain.core.factors import Factor, Level, letters


@dataclass(frozen=True)
class Row:
    """One combination of settings."""

    index: int
    settings: Mapping[str, Level]
    coded: Mapping[str, float | None]
    """-1 at a factor's lowest level, +1 at its highest; None for a category between the first and the last."""
    is_center: bool = False
    block: int | None = None
    """The block of all its runs; None where each block holds whole replicates."""


@dataclass(frozen=True)
class Run:
    """One replicate of a row, at its place in the order."""

    position: int
    row: int
    replicate: int
    block: int


@dataclass(frozen=True)
class Design:
    """Rows with what is known about them; `build` makes it."""

    factors: tuple[Factor, ...]
    options: DesignOptions
    rows: tuple[Row, ...]
    fraction: Fraction | None = None
    """How effects are aliased, if this is a regular two-level design."""
    confounded: tuple[Word, ...] = ()
    """The effects that cannot be told from differences between blocks."""
    notes: tuple[str, ...] = ()
    earlier: tuple[Settings, ...] = ()
    """Runs already done, which are to be analysed together with these."""
    d_efficiency: float | None = None
    """Of a DOptimal design: 1 would be orthogonal and balanced."""

    @property
    def run_count(self) -> int:
        """How many runs the design has."""
        return len(self.rows) * self.options.replications

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs in their order: block after block, within a block as `order` says.

        In random order a run's place among the others follows from the seed, its row and its replicate alone, by a
        cryptographic hash. So no library's next version shuffles a running experiment, and adding a replicate or a
        centre point leaves the order of the others as it was.
        """
        keys = [
            (self._block(row, replicate), self._lot(row.index, replicate), replicate, row.index)
            for row in self.rows
            for replicate in range(self.options.replications)
        ]
        return tuple(
            Run(position, row, replicate, block) for position, (block, _, replicate, row) in enumerate(sorted(keys))
        )

    def _block(self, row: Row, replicate: int) -> int:
        if row.block is not None:
            return row.block
        return replicate * self.options.blocks // self.options.replications

    def _lot(self, row: int, replicate: int) -> bytes:
        if self.options.order is Order.STANDARD:
            return b""
        return hashlib.sha256(f"{self.options.seed}/{row}/{replicate}".encode()).digest()

    @property
    def resolution(self) -> int | None:
        """The resolution of a regular fraction; None for other designs and full factorials."""
        return self.fraction.resolution if self.fraction else None

    @property
    def letters(self) -> Mapping[str, str]:
        """Which letter stands for which factor in generators and aliases; empty where there are none."""
        return dict(zip(letters(len(self.factors)), self._names, strict=True)) if self.fraction else {}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(factor.name for factor in self.factors)

    @cached_property
    def digest(self) -> str:
        """A hash over every row's settings and what the order of the runs follows from.

        It does not depend on the number of replications: raising it adds runs to the same experiment.
        """
        content = {
            "rows": [{name: _canonical(value) for name, value in row.settings.items()} for row in self.rows],
            "blocks": [row.block for row in self.rows],
            "order": [self.options.order, self.options.seed if self.options.order is Order.RANDOM else None],
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _canonical(value: Level) -> str:
    return f"={value}" if isinstance(value, str) else f"{value:.10g}"
