"""Container images: built from the Dockerfiles in images/ by buildah, kept as archives, given to the local cluster.

There is no registry: an image is imported into containerd under its local name, and pods ask for it with
`imagePullPolicy: IfNotPresent` or `Never`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.localcluster import places, store
from tests.cluster.localcluster.errors import ClusterError

IMAGES = places.REPOSITORY / "images"
BUSYBOX = "localhost/coxswain/busybox:latest"


def busybox() -> Path:
    """The archive of an image with a shell and little else; also what holds a pod's network."""
    program = shutil.which("busybox")
    assert program is not None
    return build(BUSYBOX, IMAGES / "busybox", extra={"busybox": Path(program)})


def build(name: str, context: Path, *, base: str = "scratch", extra: Mapping[str, Path] | None = None) -> Path:
    """The archive of an image, built first if its Dockerfile, context, base or extra files are new."""
    files = {path.relative_to(context).as_posix(): path for path in sorted(context.rglob("*")) if path.is_file()}
    files.update(extra or {})
    key = store.fingerprint(files.values(), name, base, *files)
    return store.obtain(f"image-{key}", lambda folder: _build(folder, name, base, files)) / "image.tar"


def _build(folder: Path, name: str, base: str, files: Mapping[str, Path]) -> None:
    print(f"Building the image {name} …", flush=True)
    with tempfile.TemporaryDirectory() as context, tempfile.TemporaryDirectory() as storage:
        for place, path in files.items():
            target = Path(context, place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        # Its own storage, thrown away afterwards, without a driver that mounts: nothing is left on the machine.
        buildah = ["buildah", f"--root={storage}/root", f"--runroot={storage}/run", "--storage-driver=vfs"]
        _run(*buildah, "build", "--isolation=chroot", f"--build-arg=BASE={base}", f"--tag={name}", context)
        _run(*buildah, "push", "--disable-compression", name, f"oci-archive:{folder / 'image.tar'}:{name}")


def load(archive: Path) -> None:
    """Give an image to the local cluster."""
    _run("ctr", f"--address={places.CONTAINERD_SOCKET}", "--namespace=k8s.io", "images", "import", str(archive))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()}")
