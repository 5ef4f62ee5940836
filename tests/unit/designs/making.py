"""Factors and coded tables for the tests of designs."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coxswain.core.designs import Design
from coxswain.core.factors import Factor

GOLDEN = Path(__file__).parents[2] / "golden" / "designs"


def factors(count: int, levels: Sequence[float] = (1, 3)) -> list[Factor]:
    return [Factor(f"f{index}", levels=tuple(levels)) for index in range(count)]


def coded(design: Design) -> NDArray[np.float64]:
    return np.array([list(row.coded.values()) for row in design.rows], dtype=float)


def published(name: str) -> NDArray[np.float64]:
    with (GOLDEN / name).open(encoding="utf-8") as file:
        return np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
