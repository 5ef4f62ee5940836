"""What a speed test is to do: every image once, every batch once, and one sentence for what cannot be done."""

from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pytest
from sklearn.datasets import load_digits

from coxswain.core.errors import InputError
from coxswain.worker.ingest.plan import Plan
from coxswain.worker.ingest.sources import Digits, Folder, Synthetic
from coxswain.worker.report import Failure, Reason, Settings

Make = Callable[..., Settings]


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_partitions_share_images_and_batches_evenly(speed_test: Make, partitions: int) -> None:
    plan = Plan.from_settings(speed_test(samples=100, ingest_partitions=partitions, ingest_batches=7, batch_size=5))
    shares = [plan.numbers(partition) for partition in range(partitions)]
    numbers = sorted(number for share in shares for number in share)
    assert len(set(numbers)) == 100
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert numbers[-1] > 1750  # a part is taken from all over the 1797 digits, not from their beginning
    assert sum(plan.batches_of(partition) for partition in range(partitions)) == 7
    assert plan.images == 35


def test_the_digits_are_scikit_learns() -> None:
    source, expected = Digits.load(), load_digits()
    assert source.available == 1797
    pixels, label = source.image(42)
    np.testing.assert_array_equal(pixels[:, :, 0], expected.images[42] * 255 // 16)
    assert label == str(expected.target[42])


def test_synthetic_images_are_the_same_every_time_and_each_another() -> None:
    one, again = Synthetic(10, 16, 3), Synthetic(10, 16, 3)
    images = [one.image(number)[0].tobytes() for number in range(10)]
    assert len(set(images)) == 10
    assert images == [again.image(number)[0].tobytes() for number in range(10)]
    assert Synthetic(1, 16, 1).image(0)[0].shape == (16, 16, 1)


@pytest.mark.parametrize("url", ["", "file://", "memory://flowers"])
def test_photographs_are_taken_from_a_folder_or_a_url(speed_test: Make, photographs: Path, url: str) -> None:
    if url.startswith("memory"):
        fsspec.filesystem("memory").put(str(photographs), f"/flowers{photographs}", recursive=True)
    place = {"data_url": f"{url}{photographs}"} if url else {"data_path": photographs}
    plan = Plan.from_settings(speed_test(dataset="folder", ingest_partitions=2, extra='{"imageSize": "16"}', **place))
    assert isinstance(plan.source, Folder)
    found = [plan.source.image(number) for number in range(6)]
    assert [label for _, label in found] == ["daisy"] * 3 + ["rose"] * 3
    assert {pixels.shape for pixels, _ in found} == {(16, 16, 3)}


def test_prepared_files_are_dealt_to_the_partitions(speed_test: Make, photographs: Path) -> None:
    settings = speed_test(dataset="prepared", data_path=photographs, ingest_format="Images", ingest_partitions=4)
    plan = Plan.from_settings(settings)
    assert plan.source is None
    assert [len(files) for files in plan.files] == [2, 2, 1, 1]
    few = Plan.from_settings(
        speed_test(dataset="prepared", data_path=photographs, ingest_format="Images", ingest_partitions=40)
    )
    assert few.partitions == len(few.files) == 6


@pytest.mark.parametrize(
    ("values", "reason", "sentence"),
    [
        (
            {"data_path": "/not/there"},
            Reason.BAD_DATA,
            "data path /not/there is not there; correct it or leave it out.",
        ),
        (
            {"data_url": "file:///not/there", "dataset": "folder"},
            Reason.BAD_DATA,
            "data path file:///not/there is not there; correct it or leave it out.",
        ),
        ({"samples": 2000}, Reason.BAD_DATA, "samples is 2000, but dataset digits has only 1797 images."),
        (
            {"dataset": "folder"},
            Reason.BAD_DATA,
            "dataset folder needs a data path with .jpg or .png files below it, but it is missing.",
        ),
        (
            {"dataset": "prepared", "data_path": "/proc/self/task", "ingest_format": "Parquet"},
            Reason.BAD_DATA,
            "dataset prepared needs a data path with Parquet files (.parquet) below it, but /proc/self/task has none.",
        ),
        (
            {"data_url": "carrier-pigeon://loft"},
            Reason.BAD_PARAMETER,
            "data url carrier-pigeon://loft cannot be opened here: Protocol not known: carrier-pigeon.",
        ),
    ],
)
def test_data_that_cannot_be_had_are_a_failure(
    speed_test: Make, values: dict[str, object], reason: Reason, sentence: str
) -> None:
    with pytest.raises(Failure) as caught:
        Plan.from_settings(speed_test(**values))
    assert (caught.value.reason, caught.value.sentence) == (reason, sentence)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"ingest_format": "CSV"}, "format CSV is not known; use one of Images, TFRecord, Parquet."),
        (
            {"dataset": "imagenet"},
            "dataset imagenet is not known to Ingest; use one of digits, synthetic, folder, prepared.",
        ),
        (
            {"samples": 5, "ingest_partitions": 8},
            "partitions is 8, but there are only 5 samples; use at most 5.",
        ),
        (
            {"extra": '{"dropout": "0.1"}'},
            "extra parameter dropout is not known here; use one of channels, encoding, imageSize.",
        ),
        ({"extra": '{"encoding": "gif"}'}, "extra parameter encoding is 'gif'; it must be one of jpeg, png."),
        (
            {"dataset": "prepared", "samples": 5},
            "samples cannot be chosen of a data set that is prepared already; leave it out.",
        ),
    ],
)
def test_what_the_user_must_change_is_said_in_one_sentence(
    speed_test: Make, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        Plan.from_settings(speed_test(**values))
    assert str(caught.value) == sentence
