import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.core.errors import InputError
from coxswain.core.queueing.distributions import exponential
from coxswain.core.queueing.simulation import Simulated, simulate, waits


def waits_by_calendar(gaps: list[float], services: list[float], servers: int) -> list[float]:
    """The same queue told another way: servers come free at times kept in a heap."""
    free_at = [0.0] * servers
    now, result = 0.0, []
    for gap, service in zip(gaps, services, strict=True):
        now += gap
        start = max(now, heapq.heappop(free_at))
        heapq.heappush(free_at, start + service)
        result.append(start - now)
    return result


times = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=40)


@given(jobs=times, servers=st.integers(1, 5))
def test_the_recursion_is_the_queue(jobs: list[tuple[float, float]], servers: int) -> None:
    gaps, services = (np.array(column)[:, None] for column in zip(*jobs, strict=True))
    recursion = waits(gaps, services, np.zeros((servers, 1)))[:, 0]
    assert recursion == pytest.approx(
        waits_by_calendar([gap for gap, _ in jobs], [s for _, s in jobs], servers), abs=1e-9
    )


def test_a_history_can_be_passed_in_blocks() -> None:
    generator = np.random.default_rng(0)
    gaps, services = generator.exponential(1 / 2.5, (60, 4)), generator.exponential(1.0, (60, 4))
    whole = waits(gaps, services, np.zeros((3, 4)))
    ahead = np.zeros((3, 4))
    parts = [waits(gaps[part], services[part], ahead) for part in (slice(0, 7), slice(7, 60))]
    assert np.array_equal(np.concatenate(parts), whole)


def small_run(seed: int, jobs: int = 1_500) -> Simulated:
    return simulate(
        exponential(1.0),
        exponential(0.5),
        1,
        jobs=jobs,
        warm_up=300,
        replications=5,
        generator=np.random.default_rng(seed),
    )


def test_a_run_depends_on_its_seed_alone() -> None:
    assert np.array_equal(small_run(1).waits, small_run(1).waits)
    assert not np.array_equal(small_run(1).waits, small_run(2).waits)


def test_what_is_kept_comes_after_the_warm_up() -> None:
    run = small_run(1)
    assert run.waits.shape == run.responses.shape == (1_500, 5)
    assert run.waits[0].any()  # an empty system would greet the first job without a wait
    assert (run.responses > run.waits).all()
    assert run.span == pytest.approx(np.full(5, 1_500), rel=0.2)


def test_the_standard_error_tells_how_far_runs_are_apart() -> None:
    runs = [small_run(seed, jobs=400).wait_time for seed in range(200)]
    spread = np.std([run.value for run in runs], ddof=1)
    assert np.sqrt(np.mean([run.standard_error**2 for run in runs])) == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize("wrong", [{"servers": 0}, {"jobs": 0}, {"replications": 1}, {"warm_up": -1}])
def test_a_simulation_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    sizes = {"servers": 1, "jobs": 10, "warm_up": 0, "replications": 2, **wrong}
    with pytest.raises(InputError, match="a simulation needs at least"):
        simulate(exponential(1.0), exponential(0.5), generator=np.random.default_rng(0), **sizes)
