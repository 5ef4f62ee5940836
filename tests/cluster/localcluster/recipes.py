"""What each image of the tests is made from: its Dockerfile, the image it starts from, and the files it takes.

The images in images/ are those that people use. Where a published one would start from an image of some registry, here
it starts from a Debian that is made for it; and torch is slimmed, which saves minutes and gigabytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.localcluster import debian, places

PUBLISHED = places.REPOSITORY / "images"
FOR_TESTS = places.REPOSITORY / "tests" / "cluster" / "images"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Recipe:
    """How an image is made; `images` are the build arguments that name another image of these recipes."""

    folder: Path
    images: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    """Files and folders of the repository that the build takes."""

    def files(self) -> dict[str, Path]:
        """Every file that the build is given, by its place beside the Dockerfile."""
        found = {path.name: path for path in self.folder.iterdir() if path.is_file()}
        for source in self.sources:
            path = places.REPOSITORY / source
            inside = [path] if path.is_file() else sorted(path.rglob("*"))
            found |= {
                each.relative_to(places.REPOSITORY).as_posix(): each
                for each in inside
                if each.is_file() and "__pycache__" not in each.parts
            }
        return found


@dataclass(frozen=True)
class BusyBox(Recipe):
    """Debian's statically linked BusyBox, by itself."""

    def files(self) -> dict[str, Path]:
        """The Dockerfile, and the program."""
        return super().files() | {"busybox": Path("/bin/busybox")}


@dataclass(frozen=True)
class Debian(Recipe):
    """A minimal Debian, made when it is first needed."""

    def files(self) -> dict[str, Path]:
        """The Dockerfile, all files of the system in an archive, and this machine's certificates."""
        return super().files() | {"debian.tar": debian.archive(), "ca-certificates.crt": CERTIFICATES}


_PACKAGE = "operator/coxswain/__init__.py"

RECIPES: Mapping[str, Recipe] = {
    "busybox": BusyBox(PUBLISHED / "busybox"),
    "debian": Debian(FOR_TESTS / "debian"),
    "torch-slim": Recipe(
        FOR_TESTS / "torch-slim", {"BASE": "debian"}, ("requirements/uv.txt", "requirements/torch.txt")
    ),
    "worker-torch": Recipe(
        PUBLISHED / "worker-torch",
        {"BASE": "debian", "BUILD": "torch-slim"},
        (
            *(f"requirements/{name}.txt" for name in ("uv", "core", "torch")),
            *(_PACKAGE, "operator/coxswain/core/__init__.py", "operator/coxswain/core/errors.py"),
            "operator/coxswain/worker",
        ),
    ),
    "worker-spark": Recipe(
        PUBLISHED / "worker-spark",
        {"BASE": "worker-torch", "SYSTEM": "debian"},
        ("requirements/uv.txt", "requirements/spark.txt"),
    ),
    "operator": Recipe(
        PUBLISHED / "operator",
        {"BASE": "debian"},
        (*(f"requirements/{name}.txt" for name in ("uv", "operator", "cli")), "operator/coxswain"),
    ),
    "custom": Recipe(
        places.REPOSITORY / "examples" / "custom",
        {"BASE": "debian"},
        (_PACKAGE, *(f"operator/coxswain/worker/{part}" for part in ("__init__.py", "report")), "examples/custom"),
    ),
}
