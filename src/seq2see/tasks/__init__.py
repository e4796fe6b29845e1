"""Where pairs come from: one file a task, each with its true alignment where it knows one."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from seq2see.options import DataOptions, GivenOptions, Normalize
from seq2see.tasks.pairs import Pair

__all__ = ["Pair", "Task", "make_task"]

_DEFAULT = DataOptions()


class Task(Protocol):
    """A source of pairs."""

    notes: list[str]  # for people ("3 blank lines skipped"); reading a split may add to them
    ood: str  # what the pairs of the split `ood` are ("24 to 48 letters"); empty where there is no such split

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`: the same ones in the same order every time."""
        ...


def make_task(options: Any, data: DataOptions = _DEFAULT, *, normalize: Normalize = Normalize.nfc) -> Task:
    """The task that the options describe: of `LettersOptions`, the class `Letters` in `letters`.

    Args:
        options: one of the task dataclasses.
        data: with `files` and `hub`, how lines are read, and whether one that cannot be is an error or skipped.
        normalize: with `files` and `hub`, the Unicode form in which two sources count as equal when splits are made.

    Raises:
        ValueError: the options ask for more pairs than exist.
        DataError: a file is wrong (raised by `pairs`).
    """
    name = type(options).__name__.removesuffix("Options")
    task = getattr(import_module(f"seq2see.tasks.{name.lower()}"), name)
    return task(options, data, normalize) if isinstance(options, GivenOptions) else task(options)
