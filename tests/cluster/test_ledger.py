"""The ledger on a real API server: once means once, whoever writes, whatever is deleted, and what people do with it."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from kubernetes.aio import client, config

from coxswain.core.ledger import Entry
from coxswain.core.ledger.objects import LABEL
from coxswain.core.ledger.upkeep import MOST_SINGLES
from coxswain.shell import cluster as shell
from coxswain.shell.errors import Refused
from coxswain.shell.ledger import Ledger
from tests.cluster.kube import Cluster
from tests.unit.ledger.making import entry

Answer = TypeVar("Answer")
MANY = 10_000


def connected(cluster: Cluster, act: Callable[[shell.Cluster], Awaitable[Answer]]) -> Answer:
    async def connect() -> Answer:
        configuration = client.Configuration()
        await config.load_kube_config(str(cluster.kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
        async with client.ApiClient(configuration) as api:
            return await act(shell.Cluster(api))

    return asyncio.run(connect())


def kinds(cluster: Cluster, namespace: str) -> Counter[str]:
    found = cluster.get("configmaps", f"--namespace={namespace}", f"--selector={LABEL}")
    return Counter(each["metadata"]["labels"][LABEL] for each in found)


async def loaded(api: shell.Cluster, namespace: str) -> Ledger:
    ledger = Ledger(api, [namespace])
    await ledger.load()
    return ledger


def test_two_operators_that_record_the_same_runs_at_once_record_each_once(cluster: Cluster, namespace: str) -> None:
    async def scene(api: shell.Cluster) -> list[Entry]:
        first, second = await loaded(api, namespace), await loaded(api, namespace)
        entries = [entry(n, namespace) for n in range(20)]
        await asyncio.gather(*(ledger.append(each) for each in entries for ledger in (first, second, first)))
        assert sorted(each.uid for each in first.all()) == sorted(each.uid for each in second.all())
        return sorted((await loaded(api, namespace)).all(), key=lambda each: each.uid)

    assert connected(cluster, scene) == [entry(n, namespace) for n in range(20)]
    assert kinds(cluster, namespace) == {"entry": 20}


def test_runs_that_were_put_together_are_neither_lost_nor_recorded_again(cluster: Cluster, namespace: str) -> None:
    family = entry(0, namespace).family.key

    async def scene(api: shell.Cluster) -> None:
        ledger, slow = await loaded(api, namespace), await loaded(api, namespace)
        for number in range(MOST_SINGLES):
            await ledger.append(entry(number, namespace))
        await ledger.exclude(*entry(3, namespace).key, "a noisy neighbour")
        # Two operators for a moment: both put together what they see.
        other = await loaded(api, namespace)
        await asyncio.gather(ledger.compact(MANY), other.compact(MANY))
        await ledger.append(entry(5, namespace))
        await (await loaded(api, namespace)).append(entry(6, namespace))
        await slow.append(entry(7, namespace))
        again = await loaded(api, namespace)
        assert sorted(each.uid for each in again.all()) == [entry(n).uid for n in range(MOST_SINGLES)]
        assert len(again.entries(family)) == MOST_SINGLES - 1
        await again.compact(MANY)

    connected(cluster, scene)
    assert kinds(cluster, namespace) == {"chunk": 1, "exclusion": 1}


def test_what_is_recorded_cannot_be_changed_by_hand(cluster: Cluster, namespace: str) -> None:
    async def scene(api: shell.Cluster) -> None:
        await (await loaded(api, namespace)).append(entry(0, namespace))
        name = f"coxswain-run-{entry(0).uid}"
        with pytest.raises(Refused, match="immutable"):
            await api.merge(shell.CONFIG_MAPS, namespace, name, {"data": {"entry.json": "{}"}})

    connected(cluster, scene)


def test_an_observation_outlives_its_job_and_its_experiment(crds: Cluster, namespace: str) -> None:
    place = f"--namespace={namespace}"
    job = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "short"}, "spec": {}}
    crds.create(job, namespace=namespace)
    uid = crds.get("trainingjobs.coxswain.dev", "short", place)["metadata"]["uid"]
    mine = Entry(uid=uid, family=entry(0, namespace).family, observation=entry(0).observation)

    async def record(api: shell.Cluster) -> None:
        await (await loaded(api, namespace)).append(mine)

    async def read(api: shell.Cluster) -> list[Entry]:
        return list((await loaded(api, namespace)).all())

    connected(crds, record)
    crds.kubectl("delete", "trainingjobs.coxswain.dev", "short", place, "--cascade=foreground")
    assert connected(crds, read) == [mine]


class Person:
    """Someone at a terminal."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "COLUMNS": "300"}
        self._namespace = namespace

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "coxswain.cli", "ledger", *words, f"--namespace={self._namespace}"],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def reads(self, *words: str) -> str:
        done = self.types(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lists(self) -> dict[str, Any]:
        document = json.loads(self.reads("list", "--output=json"))
        return {each["uid"]: each for each in document["observations"]}


def test_what_people_do_with_the_ledger(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async def record(api: shell.Cluster) -> None:
        ledger = await loaded(api, namespace)
        for number in range(3):
            await ledger.append(entry(number, namespace))

    connected(cluster, record)
    person = Person(cluster, namespace)
    assert person.lists().keys() == {entry(n).uid for n in range(3)}
    assert "3 observations, 0 of them excluded." in person.reads("list")

    person.reads("exclude", entry(0).uid, entry(1).job, "--reason=a noisy neighbour")
    assert [each["excluded"] for each in person.lists().values()] == ["a noisy neighbour"] * 2 + [None]
    person.reads("include", entry(1).uid)
    exported = person.reads("export")
    before = person.lists()

    table = tmp_path / "exported.csv"
    table.write_text(exported)
    assert person.reads("import", str(table)).startswith("0 of 3 observations were new")
    cluster.kubectl("delete", "configmaps", f"--namespace={namespace}", f"--selector={LABEL}")
    assert person.lists() == {}
    assert person.reads("import", str(table)).startswith("3 of 3 observations were new")
    assert person.lists() == before
    assert person.reads("export") == exported


def test_measurements_made_elsewhere_are_taken_in_once(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    manifest = {"apiVersion": "coxswain.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mine"}, "spec": {}}
    job, table = tmp_path / "job.yaml", tmp_path / "measured.csv"
    job.write_text(json.dumps(manifest))
    table.write_text("batchSize,epochs,duration,accuracy\n" + "".join(f"{8 * n},5,{n}.5,0.9\n" for n in range(1, 301)))
    person = Person(cluster, namespace)
    command = ("import", str(table), f"--like={job}", "--node-type=n2-standard-4")
    assert person.reads(*command).startswith("300 of 300 observations were new")
    assert person.reads(*command).startswith("0 of 300 observations were new")
    assert kinds(cluster, namespace) == {"chunk": 1}
    assert {each["fields"]["batchSize"] for each in person.lists().values()} == {8 * n for n in range(1, 301)}


def test_a_mistake_is_one_sentence_and_exit_code_2(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    person = Person(cluster, namespace)
    table = tmp_path / "table.csv"
    table.write_text("batchSize,duration\n32,soon\n")
    for words, says in (
        (("exclude", "nobody", "--reason=bad"), "has no run nobody"),
        (("import", str(tmp_path / "none.csv")), "there is no file"),
        (("import", str(table)), "was not exported from a ledger"),
        (("import", str(table), "--node-type=n2"), "--node-type is for"),
    ):
        done = person.types(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
