from pathlib import Path
from typing import Any

import pytest

from coxswain.core.api import parse_experiment, parse_job
from coxswain.core.errors import InputError
from coxswain.local.plan import check, fractions, in_vain
from tests.unit.local.conftest import experiment, job, job_spec, runs_of

SPARK = {
    "engine": "Spark",
    "workload": {"type": "Train"},
    "resources": {"spark": {"nodes": 2, "executorsPerNode": 3, "coresPerExecutor": "500m"}},
}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"suspend": True}, "suspend is true"),
        ({"resources": {"coresPerWorker": 3}}, "asks for 3 cores, but this machine has 2"),
        ({"resources": {"workers": 5}}, "asks for 5 workers of 0.5 cores each, but this machine has 2"),
        ({"data": {"claim": "images"}}, "data.claim images has no folder here; give --claim images=DIR"),
        ({"output": {"claim": "models"}}, "output.claim models has no folder here"),
        ({"workload": {"type": "Custom", "image": "mine"}}, "give the command"),
        (SPARK, "asks for 2 workers of 1.5 cores each, but this machine has 2"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(fields: dict[str, Any], sentence: str) -> None:
    manifest = job()
    manifest["spec"] = {**job_spec(), **fields}
    if "resources" in fields:
        manifest["spec"]["resources"] = {"coresPerWorker": "500m", **fields["resources"]}
    with pytest.raises(InputError, match=sentence):
        check(runs_of(manifest), [0, 1], {})


def test_spark_needs_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    manifest = job()
    manifest["spec"] = SPARK
    with pytest.raises(InputError, match="engine Spark needs Java"):
        check(runs_of(manifest), range(4), {})


def test_jobs_at_a_time_need_room_together() -> None:
    factors = [{"name": "jobs", "field": "concurrency", "levels": [1, 8]}]
    with pytest.raises(InputError, match="asks for 8 workers"):
        check(runs_of(experiment(factors=factors)), [0, 1], {})


def test_claims_may_be_folders(tmp_path: Path) -> None:
    check(runs_of(job(data={"claim": "images"})), [0, 1], {"images": tmp_path})


def test_what_is_asked_for_in_vain_is_said() -> None:
    spec = parse_job(job(priority=5, nodeSelector={"a": "b"}, resources={"memoryPerWorker": "1Gi"})).spec
    told = list(in_vain(spec))
    assert "priority, nodeSelector" in told[0]
    assert "memoryPerWorker" in told[1]
    assert "image" in told[2]
    busy = parse_job(job(resources={"gpusPerWorker": 1})).spec
    assert any("gpusPerWorker" in sentence for sentence in in_vain(busy))


def test_a_plain_manifest_asks_for_nothing_in_vain() -> None:
    manifest = job()
    manifest["spec"] = {"resources": {"coresPerWorker": 1}}
    assert list(in_vain(parse_job(manifest).spec)) == []
    assert list(fractions(runs_of(manifest))) == []


def test_budgets_and_parts_of_cores_are_told_of() -> None:
    parsed = parse_experiment(experiment(budget={"cost": 5}))
    assert any("budget" in sentence for sentence in in_vain(parsed.spec.template.spec, parsed.spec))
    assert [sentence.split(" is ")[0] for sentence in fractions(runs_of(experiment()))] == ["A part of a core"]
