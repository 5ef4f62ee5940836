"""What the ledger costs on a real API server: an append at 50 observations and at 50,000, and reading them all.

Appends to a small ledger and to a large one take turns, so that whatever else the machine does meanwhile meets both
alike. The local cluster of the tests is started for it, or COXSWAIN_TEST_KUBECONFIG names another; the two namespaces
are deleted at the end.
"""

import asyncio
import json
import os
import resource
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from statistics import median, quantiles

from kubernetes.aio import client, config

from coxswain.core.api.job import JobSpec, Parameters
from coxswain.core.families import family_of, fields_of
from coxswain.core.ledger import Entry, objects
from coxswain.core.ledger.upkeep import MOST_SINGLES
from coxswain.core.observations import SUCCEEDED, Curve, Observation
from coxswain.shell.cluster import Cluster, Resource
from coxswain.shell.ledger import Ledger
from tests.cluster.conditions import OTHER_CLUSTER, reason_to_skip
from tests.cluster.localcluster import lifecycle, places

FEW, MANY = 50, 50_000
APPENDS = 200
EPOCHS = 20
NAMESPACES = Resource("Namespace", "namespaces", namespaced=False)


def entry(namespace: str, number: int) -> Entry:
    """A run of 20 epochs, with numbers as many-digit as measured ones."""
    rng = Random(number)  # noqa: S311 - not cryptography
    spec = JobSpec(parameters=Parameters(epochs=EPOCHS))
    batch_size = rng.choice([32.0, 64.0, 128.0, 256.0])

    def column() -> tuple[float, ...]:
        return tuple(round(rng.random(), 6) for _ in range(EPOCHS))

    epochs = tuple(range(1, EPOCHS + 1))
    measured = {name: rng.random() * 100 for name in ("duration", "startup", "accuracy", "loss", "samplesPerSecond")}
    observation = Observation(
        experiment="benchmark",
        run=f"benchmark-row{number}-0",
        job=f"benchmark-row{number}-0",
        row=number,
        replicate=0,
        block=0,
        digest=f"sha256:{rng.getrandbits(256):064x}",
        settings={"batch_size": batch_size},
        responses=measured,
        state=SUCCEEDED,
        started="2026-11-16T10:00:00Z",
        finished="2026-11-16T10:01:00Z",
        epochs=EPOCHS,
        load=1.0,
        curve=Curve(epochs, column(), column(), column(), column(), column()),
        versions={"coxswain": "0.1.0", "python": "3.11.2", "torch": "2.15.0"},
    )
    return Entry(
        uid=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        family=family_of(namespace, spec, "n2-standard-4"),
        experiment_uid=str(uuid.UUID(int=1)),
        fields=fields_of(spec) | {"batchSize": batch_size},
        observation=observation,
    )


def run() -> None:
    """Print what an append and a load cost."""
    if reason := reason_to_skip(sys.platform, os.geteuid(), os.environ):
        print(reason)
        return
    other = os.environ.get(OTHER_CLUSTER)
    with nullcontext() if other else lifecycle.running():
        asyncio.run(_measure(Path(other) if other else places.KUBECONFIG))


async def _measure(kubeconfig: Path) -> None:
    configuration = client.Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    async with client.ApiClient(configuration) as api:
        cluster = Cluster(api)
        names = [f"bench-{uuid.uuid4().hex[:8]}" for _ in range(2)]
        try:
            for name in names:
                await cluster.create(NAMESPACES, None, {"metadata": {"name": name}})
            await _run(cluster, *names)
        finally:
            for name in names:
                await cluster.delete(NAMESPACES, None, name)


async def _run(cluster: Cluster, small: str, large: str) -> None:
    _sizes()
    ledgers = {FEW: Ledger(cluster, [small]), MANY: Ledger(cluster, [large])}
    await _fill(ledgers[FEW], small, FEW)
    alone = await _appends({FEW: ledgers[FEW]}, {FEW: small}, first=10**6)
    with _timed(f"filling a ledger with {MANY:,} observations, {MOST_SINGLES} a chunk"):
        await _fill(ledgers[MANY], large, MANY)
    both = await _appends(ledgers, {FEW: small, MANY: large}, first=2 * 10**6)
    print(f"One append, {APPENDS} each, median and 95th percentile:")
    for what, times in (
        (f"at {FEW}, before the other ledger was filled", alone[FEW]),
        (f"at {FEW}, in turns with", both[FEW]),
        (f"at {MANY:,}", both[MANY]),
    ):
        print(f"  {what:45s} {1000 * median(times):6.2f} ms {1000 * quantiles(times, n=20)[-1]:6.2f} ms")
    print(f"  ratio of the medians, in turns {median(both[MANY]) / median(both[FEW]):.2f}")
    with _timed(f"putting {2 * APPENDS} single entries together"):
        await ledgers[FEW].compact(MANY)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del ledgers
    fresh = Ledger(cluster, [large])
    with _timed(f"loading {MANY + APPENDS:,} observations"):
        await fresh.load()
    with _timed("loading again, with nothing new"):
        await fresh.load()
    print(f"  memory at its peak {before / 1024:.0f} MiB before, {_peak():.0f} MiB after")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _sizes() -> None:
    entries = [entry("bench", number) for number in range(MOST_SINGLES)]
    [chunk] = objects.chunk_objects(entries)
    single = sum(len(json.dumps(objects.entry_object(each))) for each in entries) / len(entries)
    together = len(json.dumps(chunk)) / len(entries)
    print(f"One observation of {EPOCHS} epochs: {single:.0f} bytes alone, {together:.0f} in a chunk")


async def _fill(ledger: Ledger, namespace: str, count: int) -> None:
    for first in range(0, count, MOST_SINGLES):
        await ledger.add([entry(namespace, number) for number in range(first, min(first + MOST_SINGLES, count))])


async def _appends(ledgers: dict[int, Ledger], namespaces: dict[int, str], first: int) -> dict[int, list[float]]:
    times: dict[int, list[float]] = {size: [] for size in ledgers}
    for number in range(first, first + APPENDS):
        for size, ledger in ledgers.items():
            one = entry(namespaces[size], number)
            began = time.perf_counter()
            await ledger.append(one)
            times[size].append(time.perf_counter() - began)
    return times


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began, used = time.perf_counter(), time.process_time()
    yield
    print(f"  {what}: {time.perf_counter() - began:.2f} s, {time.process_time() - used:.2f} s of CPU", flush=True)


if __name__ == "__main__":
    run()
