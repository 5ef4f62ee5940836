"""A minimal Debian with Python as an archive of files: what the images of the tests start from."""

from pathlib import Path

from tests.cluster.localcluster import store
from tests.cluster.localcluster.shell import run

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3", "python3-venv")


def archive() -> Path:
    """The archive, made first if there is none."""
    key = store.fingerprint({}, SUITE, *PACKAGES)
    return store.obtain(f"debian-{key}", _make) / "debian.tar"


def _make(folder: Path) -> None:
    print("Making a minimal Debian for the images …", flush=True)
    include = f"--include={','.join(PACKAGES)}"
    run("mmdebstrap", "--quiet", "--variant=minbase", include, SUITE, str(folder / "debian.tar"))
