from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.demand import Demand
from coxswain.core.jobs.admission import AGEING, PATIENCE, Capacity, Node, Waiting, admit
from tests.unit.jobs.making import NOON, after

GIB = 2**30


def waiting(name: str, cores: float = 1.0, pods: int = 1, *, age: float = 0.0, gpus: int = 0, **more: Any) -> Waiting:
    return Waiting(("here", name), Demand(pods, cores, GIB, gpus), NOON - timedelta(seconds=age), **more)


def node(name: str, cores: float, free: float | None = None, gpus: int = 0, **labels: str) -> Node:
    return Node(name, cores, 8 * GIB, gpus, cores if free is None else free, 8 * GIB, gpus, labels)


def started(jobs: list[Waiting], capacity: Capacity) -> list[str]:
    return [each.key[1] for each in admit(jobs, capacity, NOON).start]


def test_what_has_just_been_promised_counts() -> None:
    jobs = [waiting("a", 2), waiting("b", 2), waiting("c", 1)]
    assert started(jobs, Capacity(4, None)) == ["a", "b"]
    assert started(jobs, Capacity(4, None, held_cores=2)) == ["a"]
    assert started(jobs, Capacity(4, None, held_cores=3.5)) == []


def test_priority_then_deadline_then_age() -> None:
    jobs = [
        waiting("young", age=1),
        waiting("old", age=9),
        waiting("late", deadline=after(500)),
        waiting("soon", deadline=after(50)),
        waiting("first", priority=1),
    ]
    assert started(jobs, Capacity(None, None)) == ["first", "soon", "late", "old", "young"]


def test_a_job_without_a_deadline_moves_up_as_it_waits() -> None:
    old = waiting("old", age=AGEING.total_seconds())
    assert started([waiting("soon", deadline=after(50)), old], Capacity(1, None)) == ["old"]


def test_a_wide_job_lets_others_pass_for_a_while_and_then_no_more() -> None:
    narrow = waiting("narrow", 1)
    impatient = waiting("wide", 4, age=PATIENCE.total_seconds())
    assert started([waiting("wide", 4, age=1), narrow], Capacity(4, None, held_cores=3)) == ["narrow"]
    assert started([impatient, narrow], Capacity(4, None, held_cores=3)) == []
    again = admit([waiting("wide", 4, age=1)], Capacity(4, None, held_cores=3), NOON).again_at
    assert again == NOON + PATIENCE - timedelta(seconds=1)


def test_behind_a_reservation_starts_whom_the_plan_has_fill_it() -> None:
    wide = waiting("wide", 4, age=PATIENCE.total_seconds(), rank=0)
    filler, other = waiting("filler", 1, rank=1, starts_now=True), waiting("other", 1, rank=2)
    assert started([wide, other, filler], Capacity(4, None, held_cores=2)) == ["filler"]


def test_a_job_that_pods_of_others_leave_no_room_holds_nobody_up() -> None:
    nodes = (node("full", 4, 1, zone="x"), node("free", 4, zone="y"))
    crowded = waiting("crowded", 4, age=9999, node_selector={"zone": "x"})
    capacity = Capacity(None, None, nodes=nodes, beside=nodes)
    assert started([crowded, waiting("fine", 2)], capacity) == ["fine"]


def test_every_pod_needs_a_node_with_room() -> None:
    two_by_two = Capacity(None, None, nodes=(node("a", 2), node("b", 2)))
    assert started([waiting("pair", 2, pods=2)], two_by_two) == ["pair"]
    assert started([waiting("three", 1.5, pods=3)], two_by_two) == []
    assert started([waiting("fills", 1, pods=4), waiting("none", 1)], two_by_two) == ["fills"]


def test_what_can_never_start_is_told_and_holds_nobody_up() -> None:
    capacity = Capacity(None, None, nodes=(node("a", 2, zone="x"),))
    outcome = admit(
        [
            waiting("huge", 64, age=9999),
            waiting("gpu", gpus=1, age=9999),
            waiting("elsewhere", node_selector={"zone": "y"}, age=9999),
            waiting("fine"),
        ],
        capacity,
        NOON,
    )
    assert [each.key[1] for each in outcome.start] == ["fine"]
    told = {key[1]: sentence for key, sentence in outcome.never.items()}
    assert "asks for 64 cores, 1 GiB, but the largest node has 2 cores, 8 GiB" in told["huge"]
    assert "1 GPUs" in told["gpu"]
    assert "nodeSelector" in told["elsewhere"]
    assert "its queue has 4" in admit([waiting("six", 6)], Capacity(4, None), NOON).never["here", "six"]


def test_another_attempt_waits_for_its_pause() -> None:
    outcome = admit([waiting("again", not_before=after(10))], Capacity(None, None), NOON)
    assert (outcome.start, outcome.again_at) == ((), after(10))


@given(
    jobs=st.lists(st.tuples(st.sampled_from([0.25, 0.5, 1, 2, 3]), st.integers(1, 4), st.integers(0, 2)), max_size=12),
    cores=st.floats(0, 12),
    sizes=st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=1, max_size=4),
)
def test_never_more_than_there_is(jobs: list[tuple[float, int, int]], cores: float, sizes: list[float]) -> None:
    nodes = tuple(node(f"n{place}", size) for place, size in enumerate(sizes))
    all_jobs = [waiting(f"j{n}", c, p, priority=priority) for n, (c, p, priority) in enumerate(jobs)]
    outcome = admit(all_jobs, Capacity(cores, None, nodes=nodes), NOON)
    total = sum(each.demand.all_cores for each in outcome.start)
    assert total <= min(cores, sum(sizes)) + 1e-6
    assert not {each.key for each in outcome.start} & outcome.never.keys()


def test_who_finds_no_room_beside_the_pods_of_others_is_told_what_they_take() -> None:
    beside = (node("a", 4, free=0.5), node("b", 4, free=1))
    capacity = Capacity(None, None, nodes=beside, beside=beside)
    outcome = admit([waiting("wide", 2), waiting("pair", 1, pods=2), waiting("small", 1)], capacity, NOON)
    assert [each.key[1] for each in outcome.start] == ["small"]
    assert {key[1] for key in outcome.crowded} == {"wide", "pair"}
    assert outcome.crowded["here", "wide"] == (
        "pods that are not Coxswain's fill the nodes: it needs 2 cores, 1 GiB; free of 8 cores are 1.5 cores, 16 GiB."
    )
    assert "each of its 2 pods needs 1 cores, 1 GiB" in outcome.crowded["here", "pair"]


def test_who_waits_for_jobs_of_ours_is_not_told_of_others() -> None:
    capacity = Capacity(None, None, nodes=(node("a", 4, free=0.5),), beside=(node("a", 4, free=3),))
    assert admit([waiting("wide", 2)], capacity, NOON).crowded == {}
    assert admit([waiting("wide", 2)], Capacity(1, None, held_cores=1), NOON).crowded == {}
