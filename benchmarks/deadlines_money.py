"""What runs cost, and money in the value of a job: alone, or against accuracy.

A run costs its workers' cores for as long as it took, as they are charged by the hour. Least cost is worth what it does
not cost. Accuracy less money is worth accuracy - l * cost; l is the standard deviation of the accuracy over that of
the cost, both over the whole table, so that neither part alone decides. The price itself then makes no difference.
"""

import pandas as pd

from coxswain.core.cost import Prices, Reserved

PRICES = Prices(core_hour=0.05)
LEAST_COST, ACCURACY_LESS_MONEY = "least cost", "accuracy less money"


def priced(table: pd.DataFrame, *, workers: str, cores: str, seconds: str, accuracy: str) -> pd.DataFrame:
    """The table with both values; the others name its columns."""
    cost = pd.Series(
        [
            PRICES.of_run(Reserved(cores=each, workers=int(count)), lasted)
            for count, each, lasted in zip(table[workers], table[cores], table[seconds], strict=True)
        ],
        index=table.index,
    )
    trade = table[accuracy].std() / cost.std()
    return table.assign(**{LEAST_COST: -cost, ACCURACY_LESS_MONEY: table[accuracy] - trade * cost})
