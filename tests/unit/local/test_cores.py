from hypothesis import given
from hypothesis import strategies as st

from coxswain.local.cores import Cores


def test_whole_cores_belong_to_one_worker() -> None:
    cores = Cores([0, 1, 2])
    assert cores.take([1, 1]) == [{0: 1000}, {1: 1000}]
    assert cores.take([2]) is None
    assert cores.take([1]) == [{2: 1000}]
    assert cores.take([0.1]) is None


def test_fractions_share_a_core_and_leave_whole_ones_whole() -> None:
    cores = Cores([0, 1])
    assert cores.take([0.5]) == [{0: 500}]
    assert cores.take([0.25, 0.25]) == [{0: 250}, {0: 250}]
    assert cores.take([1]) == [{1: 1000}]


def test_one_and_a_half_cores_are_a_core_and_half_of_another() -> None:
    cores = Cores([0, 1])
    assert cores.take([1.5]) == [{0: 1000, 1: 500}]
    assert cores.take([0.5]) == [{1: 500}]


def test_all_workers_get_their_share_or_none_does() -> None:
    cores = Cores([0, 1])
    assert cores.take([1, 1, 1]) is None
    assert cores.take([1, 1]) is not None


@given(st.lists(st.lists(st.sampled_from([0.1, 0.25, 0.5, 1, 1.5, 2]), min_size=1, max_size=3), max_size=12))
def test_no_core_is_given_out_twice_and_everything_comes_back(gangs: list[list[float]]) -> None:
    cores = Cores(range(4))
    taken = []
    for wanted in gangs:
        shares = cores.take(wanted)
        if shares is None:
            continue
        taken.append(shares)
        assert [sum(share.values()) for share in shares] == [round(1000 * each) for each in wanted]
    for core in range(4):
        assert sum(share.get(core, 0) for shares in taken for share in shares) <= 1000
    for shares in taken:
        cores.give_back(shares)
    assert cores.take([1, 1, 1, 1]) is not None
