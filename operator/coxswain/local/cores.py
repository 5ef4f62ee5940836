"""Which worker may use which cores of this machine.

A whole core belongs to one worker. Fractions share: two workers of half a core each are pinned to the same one, and
together they cannot use more of it than there is. A fraction alone is not held back, though: only a container can cap
a process at half a core.
"""

from collections.abc import Iterable, Mapping, Sequence

Share = Mapping[int, int]
"""What a worker has of which core, in thousandths."""

_WHOLE = 1000


class Cores:
    """The cores of this machine and what of them is taken."""

    def __init__(self, cores: Iterable[int]) -> None:
        self._free = dict.fromkeys(cores, _WHOLE)

    def take(self, wanted: Sequence[float]) -> list[Share] | None:
        """A share for each worker of so many cores each, all of them at once, or None if there is no room now."""
        free = dict(self._free)
        shares: list[Share] = []
        for cores in wanted:
            share = _choose(free, round(cores * _WHOLE))
            if share is None:
                return None
            for core, part in share.items():
                free[core] -= part
            shares.append(share)
        self._free = free
        return shares

    def give_back(self, shares: Iterable[Share]) -> None:
        """Return what was taken."""
        for share in shares:
            for core, part in share.items():
                self._free[core] += part


def _choose(free: Mapping[int, int], wanted: int) -> Share | None:
    """Whole cores, and for the rest the core that is fullest already, so that whole ones stay whole."""
    whole, rest = divmod(wanted, _WHOLE)
    untouched = [core for core, left in free.items() if left == _WHOLE]
    share = dict.fromkeys(untouched[:whole], _WHOLE)
    if len(share) < whole:
        return None
    if rest:
        roomy = [core for core, left in free.items() if core not in share and left >= rest]
        if not roomy:
            return None
        share[min(roomy, key=lambda core: free[core])] = rest
    return share
