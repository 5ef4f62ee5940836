"""The operational-law model of Courier: a job goes round between CPU and disk, once a batch.

A job makes N = epochs / batch size rounds (times the samples, a constant). Each round takes a CPU demand S, which
nobody waits for, and the response time of the disk, 1 / (mu - lambda): the disk is an M/M/1 queue whose arrival rate
grows with the number of processes and whose service rate is linear in batch size and processes. Courier isolates the
rate, r = 1 / (T / N - S), and regresses it on batch size and processes; so does this, by relative errors, because
rates differ by orders of magnitude. It takes the CPU demand from the throughput logs; here its share of the fastest
round seen is tried like any other hyperparameter.

Which factor is which is read from its name; a factor of another name plays no part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coxswain.core.factors import Factor
from coxswain.core.models.families.base import Measured, Setting, Spread, Value
from coxswain.core.models.observations import Rows
from coxswain.core.models.scales import Scale
from coxswain.core.models.types import Floats

BATCH = ("batch",)
EPOCHS = ("epoch",)
PROCESSES = ("core", "cpu", "executor", "job", "process", "concurr", "parallel", "worker")
# A rate is never taken as lower than this share of the slowest one seen: the queue would be about to overflow.
SLOWEST = 0.1


@dataclass(frozen=True)
class OperationalFamily:
    """CPU demand and disk queue."""

    name: str = "operational"

    def axes(self, rows: Rows) -> Mapping[str, Sequence[Value]]:
        """The CPU's share of the fastest round; only for a positive response and factors that are known by name."""
        named = _columns(rows.factors, (*BATCH, *EPOCHS, *PROCESSES))
        if rows.scale is Scale.LOGIT or not named or np.any(rows.scale.inverse(rows.values) <= 0):
            return {}
        return {"scale": [Scale.LOG], "cpu_share": (0.5, 0.0, 0.25, 0.75, 0.9)}

    def fit(self, rows: Rows, setting: Setting, spread: Spread | None = None) -> "OperationalRegressor":
        """Regress the rates of the disk on batch size and processes."""
        batch, epochs, processes = _roles(rows.factors, rows.settings)
        per_round = np.exp(rows.mean) * batch / epochs
        demand = float(setting["cpu_share"]) * float(per_round.min())
        rates = 1 / (per_round - demand)
        matrix = np.column_stack([np.ones(len(rows)), batch, processes])
        relative = np.linalg.lstsq(matrix / rates[:, None], np.ones(len(rows)), rcond=None)[0]
        coefficients = np.asarray(relative, dtype=float)
        measured = spread or Spread(0.0, float(np.var(rows.mean)))
        slowest = SLOWEST * float(rates.min())
        return OperationalRegressor(rows.factors, demand, coefficients, slowest, spread=measured, dof=len(rows) - 4.0)


@dataclass(frozen=True, eq=False)
class OperationalRegressor(Measured):
    """A CPU demand a round and the coefficients of the disk's rate."""

    factors: tuple[Factor, ...]
    demand: float
    coefficients: Floats
    slowest: float

    def mean(self, settings: Floats) -> Floats:
        """Logarithm of the duration: rounds times the time of one."""
        batch, epochs, processes = _roles(self.factors, settings)
        rate = np.column_stack([np.ones(len(settings)), batch, processes]) @ self.coefficients
        per_round = self.demand + 1 / np.maximum(rate, self.slowest)
        return np.asarray(np.log(per_round * epochs / batch), dtype=float)


def _columns(factors: Sequence[Factor], words: Sequence[str]) -> list[int]:
    return [
        index
        for index, factor in enumerate(factors)
        if factor.is_numeric and factor.levels[0] > 0 and any(word in factor.name.lower() for word in words)
    ]


def _roles(factors: Sequence[Factor], settings: Floats) -> tuple[Floats, Floats, Floats]:
    """Batch size, epochs and processes of each setting; 1 where no factor says."""

    def product(words: Sequence[str]) -> Floats:
        return np.asarray(np.prod(settings[:, _columns(factors, words)], axis=1), dtype=float)

    return product(BATCH), product(EPOCHS), product(PROCESSES)


OPERATIONAL = OperationalFamily()
