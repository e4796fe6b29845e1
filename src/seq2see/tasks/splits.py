"""Training, validation and test pairs: given ones, and where a split is missing, ones that are split off training."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from seq2see.options import GivenOptions, Normalize
from seq2see.tasks.pairs import Pair
from seq2see.text import normalize as normalized
from seq2see.text import untagged


class Splits:
    """The splits of pairs that somebody gives; each is read when it is asked for.

    Missing splits are split off the training pairs, 4 % each and at most 2,000 pairs (of few pairs a few, of fewer than
    16 pairs none). Which ones, a hash of the normalised source decides: the same in every run, all pairs of a source
    together, whatever the order of the pairs and the tags before a source.

    `read` gives the pairs of a split that is given, as `train` always is; `notes` takes what people should know.
    """

    def __init__(
        self,
        names: Mapping[str, str],  # what people call each split
        given: set[str],
        read: Callable[[str], list[Pair]],
        options: GivenOptions,
        normalize: Normalize,
        notes: list[str],
    ) -> None:
        self._names = names
        self._given = given
        self._read = read
        self._normalize = normalize
        self._has_tags = options.features is not None
        self._train_size = options.train_size
        self._notes = notes
        self._pairs: dict[str, Sequence[Pair]] = {}

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order in which they were given."""
        if split not in self._pairs:
            if split in self._given and split != "train":
                self._pairs[split] = self._read(split)
            else:
                self._divide()
        return self._pairs[split]

    def _divide(self) -> None:
        """Training pairs, the splits that are missing, and notes on what the given ones share with training."""
        pairs = self._read("train")
        hashes = self._hashes(pairs)
        order = np.argsort(hashes, kind="stable")
        sources, begins, counts = np.unique(hashes[order], return_index=True, return_counts=True)
        given = {split: self._hashes(self.pairs(split)) for split in ("valid", "test") if split in self._given}
        free = ~np.isin(sources, np.concatenate([hashes[:0], *given.values()]))
        kept = np.ones(len(sources), dtype=bool)  # in training
        for split, direction in (("test", 1), ("valid", -1)):  # from both ends: more pairs, hardly other splits
            if split not in given:
                held_out = _held_out(counts, free, direction, _num_held_out(len(pairs)))
                places = [order[begins[source] : begins[source] + counts[source]] for source in held_out]
                self._pairs[split] = [pairs[place] for place in np.sort(np.concatenate([order[:0], *places]))]
                free[held_out] = kept[held_out] = False
        train = order[np.repeat(kept, counts)]
        chosen = np.sort(train[: self._train_size])
        self._pairs["train"] = [pairs[place] for place in chosen]
        self._note_splits(given, hashes[chosen], len(pairs), len(train))

    def _hashes(self, pairs: Iterable[Pair]) -> np.ndarray:
        """Eight bytes for each source without its tags, uint64 (pairs,): two that agree by chance stay together."""
        digests = bytearray()
        for pair in pairs:
            source = normalized(untagged(pair.source) if self._has_tags else pair.source, self._normalize)
            digests += blake2b(source.encode("utf-8"), digest_size=8).digest()
        return np.frombuffer(digests, dtype=">u8").astype(np.uint64)

    def _note_splits(self, given: dict[str, np.ndarray], train: np.ndarray, num_pairs: int, num_train: int) -> None:
        for split in ("valid", "test"):
            name = self._names[split]
            if split not in given:
                held_out = f"{len(self._pairs[split]):,} of {num_pairs:,} pairs"
                self._notes.append(f"{name} split off {self._names['train']}: {held_out}")
            elif shared := int(np.isin(given[split], train).sum()):
                total = f"{len(given[split]):,} pairs"
                source = "source (without its tags)" if self._has_tags else "source"
                self._notes.append(f"{name}: {shared:,} of {total} have a {source} that is also in training (kept)")
        if self._train_size is not None and self._train_size > num_train:
            self._notes.append(
                f"task.train_size ({self._train_size:,}) is more than the {num_train:,} training pairs: all are used"
            )


def _num_held_out(num_pairs: int) -> int:
    """4 %, at most 2,000; of few pairs up to 4, but no more than an eighth; of fewer than 16 pairs none."""
    if num_pairs < 16:
        return 0
    return min(max(round(0.04 * num_pairs), min(4, num_pairs // 8)), 2_000)


def _held_out(counts: np.ndarray, free: np.ndarray, direction: int, room: int) -> list[int]:
    """The first free sources, from this end, whose pairs fit into the room."""
    held_out: list[int] = []
    for source in np.flatnonzero(free & (counts <= room))[::direction]:
        if not room:
            break
        if counts[source] <= room:
            held_out.append(int(source))
            room -= int(counts[source])
    return held_out
