"""The trainer in this process, alone in its world: same seed, same result; and what it keeps."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from coxswain.core.errors import InputError
from coxswain.worker.report import Epoch, Failure, Settings
from coxswain.worker.torch import data
from coxswain.worker.torch.checkpoint import Checkpoints
from coxswain.worker.torch.feed import Batch
from coxswain.worker.torch.networks import NETWORKS
from coxswain.worker.torch.recipe import Recipe
from coxswain.worker.torch.trainer import Trainer
from coxswain.worker.torch.world import Place, World


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """More threads than free cores wait for each other, and tests rarely have the machine to themselves."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trainer(folder: Path | None = None, stop_wanted: Callable[[], bool] = lambda: False, **settings: Any) -> Trainer:
    recipe = Recipe.from_settings(Settings(**{"network": "shallow-cnn", "samples": 200, "epochs": 2, **settings}))
    dataset = data.load(recipe.dataset, recipe.samples, recipe.data_path, recipe.data_options)
    checkpoints = Checkpoints(folder, "u", recipe.fingerprint()) if folder else None
    return Trainer(recipe, dataset, World(Place(0, 1, 0, 1)), stop_wanted=stop_wanted, checkpoints=checkpoints)


def losses(epochs: list[Epoch]) -> list[tuple[float | None, float | None]]:
    return [(epoch.training_loss, epoch.loss) for epoch in epochs]


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_learns_and_learns_the_same_from_the_same_seed(network: str) -> None:
    settings: dict[str, Any] = {"network": network, "samples": 100, "batch_size": 10, "learning_rate": 0.002}
    first, again = (list(trainer(**settings).epochs()) for _ in range(2))
    assert losses(first) == losses(again)
    assert (first[0].training_loss or 0) > (first[-1].training_loss or 0)


def test_another_seed_gives_another_result() -> None:
    assert losses(list(trainer(seed=1).epochs())) != losses(list(trainer(seed=2).epochs()))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_one_step_moves_the_weights_as_the_whole_batch_says(optimizer: str) -> None:
    ours = trainer(optimizer=optimizer, batch_size=200, epochs=1, learning_rate=0.05)
    theirs = trainer(optimizer=optimizer, batch_size=200, epochs=1).network
    step = {
        "SGD": torch.optim.SGD(theirs.parameters(), 0.05, momentum=0.9),
        "Adam": torch.optim.Adam(theirs.parameters(), 0.05),
    }
    training = ours._feed._training
    torch.nn.functional.cross_entropy(theirs(ours._feed.scaled(training.images)), training.labels).backward()  # type: ignore[no-untyped-call] # torch has not typed it
    step[optimizer].step()
    list(ours.epochs())
    for mine, other in zip(ours.network.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-4)


def test_training_ends_early_when_nothing_gets_better_and_keeps_the_best(tmp_path: Path) -> None:
    training = trainer(tmp_path, epochs=50, learning_rate=0.2, extra={"patience": "2"})
    epochs = list(training.epochs())
    assert training.stopped_early
    assert len(epochs) < 50
    best = max(range(len(epochs)), key=lambda index: epochs[index].accuracy or 0)
    again = trainer(epochs=best + 1, learning_rate=0.2)
    list(again.epochs())
    kept = torch.load(tmp_path / "model.pt")["weights"]
    assert all(torch.equal(kept[name], weight) for name, weight in again.network.state_dict().items())
    resumed = trainer(tmp_path, epochs=50, learning_rate=0.2, extra={"patience": "2"})
    resumed.resume()
    assert list(resumed.epochs()) == [], "what has ended does not begin again"


def test_a_wish_to_stop_leaves_the_epoch_at_once() -> None:
    training = trainer(stop_wanted=lambda: True)
    assert list(training.epochs()) == []
    assert training.stopped


def test_a_wish_to_stop_during_the_last_epoch_changes_nothing_if_it_can_be_finished() -> None:
    asked: list[bool] = []

    def after_the_first_step() -> bool:
        asked.append(True)
        return len(asked) > 1

    training = trainer(epochs=1, stop_wanted=after_the_first_step)
    assert len(list(training.epochs())) == 1
    assert not training.stopped


def test_a_federated_round_that_is_left_leaves_no_model(tmp_path: Path) -> None:
    training = trainer(tmp_path, epochs=9, strategy="FederatedAveraging", extra={"localEpochs": "5"})
    epochs = training.epochs()
    assert next(epochs).loss is None
    training._stop_wanted = lambda: True
    assert list(epochs) == []
    assert training.stopped
    assert list(tmp_path.iterdir()) == []


def test_a_growing_batch_takes_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    training = trainer(
        schedule="GrowingBatch", batch_size=10, extra={"decayEvery": "1", "decayFactor": "0.5", "maxBatchShare": "0.5"}
    )
    sizes: list[int] = []
    batches = training._feed.batches

    def note(epoch: int, size: int) -> Iterator[Batch]:
        sizes.append(size)
        return batches(epoch, size)

    monkeypatch.setattr(training._feed, "batches", note)
    list(training.epochs())
    assert sizes == [10, 20]


def test_batches_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="batchSize 201 is larger than the 200 training samples; use at most 200"):
        trainer(batch_size=201)
    with pytest.raises(InputError, match="batchSize 3 is smaller than the 4 processes that share it; use at least 4"):
        trainer(batch_size=3, workers=2, processes_per_worker=2)


def test_a_checkpoint_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"half a file")
    with pytest.raises(Failure, match=r"checkpoint\.pt cannot be read as a checkpoint; use another output path"):
        trainer(tmp_path).resume()


def test_the_horizon_matters_to_a_checkpoint_only_where_the_schedule_depends_on_it() -> None:
    def fingerprint(**settings: Any) -> dict[str, Any]:
        return Recipe.from_settings(Settings(**settings)).fingerprint()

    assert fingerprint(epochs=3) == fingerprint(epochs=4)
    assert fingerprint(epochs=3, schedule="Cosine") != fingerprint(epochs=4, schedule="Cosine")
    assert fingerprint(extra={"momentum": "0.5"}) != fingerprint()
