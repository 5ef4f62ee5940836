"""What kopf is asked for: to watch five kinds of objects, and to say of each that it has changed. Nothing else.

All decisions are taken elsewhere, by workers of the operator's own; a watch only wakes them.
"""

from typing import Any

import kopf

from coxswain.shell.cluster import BATCH_JOBS, EXPERIMENTS, JOBS, NODES, PODS, Manifest, Resource
from coxswain.shell.operator import OURS, Operator

_PAGE = 500


def register(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    """Watch on behalf of an operator."""

    @kopf.on.startup(registry=registry)
    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.peering.standalone = True
        settings.persistence.finalizer = "coxswain.dev/kopf"
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="kopf.coxswain.dev")
        settings.watching.chunk_size = _PAGE
        for resource, label in OURS.items():
            settings.watching.label_selectors[resource.group, resource.plural] = label

    @kopf.on.login(registry=registry)
    async def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(**arguments)

    def tell(resource: Resource, event: kopf.RawEvent) -> None:
        manifest: Manifest = dict(event["object"])
        operator.seen(resource, manifest, gone=event["type"] == "DELETED")

    @kopf.on.event(JOBS.group, JOBS.version, JOBS.plural, registry=registry)
    async def job(event: kopf.RawEvent, **_: Any) -> None:
        tell(JOBS, event)

    @kopf.on.event(EXPERIMENTS.group, EXPERIMENTS.version, EXPERIMENTS.plural, registry=registry)
    async def experiment(event: kopf.RawEvent, **_: Any) -> None:
        tell(EXPERIMENTS, event)

    @kopf.on.event(BATCH_JOBS.group, BATCH_JOBS.version, BATCH_JOBS.plural, registry=registry)
    async def batch_job(event: kopf.RawEvent, **_: Any) -> None:
        tell(BATCH_JOBS, event)

    @kopf.on.event(PODS.version, PODS.plural, registry=registry)
    async def pod(event: kopf.RawEvent, **_: Any) -> None:
        tell(PODS, event)

    @kopf.on.event(NODES.version, NODES.plural, registry=registry)
    async def node(event: kopf.RawEvent, **_: Any) -> None:
        tell(NODES, event)
