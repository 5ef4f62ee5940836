"""Container images: built from the Dockerfiles in images/ by buildah, kept as archives, given to the local cluster.

There is no registry: an image is imported into containerd under its local name, and pods ask for it with
`imagePullPolicy: IfNotPresent` or `Never`.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.localcluster import places, store
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.logs import tell

IMAGES = places.REPOSITORY / "images"


@dataclass(frozen=True)
class Recipe:
    """What an image is made from beside its own folder: a base, and files that are put next to its Dockerfile."""

    base: str
    files: Mapping[str, Path] = field(default_factory=dict)


RECIPES = {
    "busybox": Recipe("scratch", {"busybox": Path("/bin/busybox")}),
}


def reference(name: str, registry: str = "localhost/coxswain") -> str:
    """What pods call an image."""
    return f"{registry}/{name}:latest"


def archive(name: str) -> Path:
    """The archive of an image, built first if its folder, its base or one of its files is new."""
    recipe = RECIPES[name]
    folder = IMAGES / name
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files |= recipe.files
    key = store.fingerprint(files, name, recipe.base)
    return store.obtain(f"image-{name}-{key}", lambda made: _build(made, name, recipe.base, files)) / "image.tar"


def _build(folder: Path, name: str, base: str, files: Mapping[str, Path]) -> None:
    tell(f"Building the image {name} …")
    tag = reference(name)
    with tempfile.TemporaryDirectory(prefix="coxswain-image-") as temporary:
        context, buildah = Path(temporary, "context"), _Buildah(Path(temporary))
        for place, path in files.items():
            target = context / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        buildah.run("build", "--isolation=chroot", f"--build-arg=BASE={base}", f"--tag={tag}", str(context))
        buildah.run("push", "--disable-compression", tag, f"oci-archive:{folder / 'image.tar'}:{tag}")


class _Buildah:
    """buildah with all it keeps in one folder, and a storage driver that mounts nothing: no trace is left elsewhere."""

    def __init__(self, folder: Path) -> None:
        settings = folder / "containers.conf"
        settings.write_text(f'[network]\nnetwork_config_dir = "{folder / "network"}"\n')
        self._environment = {"TMPDIR": str(folder), "CONTAINERS_CONF": str(settings)}
        self._command = ("buildah", f"--root={folder / 'root'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs")

    def run(self, *arguments: str) -> None:
        _run(*self._command, *arguments, environment=self._environment)


def load(archive: Path) -> None:
    """Give an image to the local cluster."""
    _run("ctr", f"--address={places.CONTAINERD_SOCKET}", "--namespace=k8s.io", "images", "import", str(archive))


def _run(*command: str, environment: Mapping[str, str] | None = None) -> None:
    environment = {**os.environ, **(environment or {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()}")
