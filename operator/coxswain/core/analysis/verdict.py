"""How a check is told: what was tested, whether it holds, and a sentence that says so in plain words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """The outcome of one check; `ok` is None where it cannot be made, and the sentence says why."""

    name: str
    test: str
    ok: bool | None
    sentence: str
    statistic: float | None = None
    p: float | None = None
    rows: tuple[str, ...] = ()


def p_text(p: float) -> str:
    """A p-value as people read it."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(labels: tuple[str, ...], most: int = 6) -> str:
    """The first few of a list, and how many more there are."""
    shown = ", ".join(labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} more"
