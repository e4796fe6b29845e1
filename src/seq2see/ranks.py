"""The processes of a run: one alone, or several, each a rank of torch.distributed, that do everything in step.

What is told between them goes over gloo, in a few bytes; gradients are Lightning's own affair.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import distributed

Item = TypeVar("Item")
_shared_out: list[bool] = []  # one for each `sharing` that is entered


def rank() -> int:
    """Of this process, 0 if it is alone; the first one is the run's voice and hand."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def num_ranks() -> int:
    """Processes of the run."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def summed(*numbers: float | torch.Tensor) -> list[float]:
    """Each number's sum over all processes; all must call this."""
    sums = torch.tensor([float(number) for number in numbers], dtype=torch.float64)
    if num_ranks() > 1:
        distributed.all_reduce(sums)
    return sums.tolist()


def gathered(own: Item) -> list[Item]:
    """What each process has, by rank; all must call this."""
    every: list[Any] = [own]
    if num_ranks() > 1:
        every = [None] * num_ranks()
        distributed.all_gather_object(every, own)
    return every


def from_first(value: Item) -> Item:
    """What the first process has; all must call this."""
    values = [value]
    if num_ranks() > 1:
        distributed.broadcast_object_list(values, device=torch.device("cpu"))
    return values[0]


@contextmanager
def sharing() -> Iterator[None]:
    """While this lasts the processes share scoring and decoding out among them, and all get the whole of it."""
    _shared_out.append(True)
    try:
        yield
    finally:
        _shared_out.pop()


def share_of(items: Iterable[Item]) -> Iterable[Item]:
    """What this process is to do of some work: all of it, unless it is shared out."""
    return islice(items, rank(), None, num_ranks()) if _shared_out else items


def joined(own: Sequence[Item]) -> Sequence[Item]:
    """The results of every share, one share after the other."""
    return [item for part in gathered(own) for item in part] if _shared_out else own
