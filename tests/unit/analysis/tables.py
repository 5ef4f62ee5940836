"""Tables that several tests of the analysis use."""

import itertools

import numpy as np
import pandas as pd

from coxswain.core.analysis.fit import Fit, fit_terms
from coxswain.core.analysis.formula import parse_formula
from coxswain.core.analysis.sample import rows_as_sample
from coxswain.core.dataset import Dataset, make_dataset


def unbalanced(seed: int = 0, rows: int = 60) -> pd.DataFrame:
    """Numbers, categories and two levels, in no balance at all."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "cores": rng.choice([1.0, 2.0, 4.0, 8.0], rows),
            "batch": rng.choice([32.0, 256.0], rows),
            "net": rng.choice(["deep", "shallow", "wide"], rows),
        }
    )
    effect = table["net"].map({"deep": 3.0, "shallow": -1.0, "wide": 0.5})
    table["time"] = 20 - 1.5 * table["cores"] + 0.01 * table["batch"] + effect * table["cores"] / 4
    table["time"] += rng.normal(0, 1, rows)
    return table


def factorial(effects: dict[str, float], *, replicates: int = 1, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """A 2^4 design in coded units whose response has given coefficients, such as {"a": 2, "ab": 1}."""
    rng = np.random.default_rng(seed)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)) * replicates)
    table = pd.DataFrame(signs, columns=list("abcd"))
    table["y"] = 10.0 + rng.normal(0, 1, len(table)) * noise
    for letters, effect in effects.items():
        table["y"] += effect * table[list(letters)].prod(axis=1)
    return table


def fitted(data: Dataset, formula: str) -> Fit:
    """The fit of a formula to every row."""
    return fit_terms(rows_as_sample(data), data.factors, parse_formula(formula, data.factors))


def fitted_table(table: pd.DataFrame, response: str, formula: str, factors: list[str] | None = None) -> Fit:
    """The fit of a formula to a table whose other columns are the factors."""
    names = factors or [name for name in table.columns if name != response]
    return fitted(make_dataset(table, response, names), formula)
