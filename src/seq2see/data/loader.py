"""Encoded pairs as a stream of batches, with the position that it has reached."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import parent_process

import numpy as np
import torch
from torch.utils.data import DataLoader

from seq2see.data.buckets import LengthBuckets
from seq2see.data.encoded import Batch, EncodedPairs

PR_SET_PDEATHSIG = 1  # of prctl(2)


class Loader(DataLoader[Batch]):
    """A DataLoader that knows which batches were consumed, so that a run can go on in the middle of an epoch.

    Each time that it is iterated it gives a whole epoch, the next one, also when the one before was left early; after
    `load_state_dict`, the rest of the saved one. Lightning saves and restores the position by itself.
    """

    def __init__(self, pairs: EncodedPairs, buckets: LengthBuckets, *, seed: int, num_workers: int) -> None:
        self.buckets = buckets
        self._begun: int | None = None  # the epoch that was begun and is not finished
        super().__init__(
            pairs,
            sampler=buckets,
            batch_size=None,  # the sampler gives whole batches
            num_workers=num_workers,
            collate_fn=_as_arrays,  # pyright: ignore[reportArgumentType]  # a batch comes whole, not as a list
            persistent_workers=num_workers > 0,
            worker_init_fn=_apart,
            generator=torch.Generator().manual_seed(seed),  # without one each iteration draws from the global generator
        )

    def __iter__(self) -> Iterator[Batch]:  # pyright: ignore[reportIncompatibleMethodOverride]
        buckets = self.buckets
        if self._begun == buckets.epoch:  # it was left early
            buckets.set_epoch(buckets.epoch + 1)
        self._begun = buckets.epoch
        for arrays in super().__iter__():
            buckets.position += 1
            yield Batch(*map(torch.from_numpy, arrays))
        self._begun = None
        buckets.set_epoch(buckets.epoch + 1)

    def state_dict(self) -> dict[str, int]:
        """The position that the consumer has reached, whatever was fetched ahead."""
        return self.buckets.state_dict()

    def load_state_dict(self, state: dict[str, int]) -> None:
        """The next iteration gives the rest of the saved epoch; refuses what `LengthBuckets` refuses."""
        self._begun = None
        self.buckets.load_state_dict(state)


def _as_arrays(batch: Batch) -> tuple[np.ndarray, ...]:
    """From a worker arrays travel several times as fast as tensors, which each need a piece of shared memory."""
    return tuple(tensor.numpy() for tensor in batch)


def _apart(worker: int) -> None:
    """A signal to the whole group of processes is for the one that trains, which ends its workers itself.

    If that one is killed they end too. (torch's own watch over it begins later, and may never notice.)
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = parent_process()
        if parent is not None and parent.pid != os.getppid():  # killed before that
            os._exit(1)


def make_loader(
    pairs: EncodedPairs,
    *,
    batch_size: int | None = None,
    batch_tokens: int | None = None,
    shuffle: bool,
    seed: int,
    num_workers: int = 0,
) -> Loader:
    """Length-grouped batches of all pairs, the same ones in the same order for any number of workers.

    Args:
        pairs: what to batch.
        batch_size: as `LengthBuckets` has it, like all but `num_workers`.
        batch_tokens: give this or `batch_size`.
        shuffle: True for training. False: the longest first, so that memory runs out at once or never; `Batch.ids`
            tells which pairs they are.
        seed: of the order; the global random state is neither read nor changed.
        num_workers: processes that pad batches ahead; 0: none, usually enough.
    """
    lengths = pairs.source_lengths, pairs.target_lengths
    buckets = LengthBuckets(*lengths, batch_size=batch_size, batch_tokens=batch_tokens, shuffle=shuffle, seed=seed)
    return Loader(pairs, buckets, seed=seed, num_workers=num_workers)


def scoring_loader(pairs: EncodedPairs) -> Loader:
    """All pairs in the batches in which validation and evaluation score them: their numbers are then equal to a bit."""
    return make_loader(pairs, batch_size=128, shuffle=False, seed=0)
