"""Where cluster tests can run, and what it means if they cannot."""

from collections.abc import Mapping

OTHER_CLUSTER = "COXSWAIN_TEST_KUBECONFIG"
OTHER_REGISTRY = "COXSWAIN_TEST_REGISTRY"


def reason_to_skip(platform: str, user: int, environment: Mapping[str, str]) -> str | None:
    """The sentence that says why cluster tests cannot run here; None if they can."""
    if environment.get(OTHER_CLUSTER):
        return None
    if platform != "linux":
        return f"Cluster tests start a Kubernetes, which needs Linux (or name another cluster in {OTHER_CLUSTER})."
    if user != 0:
        return f"Cluster tests start a Kubernetes, which needs root (or name another cluster in {OTHER_CLUSTER})."
    return None


def skip_is_failure(environment: Mapping[str, str]) -> bool:
    """Whether not to run them is not an option: continuous integration must not pass by skipping."""
    return environment.get("CI", "").lower() == "true"
