"""Where a job that cannot be in time would find its place, if it asked for less.

Such a job gives way to all that can be in time, so when it starts says nothing about when a shorter one in its stead
would. That one would start where the order puts it, and whoever comes after it would start later by the work it adds
over the capacity. Everybody's least work is looked at: slack that was spent on better settings could be taken back.
"""

import numpy as np

from coxswain.core.models.types import Bools, Ints
from coxswain.core.planning.assign import ordered, slack_of
from coxswain.core.planning.board import Board
from coxswain.core.planning.times import LEVELS, Times
from coxswain.core.planning.values import Opening


def openings(board: Board, least: Ints, order: Ints, late: Bools) -> dict[int, Opening]:
    """The openings of the jobs that are late, by their numbers; `least` is the row of everybody's least work."""
    if not late.any():
        return {}
    starts = board.simulate(least[order])
    slack = np.where(late[order], np.inf, slack_of(board, least[order], starts))
    behind = np.minimum.accumulate(slack[::-1])[::-1]
    places = _places(board, order, late)
    # Many wait at the same place: its start is looked up once.
    distinct, which = np.unique(places, return_inverse=True)
    begin = np.maximum(np.quantile(starts.begin[distinct], LEVELS, axis=1).T - board.snapshot.now, 0.0)
    times = [Times(each) for each in begin]
    return {
        job: Opening(times[number], float(behind[place]), board.snapshot.capacity)
        for job, number, place in zip(np.flatnonzero(late).tolist(), which.tolist(), places.tolist(), strict=True)
    }


def _places(board: Board, order: Ints, late: Bools) -> Ints:
    """At which place of the order each late job would be if it could be in time: before the next that is."""
    place_of = np.empty(len(order), dtype=np.int64)
    place_of[order] = np.arange(len(order))
    if_able = ordered(board, np.zeros_like(late))
    rank = np.empty(len(order), dtype=np.int64)
    rank[if_able] = np.arange(len(order))
    in_time = np.flatnonzero(~late[if_able])
    # Where nobody in time follows, that is where those who are late begin.
    places = np.append(place_of[if_able[in_time]], place_of[late].min())
    return np.asarray(places[np.searchsorted(in_time, rank[late])], dtype=np.int64)
