"""Who trains on what: parts of a batch for replicas, shards of the data for the workers of federated averaging."""

import numpy as np
import numpy.typing as npt

from coxswain.core.errors import InputError

Indices = npt.NDArray[np.int64]
_DRAWS = 100


def bounds(length: int, parts: int, part: int) -> tuple[int, int]:
    """Begin and end of one of several nearly equal parts; the first ones are longer by one where it does not divide."""
    return _begin(length, parts, part), _begin(length, parts, part + 1)


def _begin(length: int, parts: int, part: int) -> int:
    return part * (length // parts) + min(part, length % parts)


def shards(labels: Indices, workers: int, alpha: float, random: np.random.Generator) -> list[Indices]:
    """Every worker's own part of the data.

    With alpha 0 the shards are even and drawn regardless of class. With alpha above 0 each class is divided among the
    workers by proportions from a Dirichlet distribution: the smaller alpha, the more each worker sees of few classes.
    """
    if alpha == 0:
        order = random.permutation(len(labels))
        return [np.sort(order[slice(*bounds(len(labels), workers, worker))]) for worker in range(workers)]
    for _ in range(_DRAWS):
        drawn = _skewed(labels, workers, alpha, random)
        if all(len(shard) for shard in drawn):
            return drawn
    raise InputError(
        f"with dirichletAlpha {alpha:g} some of the {workers} workers get no data; raise it or use fewer workers."
    )


def _skewed(labels: Indices, workers: int, alpha: float, random: np.random.Generator) -> list[Indices]:
    parts: list[list[Indices]] = [[] for _ in range(workers)]
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        ends = np.round(np.cumsum(random.dirichlet([alpha] * workers))[:-1] * len(members)).astype(int)
        for part, members_of_part in zip(parts, np.split(members, ends), strict=True):
            part.append(members_of_part)
    return [np.sort(np.concatenate(part)) for part in parts]
