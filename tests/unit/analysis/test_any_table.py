"""Whatever the table, an analysis ends in numbers and sentences, or in one sentence that says what is wrong."""

import json

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.core.analysis import SumsOfSquares, analyze, document, interactions
from coxswain.core.dataset import make_dataset
from coxswain.core.errors import InputError

columns = st.sampled_from([(1.0, 2.0), (0.0, 1.0, 5.0), (-3.0, 0.5, 2.0, 8.0), ("x", "y"), ("x", "y", "z")])
responses = st.sampled_from(["normal", "integers", "constant", "exact", "huge", "tiny"])


def response(kind: str, table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    rows = len(table)
    values = {
        "normal": rng.normal(size=rows),
        "integers": rng.integers(0, 3, rows).astype(float),
        "constant": np.full(rows, 7.0),
        "exact": table.iloc[:, 0].astype("category").cat.codes.to_numpy(dtype=float) * 3 + 1,
        "huge": rng.normal(1e12, 1e9, rows),
        "tiny": rng.normal(1e-9, 1e-12, rows),
    }
    return values[kind]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """A table with one to four factors, a response of some kind, and moments at which some rows ran together."""
    levels = draw(st.lists(columns, min_size=1, max_size=4))
    rows = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = pd.DataFrame({name: rng.choice(values, rows) for name, values in zip("abcd", levels, strict=False)})
    table["response"] = response(draw(responses), table, rng)
    table["moment"] = rng.integers(0, max(rows // 3, 1), rows)
    return table


@settings(max_examples=60, deadline=None)
@given(
    table=tables(),
    order=st.integers(1, 3),
    grouped=st.booleans(),
    reduce=st.booleans(),
    kind=st.sampled_from(SumsOfSquares),
)
def test_an_analysis_or_one_sentence(
    *, table: pd.DataFrame, order: int, grouped: bool, reduce: bool, kind: SumsOfSquares
) -> None:
    sentences: list[str] = []
    try:
        data = make_dataset(table, "response", list(table.columns[:-2]), group="moment" if grouped else None)
        found = document(analyze(data, interactions(data.factors, order), kind=kind, reduce=reduce))
    except InputError as error:
        sentences.append(str(error))
    else:
        json.dumps(found, allow_nan=False)
        assert all(row["sum_sq"] >= -1e-9 * found["anova"][-1]["sum_sq"] for row in found["anova"])
        sentences += [check["sentence"] for check in found["checks"]] + found["notes"]
    for sentence in sentences:
        assert sentence.endswith(".")
        assert "\n" not in sentence
