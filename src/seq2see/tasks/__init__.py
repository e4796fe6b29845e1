"""Where pairs come from: one file a task, each with its true alignment where it knows one."""

from collections.abc import Sequence
from typing import Protocol

from seq2see.options import FilesOptions, LettersOptions, Normalize, OnBadLine, TranslationOptions
from seq2see.tasks.pairs import Pair

__all__ = ["Pair", "Task", "make_task"]


class Task(Protocol):
    """A source of pairs. `notes` are for people ("3 blank lines skipped"); reading a split may add to them."""

    notes: list[str]

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`: the same ones in the same order every time."""
        ...


def make_task(
    options: LettersOptions | TranslationOptions | FilesOptions,
    *,
    on_bad_line: OnBadLine = OnBadLine.error,
    normalize: Normalize = Normalize.nfc,
) -> Task:
    """The task that the options describe; only its own module is imported.

    Args:
        options: one of the task dataclasses.
        on_bad_line: with `files`, whether a line that cannot be read is an error or skipped and counted.
        normalize: with `files`, the Unicode form in which two sources count as equal when splits are made.

    Raises:
        ValueError: the options ask for more pairs than exist.
        DataError: a file is wrong (raised by `pairs`).
    """
    if isinstance(options, FilesOptions):
        from seq2see.tasks.files import Files

        return Files(options, on_bad_line=on_bad_line, normalize=normalize)
    if isinstance(options, LettersOptions):
        from seq2see.tasks.letters import Letters

        return Letters(options)
    from seq2see.tasks.translation import Translation

    return Translation(options)
