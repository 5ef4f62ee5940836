import numpy as np
import pytest

from coxswain.core.models.families.level import STEEPEST, Level
from coxswain.core.models.scales import Scale

PLACES = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])


def level(scale: Scale) -> Level:
    return Level(scale, centre=4.0, low=2.0, high=6.0)


def test_a_share_of_the_duration_and_a_fixed_number_of_seconds_add_up() -> None:
    share, seconds = 0.1, 3.0
    durations = np.exp(4.0 + PLACES)
    variance = share**2 + (seconds / durations) ** 2
    at_the_mean = variance[2]
    slope = -2 * (seconds / np.exp(4.0)) ** 2 / at_the_mean
    assert level(Scale.LOG).factor(PLACES, slope) == pytest.approx(variance / at_the_mean)


def test_on_the_scale_of_the_response_it_is_the_other_way_round() -> None:
    share, seconds = 0.1, 3.0
    durations = np.exp(4.0 + PLACES)
    variance = (share * durations) ** 2 + seconds**2
    slope = 2 * (share * np.exp(4.0)) ** 2 / variance[2]
    assert level(Scale.IDENTITY).factor(PLACES, slope) == pytest.approx(variance / variance[2])


@pytest.mark.parametrize("scale", [Scale.LOG, Scale.IDENTITY])
@pytest.mark.parametrize("slope", [-1.3, -0.2, 0.4, 1.6, 3.0])
def test_the_derivative_by_the_slope(scale: Scale, slope: float) -> None:
    one, step = level(scale), 1e-6
    numeric = (one.factor(PLACES, slope + step) - one.factor(PLACES, slope - step)) / (2 * step)
    assert one.factor_by_slope(PLACES, slope) == pytest.approx(numeric, rel=1e-5, abs=1e-8)


def test_the_longer_of_two_runs_does_not_waver_by_fewer_seconds() -> None:
    assert level(Scale.LOG).slopes == (-2.0, STEEPEST)
    assert level(Scale.IDENTITY).slopes == (0.0, STEEPEST)


def test_far_beyond_the_responses_seen_noise_stays_as_it_is() -> None:
    places = level(Scale.LOG).place(np.array([-50.0, 1.0, 7.0, 50.0]))
    assert places == pytest.approx([-3.0, -3.0, 3.0, 3.0])
    assert not level(Scale.LOG).place(np.array([4.0]))[0]
