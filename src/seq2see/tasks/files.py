"""`files`: the user's own pairs, and the splits that are made of them where the user gives none."""

import codecs
from collections.abc import Sequence

from seq2see.options import FilesOptions, Normalize, OnBadLine
from seq2see.tasks.columns import Columns
from seq2see.tasks.opening import digest_of_files
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import FileSet, files_of, found
from seq2see.tasks.reader import Manner, read_pairs
from seq2see.tasks.splits import Splits
from seq2see.tasks.table import PairTable

_NAMES = {split: f"task.{split}" for split in ("train", "valid", "test")}


class Files:
    """Pairs from files. A file is read when a split that needs it is asked for: a given test file alone needs no other.

    Args:
        options: paths, columns and how many training pairs to use.
        on_bad_line: whether a line that cannot be read is an error, or skipped and counted.
        delimiter: between the columns of a text file, a character or `tab`; None: by the file's name.
        encoding: of text files.
        normalize: the Unicode form in which two sources count as equal when a missing split is split off.
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
        """The pairs of `train`, `valid` or `test`, in the order of their file; none of `ood`.

        Raises:
            DataError: a file that is needed is missing or wrong.
            ValueError: columns are chosen for parallel files, or two files may be meant as parallel or not.
        """
        return [] if split == "ood" else self._splits.pairs(split)

    def fingerprint(self) -> str | None:
        """32 hexadecimal digits for the bytes of all files; None if one can be read only once, as a pipe.

        Raises:
            DataError: a file is missing or cannot be read.
        """
        names = [name for split in self._files for name in self._files_of(split).names]
        return digest_of_files((found(name), name) for name in names)

    def _files_of(self, split: str) -> FileSet:
        return files_of(split, self._files[split])

    def _read(self, split: str) -> PairTable:
        pairs, notes = read_pairs(self._files_of(split), self._manner)
        self.notes += notes
        return pairs
