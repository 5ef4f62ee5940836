"""What all kinds of design share: their common options, and the draft that each kind makes of its factors.

A kind of design is a frozen value of options with one method, `draft`, which turns factors into rows. Everything else
(centre points, blocks, replicates, the order of the runs) is the same for all kinds and happens in `build`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from coxswain.core.api.design import MOST_RUNS
from coxswain.core.designs.words import Fraction
from coxswain.core.errors import InputError
from coxswain.core.factors import Factor, Level

Settings = tuple[Level, ...]
"""One value per factor, in the order of the factors."""


class Order(StrEnum):
    """In which order the runs are made."""

    RANDOM = "Random"
    STANDARD = "Standard"


@dataclass(frozen=True)
class Draft:
    """The rows of a design before centre points, and what is known about them."""

    rows: tuple[Settings, ...]
    fraction: Fraction | None = None
    """How effects are aliased, if the rows are a regular two-level design."""
    center_points: int = 0
    """How many centre points this kind of design usually has."""
    notes: tuple[str, ...] = ()
    earlier: tuple[Settings, ...] = ()
    """Runs already done, which are to be analysed together with these."""
    d_efficiency: float | None = None


@dataclass(frozen=True, kw_only=True)
class DesignOptions(ABC):
    """The options that every kind of design takes."""

    least_factors: ClassVar[int] = 1

    replications: int = 1
    order: Order = Order.RANDOM
    seed: int = 0
    center_points: int = 0
    """Rows at the centre; 0 is what the kind of design usually has, which may be none."""
    blocks: int = 1

    def __post_init__(self) -> None:
        for name, value, least in (
            ("replications", self.replications, 1),
            ("blocks", self.blocks, 1),
            ("centerPoints", self.center_points, 0),
            ("seed", self.seed, 0),
        ):
            if value < least:
                raise InputError(f"{name} is {value}; give {least} or more.")

    @property
    def kind(self) -> str:
        """The name of the kind of design."""
        return type(self).__name__

    def squared(self, factors: Sequence[Factor]) -> tuple[int, ...]:  # noqa: ARG002 - designs for curves use them
        """The factors, by index, whose squares the design is made to estimate."""
        return ()

    @abstractmethod
    def draft(self, factors: Sequence[Factor]) -> Draft:
        """The rows for these factors; pure, and the same for the same options."""

    def require_room(self, rows: int) -> None:
        """Refuse a design that is too large before it is made."""
        if rows * self.replications > MOST_RUNS:
            raise InputError(
                f"{self.kind} makes {rows} rows x {self.replications} replications = {rows * self.replications} runs, "
                f"more than {MOST_RUNS}; use fewer factors, levels or replications, or a fraction."
            )

    def require_numeric(self, factors: Sequence[Factor]) -> None:
        """Refuse categories in a design that needs values between the levels."""
        for factor in factors:
            if not factor.is_numeric:
                raise InputError(
                    f"factor {factor.name} has categories, but {self.kind} needs values between the levels; "
                    "use FullFactorial or DOptimal, or leave it out."
                )
