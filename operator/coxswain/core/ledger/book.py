"""Entries in memory, by what they are asked for. Adding one costs the same however many there are."""

from collections import defaultdict
from collections.abc import Iterable

from coxswain.core.ledger.entry import Entry, Key


class Book:
    """Every entry by its key, by its family, and by its experiment and job."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: dict[Key, Entry] = {}
        self.families: defaultdict[str, dict[Key, Entry]] = defaultdict(dict)
        self.experiments: defaultdict[Key, dict[str, Entry]] = defaultdict(dict)
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        """Add an entry, or put it in the place of the same one as it was before."""
        self.entries[entry.key] = entry
        self.families[entry.family.key][entry.key] = entry
        if entry.experiment_uid is not None:
            jobs = self.experiments[entry.namespace, entry.experiment_uid]
            former = jobs.get(entry.job, entry)
            # A job that failed may have been made again under its name: the last one counts.
            if former.uid == entry.uid or former.observation.finished <= entry.observation.finished:
                jobs[entry.job] = entry

    def changes(self, before: "Book") -> set[str]:
        """The families that have other entries than before, or others excluded."""
        return {
            family
            for family in self.families.keys() | before.families.keys()
            if _state(self.families.get(family, {})) != _state(before.families.get(family, {}))
        }


def _state(entries: dict[Key, Entry]) -> dict[Key, str | None]:
    return {key: entry.excluded for key, entry in entries.items()}
