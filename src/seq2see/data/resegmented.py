"""Training pairs whose `bpe` sides come in other pieces in every epoch."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset

from seq2see.data.encoded import Batch, EncodedPairs, Texts, shifted
from seq2see.text import EOS, PAD, MergeDropout, Tokenizer

_NUM_MEASURED = 500  # pairs that are segmented anew to learn how much longer texts become
_DEVIATIONS = 2  # of room beyond the mean growth: more of them pad more, fewer shut out the longest segmentations


class ResegmentedPairs(Dataset[Batch]):
    """Pairs under BPE dropout: each time that one is put into a batch its texts are segmented anew.

    What they become depends on the seed, the epoch, the pair and the side alone, so that a run is repeatable whatever
    the number of workers, and after a resume.

    Texts get longer by dropout, so each has some room beyond its usual length, and batches are made by that room: the
    mean growth and two standard deviations, measured on some of the pairs, but never more than `max_length`. The few
    segmentations that have no room (about 2 %) are not used, the usual ones are. So neither `data.batch_tokens` nor
    `data.max_length` is exceeded.

    Args:
        pairs: in their usual segmentation.
        source_tokenizer: made the sources.
        target_tokenizer: made the targets.
        rate: share of merges left out; a side that is not `bpe` stays as it is.
        seed: of the run, not negative.
        max_length: tokens a side, EOS included, that no text may outgrow; None: no limit.

    Attributes:
        source_lengths: room of each source in tokens, EOS included, int64 (pairs,).
        target_lengths: room of each target.
    """

    def __init__(
        self,
        pairs: EncodedPairs,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        rate: float,
        seed: int,
        max_length: int | None = None,
    ) -> None:
        self._pairs = pairs
        self._source = _Side(source_tokenizer.merge_dropout(rate), f"{seed} source", pairs.source_lengths)
        self._target = _Side(target_tokenizer.merge_dropout(rate), f"{seed} target", pairs.target_lengths)
        if len(pairs):
            some = np.linspace(0, len(pairs) - 1, min(len(pairs), _NUM_MEASURED)).astype(np.int64)
            usual = pairs.batch(some)
            self._source.measure(usual.src, some, max_length)
            self._target.measure(usual.tgt_out, some, max_length)
        self.source_lengths, self.target_lengths = self._source.rooms, self._target.rooms

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, drawn: tuple[int, Sequence[int]]) -> Batch:
        epoch, indices = drawn
        return self.batch(indices, epoch=epoch)

    def batch(self, indices: Sequence[int] | np.ndarray, *, epoch: int) -> Batch:
        """These pairs in this order, as they are in this epoch, padded on the right.

        Args:
            indices: at least one, each from 0 to `len(self) - 1`.
            epoch: 0-based.
        """
        usual = self._pairs.batch(indices)
        places = np.asarray(indices, dtype=np.int64)
        src, tgt_out = self._source.anew(usual.src, places, epoch), self._target.anew(usual.tgt_out, places, epoch)
        return shifted(usual.ids.numpy(), src, src != PAD, tgt_out)


class _Side:
    """One side of the pairs: how its texts are segmented anew, and how many tokens each may have.

    Args:
        dropout: None leaves the texts as they are.
        seed: says which run and which side.
        lengths: of the texts in their usual segmentation, EOS included, int64 (pairs,).
    """

    def __init__(self, dropout: MergeDropout | None, seed: str, lengths: np.ndarray) -> None:
        self._dropout = dropout
        self._seed = seed
        self.rooms = lengths

    def measure(self, padded: Tensor, places: np.ndarray, max_length: int | None) -> None:
        """Gives every text room for what these become; tokens grow independently, so the deviation is like a sum's."""
        if self._dropout is None:
            return
        lengths = self.rooms[places]
        grown = np.array([len(text) + 1 for _, text in self._texts(padded, places, "room")])
        growth = grown.sum() / lengths.sum()
        deviation = np.sqrt(np.mean((grown - growth * lengths) ** 2 / lengths))
        rooms = np.ceil(growth * self.rooms + _DEVIATIONS * deviation * np.sqrt(self.rooms)).astype(np.int64)
        self.rooms = rooms if max_length is None else np.maximum(np.minimum(rooms, max_length), self.rooms)

    def anew(self, padded: Tensor, places: np.ndarray, epoch: int) -> np.ndarray:
        """The texts with these places, int64 (B, L), as they are in this epoch."""
        if self._dropout is None:
            return padded.numpy()
        texts = [
            anew if len(anew) < room else usual  # and EOS
            for (usual, anew), room in zip(self._texts(padded, places, epoch), self.rooms[places], strict=True)
        ]
        return Texts.of(texts).padded(np.arange(len(texts)))[0]

    def _texts(self, padded: Tensor, places: np.ndarray, epoch: int | str) -> Iterator[tuple[list[int], list[int]]]:
        """Each text without EOS, as it was and segmented anew."""
        assert self._dropout is not None
        for row, place in zip(padded.tolist(), places.tolist(), strict=True):
            usual = row[: row.index(EOS)]
            yield usual, self._dropout(usual, Random(f"{self._seed} {epoch} {place}"))
