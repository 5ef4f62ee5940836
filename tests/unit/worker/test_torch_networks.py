"""The built-in networks: each fits any image it accepts, learns, and is what its paper describes."""

import pytest
import torch

from coxswain.core.errors import InputError
from coxswain.worker.torch import networks, options
from coxswain.worker.torch.augment import vary
from coxswain.worker.torch.networks.images import Images

SHAPES = [Images(1, 8, 8, 10), Images(1, 28, 28, 10), Images(3, 33, 20, 5)]


def made(name: str, images: Images, **extra: str) -> torch.nn.Module:
    (chosen,) = options.read([networks.find(name).options], extra)
    return networks.make(name, images, chosen)


@pytest.mark.parametrize("name", networks.NETWORKS)
@pytest.mark.parametrize("images", SHAPES, ids=str)
def test_a_network_scores_every_class_of_any_image(name: str, images: Images) -> None:
    scores = made(name, images)(torch.randn(3, images.channels, images.height, images.width))
    assert scores.shape == (3, images.classes)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_a_replica_may_be_left_with_a_single_sample(name: str) -> None:
    network = made(name, SHAPES[0]).train()
    network(torch.randn(1, 1, 8, 8)).sum().backward()
    assert all(weight.grad is not None for weight in network.parameters())


def test_the_network_for_fashion_mnist_is_fltks() -> None:
    weights = [tuple(weight.shape) for weight in made("fashion-cnn", SHAPES[1]).parameters()]
    assert weights == [(16, 1, 5, 5), (16,), (16,), (16,), (32, 16, 5, 5), (32,), (32,), (32,), (10, 1568), (10,)]


def test_hidden_layers_are_a_parameter() -> None:
    for layers in (0, 1, 5):
        network = made("mlp", SHAPES[0], hiddenLayers=str(layers))
        assert sum(isinstance(module, torch.nn.Linear) for module in network.modules()) == layers + 1


def test_networks_for_exact_comparison_have_no_batch_normalisation() -> None:
    for name in ("shallow-cnn", "deep-cnn", "mlp", "bi-rnn"):
        assert not list(made(name, SHAPES[0]).buffers())


def test_what_does_not_exist_or_fit_is_refused() -> None:
    with pytest.raises(InputError, match="network lenet is not known; use one of fashion-cnn, shallow-cnn"):
        networks.find("lenet")
    with pytest.raises(InputError, match="deep-cnn needs images of at least 8 pixels a side, but these have 7 × 9"):
        made("deep-cnn", Images(1, 7, 9, 2))
    with pytest.raises(InputError, match="extra parameter depth is not known here; use one of dropout, hiddenLayers"):
        made("mlp", SHAPES[0], depth="3")
    with pytest.raises(InputError, match="extra parameter depth is 'x'; it must be a whole number of at least 1"):
        made("vit", SHAPES[0], depth="x")


def test_varied_images_are_shifted_whole_and_letters_never_mirrored() -> None:
    torch.manual_seed(0)
    image = torch.zeros(1, 1, 16, 16)
    image[0, 0, 7, 7:9] = torch.tensor([1.0, 2.0])  # read from left to right
    varied = vary(image.expand(64, 1, 16, 16))
    assert varied.shape == (64, 1, 16, 16)
    for one in varied:
        ((_, row, left), (_, same_row, right)) = one.nonzero().tolist()
        assert (one[0, row, left], one[0, same_row, right]) == (1.0, 2.0)
        assert abs(row - 7) <= 2
        assert abs(left - 7) <= 2
    photographs = vary(image.expand(64, 3, 16, 16))
    first = [float(one[0].flatten()[one[0].flatten().nonzero()[0]]) for one in photographs]
    assert {1.0, 2.0} == set(first)
