"""Factors and designs as an experiment's spec gives them: what is varied, and which combinations are run."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from coxswain.core.api.fields import Kind, kind_of
from coxswain.core.api.values import Model, Seed, distinct
from coxswain.core.factors import Coding, Factor

MOST_RUNS = 10_000
"""More runs than this are a mistake in the spec, not an experiment."""

SEARCHES = frozenset({"HillClimb", "BayesianOptimization"})

DesignType = Literal[
    "FullFactorial",
    "FractionalFactorial",
    "PlackettBurman",
    "DefinitiveScreening",
    "CentralComposite",
    "BoxBehnken",
    "LatinHypercube",
    "DOptimal",
    "Rows",
    "HillClimb",
    "BayesianOptimization",
]
LevelNumber = Annotated[float, Field(ge=-(10**9), le=10**9)]
ResponseName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-zA-Z0-9_]*$", max_length=32)]
Generator = Annotated[
    str,
    StringConstraints(
        pattern=r"^([A-HJ-Z]=[+-]?[A-HJ-Z]{2,24}|[a-z][a-z0-9_]*=[+-]?[a-z][a-z0-9_]*([*][a-z][a-z0-9_]*)+)$",
        max_length=256,
    ),
]


class FactorSpec(Model):
    """One factor with its levels (numbers) or categories (names), and the field of the job that it sets."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=32)
    field: str = Field(max_length=80)
    levels: tuple[LevelNumber, ...] | None = Field(None, min_length=2, max_length=32)
    categories: tuple[Annotated[str, StringConstraints(min_length=1, max_length=63)], ...] | None = Field(
        None, min_length=2, max_length=32
    )
    coding: Coding = Coding.LINEAR

    @field_validator("field")
    @classmethod
    def _field_exists(cls, field: str) -> str:
        if kind_of(field) is None:
            raise ValueError(
                "a factor sets one of the fields of parameters, resources, resources.spark, workload or "
                "workload.ingest, parameters.extra.NAME, or concurrency"
            )
        return field

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        if (self.levels is None) == (self.categories is None):
            raise ValueError("give exactly one of levels (numbers) and categories (names)")
        distinct(self.levels or (), "levels must be distinct")
        distinct(self.categories or (), "categories must be distinct")
        if self.coding is Coding.LOG and (not self.levels or min(self.levels) <= 0):
            raise ValueError("coding Log needs levels above 0")
        kind = kind_of(self.field)
        if kind is not Kind.TEXT and (self.categories is not None) != (kind in {Kind.CATEGORY, Kind.SWITCH}):
            raise ValueError(
                "give categories for optimizer, schedule, network, dataset, strategy, ingest.format and ingest.cache, "
                "and levels for every other field"
            )
        if self.levels and kind is not Kind.TEXT:
            self._levels_fit(self.levels, kind)
        return self

    def _levels_fit(self, levels: tuple[float, ...], kind: Kind | None) -> None:
        lowest = min(levels)
        if lowest < 0 or (lowest == 0 and self.field != "resources.gpusPerWorker"):
            raise ValueError("levels of this field must be above 0")
        if kind is Kind.WHOLE and any(level != int(level) for level in levels):
            raise ValueError("levels of this field must be whole numbers")

    def factor(self) -> Factor:
        """The factor as designs and analyses know it."""
        return Factor(
            self.name,
            levels=self.levels or (),
            categories=self.categories or (),
            coding=self.coding,
            whole=self.levels is not None and kind_of(self.field) is Kind.WHOLE,
        )


class Setting(Model):
    """The value of one factor in a row."""

    name: str = Field(max_length=32)
    level: LevelNumber | None = None
    category: str | None = Field(None, max_length=63)

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if (self.level is None) == (self.category is None):
            raise ValueError("give exactly one of level and category")
        return self


class Row(Model):
    """A combination of factors' values."""

    settings: tuple[Setting, ...] = Field(min_length=1, max_length=25)

    @field_validator("settings")
    @classmethod
    def _names_differ(cls, settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
        distinct(tuple(setting.name for setting in settings), "Duplicate value: a factor is set twice in a row")
        return settings


class Limit(Model):
    """A bound that a setting must keep to be eligible."""

    response: ResponseName
    at_most: float = Field(allow_inf_nan=False)


class Search(Model):
    """How a HillClimb or a BayesianOptimization searches."""

    minimize: ResponseName
    max_runs: int = Field(50, ge=1, le=MOST_RUNS)
    stop_when_improvement_below_percent: float = Field(10, ge=0, le=100)
    limit: Limit | None = None
    recurrences: int = Field(1, ge=1, le=1000000)


class DesignOptions(Model):
    """Which combinations of levels are run, how often and in which order."""

    type: DesignType
    generators: tuple[Generator, ...] | None = Field(None, min_length=1, max_length=20)
    resolution: int | None = Field(None, ge=3, le=8)
    fold_over: str | None = Field(None, pattern=r"^(All|[a-z][a-z0-9_]*)$", max_length=32)
    replications: int = Field(1, ge=1, le=1000)
    order: Literal["Random", "Standard"] = "Random"
    seed: Seed = 0
    center_points: int = Field(0, ge=0, le=100)
    blocks: int = Field(1, ge=1, le=64)
    runs: int | None = Field(None, ge=2, le=MOST_RUNS)
    model: Literal["Main", "Interactions", "Quadratic"] | None = None
    alpha: Literal["Rotatable", "Orthogonal", "Face"] | None = None
    inscribed: bool | None = None
    rows: tuple[Row, ...] | None = Field(None, min_length=1, max_length=256)
    exclude: tuple[Row, ...] | None = Field(None, min_length=1, max_length=64)
    search: Search | None = None

    @model_validator(mode="after")
    def _options_fit_the_type(self) -> Self:
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        if len(given & {"generators", "resolution"}) != (self.type == "FractionalFactorial"):
            raise ValueError(
                "a FractionalFactorial needs exactly one of generators and resolution; other types take neither"
            )
        if (
            "runs" not in given
            if self.type in {"LatinHypercube", "DOptimal"}
            else self._stray("runs", "PlackettBurman")
        ):
            raise ValueError(
                "LatinHypercube and DOptimal need runs, PlackettBurman may have it; other types do not take it"
            )
        if "rows" not in given if self.type == "Rows" else self._stray("rows", "DOptimal"):
            raise ValueError("a design of type Rows needs rows, DOptimal may have them; other types do not take them")
        if self._stray("model", "DOptimal") or self._stray("exclude", "DOptimal"):
            raise ValueError("model and exclude are only for type DOptimal")
        if self._stray("alpha", "CentralComposite") or self._stray("inscribed", "CentralComposite"):
            raise ValueError("alpha and inscribed are only for type CentralComposite")
        if self.fold_over is not None and self.type not in {"FractionalFactorial", "PlackettBurman"}:
            raise ValueError("foldOver is only for types FractionalFactorial and PlackettBurman")
        if (self.type in SEARCHES) != ("search" in given):
            raise ValueError("HillClimb and BayesianOptimization need search; other types do not take it")
        return self

    def _stray(self, option: str, only_type: str) -> bool:
        """Whether an option is given to a type that does not take it."""
        return getattr(self, option) is not None and self.type != only_type
