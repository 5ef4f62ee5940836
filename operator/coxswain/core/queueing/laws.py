"""Operational laws: what holds for any system that was watched for long enough, whatever its distributions.

They need no Poisson stream and no exponential service, only that what came in also went out. X is throughput, U
utilisation, S service time, V visits a job makes to a device, D = V * S its demand there, N jobs in the system, R
response time, Z think time (what a job does elsewhere between two passes).

For a closed system of N jobs the demands alone bound throughput and response time from both sides: the slowest device
cannot be outrun, and jobs can neither be served sooner than alone nor wait longer than for everybody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from coxswain.core.errors import InputError
from coxswain.core.queueing.checks import require_not_negative, require_positive


def utilization_law(throughput: float, service_time: float, servers: int = 1) -> float:
    """U = X * S / k: the share of time a device with k servers is busy."""
    return throughput * service_time / servers


def littles_law(throughput: float, residence_time: float) -> float:
    """N = X * R: how many jobs are inside, for any boundary drawn round the system."""
    return throughput * residence_time


def forced_flow_law(throughput: float, visits: float) -> float:
    """X_device = V * X: how much a device does follows from what the system does."""
    return visits * throughput


def response_time_law(jobs: float, throughput: float, think_time: float = 0.0) -> float:
    """R = N / X - Z: how long a pass takes in a closed system of N jobs."""
    require_positive("the throughput", throughput)
    return jobs / throughput - think_time


@dataclass(frozen=True)
class Bounds:
    """Between what limits throughput and response time of a closed system lie."""

    throughput: tuple[float, float]
    response_time: tuple[float, float]
    bottleneck: str
    saturation: float
    """How many jobs it takes until they must get in each other's way: (D + Z) / D_max."""


def bottleneck_bounds(demands: Mapping[str, float], jobs: int, think_time: float = 0.0) -> Bounds:
    """The asymptotic bounds of a closed system, from the demand D of a job at each device.

    N / (N * D + Z) <= X <= min(1 / D_max, N / (D + Z))
    max(D, N * D_max - Z) <= R <= N * D
    """
    if not demands:
        raise InputError("there are no demands; name at least one device and the time a job needs there.")
    for device, demand in demands.items():
        require_positive(f"the demand at {device}", demand)
    require_positive("the number of jobs", jobs)
    require_not_negative("the think time", think_time)
    total = sum(demands.values())
    bottleneck = max(demands, key=lambda device: demands[device])
    largest = demands[bottleneck]
    return Bounds(
        throughput=(jobs / (jobs * total + think_time), min(1 / largest, jobs / (total + think_time))),
        response_time=(max(total, jobs * largest - think_time), jobs * total),
        bottleneck=bottleneck,
        saturation=(total + think_time) / largest,
    )
