"""Where pairs come from: a dataclass for each shape of task, so that a key that a task does not use does not exist."""

from dataclasses import dataclass
from typing import Any

from seq2see.options.rules import require, require_not_negative, require_positive


@dataclass
class LettersOptions:
    """`copy`, `reverse`, `sort`: sequences of letters, generated."""

    kind: str
    seed: int = 0  # of the pairs; the top-level `seed` is that of the training
    train_size: int = 10_000  # pairs
    valid_size: int = 500  # pairs
    test_size: int = 1_000  # pairs
    min_length: int = 4  # letters
    max_length: int = 12  # letters
    vocab_size: int = 26  # different letters

    def __post_init__(self) -> None:
        require_positive(self, "task", "train_size", "min_length", "vocab_size")
        require_not_negative(self, "task", "valid_size", "test_size")
        require(
            self.min_length <= self.max_length,
            f"task.min_length ({self.min_length}) must not exceed task.max_length ({self.max_length})",
        )
        require(self.vocab_size <= 26, f"task.vocab_size ({self.vocab_size}) must be at most 26, the letters a to z")


@dataclass
class TranslationOptions:
    """`translation`: a small English-German grammar, generated."""

    kind: str = "translation"
    seed: int = 0  # of the pairs; the top-level `seed` is that of the training
    train_size: int = 40_000  # pairs
    valid_size: int = 500  # pairs
    test_size: int = 1_000  # pairs

    def __post_init__(self) -> None:
        require_positive(self, "task", "train_size")
        require_not_negative(self, "task", "valid_size", "test_size")


@dataclass
class FilesOptions:
    """`files`: your own pairs. What is left out of `valid` and `test` is split off the training pairs."""

    kind: str = "files"
    train: Any = None  # a path, or two of parallel files
    valid: Any = None
    test: Any = None
    source: Any = None  # column, by name or 0-based number; None: the first of two
    target: Any = None
    features: Any = None  # column of tags that are put before the source
    features_separator: str = ";"
    train_size: int | None = None  # pairs; None: all

    def __post_init__(self) -> None:
        require(
            self.train is not None,
            "task.train is missing: name your file of pairs, as in task=files task.train=pairs.tsv",
        )
        require_positive(self, "task", "train_size")
        require(
            (self.source is None) == (self.target is None),
            f"task.source ({self.source}) and task.target ({self.target}) go together: set both, or neither",
        )
        require(bool(self.features_separator), "task.features_separator must not be empty")


TASKS: dict[str, type] = {
    "translation": TranslationOptions,
    "copy": LettersOptions,
    "reverse": LettersOptions,
    "sort": LettersOptions,
    "files": FilesOptions,
}
