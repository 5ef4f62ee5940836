"""What takes long to make is made once and kept, in a folder named by the hash of what it is made from.

A folder appears under its final name only when it is complete, by a rename: neither a crash nor a second maker at the
same time can leave half of one behind.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.cluster.localcluster import places


def fingerprint(files: Iterable[Path], *words: str) -> str:
    """A short name for the contents of these files, in whatever folder they lie, and these words."""
    digest = hashlib.sha256()
    for name, content in sorted((path.name, path.read_bytes()) for path in files):
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    for word in words:
        digest.update(len(word.encode()).to_bytes(8, "big") + word.encode())
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
