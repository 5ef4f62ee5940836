"""How plans speak of settings, amounts and spans of time."""

import math
from collections.abc import Mapping

from coxswain.core.factors import Level
from coxswain.core.planning.values import Capacity

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def told_settings(settings: Mapping[str, Level]) -> str:
    """Settings by their names: `epochs 3, batchSize 64`."""
    return ", ".join(
        f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}" for name, value in settings.items()
    )


def told_amount(capacity: Capacity) -> str:
    """Cores, and GPUs where there are any."""
    cores = f"{capacity.cores / 1000:g} core{'' if capacity.cores == 1000 else 's'}"
    return f"{cores} and {capacity.gpus} GPU{'' if capacity.gpus == 1 else 's'}" if capacity.gpus else cores


def told_span(seconds: float) -> str:
    """Seconds in a unit that people think in, rounded up so that what is told is enough."""
    for unit, name in ((_DAY, "days"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{math.ceil(10 * seconds / unit) / 10:g} {name}"
    return f"{math.ceil(seconds)} s"
