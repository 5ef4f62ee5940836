"""Events: what happened to an object, where `kubectl describe` shows it.

The same again is not a new event: within a while it raises the count of the first one, and when it comes in quick
succession it is only counted, and told with the next. So nothing that repeats can flood the API server. An event is a
courtesy: if it cannot be written, the work goes on without.
"""

import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from coxswain.shell.cluster import EVENTS, Cluster, Manifest
from coxswain.shell.errors import ApiError, NotFound

_COMPONENT = "coxswain"
_SAME_EVENT = timedelta(minutes=10)
_QUICK_SUCCESSION = timedelta(seconds=10)
_MOST_REMEMBERED = 4_096
_LONGEST_MESSAGE = 1_024
"""The API server's own limit, in bytes."""

_log = logging.getLogger(__name__)
_Key = tuple[str, str, str]


@dataclass
class _Written:
    """An event that is in the cluster; `count` is ahead of it by what has not been told yet."""

    name: str
    count: int
    at: datetime


class Recorder:
    """Writes events, each of them once."""

    def __init__(self, cluster: Cluster, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._cluster = cluster
        self._now = now
        self._written: OrderedDict[_Key, _Written] = OrderedDict()

    async def emit(self, about: Mapping[str, Any], reason: str, message: str, *, warning: bool = False) -> None:
        """Tell what happened to an object, which is given by its manifest: a CamelCase reason, and a sentence."""
        now = self._now()
        key = (about["metadata"]["uid"], reason, message)
        earlier = self._written.get(key)
        try:
            if earlier is None or now - earlier.at > _SAME_EVENT:
                await self._create(key, about, now, warning=warning)
            elif now - earlier.at < _QUICK_SUCCESSION:
                earlier.count += 1
            else:
                await self._repeat(key, earlier, about, now, warning=warning)
        except ApiError as error:
            self._written.pop(key, None)
            _log.warning("An event was not written (%s): %s", reason, error)

    async def _create(self, key: _Key, about: Mapping[str, Any], now: datetime, *, warning: bool) -> None:
        _, reason, message = key
        name = f"{about['metadata']['name'][:200]}.{uuid.uuid4().hex[:16]}"
        # Remembered before it is written: what comes meanwhile is the same event.
        self._written[key] = _Written(name, 1, now)
        self._written.move_to_end(key)
        if len(self._written) > _MOST_REMEMBERED:
            self._written.popitem(last=False)
        event = _event(name, about, reason, message, now, warning=warning)
        await self._cluster.create(EVENTS, event["metadata"]["namespace"], event)

    async def _repeat(
        self, key: _Key, earlier: _Written, about: Mapping[str, Any], now: datetime, *, warning: bool
    ) -> None:
        earlier.count += 1
        earlier.at = now
        change = {"count": earlier.count, "lastTimestamp": _timestamp(now)}
        try:
            await self._cluster.merge(EVENTS, _namespace(about), earlier.name, change)
        except NotFound:  # events do not live long
            await self._create(key, about, now, warning=warning)


def _event(name: str, about: Mapping[str, Any], reason: str, message: str, now: datetime, *, warning: bool) -> Manifest:
    metadata = about["metadata"]
    involved = {"apiVersion": about["apiVersion"], "kind": about["kind"]}
    involved |= {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion") if key in metadata}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _namespace(about)},
        "involvedObject": involved,
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": message.encode()[:_LONGEST_MESSAGE].decode(errors="ignore"),
        "count": 1,
        "firstTimestamp": _timestamp(now),
        "lastTimestamp": _timestamp(now),
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
    }


def _namespace(about: Mapping[str, Any]) -> str:
    """Events of objects that are in no namespace are in the default one."""
    found: str = about["metadata"].get("namespace", "default")
    return found


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
