"""What must change in a reference to make an output of it, counted for many pairs at once.

The same distance as torchmetrics counts pair by pair, and with it the operations, which error kinds need.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

_CHANGE = 1 << 20  # cost of a substitution
_GAP = _CHANGE + 1  # of an omission or insertion: of the shortest ways, the one with the fewest of these is counted
_CELLS = 1 << 19  # rows x columns that are worked on together


class Edits(NamedTuple):
    """The operations of a shortest way from each reference to its output; of several, the most substitutions.

    Args:
        substitutions: symbols that stand for others, int64 (N,).
        omissions: symbols of the reference that are missing, int64 (N,).
        insertions: symbols that the reference does not have, int64 (N,).
    """

    substitutions: np.ndarray
    omissions: np.ndarray
    insertions: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The Levenshtein distances, int64 (N,)."""
        return self.substitutions + self.omissions + self.insertions


def edit_counts(outputs: Sequence[Sequence[Hashable]], references: Sequence[Sequence[Hashable]]) -> Edits:
    """The edits between each output and its reference.

    Args:
        outputs: sequences of symbols; a string is one of characters.
        references: as many.

    Source:
        Wagner and Fischer 1974, "The String-to-String Correction Problem". Cells of a row follow from those to the left
        by a running minimum, so that the rows of all pairs are computed together.
    """
    costs = np.zeros(len(outputs), dtype=np.int64)
    unequal = [
        place
        for place, (output, reference) in enumerate(zip(outputs, references, strict=True))
        if len(output) != len(reference) or output != reference
    ]
    codes: dict[Hashable, int] = {}
    known = {place: (_coded(outputs[place], codes), _coded(references[place], codes)) for place in unequal}
    unequal.sort(key=lambda place: max(map(len, known[place])))
    begin = 0
    while begin < len(unequal):
        end = begin + 1
        while end < len(unequal) and (end + 1 - begin) * (1 + max(map(len, known[unequal[end]]))) <= _CELLS:
            end += 1
        some = sorted(unequal[begin:end], key=lambda place: -len(known[place][0]))
        costs[some] = _costs([known[place][0] for place in some], [known[place][1] for place in some])
        begin = end
    total, gaps = costs // _CHANGE, costs % _CHANGE
    longer = np.array([len(output) - len(reference) for output, reference in zip(outputs, references, strict=True)])
    longer = longer.astype(np.int64)
    insertions = (gaps + longer) // 2
    return Edits(total - gaps, gaps - insertions, insertions)


def _coded(symbols: Sequence[Hashable], codes: dict[Hashable, int]) -> np.ndarray:
    numbers = (codes.setdefault(symbol, len(codes)) for symbol in symbols)
    return np.fromiter(numbers, dtype=np.int64, count=len(symbols))


def _costs(outputs: list[np.ndarray], references: list[np.ndarray]) -> np.ndarray:
    """The least costs, int64 (N,); outputs come longest first, so that those at work are the first rows."""
    output, reference = _padded(outputs, -1), _padded(references, -2)  # (N, I), (N, J)
    lengths = np.array([len(one) for one in outputs])
    to_the_left = _GAP * np.arange(reference.shape[1] + 1)
    costs = np.tile(to_the_left, (len(outputs), 1))  # (N, J + 1): of the output so far and each reference so far
    for place in range(output.shape[1]):
        num_rows = int((lengths > place).sum())
        above = costs[:num_rows]
        best = np.empty_like(above)
        best[:, 0] = above[:, 0] + _GAP
        differs = output[:num_rows, place, None] != reference[:num_rows]
        np.minimum(above[:, :-1] + _CHANGE * differs, above[:, 1:] + _GAP, out=best[:, 1:])
        costs[:num_rows] = np.minimum.accumulate(best - to_the_left, axis=1) + to_the_left
    return costs[np.arange(len(outputs)), [len(one) for one in references]]


def _padded(rows: list[np.ndarray], filler: int) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for row, values in enumerate(rows):
        padded[row, : len(values)] = values
    return padded
