"""Where files are: a folder of this machine, a mounted volume, or any URL that fsspec can open."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import fsspec
from fsspec.implementations.local import LocalFileSystem

from coxswain.worker.report import Failure, Reason, Settings


def data_place(settings: Settings) -> str:
    """Where the job's data are, or nothing if it names no place; a place that is not there is refused."""
    place = settings.data_url or (str(settings.data_path) if settings.data_path else "")
    if place and not _exists(place):
        raise Failure(Reason.BAD_DATA, f"data path {place} is not there; correct it or leave it out.")
    return place


def find(place: str, suffixes: tuple[str, ...]) -> list[str]:
    """The files below a place, in order, by the ends of their names."""
    files, root = fsspec.core.url_to_fs(place)
    paths = [path for path in sorted(files.find(root)) if path.lower().endswith(suffixes)]
    # A local file is opened by its path: going through fsspec would take as long again as reading a small image.
    return paths if isinstance(files, LocalFileSystem) else [files.unstrip_protocol(path) for path in paths]


@contextlib.contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file to read."""
    with fsspec.open(name, "rb") if "://" in name else Path(name).open("rb") as file:
        yield file


def _exists(place: str) -> bool:
    try:
        files, root = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise Failure(Reason.BAD_PARAMETER, f"data url {place} cannot be opened here: {error}.") from error
    return bool(files.exists(root))
