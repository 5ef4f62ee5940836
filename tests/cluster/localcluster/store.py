"""What takes long to make is made once and kept, in a folder named by the hash of what it is made from.

A folder appears under its final name only when it is complete, by a rename: neither a crash nor a second maker at the
same time can leave half of one behind.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.cluster.localcluster import places


def fingerprint(files: Mapping[str, Path], *words: str) -> str:
    """A short name for these files, by their names and contents wherever they lie, and these words."""
    digest = hashlib.sha256()
    parts = [part for name, path in sorted(files.items()) for part in (name.encode(), path.read_bytes())]
    for part in (*parts, *(word.encode() for word in words)):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]


def obtain(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name in the cache; if there is none, `make` fills it first."""
    kept = places.cache() / name
    if kept.is_dir():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=kept.parent))
    try:
        fresh.chmod(0o755)
        make(fresh)
        try:
            fresh.rename(kept)
        except OSError:
            if not kept.is_dir():  # else someone made the same meanwhile
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return kept
