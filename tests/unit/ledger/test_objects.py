import base64
import gzip
import json
from typing import Any

import pytest

from coxswain.core.errors import InputError
from coxswain.core.ledger import objects
from coxswain.core.ledger.objects import LABEL, MOST_BYTES, Manifest
from tests.unit.ledger.making import entry


def as_created(manifest: Manifest, created: str = "2026-11-16T12:00:00Z") -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "object", "creationTimestamp": created}}


def chunk_of(lines: bytes | str) -> Manifest:
    packed = gzip.compress(lines.encode() if isinstance(lines, str) else lines)
    return {
        "metadata": {"name": "coxswain-runs-x", "namespace": "vision", "labels": {LABEL: "chunk"}},
        "binaryData": {"entries.jsonl.gz": base64.b64encode(packed).decode()},
    }


def test_an_entry_comes_back_from_its_object() -> None:
    manifest = objects.entry_object(entry(1))
    assert manifest["metadata"]["name"] == f"coxswain-run-{entry(1).uid}"
    assert manifest["metadata"]["labels"]["coxswain.dev/family"] == entry(1).family.key
    assert manifest["immutable"]
    assert "ownerReferences" not in manifest["metadata"]
    stored = objects.read_entries(as_created(manifest))
    assert (stored.entries, stored.notes, stored.is_chunk) == ((entry(1),), (), False)


def test_entries_come_back_from_chunks_of_one_family_each() -> None:
    mixed = [entry(n, node_type=f"type-{n % 2}") for n in range(10)]
    chunks = objects.chunk_objects(mixed)
    stored = [objects.read_entries(as_created(chunk)) for chunk in chunks]
    assert [len({each.family for each in one.entries}) for one in stored] == [1, 1]
    assert {each for one in stored for each in [e.uid for e in one.entries]} == {each.uid for each in mixed}


def test_the_same_entries_in_any_order_make_the_same_chunk() -> None:
    some = [entry(n) for n in range(5)]
    assert objects.chunk_objects(some) == objects.chunk_objects(reversed(some))
    assert objects.chunk_objects(some) != objects.chunk_objects(some[:4])


def test_a_chunk_always_fits_into_a_config_map() -> None:
    chunks = objects.chunk_objects(entry(n) for n in range(2000))
    texts = [gzip.decompress(base64.b64decode(each["binaryData"]["entries.jsonl.gz"])) for each in chunks]
    assert len(chunks) > 1
    assert all(len(text) <= MOST_BYTES for text in texts)
    assert sum(text.count(b"\n") for text in texts) == 2000
    assert all(len(json.dumps(each)) < 400 * 1024 for each in chunks)


def test_an_entry_belongs_to_the_namespace_it_is_found_in() -> None:
    manifest = as_created(objects.entry_object(entry(1, namespace="theirs")))
    manifest["metadata"]["namespace"] = "vision"
    assert objects.read_entries(manifest).entries == (entry(1, namespace="vision"),)


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (chunk_of("") | {"binaryData": None}, "missing"),
        (chunk_of("") | {"binaryData": {"entries.jsonl.gz": "%%%"}}, "cannot be unpacked"),
        (
            chunk_of("") | {"binaryData": {"entries.jsonl.gz": base64.b64encode(b"hello").decode()}},
            "cannot be unpacked",
        ),
        (
            chunk_of("")
            | {"binaryData": {"entries.jsonl.gz": base64.b64encode(gzip.compress(b"x" * 99)[:-9]).decode()}},
            "cut short",
        ),
        (chunk_of(b"0" * 100 * MOST_BYTES), "too long"),
        (chunk_of(b"\xff\xfe\n"), "no entry"),
        (chunk_of("[1]\n"), "no entry"),
        (objects.entry_object(entry(1)) | {"data": None}, "missing"),
        (objects.entry_object(entry(1)) | {"data": {"entry.json": "{}"}}, "no entry"),
    ],
    ids=["nothing", "not-base64", "not-gzip", "cut-short", "bomb", "not-text", "not-an-entry", "no-data", "empty"],
)
def test_what_cannot_be_read_is_skipped_with_a_note(manifest: Any, says: str) -> None:
    stored = objects.read_entries(manifest)
    assert stored.entries == ()
    [note] = stored.notes
    assert note.startswith(f"ConfigMap vision/{manifest['metadata']['name']}: ")
    assert says in note


def test_one_bad_line_does_not_spoil_a_chunk() -> None:
    stored = objects.read_entries(chunk_of(f"{entry(1).to_json()}\nnonsense\n{entry(2).to_json()}\n"))
    assert stored.entries == (entry(1), entry(2))
    assert len(stored.notes) == 1


def test_an_exclusion_says_which_entry_and_why() -> None:
    manifest = objects.exclusion_object("vision", entry(1).uid, " a noisy neighbour ")
    assert objects.is_exclusion(manifest)
    assert objects.read_exclusion(manifest) == (entry(1).key, "a noisy neighbour")
    assert objects.read_exclusion(manifest | {"data": None}) is None


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_an_exclusion_needs_a_reason_that_people_can_read(reason: str) -> None:
    with pytest.raises(InputError, match="reason"):
        objects.exclusion_object("vision", entry(1).uid, reason)


def test_of_the_same_run_twice_the_chunk_s_counts_and_the_exclusion_lies_over_it() -> None:
    single = objects.read_entries(as_created(objects.entry_object(entry(1)), "2026-11-16T11:00:00Z"))
    [chunk] = objects.chunk_objects([entry(1), entry(2)])
    found = objects.merged([single, objects.read_entries(as_created(chunk))], {entry(2).key: "bad", ("x", "y"): "gone"})
    assert list(found) == [entry(1).key, entry(2).key]
    assert [each.excluded for each in found.values()] == [None, "bad"]
