"""The Kubernetes API as the operator uses it: plain mappings in and out, one method a verb.

Authentication, TLS and connections are the client library's. Its generated classes are not used: they would turn every
object into a tree of Python objects and back, and know nothing of our own kinds.
"""

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException

from coxswain.shell.errors import NotFound, Unavailable, error_of

Manifest = dict[str, Any]
Observer = Callable[[str, str, int, float], None]
"""Told of every request: its verb, the kind of object, the status of the answer (0 for none), and its seconds."""

FIELD_MANAGER = "coxswain"
_PAGE = 500
_TIMEOUT_SECONDS = 30
_JSON, _MERGE, _APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True)
class Resource:
    """A kind of object, as the API addresses it."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """Where the objects of this kind are, or one of them."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, *(part for part in (self.plural, name, subresource) if part)])


JOBS = Resource("TrainingJob", "trainingjobs", "coxswain.dev", "v1alpha1")
EXPERIMENTS = Resource("TrainingExperiment", "trainingexperiments", "coxswain.dev", "v1alpha1")
BATCH_JOBS = Resource("Job", "jobs", "batch")
PODS = Resource("Pod", "pods")
SERVICES = Resource("Service", "services")
SECRETS = Resource("Secret", "secrets")
CONFIG_MAPS = Resource("ConfigMap", "configmaps")
NODES = Resource("Node", "nodes", namespaced=False)
EVENTS = Resource("Event", "events")
LEASES = Resource("Lease", "leases", "coordination.k8s.io")


class Cluster:
    """One API server. Every method raises one of `coxswain.shell.errors` when it does not get what it asked for."""

    def __init__(self, api: client.ApiClient, observe: Observer = lambda *_: None) -> None:
        self.api = api
        self._observe = observe

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        """One object."""
        return await self._request("GET", resource, resource.path(namespace, name))

    async def find(self, resource: Resource, namespace: str | None, name: str) -> Manifest | None:
        """One object, or None where there is none of that name."""
        try:
            return await self.get(resource, namespace, name)
        except NotFound:
            return None

    async def list(
        self, resource: Resource, namespace: str | None = None, *, metadata_only: bool = False, **selectors: str
    ) -> list[Manifest]:
        """All objects of a kind, or their metadata alone; selectors are `labelSelector` and `fieldSelector`."""
        query: dict[str, Any] = {**selectors, "limit": _PAGE}
        accept = _METADATA if metadata_only else _JSON
        found: list[Manifest] = []
        while True:
            page = await self._request("GET", resource, resource.path(namespace), query, verb="LIST", accept=accept)
            found += page["items"] or ()
            following = page["metadata"].get("continue")
            if not following:
                return found
            query["continue"] = following

    async def create(self, resource: Resource, namespace: str | None, manifest: Mapping[str, Any]) -> Manifest:
        """Create an object; one of the same name is an error."""
        query = {"fieldManager": FIELD_MANAGER}
        return await self._request("POST", resource, resource.path(namespace), query, dict(manifest))

    async def replace(self, resource: Resource, manifest: Manifest, subresource: str | None = None) -> Manifest:
        """Put an object in the place of the one of the same resourceVersion; another version is a conflict."""
        metadata = manifest["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self._request("PUT", resource, path, {"fieldManager": FIELD_MANAGER}, manifest)

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        subresource: str | None = None,
    ) -> Manifest:
        """Change some fields; with a resourceVersion or UID in the patch only if they still hold."""
        path = resource.path(namespace, name, subresource)
        return await self._request(
            "PATCH", resource, path, {"fieldManager": FIELD_MANAGER}, dict(patch), content=_MERGE
        )

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        manifest: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
    ) -> Manifest:
        """Server-side apply: own these fields and no others."""
        query = {"fieldManager": manager, "force": "true"}
        path = resource.path(namespace, name)
        return await self._request("PATCH", resource, path, query, dict(manifest), content=_APPLY)

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        version: str | None = None,
    ) -> None:
        """Delete an object and what belongs to it, if it is still the one meant; one that is gone already is fine."""
        conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        body: Manifest = {"propagationPolicy": "Background", "preconditions": conditions}
        try:
            await self._request("DELETE", resource, resource.path(namespace, name), None, body)
        except NotFound:
            return

    async def _request(
        self,
        method: str,
        resource: Resource,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Manifest | None = None,
        *,
        content: str = _JSON,
        accept: str = _JSON,
        verb: str | None = None,
    ) -> Manifest:
        began = time.monotonic()
        status = 0
        headers = {"Accept": accept, "Content-Type": content}
        path = f"{path}?{urlencode(query)}" if query else path
        try:
            prepared = await self.api.param_serialize(
                method, path, header_params=headers, body=body, auth_settings=["BearerToken"]
            )
            answer = await self.api.call_api(*prepared, _request_timeout=_TIMEOUT_SECONDS)
            await answer.read()  # type: ignore[no-untyped-call]
            status = answer.status
            content_read = answer.data or b""
        except ApiException as error:
            status = error.status or 0
            raise error_of(status, str(error.body or error.reason)) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(0, f"the API server cannot be reached: {error}") from error
        finally:
            self._observe(verb or method, resource.kind, status, time.monotonic() - began)
        if not 200 <= status < 300:
            raise error_of(status, content_read.decode(errors="replace"))
        document: Manifest = json.loads(content_read)
        return document


@asynccontextmanager
async def connected(observe: Observer = lambda *_: None) -> AsyncIterator[Cluster]:
    """The API server of the cluster that this runs in, or of the user's kubeconfig."""
    configuration = client.Configuration()
    configuration.connection_pool_maxsize = 100
    configuration.retries = 0
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        await config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    async with client.ApiClient(configuration) as api:
        yield Cluster(api, observe)
