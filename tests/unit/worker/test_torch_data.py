"""Data sets: what is read is what is there, parts are fair, and what is wrong is named."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits

from coxswain.core.errors import InputError
from coxswain.worker.torch import data
from coxswain.worker.torch.data.digits import digits
from coxswain.worker.torch.data.folder import folder
from coxswain.worker.torch.data.idx import idx
from coxswain.worker.torch.data.labelled import DataError, stratified
from coxswain.worker.torch.data.synthetic import synthetic

PARTS = ("train", "t10k")


def write_idx(folder: Path, part: str, images: np.ndarray, labels: np.ndarray, *, compressed: bool = False) -> None:
    for name, values in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
        content = bytes((0, 0, 8, values.ndim)) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


def test_digits_are_scikit_learns() -> None:
    theirs, ours = load_digits(), digits()
    assert np.array_equal(ours.labels, theirs.target)
    assert np.array_equal(ours.images[:, 0], theirs.images * 255 // 16)


@pytest.mark.parametrize("compressed", [True, False])
def test_idx_files_are_read_compressed_or_not(tmp_path: Path, compressed: bool) -> None:
    random = np.random.default_rng(0)
    made = {part: random.integers(0, 256, (n, 5, 4), np.uint8) for part, n in zip(PARTS, (6, 3), strict=True)}
    for part, images in made.items():
        write_idx(tmp_path, part, images, np.arange(len(images), dtype=np.uint8) % 3, compressed=compressed)
    for part, read in zip(PARTS, idx("mnist", tmp_path), strict=True):
        assert np.array_equal(read.images[:, 0], made[part])
        assert read.labels.tolist() == [n % 3 for n in range(len(made[part]))]
    loaded = data.load("mnist", None, tmp_path, data.Options())
    assert (len(loaded.training), len(loaded.validation), loaded.classes) == (6, 3, 3)


def test_idx_files_that_are_not_there_or_damaged_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="dataset mnist needs a data path"):
        idx("mnist", None)
    with pytest.raises(DataError, match=r"there is no train-images-idx3-ubyte or train-images-idx3-ubyte\.gz in"):
        idx("mnist", tmp_path)
    images, labels = np.zeros((4, 2, 2), np.uint8), np.zeros(4, np.uint8)
    write_idx(tmp_path, "train", images, labels)
    write_idx(tmp_path, "t10k", images, labels[:3])
    with pytest.raises(DataError, match="4 t10k images but 3 labels"):
        idx("mnist", tmp_path)
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataError, match="is cut short: it holds 15 of 16 bytes"):
        idx("mnist", tmp_path)
    file.write_bytes(b"GIF89a" + bytes(20))
    with pytest.raises(DataError, match="is not an idx file"):
        idx("mnist", tmp_path)


def test_a_folder_of_photographs_has_a_class_a_folder(tmp_path: Path) -> None:
    for name, colour in (("rose", (200, 0, 0)), ("daisy", (0, 200, 0))):
        (tmp_path / name).mkdir()
        for number in range(5):
            Image.new("RGB", (40, 30), colour).save(tmp_path / name / f"{number}.png")
    (tmp_path / "rose/readme.txt").write_text("not an image")
    read = folder(tmp_path, 8)
    assert read.images.shape == (10, 3, 8, 8)
    assert read.labels.tolist() == [0] * 5 + [1] * 5, "classes in alphabetical order"
    assert read.images[0, :, 3, 3].tolist() == [0, 200, 0]
    loaded = data.load("folder", None, tmp_path, data.Options(image_size=8))
    assert (len(loaded.training), len(loaded.validation), loaded.classes) == (8, 2, 2)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="needs a data path with one folder a class"):
        folder(None, 8)
    (tmp_path / "rose").mkdir()
    with pytest.raises(DataError, match="folder rose has no image"):
        folder(tmp_path, 8)
    (tmp_path / "rose/1.jpg").write_text("no image at all")
    with pytest.raises(DataError, match="has fewer than two folders"):
        folder(tmp_path, 8)
    (tmp_path / "daisy").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "daisy/1.png")
    with pytest.raises(DataError, match=r"1\.jpg cannot be read as an image"):
        folder(tmp_path, 8)


def test_synthetic_images_have_any_size_and_are_the_same_every_time() -> None:
    first, again = synthetic(12, 3, 17, 4), synthetic(12, 3, 17, 4)
    assert first.images.shape == (12, 3, 17, 17)
    assert np.array_equal(first.images, again.images)
    with pytest.raises(DataError, match="3 samples are fewer than the 4 classes"):
        synthetic(3, 1, 4, 4)
    loaded = data.load("synthetic", 50, None, data.Options(image_size=9, channels=2, classes=5))
    assert (len(loaded.training), loaded.images.channels, loaded.images.width, loaded.classes) == (50, 2, 9, 5)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.data())
def test_a_part_has_each_class_in_proportion(labels: list[int], drawn: st.DataObject) -> None:
    count = drawn.draw(st.integers(1, len(labels)))
    array = np.array(labels, np.int64)
    chosen = stratified(array, count)
    assert len(set(chosen.tolist())) == count
    for label in set(labels):
        share = count * labels.count(label) / len(labels)
        assert abs((array[chosen] == label).sum() - share) < 1


def test_a_part_is_the_same_whoever_asks_and_validation_shrinks_with_it() -> None:
    whole = data.load("digits", None, None, data.Options())
    part, again = (data.load("digits", 300, None, data.Options()) for _ in range(2))
    assert (len(whole.training), len(whole.validation)) == (1438, 359)
    assert (len(part.training), len(part.validation)) == (300, 75)
    assert part.training.labels.tolist() == again.training.labels.tolist()
    assert part.training.labels.bincount().min() >= 29


def test_training_and_validation_share_no_image() -> None:
    training, validation = digits().split(0.2)
    seen = {image.tobytes() for image in training.images}
    assert not [image for image in validation.images if image.tobytes() in seen]


def test_names_and_numbers_that_no_data_set_has_are_refused() -> None:
    with pytest.raises(InputError, match="dataset cifar is not known; use one of digits"):
        data.load("cifar", None, None, data.Options())
    with pytest.raises(DataError, match="samples is 1439, but dataset digits has only 1438"):
        data.load("digits", 1439, None, data.Options())
