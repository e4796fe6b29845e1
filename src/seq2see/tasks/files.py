"""`files`: the user's own pairs, and the splits that are made of them where the user gives none."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

from seq2see.options import FilesOptions, Normalize, OnBadLine
from seq2see.tasks.columns import Columns
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import as_names
from seq2see.tasks.reader import read_pairs
from seq2see.text import normalize as normalized

_HELD_OUT_SHARE = 0.04  # of the pairs, for each split that is missing
_HELD_OUT_MOST = 2_000  # pairs


class Files:
    """Pairs from files. A file is read when a split that needs it is asked for: a given test file alone needs no other.

    Missing splits are split off the training file, 4 % each and at most 2,000 pairs (of a small file a few, of fewer
    than 16 pairs none). Which ones, a hash of the normalised source decides: the same in every run, all pairs of a
    source together, whatever the order of the lines.

    Args:
        options: paths, columns and how many training pairs to use.
        on_bad_line: whether a line that cannot be read is an error, or skipped and counted.
        normalize: the Unicode form in which two sources count as equal.
    """

    notes: list[str]

    def __init__(self, options: FilesOptions, *, on_bad_line: OnBadLine, normalize: Normalize) -> None:
        self.notes = []
        self._on_bad_line = on_bad_line
        self._normalize = normalize
        self._train_size = options.train_size
        self._columns = Columns(options.source, options.target, options.features, options.features_separator)
        self._names = {
            split: as_names(split, path)
            for split, path in (("train", options.train), ("valid", options.valid), ("test", options.test))
            if path is not None
        }
        self._pairs: dict[str, list[Pair]] = {}

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order of their file.

        Raises:
            DataError: a file that is needed is missing or wrong.
            ValueError: columns are chosen for parallel files.
        """
        if split not in self._pairs:
            if split in self._names and split != "train":
                self._pairs[split] = self._read(split)
            else:
                self._split_training_file()
        return self._pairs[split]

    def _read(self, split: str) -> list[Pair]:
        pairs, notes = read_pairs(self._names[split], self._columns, self._on_bad_line)
        self.notes += notes
        return pairs

    def _split_training_file(self) -> None:
        """Training pairs, the splits that are missing, and notes on what the given ones share with training."""
        pairs = self._read("train")
        places = defaultdict[str, list[int]](list)  # of the pairs of each source
        for place, pair in enumerate(pairs):
            places[self._key(pair)].append(place)
        hashes = {source: blake2b(source.encode("utf-8"), digest_size=8).digest() for source in places}
        order = sorted(places, key=hashes.__getitem__)
        given = {
            split: {self._key(pair) for pair in self.pairs(split)}
            for split in ("valid", "test")
            if split in self._names
        }
        taken: set[str] = set().union(*given.values())
        for split, sources in (
            ("test", order),
            ("valid", order[::-1]),
        ):  # from both ends: more pairs, hardly other splits
            if split not in given:
                held_out = _held_out(sources, places, taken, _num_held_out(len(pairs)))
                self._pairs[split] = [
                    pairs[place] for place in sorted(place for source in held_out for place in places[source])
                ]
                taken |= held_out
                places = {source: found for source, found in places.items() if source not in held_out}
        train = [place for source in order if source in places for place in places[source]]
        self._pairs["train"] = [pairs[place] for place in sorted(train[: self._train_size])]
        self._note_splits(given, len(pairs), len(train))

    def _key(self, pair: Pair) -> str:
        return normalized(pair.source, self._normalize)

    def _note_splits(self, given: dict[str, set[str]], num_pairs: int, num_train: int) -> None:
        for split in ("valid", "test"):
            name = f"task.{split}"
            if split not in given:
                self.notes.append(f"{name} split off task.train: {len(self._pairs[split]):,} of {num_pairs:,} pairs")
                continue
            sources = {self._key(pair) for pair in self._pairs["train"]}
            shared = sum(self._key(pair) in sources for pair in self._pairs[split])
            if shared:
                total = f"{len(self._pairs[split]):,} pairs"
                self.notes.append(f"{name}: {shared:,} of {total} have a source that is also in training (kept)")
        if self._train_size is not None and self._train_size > num_train:
            self.notes.append(
                f"task.train_size ({self._train_size:,}) is more than the {num_train:,} training pairs: all are used"
            )


def _num_held_out(num_pairs: int) -> int:
    """4 %, at most 2,000; of a small file up to 4, but no more than an eighth; of fewer than 16 pairs none."""
    if num_pairs < 16:
        return 0
    return min(max(round(_HELD_OUT_SHARE * num_pairs), min(4, num_pairs // 8)), _HELD_OUT_MOST)


def _held_out(sources: Iterable[str], places: dict[str, list[int]], taken: Collection[str], room: int) -> set[str]:
    """The first sources whose pairs fit into the room, without those that stand in another held-out split."""
    held_out: set[str] = set()
    for source in sources:
        if not room:
            break
        if source in places and source not in taken and len(places[source]) <= room:
            held_out.add(source)
            room -= len(places[source])
    return held_out
