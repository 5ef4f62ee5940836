"""The cluster as commands reach it: the one, and the namespace, that kubectl would use."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from coxswain.shell.cluster import Cluster

Answer = TypeVar("Answer")
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="By default that of the kubeconfig, as for kubectl."),
]
_OF_THIS_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def ask(namespace: str | None, act: "Callable[[Cluster, str], Awaitable[Answer]]") -> Answer:
    """Do something with the cluster, in a namespace or in the one that is set as the default.

    Raises:
        InputError: in one sentence, if there is no cluster to be reached or it refuses.
    """
    try:
        from coxswain.shell.cluster import connected
        from coxswain.shell.errors import ApiError
    except ModuleNotFoundError as error:
        raise InputError(f"this command needs {error.name}, which is missing; install coxswain[operator].") from None

    async def connect_and_act() -> Answer:
        async with connected() as cluster:
            return await act(cluster, where)

    where = namespace or _default_namespace()
    try:
        return asyncio.run(connect_and_act())
    except ApiError as error:
        raise InputError(f"the cluster did not do it: {error}") from None


def _default_namespace() -> str:
    import yaml
    from kubernetes.aio.config import ConfigException, list_kube_config_contexts

    # A file that is not there is told of below, once.
    logging.getLogger("kubernetes.aio.config").setLevel(logging.ERROR)
    if _OF_THIS_POD.exists():
        return _OF_THIS_POD.read_text(encoding="utf-8").strip()
    try:
        _, current = list_kube_config_contexts()  # type: ignore[no-untyped-call]
        return str(current["context"].get("namespace") or "default")
    except (ConfigException, OSError, yaml.YAMLError, AttributeError, TypeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"no kubeconfig says which cluster to ask ({said}); set KUBECONFIG.") from None
