"""Images as containerd keeps them: imported once, and lent to each cluster by links in place of copies.

An import writes an image twice, as its layers and as the files in them, and takes the disk a minute for each gigabyte.
So all images of the tests are imported beforehand, by a containerd without a cluster, into a folder of the cache; after
a change only those that are new. A cluster starts with links to what is there. That is safe because neither layers nor
the files of an image are ever written to again; containerd's own databases are, and are copied.
"""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.localcluster import images, places, store
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.shell import run

_PREFIX = "containerd-"
_DATABASES = ("io.containerd.metadata.v1.bolt/meta.db", "io.containerd.snapshotter.v1.overlayfs/metadata.db")
_PATIENCE_SECONDS = 60


def prepare() -> None:
    """Import all images of the tests, where any of them is new."""
    kept = store.obtain(_name(), _import)
    for older in _folders():
        if older != kept:
            shutil.rmtree(older, ignore_errors=True)


def lend(root: Path) -> None:
    """Fill the folder of a new containerd with the images, if they have been imported as they are now."""
    if not _folders():
        return
    kept = places.cache() / _name()
    if kept.is_dir() and kept.stat().st_dev == places.STATE.stat().st_dev:  # no links from one disk to another
        _link(kept / "root", root)


def _name() -> str:
    return _PREFIX + store.fingerprint({}, *(f"{name}={images.fingerprint(name)}" for name in images.FOR_PODS))


def _folders() -> list[Path]:
    return sorted(places.cache().glob(f"{_PREFIX}*"), key=lambda path: path.stat().st_mtime)


def _import(fresh: Path) -> None:
    root, known = fresh / "root", {}
    if older := _folders():
        known = json.loads((older[-1] / "images.json").read_text())
        _link(older[-1] / "root", root)
    wanted = {name: images.fingerprint(name) for name in images.FOR_PODS}
    with _containerd(root) as socket:
        for name in (name for name in wanted if known.get(name) != wanted[name]):
            print(f"Importing the image {name} …", flush=True)
            if name in known:
                images.forget(name, socket)
            images.load(name, socket)
    (fresh / "images.json").write_text(json.dumps(wanted))


@contextlib.contextmanager
def _containerd(root: Path) -> Iterator[Path]:
    """A containerd by itself; gives the socket it listens on."""
    with tempfile.TemporaryDirectory() as folder:
        socket, configuration, log = (Path(folder, name) for name in ("socket", "configuration.toml", "log"))
        configuration.write_text(f"""\
version = 2
root = "{root}"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
""")
        # It ends with whoever started it, however that ends.
        command = ["setpriv", "--pdeathsig=KILL", "containerd", f"--config={configuration}", "--log-level=warn"]
        with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                _wait(process, socket, log)
                yield socket
            finally:
                process.terminate()


def _wait(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ClusterError(f"containerd did not start; its log:\n{log.read_text()}")
        time.sleep(0.1)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    run("cp", "--archive", "--link", str(source), str(target))
    for name in _DATABASES:
        (target / name).unlink()
        shutil.copy2(source / name, target / name)
