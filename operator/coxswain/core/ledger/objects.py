"""The ledger's objects: ConfigMaps, those with entries created once and never changed.

    coxswain-run-UID        one entry, as the operator records it: one create, however many there are already
    coxswain-runs-HASH      a chunk: many entries of one family, compressed, named by what it says
    coxswain-excluded-UID   why nothing is to be learnt from an entry, wherever that is kept; deleting it takes it back

None of them has an owner, so they outlive the job and the experiment. What an object says about its namespace is never
believed: entries belong to the namespace they are found in. An object that cannot be read, because someone has made or
changed it by hand or because a later version wrote it, is left alone and told of in a note.
"""

import base64
import binascii
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coxswain.core.errors import InputError
from coxswain.core.ledger.entry import Entry, Key

Manifest = dict[str, Any]

LABEL = "coxswain.dev/ledger"
ENTRY, CHUNK, EXCLUSION = "entry", "chunk", "exclusion"
FAMILY_LABEL = "coxswain.dev/family"

# A ConfigMap may hold 1 MiB. So much text fits even if it cannot be compressed at all, which it can, to a quarter.
MOST_BYTES = 768 * 1024
_LINE, _LINES, _UID, _REASON = "entry.json", "entries.jsonl.gz", "uid", "reason"
_LONGEST_REASON = 1000


@dataclass(frozen=True)
class Stored:
    """An object with entries as it was found; the notes say what of it could not be read."""

    namespace: str
    name: str
    uid: str
    """Of the object, not of a run."""
    created: str
    is_chunk: bool
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


def entry_name(uid: str) -> str:
    """The name of the object of one entry."""
    return f"coxswain-run-{uid}"


def entry_object(entry: Entry) -> Manifest:
    """One entry as an object of its own."""
    content = {"data": {_LINE: entry.to_json()}}
    return _immutable(entry_name(entry.uid), entry.namespace, ENTRY, content, entry.family.key)


def chunk_objects(entries: Iterable[Entry]) -> list[Manifest]:
    """Entries in as few objects as they fit into, each of one family; the same entries always give the same objects."""
    return [_chunk(lot) for lot in _lots(sorted(entries, key=lambda each: (each.namespace, each.family.key, each.uid)))]


def _lots(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    lot: list[Entry] = []
    size = 0
    for entry in entries:
        length = len(entry.to_json().encode()) + 1
        if lot and (lot[0].family != entry.family or size + length > MOST_BYTES):
            yield lot
            lot, size = [], 0
        lot.append(entry)
        size += length
    if lot:
        yield lot


def _chunk(entries: Sequence[Entry]) -> Manifest:
    text = "".join(f"{entry.to_json()}\n" for entry in entries).encode()
    family = entries[0].family
    content = {"binaryData": {_LINES: base64.b64encode(gzip.compress(text, mtime=0)).decode()}}
    name = f"coxswain-runs-{hashlib.sha256(text).hexdigest()[:32]}"
    return _immutable(name, family.namespace, CHUNK, content, family.key)


def exclusion_name(uid: str) -> str:
    """The name of the object that excludes an entry."""
    return f"coxswain-excluded-{uid}"


def exclusion_object(namespace: str, uid: str, reason: str) -> Manifest:
    """The object that excludes an entry.

    Raises:
        InputError: if there is no reason, or a very long one.
    """
    if not 1 <= len(reason.strip()) <= _LONGEST_REASON:
        raise InputError(f"the reason has {len(reason.strip())} characters; give one of 1 to {_LONGEST_REASON}.")
    content = {"data": {_UID: uid, _REASON: reason.strip()}}
    return _manifest(exclusion_name(uid), namespace, {LABEL: EXCLUSION}, content)


def _immutable(name: str, namespace: str, kind: str, content: Manifest, family: str) -> Manifest:
    return _manifest(name, namespace, {LABEL: kind, FAMILY_LABEL: family}, {"immutable": True, **content})


def _manifest(name: str, namespace: str, labels: Mapping[str, str], content: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def is_entry(manifest: Mapping[str, Any]) -> bool:
    """Whether an object says that it is one entry."""
    return _kind(manifest) == ENTRY


def is_exclusion(manifest: Mapping[str, Any]) -> bool:
    """Whether an object says that it excludes an entry."""
    return _kind(manifest) == EXCLUSION


def _kind(manifest: Mapping[str, Any]) -> str | None:
    kind: str | None = manifest["metadata"].get("labels", {}).get(LABEL)
    return kind


def read_exclusion(manifest: Mapping[str, Any]) -> tuple[Key, str] | None:
    """Which entry an object excludes, and why; None if it cannot be read."""
    data = manifest.get("data") or {}
    if not data.get(_UID):
        return None
    return (manifest["metadata"]["namespace"], data[_UID]), data.get(_REASON) or "no reason given"


def read_entries(manifest: Mapping[str, Any]) -> Stored:
    """What an object holds, as far as it can be read."""
    metadata = manifest["metadata"]
    is_chunk = _kind(manifest) == CHUNK
    namespace, name = metadata["namespace"], metadata["name"]
    entries, notes = [], []
    try:
        for line in _unpacked(manifest) if is_chunk else _single(manifest):
            try:
                entries.append(_at_home(Entry.from_json(line), namespace))
            except InputError as error:
                notes.append(f"ConfigMap {namespace}/{name}: {error}")
    except InputError as error:
        notes.append(f"ConfigMap {namespace}/{name}: {error}")
    created = metadata.get("creationTimestamp", "")
    return Stored(namespace, name, metadata.get("uid", ""), created, is_chunk, tuple(entries), tuple(notes))


def _single(manifest: Mapping[str, Any]) -> list[str]:
    line = (manifest.get("data") or {}).get(_LINE)
    if line is None:
        raise InputError(f"{_LINE} is missing.")
    return [line]


def _unpacked(manifest: Mapping[str, Any]) -> list[bytes]:
    packed = (manifest.get("binaryData") or {}).get(_LINES)
    if packed is None:
        raise InputError(f"{_LINES} is missing.")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)  # 16: gzip's own header and checksum
    try:
        # A few bytes can unpack to gigabytes; no chunk of ours does.
        text = unpacking.decompress(base64.b64decode(packed, validate=True), 2 * MOST_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise InputError(f"{_LINES} cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise InputError(f"{_LINES} is cut short or too long.")
    return text.splitlines()


def _at_home(entry: Entry, namespace: str) -> Entry:
    return entry if entry.namespace == namespace else replace(entry, family=replace(entry.family, namespace=namespace))


def merged(stored: Iterable[Stored], exclusions: Mapping[Key, str]) -> dict[Key, Entry]:
    """Every entry once, however many objects hold it: chunks count before single entries, older ones before newer."""
    found: dict[Key, Entry] = {}
    for each in sorted(stored, key=lambda each: (not each.is_chunk, each.created, each.name)):
        for entry in each.entries:
            found.setdefault(entry.key, entry)
    for key in exclusions.keys() & found.keys():
        found[key] = replace(found[key], excluded=exclusions[key])
    return found
