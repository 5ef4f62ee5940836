import numpy as np
import pytest

from coxswain.core.errors import InputError
from coxswain.core.queueing.distributions import Shape, Times, exponential, with_cv2


@pytest.mark.parametrize(
    ("shape", "cv2"),
    [
        (Shape.DETERMINISTIC, 0.0),
        (Shape.ERLANG, 1 / 3),
        (Shape.EXPONENTIAL, 1.0),
        (Shape.HYPEREXPONENTIAL, 4.0),
        (Shape.LOGNORMAL, 0.5),
        (Shape.LOGNORMAL, 2.0),
    ],
)
def test_draws_have_the_chosen_mean_and_variability(shape: Shape, cv2: float) -> None:
    draws = Times(shape, 3.0, cv2).draw(np.random.default_rng(4), (1_000, 1_000))
    assert (draws > 0).all()
    assert draws.mean() == pytest.approx(3.0, rel=0.01)
    assert draws.var() / draws.mean() ** 2 == pytest.approx(cv2, rel=0.03)


def test_both_branches_of_the_hyperexponential_bring_half_of_the_work() -> None:
    # With cv2 = 9 the shares are (1 ± sqrt(0.8)) / 2; the long branch has mean m / (2 * 0.0528).
    draws = Times(Shape.HYPEREXPONENTIAL, 1.0, 9.0).draw(np.random.default_rng(5), (1_000_000,))
    short = (1 + np.sqrt(0.8)) / 2
    third_moment = 6 * (short * (1 / (2 * short)) ** 3 + (1 - short) * (1 / (2 * (1 - short))) ** 3)
    assert np.mean(draws**3) == pytest.approx(third_moment, rel=0.05)


def test_a_whole_number_as_mean_is_still_a_time() -> None:
    assert Times(Shape.DETERMINISTIC, 2, 0).draw(np.random.default_rng(0), (3,)).dtype == np.float64


def test_the_plainest_shape_of_a_variability() -> None:
    shapes = {cv2: with_cv2(1.0, cv2).shape for cv2 in (0.0, 0.25, 0.3, 1.0, 1.5)}
    assert shapes == {
        0.0: Shape.DETERMINISTIC,
        0.25: Shape.ERLANG,
        0.3: Shape.LOGNORMAL,
        1.0: Shape.EXPONENTIAL,
        1.5: Shape.HYPEREXPONENTIAL,
    }


@pytest.mark.parametrize(
    ("shape", "cv2"),
    [
        (Shape.DETERMINISTIC, 1.0),
        (Shape.ERLANG, 0.3),
        (Shape.ERLANG, 0.0),
        (Shape.ERLANG, 2.0),
        (Shape.EXPONENTIAL, 0.5),
        (Shape.HYPEREXPONENTIAL, 1.0),
        (Shape.LOGNORMAL, 0.0),
    ],
)
def test_a_shape_that_cannot_vary_so_is_refused(shape: Shape, cv2: float) -> None:
    with pytest.raises(InputError, match=f"no {shape} distribution has cv2"):
        Times(shape, 1.0, cv2)


def test_times_are_above_zero_and_vary_by_no_less_than_nothing() -> None:
    with pytest.raises(InputError, match="the mean time is 0"):
        exponential(0.0)
    with pytest.raises(InputError, match="cv2 is -1"):
        with_cv2(1.0, -1.0)
