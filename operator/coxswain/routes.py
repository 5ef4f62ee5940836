"""What kopf is asked for: to watch five kinds of objects, and to say of each that it has changed. Nothing else.

All decisions are taken elsewhere, by workers of the operator's own; a watch only wakes them.
"""

import asyncio
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import kopf

from coxswain.shell.cluster import Resource
from coxswain.shell.operator import OURS, WATCHED, Operator

_PAGE = 500


def register(registry: kopf.OperatorRegistry, operator: Operator, loops: Sequence[asyncio.Task[None]]) -> None:
    """Watch on behalf of an operator, and end its loops when the process is told to stop."""

    @kopf.on.startup(registry=registry)
    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.peering.standalone = True
        settings.persistence.finalizer = "coxswain.dev/kopf"
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="kopf.coxswain.dev")
        settings.watching.chunk_size = _PAGE
        # What is watched is there from the start; to look for more would take rights that the operator has not got.
        settings.scanning.disabled = True
        for resource, label in OURS.items():
            settings.watching.label_selectors[resource.group, resource.plural] = label

    @kopf.on.login(registry=registry)
    async def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        account = kopf.login_with_service_account(**arguments)
        return _by_address(account) if account else kopf.login_with_kubeconfig(**arguments)

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        for loop in loops:
            loop.cancel()
        await asyncio.wait(loops)

    for resource in WATCHED:
        _watch(registry, operator, resource)


def _watch(registry: kopf.OperatorRegistry, operator: Operator, resource: Resource) -> None:
    selector = tuple(part for part in (resource.group, resource.version, resource.plural) if part)

    @kopf.on.event(*selector, registry=registry, id=resource.plural)
    async def changed(event: kopf.RawEvent, **_: Any) -> None:
        operator.seen(resource, dict(event["object"]), gone=event["type"] == "DELETED")


def _by_address(account: kopf.ConnectionInfo) -> kopf.ConnectionInfo:
    """The API server by the address that every pod is told: its name would need a DNS in the cluster."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return dataclasses.replace(account, server=f"https://{f'[{host}]' if ':' in host else host}:{port}")
