"""`files`: the user's own pairs, and the splits that are made of them where the user gives none."""

import codecs
from collections.abc import Sequence

from seq2see.options import FilesOptions, Normalize, OnBadLine
from seq2see.tasks.columns import Columns
from seq2see.tasks.opening import digest_of_files
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import files_of, found
from seq2see.tasks.reader import Manner, read_pairs
from seq2see.tasks.splits import Splits
from seq2see.tasks.table import PairTable

_NAMES = {split: f"task.{split}" for split in ("train", "valid", "test")}


class Files:
    """Pairs from files. A file is read when a split that needs it is asked for: a given test file alone needs no other.

    The arguments are those of `make_task`.
    """

    notes: list[str]
    ood: str

    def __init__(
        self,
        options: FilesOptions,
        *,
        on_bad_line: OnBadLine,
        normalize: Normalize,
        delimiter: str | None,
        encoding: str,
    ) -> None:
        self.notes = []
        self.ood = ""
        columns = Columns(options.source, options.target, options.features, options.features_separator)
        self._manner = Manner(columns, on_bad_line, delimiter, codecs.lookup(encoding).name.removesuffix("-sig"))
        self._files = {
            split: files
            for split, files in (("train", options.train), ("valid", options.valid), ("test", options.test))
            if files is not None
        }
        self._splits = Splits(
            {split: _NAMES[split] for split in self._files},
            _NAMES,
            self._read,
            normalize=normalize,
            has_tags=options.features is not None,
            train_size=options.train_size,
            notes=self.notes,
        )

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order of their file; none of `ood`."""
        return [] if split == "ood" else self._splits.pairs(split)

    def fingerprint(self) -> str | None:
        """32 hexadecimal digits for the bytes of all files; None if one can be read only once, as a pipe."""
        names = [name for split, files in self._files.items() for name in files_of(split, files).names]
        return digest_of_files((found(name), name) for name in names)

    def _read(self, split: str) -> PairTable:
        pairs, notes = read_pairs(files_of(split, self._files[split]), self._manner)
        self.notes += notes
        return pairs
