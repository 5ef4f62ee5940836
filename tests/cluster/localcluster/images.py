"""Container images: built from Dockerfiles by buildah, kept as archives, given to the local cluster.

There is no registry: an image is imported into containerd under its local name, and pods ask for it with
`imagePullPolicy: IfNotPresent` or `Never`. buildah's own storage is kept beside the archives, so that after a change of
the project's code only the last steps of a build are made again.
"""

import functools
import shutil
import tempfile
from pathlib import Path

from coxswain import __version__
from tests.cluster.localcluster import places, store
from tests.cluster.localcluster.recipes import RECIPES
from tests.cluster.localcluster.shell import run

FOR_PODS = ("busybox", "worker-torch", "worker-spark", "operator", "custom")
"""The images that pods of tests run; the other recipes are what these start from."""


def reference(name: str, registry: str = "localhost/coxswain") -> str:
    """What pods call an image."""
    return f"{registry}/{name}:latest"


def archive(name: str) -> Path:
    """The archive of an image, built first if anything it is made from is new."""
    folder = f"image-{name}-{fingerprint(name)}"
    made = store.obtain(folder, lambda fresh: _make(fresh, name))
    # They are large, and an older one is of no use to anybody.
    for older in made.parent.glob(f"image-{name}-*"):
        if older.name != folder and len(older.name) == len(folder):
            shutil.rmtree(older, ignore_errors=True)
    return made / "image.tar"


@functools.cache
def fingerprint(name: str) -> str:
    """A short name for all that an image is made from, the images it starts from too."""
    recipe = RECIPES[name]
    parts = [f"{argument}={fingerprint(image)}" for argument, image in sorted(recipe.images.items())]
    return store.fingerprint(recipe.files(), name, *parts)


def _make(folder: Path, name: str) -> None:
    _build(name)
    # Of the forms of an archive the one that is not compressed, which would take minutes and save nobody anything.
    run(*_buildah(), "push", reference(name), f"docker-archive:{folder / 'image.tar'}:{reference(name)}")


@functools.cache
def _build(name: str) -> None:
    recipe = RECIPES[name]
    for image in dict.fromkeys(recipe.images.values()):
        _build(image)
    print(f"Building the image {name} …", flush=True)
    values = {argument: reference(image) for argument, image in recipe.images.items()} | {"VERSION": __version__}
    arguments = [f"--build-arg={argument}={value}" for argument, value in values.items()]
    with tempfile.TemporaryDirectory() as context:
        for place, path in recipe.files().items():
            target = Path(context, place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
        run(
            *_buildah(),
            "build",
            "--layers",
            "--isolation=chroot",
            f"--volume={_uv_cache()}:/var/cache/uv",  # what `make setup` fetched is not fetched again
            *arguments,
            f"--tag={reference(name)}",
            context,
        )


def _buildah() -> list[str]:
    storage = places.cache() / "buildah"
    return ["buildah", f"--root={storage / 'root'}", f"--runroot={storage / 'run'}", "--storage-driver=overlay"]


def _uv_cache() -> Path:
    cache = places.cache().parent / "uv"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def load(name: str, socket: Path = places.CONTAINERD_SOCKET) -> None:
    """Give an image to a containerd, the local cluster's unless told, if it does not have it."""
    if not run(*_images(socket), "list", "--quiet", f"name=={reference(name)}"):
        run(*_images(socket), "import", str(archive(name)))


def forget(name: str, socket: Path) -> None:
    """Take an image away from a containerd, and what only that had."""
    run(*_images(socket), "remove", "--sync", reference(name))


def _images(socket: Path) -> list[str]:
    return ["ctr", f"--address={socket}", "--namespace=k8s.io", "images"]
