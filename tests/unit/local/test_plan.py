from pathlib import Path
from typing import Any

import pytest

from coxswain.core.api import parse_experiment, parse_job
from coxswain.core.errors import InputError
from coxswain.local.plan import check, fractions, in_vain
from tests.unit.local.conftest import experiment, job, job_spec, runs_of


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"suspend": True}, "suspend is true"),
        ({"resources": {"coresPerWorker": 3}}, "asks for 3 cores, but this machine has 2"),
        ({"resources": {"workers": 5}}, "asks for 5 workers of 0.5 cores each, but this machine has 2"),
        ({"data": {"claim": "images"}}, "data.claim images has no folder here; give --claim images=DIR"),
        ({"output": {"claim": "models"}}, "output.claim models has no folder here"),
        ({"data": {"url": "s3://bucket/images"}}, "data.url cannot be read"),
        ({"workload": {"type": "Custom", "image": "mine"}}, "give the command"),
        ({"engine": "Spark", "workload": {"type": "Train"}, "resources": {}}, "engine Spark cannot be run"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(fields: dict[str, Any], sentence: str) -> None:
    manifest = job()
    manifest["spec"] = {**job_spec(), **fields}
    if fields.get("resources"):
        manifest["spec"]["resources"] = {"coresPerWorker": "500m", **fields["resources"]}
        manifest["spec"]["parameters"] = {"batchSize": 64}
    with pytest.raises(InputError, match=sentence):
        check(runs_of(manifest), [0, 1], {})


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


def test_a_plain_manifest_asks_for_nothing_in_vain() -> None:
    manifest = job()
    manifest["spec"] = {"resources": {"coresPerWorker": 1}}
    assert list(in_vain(parse_job(manifest).spec)) == []
    assert list(fractions(runs_of(manifest))) == []


def test_budgets_and_parts_of_cores_are_told_of() -> None:
    parsed = parse_experiment(experiment(budget={"cost": 5}))
    assert any("budget" in sentence for sentence in in_vain(parsed.spec.template.spec, parsed.spec))
    assert [sentence.split(" is ")[0] for sentence in fractions(runs_of(experiment()))] == ["A part of a core"]
