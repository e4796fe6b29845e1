"""Encoded pairs as a stream of batches of similar length, in an order that the seed decides, that knows where it is."""

import ctypes
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from multiprocessing import parent_process

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from seq2see.data.encoded import Batch, EncodedPairs
from seq2see.text import PAD

PR_SET_PDEATHSIG = 1  # of prctl(2)

# Batches that are sorted by length together: more pads less, fewer mixes more. Where a batch is so many pairs, padding
# costs little, for training leaves it out of all but attention; where it is so many tokens, padding takes their places.
_A_POOL_BY_PAIRS, _A_POOL_BY_TOKENS = 4, 100
_TRIES = 10  # shuffles of an epoch, until one gives no more batches than the others


class LengthBuckets(Sampler[list[int]]):
    """Batches of indices, length-grouped; every index once an epoch, the last, smaller batch kept.

    Shuffled: all indices are permuted, sorted by length inside pools of four batches (by tokens of about a hundred) and
    cut into batches; then the batches are permuted. Not shuffled: all are sorted by length, longest first.

    The order is a function of (seed, epoch). Iterating gives the batches of `epoch` from `position` on and changes
    neither; who consumes them moves on (`Loader` does), so that a saved position counts what was used, not what was
    fetched ahead. The number of batches is the same in every epoch.

    Args:
        source_lengths: tokens of each source, EOS included, int (pairs,).
        target_lengths: the same of the targets.
        batch_size: pairs a batch; give this, or `batch_tokens`.
        batch_tokens: padded source and target tokens a batch at most; a longer pair is a batch of its own.
        shuffle: whether each epoch has an order of its own.
        seed: not negative.
        share: of each batch every so-many-th pair, counted from a first one: (first, so many); (0, 1): all.

    Raises:
        ValueError: not exactly one of `batch_size` and `batch_tokens` is given, or it is not positive.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        *,
        batch_size: int | None = None,
        batch_tokens: int | None = None,
        shuffle: bool,
        seed: int,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        if (batch_size is None) == (batch_tokens is None):
            raise ValueError(f"data.batch_size ({batch_size}) and data.batch_tokens ({batch_tokens}): set exactly one")
        self.epoch = 0
        self.position = 0
        self._lengths = source_lengths, target_lengths
        self._by_tokens = batch_tokens is not None
        self._size = batch_size or batch_tokens or 0  # pairs, or padded tokens
        if self._size < 1:
            raise ValueError(f"data.batch_{'tokens' if self._by_tokens else 'size'} ({self._size}) must be positive")
        self._shuffle = shuffle
        self._seed = seed
        self._share = share
        self._num_pairs = len(source_lengths)
        self._num_batches = self._count()
        self._planned: tuple[int, list[np.ndarray]] | None = None  # the epoch that was planned last, and its batches

    def __len__(self) -> int:
        """Batches an epoch, whatever the position."""
        return self._num_batches

    def __iter__(self) -> Iterator[list[int]]:
        """The batches of the epoch from the position on; a share without a pair has the first one, to be left out."""
        first, step = self._share
        for batch in self._batches()[self.position :]:
            yield (batch[first::step] if first < len(batch) else batch[:1]).tolist()

    def is_idle(self) -> bool:
        """Whether there is no pair for this share in the batch at the position."""
        first, _ = self._share
        return first > 0 and first >= len(self._batches()[self.position])

    def _batches(self) -> list[np.ndarray]:
        if self._planned is None or self._planned[0] != self.epoch:
            self._planned = (self.epoch, self._plan(self.epoch))
        return self._planned[1]

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch; the one that is running stays where it is (Lightning calls this)."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.position = 0

    def state_dict(self) -> dict[str, int]:
        """Where we are; the same pairs, options and seed are needed to go on from there."""
        return {"epoch": self.epoch, "position": self.position, **self._stays()}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes on from a saved position, unless it belongs to another seed or to other pairs (ValueError)."""
        for key, here in self._stays().items():
            if state[key] != here:
                raise ValueError(f"the saved position is one of {key} {state[key]}, the data here have {key} {here}")
        self.epoch = state["epoch"]
        self.position = state["position"]

    def _stays(self) -> dict[str, int]:
        """What must be the same for a position to mean the same batch."""
        lengths = np.concatenate(self._lengths).astype(np.int64)
        return {"seed": self._seed, "num_pairs": self._num_pairs, "lengths": zlib.crc32(lengths.tobytes())}

    def _count(self) -> int:
        """Batches an epoch. Cut by tokens, shuffles differ a little: one batch to spare for each pool but one."""
        if not self._by_tokens:
            return -(-self._num_pairs // self._size)
        if not self._shuffle or not self._num_pairs:
            return len(self._plan(0))
        pools = -(-self._num_pairs // self._pairs_a_pool())
        return min(len(self._shuffled(self._random(0, 0))) + pools - 1, self._num_pairs)

    def _plan(self, epoch: int) -> list[np.ndarray]:
        if not self._shuffle or not self._num_pairs:
            return self._cut(self._by_length(np.arange(self._num_pairs)))[::-1]
        tries = (self._shuffled(self._random(epoch, attempt)) for attempt in range(_TRIES))
        batches = next((batches for batches in tries if len(batches) <= self._num_batches), None)
        if batches is None:  # the composition that was counted, in an order of this epoch's own
            batches = self._shuffled(self._random(0, 0))
        batches = _split_up(batches, self._num_batches)
        return [batches[place] for place in self._random(epoch, _TRIES).permutation(len(batches))]

    def _random(self, epoch: int, attempt: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, epoch, attempt])

    def _pairs_a_pool(self) -> int:
        """Whole batches when cut by pairs, so that only the last pool has a smaller one."""
        if not self._by_tokens:
            return _A_POOL_BY_PAIRS * self._size
        tokens_a_pair = float(self._lengths[0].mean() + self._lengths[1].mean())
        return max(1, int(_A_POOL_BY_TOKENS * self._size / tokens_a_pair))

    def _shuffled(self, random: np.random.Generator) -> list[np.ndarray]:
        order, size = random.permutation(self._num_pairs), self._pairs_a_pool()
        pools = [self._by_length(order[begin : begin + size]) for begin in range(0, len(order), size)]
        return [batch for pool in pools for batch in self._cut(pool, random)]

    def _by_length(self, indices: np.ndarray) -> np.ndarray:
        """Sorted by target length, then source length; equal ones keep their order."""
        return indices[np.lexsort([lengths[indices] for lengths in self._lengths])]

    def _cut(self, indices: np.ndarray, random: np.random.Generator | None = None) -> list[np.ndarray]:
        """Sorted indices in batches; cut by pairs, the smaller batch may stand anywhere, not always at the longest."""
        if self._by_tokens:
            return self._cut_by_tokens(indices)
        num_batches, rest = -(-len(indices) // self._size), len(indices) % self._size
        sizes = np.full(num_batches, self._size)
        if rest:
            sizes[random.integers(num_batches) if random is not None else 0] = rest
        return np.split(indices, np.cumsum(sizes)[:-1]) if num_batches else []

    def _cut_by_tokens(self, indices: np.ndarray) -> list[np.ndarray]:
        """Each batch as large as `batch_tokens` allows: (longest source + longest target) * pairs."""
        (sources, targets), budget = (lengths[indices] for lengths in self._lengths), self._size
        batches, begin = [], 0
        while begin < len(indices):
            most = budget // (sources[begin] + targets[begin]) + 1  # targets only grow, and so does the longest source
            window = slice(begin, begin + most)
            cost = np.maximum.accumulate(sources[window]) + targets[window]
            cost = cost * np.arange(1, len(cost) + 1)
            size = max(1, int(np.searchsorted(cost, budget, side="right")))
            batches.append(indices[begin : begin + size])
            begin += size
        return batches


def _split_up(batches: list[np.ndarray], num_batches: int) -> list[np.ndarray]:
    """The largest batches halved until there are `num_batches`."""
    missing = num_batches - len(batches)
    while missing > 0:
        by_size = sorted(range(len(batches)), key=lambda place: -len(batches[place]))
        for place in by_size[:missing]:
            whole = batches[place]
            if len(whole) > 1:
                batches[place] = whole[: len(whole) // 2]
                batches.append(whole[len(whole) // 2 :])
        missing = num_batches - len(batches)
    return batches


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
            batch, is_idle = Batch(*map(torch.from_numpy, arrays)), buckets.is_idle()
            buckets.position += 1
            yield batch._replace(tgt_out=torch.full_like(batch.tgt_out, PAD)) if is_idle else batch
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
    end_with_parent()


def end_with_parent() -> None:
    """If the process that has started this one is killed, this one ends too, where the system can do that."""
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
    share: tuple[int, int] = (0, 1),
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
        share: what this process gets of each batch: without a pair in it, one without a target token.
        num_workers: processes that pad batches ahead; 0: none, usually enough.
    """
    lengths = pairs.source_lengths, pairs.target_lengths
    buckets = LengthBuckets(
        *lengths, batch_size=batch_size, batch_tokens=batch_tokens, shuffle=shuffle, seed=seed, share=share
    )
    return Loader(pairs, buckets, seed=seed, num_workers=num_workers)


def scoring_loader(pairs: EncodedPairs) -> Loader:
    """All pairs in the batches in which validation and evaluation score them: their numbers are then equal to a bit."""
    return make_loader(pairs, batch_size=128, shuffle=False, seed=0)
