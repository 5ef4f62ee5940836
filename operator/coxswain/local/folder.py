"""The folder of an experiment: what is known for good, so that a run is never lost and never made twice.

    observations.jsonl   one line a finished job, appended and forced to the disk before anything else happens
    observations.csv     the same as a table, written anew when `cox run` ends
    manifest.json        what is run here, for whoever learns from the observations
    runs/JOB/attempt-N/  what the workers of an attempt printed, and their last words

A line that was cut short, because the machine went down while it was written, was never recorded. A job that failed
and was tried again has several lines; the last one counts.
"""

import csv
import fcntl
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from coxswain.core.errors import InputError
from coxswain.core.expand import PlannedRun
from coxswain.core.observations import Observation, latest

OBSERVATIONS = "observations.jsonl"
TABLE = "observations.csv"
MANIFEST = "manifest.json"


class Folder:
    """The folder, held by this process alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
            self._file = os.open(path / OBSERVATIONS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f"{path} cannot be used ({error.strerror}); give another folder by --out.") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another cox run is using {path}; wait for it or give another --out.") from None
        _sync_folder(path)
        os.ftruncate(self._file, _whole_lines(path / OBSERVATIONS))
        self._observations = read_observations(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        os.close(self._lock)

    def record(self, observations: Iterable[Observation]) -> None:
        """Keep observations; when this returns they are on the disk."""
        new = list(observations)
        text = "".join(f"{each.to_json()}\n" for each in new).encode()
        try:
            while text:
                text = text[os.write(self._file, text) :]
            os.fsync(self._file)
        except OSError as error:
            # Not lost: the workers' last words are in their folders, and the next command records them.
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); make room and run the same command again."
            ) from None
        self._observations += new

    def of(self, runs: Sequence[PlannedRun]) -> list[Observation]:
        """The observations of these runs, in their order; none of what failed before the manifest was changed.

        Raises:
            InputError: if the folder holds results of something else.
        """
        digests = {job.name: job.digest for run in runs for job in run.jobs}
        found = {}
        for each in latest(self._observations):
            if digests.get(each.job) == each.digest:
                found[each.job] = each
            elif each.succeeded:
                raise InputError(
                    f"{self.path} has results of another experiment, or of this one before its manifest was changed "
                    f"({each.job} is not the same job); give another --out."
                )
        return [found[name] for name in digests if name in found]

    def write_table(self, observations: Sequence[Observation]) -> Path:
        """Write the table."""
        rows = [each.to_row() for each in observations]
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
        return self._write(TABLE, text.getvalue())

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Keep the manifest beside the observations."""
        self._write(MANIFEST, json.dumps(manifest, indent=2, default=lambda time: time.isoformat()))

    def _write(self, name: str, text: str) -> Path:
        """Write a file anew, so that a reader never sees half of it."""
        path = self.path / name
        beside = self.path / f".{name}.part"
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(path)
        return path

    def attempt(self, job: str, number: int) -> Path:
        """Where the workers of an attempt leave their files."""
        return self.path / "runs" / job / f"attempt-{number}"

    def attempts(self, run: PlannedRun) -> int:
        """How many attempts have been made at a run."""
        number = 0
        while any(self.attempt(job.name, number + 1).exists() for job in run.jobs):
            number += 1
        return number


def read_observations(path: Path) -> list[Observation]:
    """All observations that a folder keeps, in the order they were made.

    Raises:
        InputError: if there are none to be read.
    """
    try:
        text = (path / OBSERVATIONS).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path / OBSERVATIONS} cannot be read ({error.strerror}); check the folder.") from None
    observations = []
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        try:
            observations.append(Observation.from_json(line))
        except InputError:
            raise InputError(f"{path / OBSERVATIONS}: line {number} is no observation; remove it.") from None
    return observations


def read_manifest(path: Path) -> Any:
    """The manifest of what was run in a folder.

    Raises:
        InputError: if there is none.
    """
    try:
        return json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path} has no {MANIFEST}; give the --out folder of an experiment that was run.") from None


def _whole_lines(path: Path) -> int:
    """The length of the file up to the end of its last whole line."""
    return path.read_bytes().rfind(b"\n") + 1


def _sync_folder(path: Path) -> None:
    """Make sure that a new file's name is on the disk as well."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
