from dataclasses import replace

from coxswain.core.ledger import Entry, upkeep
from coxswain.core.ledger.objects import Stored
from coxswain.core.ledger.upkeep import MOST_SINGLES
from tests.unit.ledger.making import entry


def single(one: Entry) -> Stored:
    return Stored(one.namespace, f"coxswain-run-{one.uid}", "", "", is_chunk=False, entries=(one,))


def chunk(*entries: Entry, hour: int = 10) -> Stored:
    late = tuple(
        replace(each, observation=replace(each.observation, finished=f"2026-11-16T{hour}:00:00Z")) for each in entries
    )
    return Stored("vision", f"coxswain-runs-{hour}", "", "", is_chunk=True, entries=late)


def test_single_entries_are_put_together_when_a_family_has_many() -> None:
    few = [single(entry(n)) for n in range(MOST_SINGLES - 1)]
    others = [single(entry(n, node_type="other")) for n in range(MOST_SINGLES - 1)]
    assert upkeep.to_compact(few + others) == []
    assert upkeep.to_compact([*few, *others, single(entry(999))]) == [[*few, single(entry(999))]]


def test_what_cannot_be_read_is_never_put_together() -> None:
    unread = [replace(single(entry(n)), entries=(), notes=("?",)) for n in range(MOST_SINGLES)]
    assert not upkeep.to_compact(unread)
    assert not upkeep.superseded(unread)
    assert not upkeep.too_old(unread, 0, ())


def test_single_entries_that_a_chunk_holds_are_superseded() -> None:
    assert upkeep.superseded([single(entry(1)), single(entry(2)), chunk(entry(2))]) == [single(entry(2))]


def test_the_oldest_chunks_go_when_the_younger_entries_are_enough() -> None:
    chunks = [chunk(*(entry(10 * hour + n) for n in range(10)), hour=hour) for hour in (10, 11, 12, 13)]
    assert upkeep.too_old(chunks, 20, ()) == [chunks[1], chunks[0]]
    assert upkeep.too_old(chunks, 21, ()) == [chunks[0]]
    assert upkeep.too_old(chunks, 100, ()) == []
    assert upkeep.too_old([*chunks, single(entry(1))], 21, ()) == [chunks[1], chunks[0]]


def test_an_entry_that_is_there_twice_counts_once() -> None:
    ten = [entry(n) for n in range(10)]
    assert upkeep.too_old([chunk(*ten, hour=12), chunk(*ten, hour=11), chunk(entry(99), hour=10)], 20, ()) == []


def test_a_chunk_stays_while_a_job_or_an_experiment_in_it_lives() -> None:
    old, young = chunk(entry(1), hour=10), chunk(entry(2), hour=11)
    assert upkeep.too_old([old, young], 1, ()) == [old]
    assert upkeep.too_old([old, young], 1, {entry(1).uid}) == []
    assert upkeep.too_old([old, young], 1, {str(entry(1).experiment_uid)}) == []


def test_an_exclusion_of_what_is_gone_is_pointless() -> None:
    assert upkeep.pointless({entry(1).key: "bad", entry(2).key: "bad"}, {entry(1).key}) == [entry(2).key]
