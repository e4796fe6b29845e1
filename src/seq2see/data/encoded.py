"""Pairs as ids in flat arrays, and how some of them become one padded batch."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from seq2see.tasks import Pair
from seq2see.text import BOS, EOS, PAD, UNK, Tokenizer

_PAIRS_AT_ONCE = 8_192  # tokenised together: enough to keep the cores busy, little memory


class Batch(NamedTuple):
    """Some pairs, padded on the right with PAD."""

    ids: Tensor  # which pairs these are: their places in the list that was encoded, int64 (B,)
    src: Tensor  # source tokens and EOS, int64 (B, S)
    src_mask: Tensor  # True where `src` is a real token, EOS included, bool (B, S)
    tgt_in: Tensor  # BOS and the target tokens, int64 (B, T)
    tgt_out: Tensor  # the target tokens and EOS, int64 (B, T)


def shifted(ids: np.ndarray, src: np.ndarray, src_mask: np.ndarray, tgt_out: np.ndarray) -> Batch:
    """The batch of padded sources and targets, both ending in EOS: `tgt_in` is `tgt_out` one place later, after BOS."""
    tgt_in = np.full_like(tgt_out, BOS)
    tgt_in[:, 1:] = np.where(tgt_out[:, 1:] != PAD, tgt_out[:, :-1], PAD)
    return Batch(*map(torch.from_numpy, (ids, src, src_mask, tgt_in, tgt_out)))


class Texts(NamedTuple):
    """The tokens of many texts, one after the other, each text ending in EOS."""

    flat: np.ndarray  # token ids, int32 (tokens,); text i is `flat[offsets[i] : offsets[i + 1]]`
    offsets: np.ndarray  # where each text begins, and the end, int64 (texts + 1,)

    @classmethod
    def of(cls, texts: Sequence[list[int]]) -> Self:
        """Texts of these tokens, EOS added to each."""
        lengths = np.fromiter((len(tokens) + 1 for tokens in texts), dtype=np.int64, count=len(texts))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = chain.from_iterable(chain.from_iterable(zip(texts, repeat((EOS,)), strict=False)))
        return cls(np.fromiter(tokens, dtype=np.int32, count=int(offsets[-1])), offsets)

    @classmethod
    def joined(cls, parts: Sequence["Texts"]) -> Self:
        """The texts of all parts."""
        flat = np.concatenate([np.zeros(0, dtype=np.int32), *(part.flat for part in parts)])
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *(part.lengths for part in parts)])
        return cls(flat, np.cumsum(lengths))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, EOS included, int64 (texts,)."""
        return np.diff(self.offsets)

    def padded(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The texts with these numbers, int64 (B, L), and True where a token is real, bool (B, L)."""
        begins = self.offsets[indices]
        lengths = self.offsets[indices + 1] - begins
        columns = np.arange(lengths.max())
        real = columns < lengths[:, None]
        tokens = np.full(real.shape, PAD, dtype=np.int64)
        tokens[real] = self.flat[(begins[:, None] + columns)[real]]
        return tokens, real


class EncodedPairs(Dataset[Batch]):
    """Tokenised pairs in a few flat arrays, in memory or mapped from files; `pairs[indices]` is a `Batch` of them.

    `ids` are the places of the pairs in the list that was encoded, int64 (pairs,), `num_dropped` those left out.
    """

    def __init__(self, source: Texts, target: Texts, *, ids: np.ndarray, num_dropped: int = 0) -> None:
        self._source = source
        self._target = target
        self._ids = ids
        self.num_dropped = num_dropped

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[Pair],
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        max_length: int | None = None,
    ) -> Self:
        """Tokenises pairs, which are read once.

        Pairs with a side of more than `max_length` tokens, EOS included, are dropped and counted (None, for all but
        training pairs: none is). A ValueError if that leaves none.
        """
        rest, num_seen = iter(pairs), 0
        sources, targets, ids = [], [], [np.zeros(0, dtype=np.int64)]
        while some := list(islice(rest, _PAIRS_AT_ONCE)):
            source = source_tokenizer.encode_batch(pair.source for pair in some)
            target = target_tokenizer.encode_batch(pair.target for pair in some)
            lengths = (max(len(tokens), len(others)) + 1 for tokens, others in zip(source, target, strict=True))
            fits = [place for place, length in enumerate(lengths) if max_length is None or length <= max_length]
            sources.append(Texts.of([source[place] for place in fits]))
            targets.append(Texts.of([target[place] for place in fits]))
            ids.append(num_seen + np.array(fits, dtype=np.int64))
            num_seen += len(some)
        all_ids = np.concatenate(ids)
        if num_seen and not len(all_ids):
            raise ValueError(
                f"data.max_length ({max_length}) leaves none of the {num_seen} pairs: each has a side with more "
                "tokens, the end included; set a larger data.max_length"
            )
        num_dropped = num_seen - len(all_ids)
        return cls(Texts.joined(sources), Texts.joined(targets), ids=all_ids, num_dropped=num_dropped)

    def save(self, folder: Path) -> None:
        """Writes the arrays into files of a folder, for `mapped`."""
        counts = np.array([self.num_dropped])
        for number, array in enumerate((*self._source, *self._target, self._ids, counts)):
            np.save(folder / f"{number}.npy", array)

    @classmethod
    def mapped(cls, folder: Path) -> Self:
        """The pairs that were saved, which stay in their files; an OSError or ValueError if one is gone or damaged."""
        arrays = [np.asarray(np.load(folder / f"{number}.npy", mmap_mode="r")) for number in range(6)]
        return cls(Texts(*arrays[:2]), Texts(*arrays[2:4]), ids=arrays[4], num_dropped=int(arrays[5][0]))

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def source_lengths(self) -> np.ndarray:
        """Source tokens of each pair, EOS included, int64 (pairs,)."""
        return self._source.lengths

    @property
    def target_lengths(self) -> np.ndarray:
        """Target tokens of each pair, EOS included, int64 (pairs,)."""
        return self._target.lengths

    @property
    def num_unknown(self) -> tuple[int, int]:
        """Tokens that are UNK, in all sources and in all targets."""
        return int((self._source.flat == UNK).sum()), int((self._target.flat == UNK).sum())

    def batch(self, indices: Sequence[int] | np.ndarray) -> Batch:
        """These pairs, at least one, in this order, padded on the right."""
        chosen = np.asarray(indices, dtype=np.int64)
        src, src_mask = self._source.padded(chosen)
        tgt_out, _ = self._target.padded(chosen)
        return shifted(self._ids[chosen], src, src_mask, tgt_out)

    def __getitem__(self, indices: Sequence[int] | np.ndarray) -> Batch:
        return self.batch(indices)
