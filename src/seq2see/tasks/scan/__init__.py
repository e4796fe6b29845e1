"""`scan`: navigation commands and their actions, in the published splits, with the true alignment.

grammar.py makes the commands, splits.py divides them as published, and here validation is drawn from the training part.
"""

from collections.abc import Sequence
from random import Random

from seq2see.options import ScanOptions, ScanSplit
from seq2see.tasks.pairs import Pair
from seq2see.tasks.scan.grammar import commands
from seq2see.tasks.scan.splits import Parts, divide

__all__ = ["Scan", "commands"]


class Scan:
    """The commands of SCAN in one of its splits, every part in an order that the seed decides.

    Validation is drawn from the commands that stand once in training and leaves it; the command that a split repeats
    (`jump` 1,467 times) stays in training as often as published, and so do the few of `few_shot`. So no source is in
    two parts, and validation is like training, not like the test: that is what the splits are about. Neither part
    depends on `task.train_size`, and a smaller training part is the beginning of a larger one.

    There is no `ood` part: in every split but `simple` the test part is out of distribution itself.

    Args:
        options: which split, how much of it, which seed.

    Raises:
        ValueError: the training part is too small for `task.valid_size` or `task.train_size`, or a key of the split
            leaves nothing to train or to test on.
    """

    notes: list[str]
    ood: str

    def __init__(self, options: ScanOptions) -> None:
        random = Random(f"scan {options.seed}")
        shuffled = [*commands()]
        random.shuffle(shuffled)
        parts = divide(shuffled, options)
        valid_size = _valid_size(parts, options)
        train = parts.once[valid_size:] + parts.repeated * parts.repeats
        random.shuffle(train)
        train_size = _train_size(len(train), valid_size, options)
        self._pairs = {"train": train[:train_size], "valid": parts.once[:valid_size], "test": parts.test, "ood": []}
        self.ood = ""
        self.notes = [_note(options, parts, len(train), {split: len(pairs) for split, pairs in self._pairs.items()})]

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, with their links; `ood` is empty."""
        return self._pairs[split]


def _valid_size(parts: Parts, options: ScanOptions) -> int:
    exist = len(parts.once)
    if options.valid_size is None:
        return min(500, exist // 10)
    if options.valid_size >= exist:
        raise ValueError(
            f"task.valid_size ({options.valid_size}) leaves nothing to train on: it is drawn from the {exist:,} "
            f"commands that stand once in the training part of task.split={options.split.value}; ask for fewer"
        )
    return options.valid_size


def _train_size(exist: int, valid_size: int, options: ScanOptions) -> int:
    if options.train_size is None:
        return exist
    if options.train_size > exist:
        raise ValueError(
            f"task.train_size ({options.train_size}) asks for more than exist: {exist:,} pairs in the training part of "
            f"task.split={options.split.value} beside the {valid_size:,} for validation; ask for fewer, or leave it out"
        )
    return options.train_size


def _note(options: ScanOptions, parts: Parts, exist: int, sizes: dict[str, int]) -> str:
    train = f"{sizes['train']:,}" if sizes["train"] == exist else f"{sizes['train']:,} of {exist:,}"
    repeated = ""
    if options.split is ScanSplit.few_shot:
        repeated = f' ({len(parts.repeated):,} with "look around right")'
    elif parts.repeated:
        others = len(parts.repeated) - 1
        repeated = f' ("{parts.repeated[0].source}"{f" and {others:,} composed" if others else ""}'
        repeated += f" {parts.repeats:,} times{' each' if others else ''})"
    return f"split={options.split.value}: {train} train{repeated}, {sizes['valid']:,} valid, {sizes['test']:,} test"
