"""Where pairs come from: a dataclass for each shape of task, so that a key that a task does not use does not exist.

A new task is its dataclass and its line in TASKS here, its class, `Letters` of `LettersOptions`, in `tasks/letters.py`,
and its file in `configs/task`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2see.options.enums import ScanSplit
from seq2see.options.rules import require, require_not_negative, require_positive


@dataclass
class GeneratedOptions:
    """What most tasks that draw their own pairs have in common."""

    kind: str
    seed: int = 0  # of the pairs; the top-level `seed` is that of the training
    train_size: int = 10_000  # pairs
    valid_size: int = 500  # pairs
    test_size: int = 1_000  # pairs
    ood_size: int = 200  # pairs unlike those of training: longer, or combined as never there

    def __post_init__(self) -> None:
        require_positive(self, "task", "train_size")
        require_not_negative(self, "task", "valid_size", "test_size", "ood_size")


@dataclass
class LettersOptions(GeneratedOptions):
    """`copy`, `reverse`, `sort`: sequences of letters. `ood`: twice to four times the longest length."""

    min_length: int = 4  # letters
    max_length: int = 12  # letters
    vocab_size: int = 26  # different letters

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "task", "min_length", "vocab_size")
        require(
            self.min_length <= self.max_length,
            f"task.min_length ({self.min_length}) must not exceed task.max_length ({self.max_length})",
        )
        require(self.vocab_size <= 26, f"task.vocab_size ({self.vocab_size}) must be at most 26, the letters a to z")


@dataclass
class TranslationOptions(GeneratedOptions):
    """`translation`: a small English-German grammar. `ood`: twice to four times the longest length."""

    kind: str = "translation"
    train_size: int = 40_000  # pairs


OWN_NUMBERS = ("digits", "en", "de", "zh")  # forms of numbers with a known alignment; others come from num2words


@dataclass
class NumbersOptions(GeneratedOptions):
    """`numbers`: from digits to words, or from those of one language to those of another. `ood`: digits elsewhere."""

    kind: str = "numbers"
    source: str = "digits"  # digits, en, de, zh, or any language of the num2words package
    target: str = "en"
    max_number: int = 999_999  # numbers are 0 to this

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "task", "max_number")
        require(
            self.source != self.target,
            f"task.source and task.target are both {self.source}: choose two forms, as digits and en",
        )


@dataclass
class DatesOptions(GeneratedOptions):
    """`dates`: from many written forms to ISO 8601. `ood`: a form and a month that never met in training."""

    kind: str = "dates"
    first_year: int = 1900
    last_year: int = 2099

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first_year", "last_year"):
            year = getattr(self, name)
            require(1000 <= year <= 9999, f"task.{name} ({year}) must have four digits")
        require(
            self.first_year <= self.last_year,
            f"task.first_year ({self.first_year}) must not exceed task.last_year ({self.last_year})",
        )


@dataclass
class ScanOptions:
    """`scan`: all 20,910 commands of Lake and Baroni 2018 with their actions, divided as they publish it."""

    kind: str = "scan"
    seed: int = 0  # of the random choices; the top-level `seed` is that of the training
    split: ScanSplit = ScanSplit.simple
    length_cutoff: int | None = None  # with split=length: actions at most in training; None: 22
    num_composed: int | None = None  # with split=addprim_jump: composed jump commands in training; None: 0
    num_fillers: int | None = None  # with split=filler: fillers of "around right" in training, 0 to 3; None: 0
    num_shots: int | None = None  # with split=few_shot: commands with "look around right" in training; None: 1
    train_fraction: float | None = None  # with split=simple: share of all commands to train on; None: 0.8
    train_size: int | None = None  # pairs; None: all of the split
    valid_size: int | None = None  # pairs, drawn from the training part; None: 500, at most a tenth of it

    def __post_init__(self) -> None:
        require_positive(self, "task", "train_size", "length_cutoff", "num_shots")
        require_not_negative(self, "task", "valid_size", "num_composed")
        require_not_negative(self, "task", "num_fillers", most=3)
        for key, split in (
            ("length_cutoff", ScanSplit.length),
            ("num_composed", ScanSplit.addprim_jump),
            ("num_fillers", ScanSplit.filler),
            ("num_shots", ScanSplit.few_shot),
            ("train_fraction", ScanSplit.simple),
        ):
            value = getattr(self, key)
            require(
                value is None or self.split is split,
                f"task.{key} ({value}) belongs to task.split={split.value}, not to task.split={self.split.value}",
            )
        fraction = self.train_fraction
        require(fraction is None or 0 < fraction < 1, f"task.train_fraction ({fraction}) must be between 0 and 1")


@dataclass
class GivenOptions:
    """What the tasks that read pairs have in common."""

    kind: str
    source: Any = None  # column, by name or 0-based number; files: None: the first of two; hub: or a language
    target: Any = None
    features: Any = None  # column of tags that are put before the source
    features_separator: str = ";"
    train_size: int | None = None  # pairs; None: all

    def __post_init__(self) -> None:
        require_positive(self, "task", "train_size")
        require(bool(self.features_separator), "task.features_separator must not be empty")
        require(
            not set("\t\r\n") & set(self.features_separator),
            f"task.features_separator ({self.features_separator!r}) must not hold a tab or a line end: choose another",
        )


@dataclass
class FilesOptions(GivenOptions):
    """`files`: your own pairs. What is left out of `valid` and `test` is split off the training pairs."""

    kind: str = "files"
    train: Any = None  # files of pairs: a path, a glob or several; or parallel ones: [a, b], {source: a, target: b}
    valid: Any = None
    test: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.train is not None,
            "task.train is missing: name your file of pairs, as in task=files task.train=pairs.tsv",
        )
        for name in ("train", "valid", "test"):
            require_files(getattr(self, name), f"task.{name}")
        require_both_columns(self.source, self.target)


@dataclass
class HubOptions(GivenOptions):
    """`hub`: pairs through `datasets`: a data set's name on the hub, or a folder laid out like one or saved to disk."""

    kind: str = "hub"
    path: str | None = None  # name on the hub, or a folder
    name: str | None = None  # configuration of the data set
    train_split: str | None = None  # name of the split to train on; None: train
    valid_split: str | None = None  # None: validation, valid, val or dev; split off training if there is none
    test_split: str | None = None  # None: test; split off training if there is none

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.path is not None,
            "task.path is missing: name a data set or a folder, as in task=hub task.path=FOLDER task.source=en "
            "task.target=de",
        )
        require(
            self.source is not None and self.target is not None,
            f"task.source ({self.source}) and task.target ({self.target}) are both needed with task=hub: columns by "
            "name or number, or languages",
        )
        splits = [split for split in (self.train_split, self.valid_split, self.test_split) if split is not None]
        require(
            len(set(splits)) == len(splits),
            f"task.train_split ({self.train_split}), task.valid_split ({self.valid_split}) and task.test_split "
            f"({self.test_split}) must differ: choose a split once",
        )


def require_files(value: Any, key: str) -> None:
    """A value names files in one of the ways in which `tasks.paths.files_of` reads it, or none."""
    names = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    are_paths = bool(names) and all(isinstance(name, str | Path) for name in names)
    require(
        value is None or are_paths and (not isinstance(value, dict) or set(value) == {"source", "target"}),
        f"{key} ({value}) must be a path, a glob or several of files that hold pairs, or two parallel files, as in "
        f"{key}=[a.src,a.tgt] or {key}='{{source: a.txt, target: b.txt}}'",
    )


def require_both_columns(source: Any, target: Any) -> None:
    """The columns of source and target are both set, or neither."""
    require(
        (source is None) == (target is None),
        f"task.source ({source}) and task.target ({target}) go together: set both, or neither",
    )


def tag_separator(task: Any) -> str | None:
    """What stands between two of the tags before a task's sources; None: they have none."""
    return None if getattr(task, "features", None) is None else task.features_separator


TASKS: dict[str, type] = {
    "translation": TranslationOptions,
    "copy": LettersOptions,
    "reverse": LettersOptions,
    "sort": LettersOptions,
    "numbers": NumbersOptions,
    "dates": DatesOptions,
    "scan": ScanOptions,
    "files": FilesOptions,
    "hub": HubOptions,
}
