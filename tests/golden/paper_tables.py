"""The transcribed tables, read once."""

from pathlib import Path

import numpy as np
import pandas as pd

PAPERS = Path(__file__).parent / "papers"


def paper_table(name: str) -> pd.DataFrame:
    """A transcribed table by its file's name."""
    return pd.read_csv(PAPERS / f"{name}.csv")


def bigdl_costs() -> pd.DataFrame:
    """All 320 costs, with the number of the run each belongs to."""
    costs = paper_table("bigdl_2k6-1_cost")
    return costs.assign(run=np.repeat(np.arange(1, 33), 10))


def bigdl_costs_as_analysed() -> pd.DataFrame:
    """The 300 costs the paper analysed: runs 2 and 3 are not among them."""
    costs = bigdl_costs()
    return costs[~costs["run"].isin([2, 3])]
