"""Where pairs come from: one file a task, each with its true alignment where it knows one."""

from collections.abc import Sequence
from typing import Protocol

from seq2see.options import (
    DatesOptions,
    FilesOptions,
    HubOptions,
    LettersOptions,
    Normalize,
    NumbersOptions,
    OnBadLine,
    ScanOptions,
    TranslationOptions,
)
from seq2see.tasks.dates import Dates
from seq2see.tasks.files import Files
from seq2see.tasks.hub import Hub
from seq2see.tasks.letters import Letters
from seq2see.tasks.numbers import Numbers
from seq2see.tasks.pairs import Pair
from seq2see.tasks.scan import Scan
from seq2see.tasks.translation import Translation

__all__ = ["Pair", "Task", "make_task"]


class Task(Protocol):
    """A source of pairs."""

    notes: list[str]  # for people ("3 blank lines skipped"); reading a split may add to them
    ood: str  # what the pairs of the split `ood` are ("24 to 48 letters"); empty where there is no such split

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`: the same ones in the same order every time."""
        ...


def make_task(
    options: LettersOptions
    | TranslationOptions
    | NumbersOptions
    | DatesOptions
    | ScanOptions
    | FilesOptions
    | HubOptions,
    *,
    on_bad_line: OnBadLine = OnBadLine.error,
    normalize: Normalize = Normalize.nfc,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Task:
    """The task that the options describe.

    Args:
        options: one of the task dataclasses.
        on_bad_line: with `files` and `hub`, whether a line that cannot be read is an error or skipped and counted.
        normalize: with `files` and `hub`, the Unicode form in which two sources count as equal when splits are made.
        delimiter: with `files`, what stands between the columns of a text file; None: what its name says.
        encoding: with `files`, that of text files.

    Raises:
        ValueError: the options ask for more pairs than exist.
        DataError: a file is wrong (raised by `pairs`).
    """
    match options:
        case FilesOptions():
            return Files(options, on_bad_line=on_bad_line, normalize=normalize, delimiter=delimiter, encoding=encoding)
        case HubOptions():
            return Hub(options, on_bad_line=on_bad_line, normalize=normalize)
        case LettersOptions():
            return Letters(options)
        case NumbersOptions():
            return Numbers(options)
        case DatesOptions():
            return Dates(options)
        case ScanOptions():
            return Scan(options)
        case TranslationOptions():
            return Translation(options)
