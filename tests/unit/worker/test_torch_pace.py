"""How learning rate and batch go, who trains on what, and when to stop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.errors import InputError
from coxswain.worker.report import Epoch
from coxswain.worker.torch.schedules import Kind, Options, Schedule
from coxswain.worker.torch.sharding import bounds, shards
from coxswain.worker.torch.stopping import no_better


def schedule(kind: Kind, **chosen: float) -> Schedule:
    return Schedule(kind, 0.1, 32, 10, 6000, Options(**chosen))  # type: ignore[arg-type]


def test_a_constant_schedule_changes_nothing() -> None:
    paces = {schedule(Kind.CONSTANT).pace(epoch) for epoch in range(1, 11)}
    assert [(pace.learning_rate, pace.batch_size) for pace in paces] == [(0.1, 32)]


def test_a_step_schedule_divides_the_rate() -> None:
    rates = [schedule(Kind.STEP, decay_every=3, decay_factor=0.5).pace(epoch).learning_rate for epoch in range(1, 8)]
    assert rates == pytest.approx([0.1] * 3 + [0.05] * 3 + [0.025])


def test_a_cosine_schedule_falls_to_nothing_over_the_horizon_and_says_that_it_depends_on_it() -> None:
    rates = [schedule(Kind.COSINE).pace(epoch).learning_rate for epoch in range(1, 11)]
    assert rates[0] == 0.1
    assert rates == sorted(rates, reverse=True)
    assert rates[5] == pytest.approx(0.05)
    assert [kind for kind in Kind if kind.depends_on_horizon] == [Kind.COSINE]


def test_a_growing_batch_grows_up_to_its_share_of_the_data_and_then_the_rate_decays() -> None:
    growing = schedule(Kind.GROWING_BATCH, decay_every=1, decay_factor=0.25, max_batch_share=0.1)
    paces = [growing.pace(epoch) for epoch in range(1, 6)]
    assert [pace.batch_size for pace in paces] == [32, 128, 512, 512, 512], "a tenth of 6,000 is 600"
    assert [pace.learning_rate for pace in paces] == pytest.approx([0.1, 0.1, 0.1, 0.025, 0.00625])


@given(st.integers(0, 300), st.integers(1, 20))
def test_parts_cover_everything_once_and_nearly_evenly(length: int, parts: int) -> None:
    cut = [bounds(length, parts, part) for part in range(parts)]
    assert [index for begin, end in cut for index in range(begin, end)] == list(range(length))
    sizes = [end - begin for begin, end in cut]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 6), st.sampled_from([0.0, 0.1, 1.0, 100.0]), st.integers(0, 2**32))
def test_shards_share_the_data_without_loss_or_overlap(workers: int, alpha: float, seed: int) -> None:
    labels = np.arange(300) % 10
    parts = shards(labels, workers, alpha, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(300))
    assert all(len(part) for part in parts)


def test_a_small_alpha_skews_what_a_worker_sees() -> None:
    labels = np.arange(2000) % 10

    def skew(alpha: float) -> float:
        parts = shards(labels, 4, alpha, np.random.default_rng(1))
        shares = [np.bincount(labels[part], minlength=10) / len(part) for part in parts]
        return float(np.mean([share.max() for share in shares]))

    assert skew(0.1) > skew(1.0) > skew(100.0) > 0.09
    assert skew(0.0) < 0.15


def test_a_skew_that_leaves_a_worker_without_data_is_refused() -> None:
    with pytest.raises(InputError, match="with dirichletAlpha 1e-06 some of the 8 workers get no data"):
        shards(np.zeros(50, np.int64), 8, 1e-6, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("losses", "patience", "enough"),
    [
        ([3, 2, 1], 1, False),
        ([3, 1, 2], 1, True),
        ([3, 1, 2, 2], 2, True),
        ([3, 1, 2, 0.5], 2, False),
        ([1, 2, 3], 0, False),
        ([1], 1, False),
    ],
)
def test_patience_counts_epochs_without_a_new_low(losses: list[float], patience: int, enough: bool) -> None:
    history = [Epoch(number, 1.0, loss=loss) for number, loss in enumerate(losses, start=1)]
    assert no_better(history, patience) is enough
