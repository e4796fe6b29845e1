"""What went wrong: each wrong output has one main kind of error."""

from collections.abc import Iterator, Sequence
from enum import Enum

import numpy as np

from seq2see.evaluation.edits import edit_counts

_LONGEST_BLOCK = 20  # units of a repeated block


class Kind(Enum):
    """The main kind of error of an output; the first that holds, from top to bottom.

    Units are words or characters; "shortest edits" are the fewest substitutions, omissions and insertions that make
    the output of the reference, those with the most substitutions if there are several.

    Attributes:
        unknown_symbol: UNK is in it, so that it cannot be right.
        stopped_early: it is the beginning of the reference, and ends too soon (or is empty).
        swap: it has the reference's units, each as often, in another order.
        repetition: it says a block of one to twenty units twice running, and without the second time all the block's
            units would be fewer errors: they are insertions.
        substitution: among the shortest edits, no other operation is as frequent or more frequent than this.
        omission: substitutions are fewer than omissions, and insertions not more.
        insertion: substitutions and omissions are each fewer than insertions.
    """

    unknown_symbol = "unknown symbol"
    stopped_early = "stopped early"
    swap = "swap"
    repetition = "repetition"
    substitution = "substitution"
    omission = "omission"
    insertion = "insertion"


def error_kinds(
    outputs: Sequence[str], references: Sequence[str], *, unknown: Sequence[bool], characters: bool
) -> list[Kind | None]:
    """The main kind of error of each output; None where it is right.

    Args:
        outputs: what the model wrote.
        references: as many.
        unknown: whether UNK is in the output.
        characters: whether a unit is a character; else a word, as white space separates them (and a character where two
            texts differ in white space alone).
    """
    kinds: list[Kind | None] = [None] * len(outputs)
    rest: list[tuple[int, list[str], list[str]]] = []
    for place, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        if output == reference:
            continue
        units, right = (list(output), list(reference)) if characters else (output.split(), reference.split())
        if units == right:
            units, right = list(output), list(reference)
        if unknown[place]:
            kinds[place] = Kind.unknown_symbol
        elif units == right[: len(units)]:
            kinds[place] = Kind.stopped_early
        elif sorted(units) == sorted(right):
            kinds[place] = Kind.swap
        else:
            rest.append((place, units, right))
    edits = edit_counts([units for _, units, _ in rest], [right for *_, right in rest])
    repeating = _repeating(rest, edits.total)
    for number, (place, *_) in enumerate(rest):
        counts = {
            Kind.substitution: edits.substitutions[number],
            Kind.omission: edits.omissions[number],
            Kind.insertion: edits.insertions[number],
        }
        kinds[place] = Kind.repetition if number in repeating else max(counts, key=lambda kind: counts[kind])
    return kinds


def _repeating(rest: Sequence[tuple[int, list[str], list[str]]], errors: np.ndarray) -> set[int]:
    """The numbers of those that repeat a block whose units are insertions."""
    numbers, lengths, shorter, references = [], [], [], []
    for number, (_, units, right) in enumerate(rest):
        for begin, length in _repeated_blocks(units):
            numbers.append(number)
            lengths.append(length)
            shorter.append(units[:begin] + units[begin + length :])
            references.append(right)
    fewer = errors[numbers] - edit_counts(shorter, references).total if numbers else np.zeros(0)
    return {number for number, length, gain in zip(numbers, lengths, fewer, strict=True) if gain == length}


def _repeated_blocks(units: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Begin and length of blocks that directly follow themselves, one for each run of repetitions."""
    codes: dict[str, int] = {}
    symbols = np.array([codes.setdefault(unit, len(codes)) for unit in units], dtype=np.int64)
    seen: list[tuple[int, int]] = []
    for length in range(1, min(len(units) // 2, _LONGEST_BLOCK) + 1):
        same = np.concatenate([[False], symbols[:-length] == symbols[length:], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            long_enough = end - begin >= length
            if long_enough and not any(first <= begin and end + length <= last for first, last in seen):
                seen.append((begin, end + length))
                yield begin, length
