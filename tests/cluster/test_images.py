"""The images that no training needs: each starts as it is, under the restricted Pod Security Standard."""

from collections.abc import Callable

from tests.cluster.kube import Cluster
from tests.cluster.pods import pod


def test_the_operator_s_image_has_the_command_line_and_all_that_the_operator_needs(
    cluster: Cluster, namespace: str, image: Callable[[str], str]
) -> None:
    manifest = pod(
        "operator", image("operator"), "python3 -c 'import kopf, kubernetes.aio' && python3 -m coxswain.cli --help"
    )
    manifest["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "512Mi"}}
    cluster.create(manifest, namespace=namespace)

    here = f"--namespace={namespace}"
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s", here, "pod/operator")

    assert "Usage" in cluster.kubectl("logs", here, "operator")
