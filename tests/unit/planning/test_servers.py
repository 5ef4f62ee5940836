"""Jobs that slow each other down, in times that can be worked out by hand."""

import pytest

from coxswain.core.baselines.servers import Servers


def test_alone_nothing_slows_down() -> None:
    servers = Servers(2, contention=0.5)
    servers.start("a", 10.0, 3.0)
    assert servers.next_end == 13.0
    assert servers.end(13.0) == ["a"]
    assert servers.ended == {"a": 13.0}
    assert servers.next_end == float("inf")


def test_two_side_by_side_take_longer_by_the_share_that_the_other_uses() -> None:
    servers = Servers(2, contention=0.5)
    servers.start("a", 10.0, 0.0)
    servers.start("b", 10.0, 0.0)
    assert (servers.full, servers.others) == (True, 0.5)
    assert servers.next_end == 12.5  # 10 * (1 + 0.5 * 1/2)
    assert servers.end(12.5) == ["a", "b"]


def test_work_goes_on_at_another_pace_when_company_changes() -> None:
    servers = Servers(4, contention=1.0)
    servers.start("a", 10.0, 0.0)
    servers.start("b", 4.0, 2.0)  # a has done 2 of 10; from now on both are 1.25 times as slow
    assert servers.next_end == 7.0
    servers.end(7.0)
    assert servers.done("a", 7.0) == pytest.approx(6.0)
    servers.start("c", 2.0, 8.0)  # a has done 7 of 10
    servers.start("d", 2.0, 8.0)  # 1.5 times as slow
    assert servers.next_end == pytest.approx(11.0)
    servers.end(servers.next_end)
    assert servers.done("a", 11.0) == pytest.approx(9.0)
    assert servers.next_end == pytest.approx(12.0)
    servers.end(servers.next_end)
    assert servers.ended == pytest.approx({"b": 7.0, "c": 11.0, "d": 11.0, "a": 12.0})


def test_without_contention_ends_are_exact_whoever_comes_and_goes() -> None:
    servers = Servers(3)
    servers.start("a", 0.7, 0.1)
    servers.start("b", 0.1, 0.2)
    servers.end(servers.next_end)
    servers.start("c", 0.1, 0.3)
    servers.end(servers.next_end)
    assert servers.next_end == 0.1 + 0.7
