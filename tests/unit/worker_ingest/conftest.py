"""Images to write and read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coxswain.worker.report import Settings


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Six noisy photographs of two classes, of different sizes, in one folder a class."""
    random = np.random.default_rng(1)
    for number in range(6):
        folder = tmp_path / "photographs" / ("daisy", "rose")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (20 + number, 30, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return tmp_path / "photographs"


@pytest.fixture
def speed_test() -> Callable[..., Settings]:
    """The settings of a speed test."""

    def make(**values: object) -> Settings:
        return Settings.from_environment(
            {
                "COXSWAIN_ENGINE": "Spark",
                "COXSWAIN_WORKLOAD": "Ingest",
                **{f"COXSWAIN_{name.upper()}": str(value) for name, value in values.items()},
            }
        )

    return make
