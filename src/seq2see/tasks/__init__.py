"""Where pairs come from: one file a task, each with its true alignment where it knows one."""

from collections.abc import Sequence
from importlib import import_module
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
from seq2see.tasks.pairs import Pair

__all__ = ["Pair", "Task", "make_task"]


class Task(Protocol):
    """A source of pairs."""

    notes: list[str]  # for people ("3 blank lines skipped"); reading a split may add to them
    ood: str  # what the pairs of the split `ood` are ("24 to 48 letters"); empty where there is no such split

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`: the same ones in the same order every time."""
        ...


Options = LettersOptions | TranslationOptions | NumbersOptions | DatesOptions | ScanOptions | FilesOptions | HubOptions
_GENERATED = {  # by its options, the module and the class of a task
    LettersOptions: ("letters", "Letters"),
    TranslationOptions: ("translation", "Translation"),
    NumbersOptions: ("numbers", "Numbers"),
    DatesOptions: ("dates", "Dates"),
    ScanOptions: ("scan", "Scan"),
}


def make_task(
    options: Options,
    *,
    on_bad_line: OnBadLine = OnBadLine.error,
    normalize: Normalize = Normalize.nfc,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Task:
    """The task that the options describe; only its own module is imported.

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
            from seq2see.tasks.files import Files

            return Files(options, on_bad_line=on_bad_line, normalize=normalize, delimiter=delimiter, encoding=encoding)
        case HubOptions():
            from seq2see.tasks.hub import Hub

            return Hub(options, on_bad_line=on_bad_line, normalize=normalize)
    module, name = _GENERATED[type(options)]
    return getattr(import_module(f"seq2see.tasks.{module}"), name)(options)
