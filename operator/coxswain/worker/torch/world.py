"""The processes that train together, seen from one of them.

`rank` counts all processes; those of one worker follow each other. Gradients are averaged over a gradient group: all
processes, or with federated averaging those of the own worker only. A process alone in the world talks to nobody, and
everything here costs it nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Place:
    """Which of the processes this one is."""

    worker: int
    workers: int
    local: int
    processes: int

    @property
    def rank(self) -> int:
        """The number of this process among all."""
        return self.worker * self.processes + self.local

    @property
    def size(self) -> int:
        """The number of all processes."""
        return self.workers * self.processes

    @property
    def strategy(self) -> str:
        """The name distributed training gives to such a layout."""
        if self.size == 1:
            return "OneDevice"
        return "Mirrored" if self.workers == 1 else "MultiWorker"


class World:
    """All processes of a training, once they have met; alone, no process group is needed."""

    def __init__(self, place: Place, *, federated: bool = False) -> None:
        self.place = place
        self.device = _device(place)
        self._group: dist.ProcessGroup | None = None
        self.gradient_size, self.gradient_rank = place.size, place.rank
        if federated:
            self.gradient_size, self.gradient_rank = place.processes, place.local
            if place.processes > 1:
                # Every process must take part in the making of every group, whether it is in it or not.
                self._group, _ = dist.new_subgroups(group_size=place.processes)

    @property
    def rank(self) -> int:
        """The number of this process among all."""
        return self.place.rank

    def replicate(self, network: nn.Module) -> nn.Module:
        """The network as one of several replicas whose gradients are averaged at every step."""
        network.to(self.device)
        if self.gradient_size == 1:
            return network
        # Running statistics are averaged once an epoch instead of being sent around at every step.
        return DistributedDataParallel(
            network, process_group=self._group, forward_sync_buffers=False, gradient_as_bucket_view=True
        )

    def total(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over all processes."""
        return self._reduce(values, dist.ReduceOp.SUM, None, self.place.size)

    def most(self, values: Sequence[float]) -> list[float]:
        """The largest of each value over the gradient group."""
        return self._reduce(values, dist.ReduceOp.MAX, self._group, self.gradient_size)

    def average(self, tensors: Iterable[torch.Tensor], weight: float = 1.0) -> None:
        """Replace every floating-point tensor by its weighted mean over all processes."""
        if self.place.size == 1:
            return
        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        if not floats:
            return
        together = torch.cat([tensor.reshape(-1) for tensor in floats] + [torch.ones(1, device=self.device)]) * weight
        dist.all_reduce(together)
        together /= together[-1].clone()
        begin = 0
        for tensor in floats:
            tensor.copy_(together[begin : begin + tensor.numel()].view_as(tensor))
            begin += tensor.numel()

    def share(self, content: bytes | None) -> bytes:
        """The bytes that the first process has, for all."""
        if self.place.size == 1:
            return content or b""
        length = torch.tensor([len(content or b"")], device=self.device)
        dist.broadcast(length, 0)
        received = torch.zeros(int(length), dtype=torch.uint8, device=self.device)
        if self.rank == 0 and content:
            received.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        dist.broadcast(received, 0)
        return bytes(received.cpu().numpy())

    def _reduce(
        self, values: Sequence[float], operation: "dist.ReduceOp.RedOpType", group: dist.ProcessGroup | None, size: int
    ) -> list[float]:
        if size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor, operation, group)
        return [float(value) for value in tensor]


def _device(place: Place) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", place.local % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
