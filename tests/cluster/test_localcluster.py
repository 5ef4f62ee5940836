"""What the cluster of the tests can do, as far as the rest of the project counts on it."""

import json
import urllib.request

import pytest

from tests.cluster.kube import Cluster, KubectlError
from tests.cluster.localcluster import lifecycle, places, record
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.pods import indexed_job, pod, service

SERVE = "mkdir /tmp/www; echo served > /tmp/www/index.html; httpd -f -p 8080 -h /tmp/www"


def wait_for(cluster: Cluster, condition: str, what: str, namespace: str) -> None:
    cluster.kubectl("wait", f"--for={condition}", "--timeout=120s", f"--namespace={namespace}", what)


def web_server(image: str) -> dict[str, object]:
    manifest = pod("web", image, SERVE)
    manifest["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
    return manifest


def test_every_node_is_ready(cluster: Cluster) -> None:
    for node in cluster.get("nodes"):
        conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"


def test_an_indexed_job_of_two_restricted_pods_completes_and_leaves_its_termination_messages(
    cluster: Cluster, namespace: str, busybox: str
) -> None:
    script = 'test "$(id -u)" != 0 && ! touch /written && echo -n "index $JOB_COMPLETION_INDEX" > /dev/termination-log'
    cluster.create(indexed_job("two", busybox, script, pods=2), namespace=namespace)

    wait_for(cluster, "condition=Complete", "job/two", namespace)

    ended = [
        pod["status"]["containerStatuses"][0]["state"]["terminated"]
        for pod in cluster.get("pods", f"--namespace={namespace}", "--selector=job-name=two")
    ]
    assert sorted(each["message"] for each in ended) == ["index 0", "index 1"]


def test_a_pod_against_the_restricted_standard_is_refused(cluster: Cluster, namespace: str, busybox: str) -> None:
    manifest = pod("root", busybox, "id")
    manifest["spec"]["securityContext"] = {"runAsUser": 0}

    with pytest.raises(KubectlError, match=r'violates PodSecurity "restricted:latest".*runAsNonRoot'):
        cluster.create(manifest, namespace=namespace)


def test_pods_reach_each_other_through_a_service(cluster: Cluster, namespace: str, busybox: str) -> None:
    cluster.create(service("web", 8080), web_server(busybox), namespace=namespace)
    wait_for(cluster, "condition=Ready", "pod/web", namespace)
    address = cluster.get("service", "web", f"--namespace={namespace}")["spec"]["clusterIP"]

    client = f"until timeout 5 wget -q -O /dev/termination-log http://{address}:8080/; do sleep 0.2; done"
    cluster.create(pod("client", busybox, client), namespace=namespace)
    wait_for(cluster, "jsonpath={.status.phase}=Succeeded", "pod/client", namespace)

    client_status = cluster.get("pod", "client", f"--namespace={namespace}")["status"]
    assert client_status["containerStatuses"][0]["state"]["terminated"]["message"] == "served\n"


def test_logs_and_exec_reach_a_pod(cluster: Cluster, namespace: str, busybox: str) -> None:
    cluster.create(pod("talker", busybox, "echo hello; sleep 600"), namespace=namespace)
    wait_for(cluster, "condition=Ready", "pod/talker", namespace)

    assert cluster.kubectl("logs", "talker", f"--namespace={namespace}") == "hello\n"
    assert cluster.kubectl("exec", "talker", f"--namespace={namespace}", "--", "echo", "there") == "there\n"


def test_the_machine_reaches_pods_and_services_of_its_local_cluster(
    local_cluster: Cluster, namespace: str, busybox: str
) -> None:
    local_cluster.create(service("web", 8080), web_server(busybox), namespace=namespace)
    wait_for(local_cluster, "condition=Ready", "pod/web", namespace)
    pod_address = local_cluster.get("pod", "web", f"--namespace={namespace}")["status"]["podIP"]
    service_address = local_cluster.get("service", "web", f"--namespace={namespace}")["spec"]["clusterIP"]

    for address in (pod_address, service_address):
        with urllib.request.urlopen(f"http://{address}:8080/", timeout=10) as answer:
            assert answer.read() == b"served\n"


def test_the_audit_log_of_the_local_cluster_tells_what_was_created(local_cluster: Cluster, namespace: str) -> None:
    local_cluster.kubectl("create", "configmap", "noted", f"--namespace={namespace}")

    events = [json.loads(line) for line in places.AUDIT_LOG.read_text().splitlines()]
    created = [
        event
        for event in events
        if event["verb"] == "create" and event["objectRef"].get("namespace") == namespace
        if event["objectRef"]["resource"] == "configmaps" and event["user"]["username"] == "admin"
    ]
    assert [event["responseStatus"]["code"] for event in created] == [201]


def test_a_second_local_cluster_is_refused_and_the_first_goes_on(local_cluster: Cluster) -> None:
    first = record.load()

    with pytest.raises(ClusterError, match="running on this machine already: stop it with `make cluster-down`"):
        lifecycle.up()

    assert record.load() == first
    assert local_cluster.get("nodes")
