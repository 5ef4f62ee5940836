import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from coxswain.core.errors import InputError
from coxswain.core.ledger import Entry, objects
from coxswain.core.ledger.upkeep import MOST_SINGLES
from coxswain.shell.cluster import CONFIG_MAPS, Manifest, Resource
from coxswain.shell.ledger import Ledger
from tests.unit.ledger.making import entry
from tests.unit.ledger.store import CrashError, Store

FAMILY = entry().family.key
MANY = 10_000


def kinds(store: Store) -> Counter[str]:
    return Counter(each["metadata"]["labels"][objects.LABEL] for each in store.objects.values())


async def loaded(store: Store) -> Ledger:
    ledger = Ledger(store.cluster)
    await ledger.load()
    return ledger


async def filled(store: Store, count: int) -> Ledger:
    ledger = await loaded(store)
    for number in range(count):
        await ledger.append(entry(number))
    return ledger


def test_a_run_recorded_twice_is_there_once() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, 1)
        await ledger.append(entry(0))
        # A second operator that has loaded nothing yet.
        await Ledger(store.cluster).append(entry(0))
        assert kinds(store) == {"entry": 1}
        assert (await loaded(store)).entries(FAMILY) == [entry(0)]

    asyncio.run(scene())


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_an_append_leaves_nothing_or_one(*, after: bool) -> None:
    async def scene() -> None:
        store = Store()
        ledger = await loaded(store)
        store.crash_at(0, after=after)
        with pytest.raises(CrashError):
            await ledger.append(entry(0))
        store.crash_at(None)
        again = await loaded(store)
        assert again.has(*entry(0).key) == after
        await again.append(entry(0))
        assert kinds(store) == {"entry": 1}

    asyncio.run(scene())


def test_putting_together_changes_nothing_that_is_asked_for() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, MOST_SINGLES)
        before = set(map(Entry.to_json, ledger.entries(FAMILY)))
        await ledger.compact(MANY)
        assert kinds(store) == {"chunk": 1}
        for reader in (ledger, await loaded(store)):
            assert set(map(Entry.to_json, reader.entries(FAMILY))) == before
            await reader.append(entry(7))
        assert kinds(store) == {"chunk": 1}

    asyncio.run(scene())


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_of_putting_together_loses_and_doubles_nothing(*, after: bool) -> None:
    async def scene(write: int) -> bool:
        store = Store()
        ledger = await filled(store, MOST_SINGLES + 1)
        store.crash_at(write, after=after)
        try:
            await ledger.compact(MANY)
        except CrashError:
            crashed = True
        else:
            crashed = False
        store.crash_at(None)
        again = await loaded(store)
        assert sorted(each.uid for each in again.entries(FAMILY)) == [entry(n).uid for n in range(MOST_SINGLES + 1)]
        await again.append(entry(3))
        await again.compact(MANY)
        assert len(again.entries(FAMILY)) == MOST_SINGLES + 1
        assert kinds(store) == {"chunk": 1}
        return crashed

    # The chunk, the first deletions, one in the middle, the last, and none: there are as many writes as objects.
    crashes = {write: asyncio.run(scene(write)) for write in (0, 1, 2, 100, MOST_SINGLES + 1, MOST_SINGLES + 2)}
    assert [write for write, crashed in crashes.items() if not crashed] == [MOST_SINGLES + 2]


def test_an_entry_that_a_slow_second_operator_writes_again_is_read_once_and_removed() -> None:
    async def scene() -> None:
        store = Store()
        slow = await loaded(store)
        await (await filled(store, MOST_SINGLES)).compact(MANY)
        await slow.append(entry(5))
        assert kinds(store) == {"chunk": 1, "entry": 1}
        again = await loaded(store)
        assert len(again.entries(FAMILY)) == MOST_SINGLES
        await again.compact(MANY)
        assert kinds(store) == {"chunk": 1}

    asyncio.run(scene())


def test_an_entry_that_goes_into_a_chunk_while_it_is_written_again_is_found_there() -> None:
    class Racing(Store):
        async def find(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
            if self.objects.pop((namespace, objects.entry_name(entry(0).uid)), None):
                [chunk] = objects.chunk_objects([entry(0)])
                await self.create(resource, namespace, chunk)
            return await super().find(resource, namespace, name)

    async def scene() -> None:
        store = Racing()
        await filled(store, 1)
        ignorant = Ledger(store.cluster)
        await ignorant.append(entry(0))
        assert kinds(store) == {"chunk": 1}
        assert ignorant.entries(FAMILY) == [entry(0)]

    asyncio.run(scene())


def test_something_else_under_an_entry_s_name_gives_way() -> None:
    async def scene() -> None:
        store = Store()
        manifest = objects.entry_object(entry(0)) | {"data": {"entry.json": "mine!"}}
        await store.create(CONFIG_MAPS, "vision", manifest)
        ledger = await loaded(store)
        assert not ledger.has(*entry(0).key)
        await ledger.append(entry(0))
        assert (await loaded(store)).entries(FAMILY) == [entry(0)]

    asyncio.run(scene())


def test_something_else_under_a_chunk_s_name_stops_no_one_and_loses_nothing() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, MOST_SINGLES)
        [chunk] = objects.chunk_objects(ledger.entries(FAMILY))
        await store.create(CONFIG_MAPS, "vision", chunk | {"binaryData": {}})
        await ledger.compact(MANY)
        assert kinds(store) == {"chunk": 1, "entry": MOST_SINGLES}
        assert len((await loaded(store)).entries(FAMILY)) == MOST_SINGLES

    asyncio.run(scene())


def test_an_excluded_entry_teaches_nothing_until_it_is_included_again() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, 2)
        await ledger.exclude(*entry(0).key, "a noisy neighbour")
        await ledger.exclude(*entry(0).key, "a very noisy neighbour")
        for reader in (ledger, await loaded(store)):
            assert reader.entries(FAMILY) == [entry(1)]
            run = reader.of_experiment("vision", str(entry().experiment_uid))[entry(0).job]
            assert run.excluded == "a very noisy neighbour"
        await ledger.include(*entry(0).key)
        assert len(ledger.entries(FAMILY)) == len((await loaded(store)).entries(FAMILY)) == 2
        with pytest.raises(InputError, match="has no observation"):
            await ledger.exclude("vision", "another", "bad")

    asyncio.run(scene())


def test_what_others_did_is_seen_by_the_next_load_and_told_once() -> None:
    async def scene() -> None:
        store = Store()
        told: list[str] = []
        ledger = Ledger(store.cluster, on_change=told.append)
        await ledger.load()
        other = await filled(store, 1)
        await ledger.load()
        assert told == [FAMILY]
        await other.exclude(*entry(0).key, "bad")
        await ledger.load()
        assert (told, ledger.entries(FAMILY)) == ([FAMILY] * 2, [])
        await other.include(*entry(0).key)
        await ledger.load()
        await ledger.load()
        assert told == [FAMILY] * 3
        store.objects.clear()
        await ledger.load()
        assert not ledger.has(*entry(0).key)
        await ledger.append(entry(0))
        assert told == [FAMILY] * 5

    asyncio.run(scene())


def test_a_second_load_fetches_no_chunk_again() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, MOST_SINGLES)
        await ledger.compact(MANY)
        reader = await loaded(store)
        store.requests.clear()
        await reader.load()
        assert store.requests == ["list", "list metadata"]

    asyncio.run(scene())


def test_what_is_appended_while_a_load_is_under_way_stays() -> None:
    class Slow(Store):
        async def list(
            self, _resource: Resource, namespace: str | None = None, *, metadata_only: bool = False, **selectors: str
        ) -> list[Manifest]:
            found = await super().list(_resource, namespace, metadata_only=metadata_only, **selectors)
            await asyncio.sleep(0.01)
            return found

    async def scene() -> None:
        store = Slow()
        ledger = await filled(store, 1)
        await ledger.exclude(*entry(0).key, "bad")
        loading = asyncio.create_task(ledger.load())
        await asyncio.sleep(0.015)
        await ledger.append(entry(1))
        await ledger.exclude(*entry(1).key, "bad too")
        await ledger.include(*entry(0).key)
        await loading
        assert ledger.has(*entry(1).key)
        assert ledger.entries(FAMILY) == [entry(0)]

    asyncio.run(scene())


def test_the_oldest_go_and_their_exclusions_with_them_but_not_those_of_a_living_experiment() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, MOST_SINGLES)
        await ledger.exclude(*entry(0).key, "bad")
        await ledger.compact(MANY)
        for number in range(MOST_SINGLES, MOST_SINGLES + 60):
            await ledger.append(entry(number))
        await ledger.compact(50, live={str(entry().experiment_uid)})
        assert kinds(store) == {"chunk": 1, "entry": 60, "exclusion": 1}
        await ledger.compact(50)
        assert kinds(store) == {"entry": 60}
        assert len(ledger.entries(FAMILY)) == 60

    asyncio.run(scene())


def test_namespaces_do_not_see_each_other() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await loaded(store)
        await ledger.append(entry(0, namespace="a"))
        await ledger.append(entry(0, namespace="b"))
        assert kinds(store) == {"entry": 2}
        only = Ledger(store.cluster, ["b"])
        await only.load()
        assert [each.namespace for each in only.all()] == ["b"]
        assert len(only.of_experiment("b", str(entry().experiment_uid))) == 1
        assert only.of_experiment("a", str(entry().experiment_uid)) == {}

    asyncio.run(scene())


def test_many_are_added_as_chunks_and_each_once() -> None:
    async def scene() -> None:
        store = Store()
        ledger = await filled(store, 10)
        many = [replace(entry(n), excluded="bad" if n == 50 else None) for n in range(100)]
        assert await ledger.add(many) == 90
        assert await ledger.add(many) == 0
        assert kinds(store) == {"entry": 10, "chunk": 1, "exclusion": 1}
        assert len((await loaded(store)).entries(FAMILY)) == len(ledger.entries(FAMILY)) == 99

    asyncio.run(scene())


def test_of_a_job_made_again_under_its_name_the_last_one_counts() -> None:
    async def scene() -> None:
        ledger = await loaded(Store())
        first = entry(0)
        second = replace(first, uid="another", observation=replace(first.observation, finished="2026-11-16T11:00:00Z"))
        await ledger.append(second)
        await ledger.append(first)
        assert ledger.of_experiment("vision", str(first.experiment_uid))[first.job].uid == "another"

    asyncio.run(scene())
