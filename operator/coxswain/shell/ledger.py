"""The ledger in the cluster: what is there, held in memory as a cache, and every way to change it.

The objects and what becomes of them are `coxswain.core.ledger`'s; here they are listed, created and deleted. Every
change is one object created or deleted, so it is there or not, and doing it again does no harm. What others did, a
person with `cox ledger` or another operator, is seen by the next `load`, which fetches only what is new. An operator
that begins to lead loads before it appends.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from coxswain.core.errors import InputError
from coxswain.core.ledger import Entry, Key, objects, upkeep
from coxswain.core.ledger.book import Book
from coxswain.core.ledger.objects import Manifest, Stored
from coxswain.shell.cluster import CONFIG_MAPS, Cluster
from coxswain.shell.errors import AlreadyExists, Conflict, Unavailable

_LOG = logging.getLogger(__name__)

_AT_ONCE = 8
_TRIES = 3
# An import of more than these is written as chunks from the start.
_FEW = 20

Item = TypeVar("Item")


class Ledger:
    """The observations of some namespaces, or of all. `on_change` is told the key of a family that has others now."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Collection[str] | None = None,
        *,
        on_change: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._namespaces: Sequence[str | None] = tuple(namespaces) if namespaces else (None,)
        self._on_change = on_change
        self._stored: dict[Key, Stored] = {}
        self._exclusions: dict[Key, str] = {}
        self._book = Book()
        self._upkeep = asyncio.Lock()

    def has(self, namespace: str, uid: str) -> bool:
        """Whether the run of this UID is recorded."""
        return (namespace, uid) in self._book.entries

    def all(self) -> Collection[Entry]:
        """Every entry, those excluded too."""
        return self._book.entries.values()

    def entries(self, family: str) -> Sequence[Entry]:
        """What can be learnt from: the entries of a family but those that are excluded."""
        return [entry for entry in self._book.families.get(family, {}).values() if entry.excluded is None]

    def of_experiment(self, namespace: str, uid: str) -> Mapping[str, Entry]:
        """The entries of an experiment's runs by the names of their jobs, those excluded too: these runs are done."""
        return self._book.experiments.get((namespace, uid), {})

    async def load(self) -> None:
        """Read what is there; what is known already is not fetched again."""
        async with self._upkeep:
            await self._load()

    async def append(self, entry: Entry) -> None:
        """Record a run, once: whoever else has recorded it meanwhile, or did so before a crash, has done the same.

        Raises:
            ApiError: if it is not recorded; Refused where it cannot be, as in a namespace that is being deleted.
        """
        for _ in range(_TRIES):
            if self.has(*entry.key):
                return
            try:
                self._take(await self._cluster.create(CONFIG_MAPS, entry.namespace, objects.entry_object(entry)))
            except AlreadyExists:
                await self._clear_the_way(entry)
        if not self.has(*entry.key):
            raise Unavailable(0, f"the observation of {entry.job} could not be recorded; it will be tried again.")

    async def add(self, entries: Iterable[Entry]) -> int:
        """Record many at once, such as imported ones, but for those that are there already; how many were new."""
        asked = {entry.key: entry for entry in entries}
        new = [entry for key, entry in asked.items() if key not in self._book.entries]
        if len(new) <= _FEW:
            for entry in new:
                await self.append(entry)
        else:
            for manifest in objects.chunk_objects(new):
                self._take(await self._create_chunk(manifest))
        for entry in new:
            if entry.excluded is not None:
                await self.exclude(*entry.key, entry.excluded)
        return len(new)

    async def exclude(self, namespace: str, uid: str, reason: str) -> None:
        """Learn nothing from an entry any more, for a reason; a new reason takes the place of a former one.

        Raises:
            InputError: if there is no such entry, or no reason.
        """
        entry = self._entry(namespace, uid)
        manifest = objects.exclusion_object(namespace, uid, reason)
        try:
            await self._cluster.create(CONFIG_MAPS, namespace, manifest)
        except AlreadyExists:
            await self._cluster.merge(CONFIG_MAPS, namespace, manifest["metadata"]["name"], manifest)
        self._exclusions[entry.key] = reason
        self._put(replace(entry, excluded=reason))

    async def include(self, namespace: str, uid: str) -> None:
        """Learn from an entry again.

        Raises:
            InputError: if there is no such entry.
        """
        entry = self._entry(namespace, uid)
        await self._cluster.delete(CONFIG_MAPS, namespace, objects.exclusion_name(uid))
        self._exclusions.pop(entry.key, None)
        self._put(replace(entry, excluded=None))

    async def compact(self, keep: int, live: Collection[str] = ()) -> None:
        """Put single entries together into chunks and drop a family's oldest beyond `keep`, but none that lives.

        `live` holds the UIDs of the jobs and experiments that exist.
        """
        async with self._upkeep:
            await self._load()
            await self._delete(upkeep.superseded(self._stored.values()))
            for singles in upkeep.to_compact(self._stored.values()):
                try:
                    for manifest in objects.chunk_objects(each.entries[0] for each in singles):
                        self._take(await self._create_chunk(manifest))
                except Conflict as error:
                    _LOG.warning("%s", error)
                else:
                    await self._delete(singles)
            old = upkeep.too_old(self._stored.values(), keep, live)
            await self._delete(old)
            if old:
                self._rebuild()
            for namespace, uid in upkeep.pointless(self._exclusions, self._book.entries):
                await self._cluster.delete(CONFIG_MAPS, namespace, objects.exclusion_name(uid))
                del self._exclusions[namespace, uid]

    def _entry(self, namespace: str, uid: str) -> Entry:
        entry = self._book.entries.get((namespace, uid))
        if entry is None:
            raise InputError(
                f"the ledger of namespace {namespace} has no observation {uid}; `cox ledger list` lists them."
            )
        return entry

    async def _load(self) -> None:
        known, excluded = set(self._stored), dict(self._exclusions)
        # First the single ones: one that goes into a chunk meanwhile is then found there.
        listed = await self._list(f"{objects.LABEL} in ({objects.ENTRY},{objects.EXCLUSION})")
        singles = {_name(each): each for each in listed if not objects.is_exclusion(each)}
        chunks = {_name(each) for each in await self._list(f"{objects.LABEL}={objects.CHUNK}", metadata_only=True)}
        for name in singles.keys() - known:
            self._store(singles[name])
        await _for_each(chunks - known, self._fetch)
        # What is known only since then is not in the lists, and yet there.
        gone = known - singles.keys() - chunks
        for name in gone:
            del self._stored[name]
        found = dict(filter(None, (objects.read_exclusion(each) for each in listed if objects.is_exclusion(each))))
        lifted = excluded.keys() - self._exclusions.keys()
        since = {key: reason for key, reason in self._exclusions.items() if excluded.get(key) != reason}
        self._exclusions = {key: reason for key, reason in found.items() if key not in lifted} | since
        if gone or self._stored.keys() - known or self._exclusions != excluded:
            self._rebuild()

    async def _list(self, selector: str, *, metadata_only: bool = False) -> list[Manifest]:
        return [
            manifest
            for namespace in self._namespaces
            for manifest in await self._cluster.list(
                CONFIG_MAPS, namespace, metadata_only=metadata_only, labelSelector=selector
            )
        ]

    async def _fetch(self, name: Key) -> None:
        manifest = await self._cluster.find(CONFIG_MAPS, *name)
        if manifest is not None:
            self._store(manifest)

    async def _clear_the_way(self, entry: Entry) -> None:
        """See what stands where an entry should: the same entry, something else, or nothing any more."""
        name = objects.entry_name(entry.uid)
        manifest = await self._cluster.find(CONFIG_MAPS, entry.namespace, name)
        if manifest is None:
            await self.load()  # it has just gone into a chunk
        elif objects.is_entry(manifest) and objects.read_entries(manifest).entries:
            self._take(manifest)
        else:
            _LOG.warning("ConfigMap %s/%s is no entry of the ledger and is replaced", entry.namespace, name)
            await self._remove(entry.namespace, name, manifest["metadata"]["uid"])

    async def _create_chunk(self, manifest: Manifest) -> Manifest:
        """Create a chunk, or find it created already: when this returns, what should be in it is in it."""
        namespace, name = _name(manifest)
        try:
            return await self._cluster.create(CONFIG_MAPS, namespace, manifest)
        except AlreadyExists:
            found = await self._cluster.get(CONFIG_MAPS, namespace, name)
            if objects.read_entries(found).entries != objects.read_entries(manifest).entries:
                raise Conflict(0, f"ConfigMap {namespace}/{name} is no chunk of the ledger; remove it.") from None
            return found

    async def _delete(self, stored: Iterable[Stored]) -> None:
        async def delete(each: Stored) -> None:
            await self._remove(each.namespace, each.name, each.uid)
            self._stored.pop((each.namespace, each.name), None)

        await _for_each(stored, delete)

    async def _remove(self, namespace: str, name: str, uid: str) -> None:
        try:
            await self._cluster.delete(CONFIG_MAPS, namespace, name, uid=uid)
        except Conflict:
            _LOG.info("ConfigMap %s/%s is another one by now and stays", namespace, name)

    def _store(self, manifest: Manifest) -> Stored:
        stored = objects.read_entries(manifest)
        for note in stored.notes:
            _LOG.warning("%s", note)
        self._stored[_name(manifest)] = stored
        return stored

    def _take(self, manifest: Manifest) -> None:
        for entry in self._store(manifest).entries:
            if entry.key not in self._book.entries:
                self._put(replace(entry, excluded=self._exclusions.get(entry.key)))

    def _put(self, entry: Entry) -> None:
        self._book.put(entry)
        self._on_change(entry.family.key)

    def _rebuild(self) -> None:
        before, self._book = self._book, Book(objects.merged(self._stored.values(), self._exclusions).values())
        for family in sorted(self._book.changes(before)):
            self._on_change(family)


def _name(manifest: Manifest) -> Key:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


async def _for_each(items: Iterable[Item], act: Callable[[Item], Awaitable[None]]) -> None:
    """Act on all, a few at a time; the first failure ends it."""
    waiting = iter(list(items))

    async def some() -> None:
        for item in waiting:
            await act(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(some())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
