"""What was learned, kept in the output folder so that a later attempt goes on where this one ended.

    checkpoint.pt   the last finished epoch: weights, optimiser, history; what a retry or a resumed job starts from
    best.pt         the weights of the best epoch so far: the result of a job that is stopped
    model.pt        the trained model, written at the end

A file appears whole or not at all: it is written beside its place, forced to the disk, then renamed. Files are loaded
as plain tensors and values, so that a file from elsewhere cannot run code here.
"""

import io
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from coxswain.worker.report import Epoch, Failure, Reason

LAST = "checkpoint.pt"
BEST = "best.pt"
MODEL = "model.pt"


class Checkpoints:
    """The checkpoints of one job in its output folder."""

    def __init__(self, folder: Path, job_uid: str, fingerprint: dict[str, Any]) -> None:
        self._folder = folder
        self._owner = {"jobUid": job_uid, **fingerprint}

    def save(self, state: dict[str, Any], history: list[Epoch], weights: dict[str, torch.Tensor]) -> None:
        """Keep the last epoch, and its weights as the best if they are."""
        best = max((row for row in history if row.accuracy is not None), key=lambda row: row.accuracy or 0.0)
        if best is history[-1]:
            _write(self._folder / BEST, weights)
        _write(self._folder / LAST, {"owner": self._owner, "state": state, "history": [asdict(row) for row in history]})

    def save_model(self, description: dict[str, Any], weights: dict[str, torch.Tensor] | None) -> None:
        """Write the trained model; without weights, the best epoch's, if one got as far as that."""
        if weights is None and (self._folder / BEST).exists():
            weights = _read(self._folder / BEST)
        if weights is not None:
            _write(self._folder / MODEL, {**description, "weights": weights})

    def load(self) -> tuple[dict[str, Any], list[Epoch]] | None:
        """The state and history an earlier attempt left, or None; what another job left is refused."""
        path = self._folder / LAST
        if not path.exists():
            return None
        content = _read(path)
        owner = content.get("owner", {})
        for name, wanted in self._owner.items():
            if owner.get(name) != wanted:
                raise Failure(
                    Reason.CHECKPOINT_REFUSED,
                    f"{path} is of another training ({name} is {owner.get(name)!r} there and {wanted!r} here); "
                    "use another output path or remove it.",
                )
        return content["state"], [Epoch(**row) for row in content["history"]]


def _read(path: Path) -> Any:
    try:
        return torch.load(path, weights_only=True)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # From a file that is not one of ours the unpickler raises nearly anything.
        raise Failure(
            Reason.CHECKPOINT_REFUSED, f"{path} cannot be read as a checkpoint; use another output path or remove it."
        ) from error


def _write(path: Path, content: Any) -> None:
    # Through memory: torch's own writer hides the reason when the disk is full.
    buffer = io.BytesIO()
    torch.save(content, buffer)
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        error.filename = str(path)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
