"""ConfigMaps in memory, in the place of a cluster, that can fail at any write: before it took effect, or after."""

import copy
import itertools
from collections.abc import Mapping
from typing import Any, cast

from coxswain.shell.cluster import Cluster, Manifest, Resource
from coxswain.shell.errors import AlreadyExists, Conflict, NotFound


class CrashError(Exception):
    """The process is gone at this point."""


class Store:
    """What a Cluster does with ConfigMaps."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.requests: list[str] = []
        self.writes_left: int | None = None
        self.after = False
        self._numbers = itertools.count(1)

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", self)

    def crash_at(self, write: int | None, *, after: bool = False) -> None:
        """Fail at the so-and-so-many-th write from now on, before it is done or after; None never fails."""
        self.writes_left, self.after = write, after

    async def find(self, _: Resource, namespace: str, name: str) -> Manifest | None:
        self.requests.append("get")
        return copy.deepcopy(self.objects.get((namespace, name)))

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        found = await self.find(resource, namespace, name)
        if found is None:
            raise NotFound(404, name)
        return found

    async def list(
        self, _resource: Resource, namespace: str | None = None, *, metadata_only: bool = False, **selectors: str
    ) -> list[Manifest]:
        self.requests.append("list metadata" if metadata_only else "list")
        label, values = selectors["labelSelector"].replace(" in ", "=").split("=")
        wanted = values.strip("()").split(",")
        found = [
            each
            for (where, _name), each in self.objects.items()
            if namespace in (None, where) and each["metadata"]["labels"].get(label) in wanted
        ]
        return copy.deepcopy([{"metadata": each["metadata"]} for each in found] if metadata_only else found)

    async def create(self, _: Resource, namespace: str, manifest: Mapping[str, Any]) -> Manifest:
        key = (namespace, manifest["metadata"]["name"])
        with self._write("create"):
            if key in self.objects:
                raise AlreadyExists(409, key[1])
            number = next(self._numbers)
            stamp = {"uid": f"object-{number}", "creationTimestamp": f"2026-11-16T12:00:00Z+{number:06}"}
            self.objects[key] = {**copy.deepcopy(dict(manifest)), "metadata": {**manifest["metadata"], **stamp}}
        return copy.deepcopy(self.objects[key])

    async def merge(self, _: Resource, namespace: str, name: str, patch: Mapping[str, Any]) -> Manifest:
        found = self.objects[namespace, name]
        assert not found.get("immutable")
        with self._write("merge"):
            found["data"] = {**found["data"], **patch["data"]}
        return copy.deepcopy(found)

    async def delete(self, _: Resource, namespace: str, name: str, *, uid: str | None = None) -> None:
        with self._write("delete"):
            found = self.objects.get((namespace, name))
            if found is not None and uid is not None and found["metadata"]["uid"] != uid:
                raise Conflict(409, name)
            self.objects.pop((namespace, name), None)

    def _write(self, verb: str) -> "_Write":
        self.requests.append(verb)
        return _Write(self)

    def tick(self) -> bool:
        """Whether this write is the one to fail at."""
        if self.writes_left is None:
            return False
        self.writes_left -= 1
        return self.writes_left < 0


class _Write:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._fails = store.tick()

    def __enter__(self) -> None:
        if self._fails and not self._store.after:
            raise CrashError

    def __exit__(self, *_: object) -> None:
        if self._fails:
            raise CrashError
