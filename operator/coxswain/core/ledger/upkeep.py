"""Upkeep: putting single entries together into chunks, and letting go of what is too old.

A chunk is created before the entries in it are deleted one by one. Whoever stops in between leaves entries that are
there twice; these are read once, and the next round removes them. Chunks are dropped whole, the oldest first, and only
when a family's younger entries are as many as are to be kept: what is forgotten is never something that a living
experiment still counts on.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping

from coxswain.core.ledger.entry import Entry, Key
from coxswain.core.ledger.objects import Stored

MOST_SINGLES = 200
"""So many single entries of a family are put together. More would make listing slow, fewer would make many chunks."""


def superseded(stored: Iterable[Stored]) -> list[Stored]:
    """Single entries that a chunk holds as well: what a round that was cut short has left."""
    everything = list(stored)
    chunked = {entry.key for each in everything if each.is_chunk for entry in each.entries}
    return [each for each in _singles(everything) if each.entries[0].key in chunked]


def to_compact(stored: Iterable[Stored]) -> list[list[Stored]]:
    """The families' single entries that are many enough to be put together, a list a family."""
    families: dict[str, list[Stored]] = defaultdict(list)
    for each in _singles(stored):
        families[each.entries[0].family.key].append(each)
    return [singles for singles in families.values() if len(singles) >= MOST_SINGLES]


def too_old(stored: Iterable[Stored], keep: int, live: Container[str]) -> list[Stored]:
    """Chunks without which a family still has as many entries as are to be kept, and that nobody living counts on.

    `live` holds the UIDs of the jobs and experiments that exist.
    """
    families: dict[str, list[Stored]] = defaultdict(list)
    for each in stored:
        for key in {entry.family.key for entry in each.entries}:
            families[key].append(each)
    old: list[Stored] = []
    for family, objects in families.items():
        younger: set[Key] = set()
        for each in sorted(objects, key=_finished, reverse=True):
            mine = all(entry.family.key == family for entry in each.entries)
            if each.is_chunk and mine and len(younger) >= keep and not any(_lives(e, live) for e in each.entries):
                old.append(each)
            else:
                younger |= {entry.key for entry in each.entries}
    return old


def pointless(exclusions: Mapping[Key, str], entries: Container[Key]) -> list[Key]:
    """Exclusions of entries that are no longer there."""
    return [key for key in exclusions if key not in entries]


def _singles(stored: Iterable[Stored]) -> list[Stored]:
    """Objects of one entry each that could be read: what cannot be read is never touched."""
    return [each for each in stored if not each.is_chunk and each.entries]


def _finished(stored: Stored) -> tuple[bool, str]:
    """Single entries are the youngest; a chunk is as old as its last entry."""
    return not stored.is_chunk, max((entry.observation.finished for entry in stored.entries), default="")


def _lives(entry: Entry, live: Container[str]) -> bool:
    return entry.uid in live or entry.experiment_uid in live
