"""An attention map in characters: source across, target down, as wide as a terminal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

LEVELS = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"), (float("-inf"), "·"))  # least weight, and how it is drawn
LEGEND = "· below 5 %   ░ from 5 %   ▒ from 20 %   ▓ from 40 %   █ from 70 %"
NARROWEST = 2  # columns of a cell: as many as a CJK character takes
TALLEST = 12  # characters of a label that is written downwards


def heat_map(weights: NDArray, row_labels: Sequence[str], column_labels: Sequence[str], *, width: int = 80) -> str:
    """The weights as blocks of five shades.

    Labels of columns stand side by side if all of them fit, else they are written downwards; columns that do not fit
    follow below, with the rows' labels again. What has no shape is shown as an escape.

    Args:
        weights: float (T, S), each 0 to 1.
        row_labels: T words.
        column_labels: S words.
        width: columns of the terminal; CJK characters take two.

    Returns:
        lines of at most `width` columns, the last one the legend; no line end behind it.

    Raises:
        ValueError: there are not as many labels as rows and columns.
    """
    if weights.shape != (len(row_labels), len(column_labels)):
        raise ValueError(
            f"weights of shape {weights.shape} need as many labels, got {len(row_labels)} for the rows and "
            f"{len(column_labels)} for the columns"
        )
    rows, columns = [_printable(label) for label in row_labels], [_printable(label) for label in column_labels]
    left = min(max((cell_len(row) for row in rows), default=0), width // 4)
    rows = [" " * (left - cell_len(row)) + row if cell_len(row) <= left else _cut(row, left) for row in rows]
    room = max(width - left - 1, NARROWEST)
    sizes = [max(cell_len(column), NARROWEST) for column in columns]
    if sum(sizes) + len(sizes) - 1 <= room:
        header = [" ".join(map(set_cell_size, columns, sizes))]
        lines = _panel(weights, rows, header, sizes, " ", left)
    else:
        lines = _panels(weights, rows, columns, room // NARROWEST, left)
    return "\n".join(line.rstrip() for line in [*lines, LEGEND])


def _panels(weights: NDArray, rows: list[str], columns: list[str], num_fitting: int, left: int) -> list[str]:
    """Narrow cells under labels that are written downwards, so many columns at a time."""
    lines = []
    for start in range(0, len(columns), num_fitting):
        some = columns[start : start + num_fitting]
        if len(columns) > num_fitting:
            lines.append(" " * (left + 1) + f"{start + 1}-{start + len(some)} of {len(columns)}")
        sizes = [NARROWEST] * len(some)
        lines += _panel(weights[:, start : start + num_fitting], rows, _downwards(some), sizes, "", left)
    return lines


def _panel(weights: NDArray, rows: list[str], header: list[str], sizes: list[int], gap: str, left: int) -> list[str]:
    lines = [" " * (left + 1) + line for line in header]
    for label, row in zip(rows, weights, strict=True):
        cells = (_shade(weight) * size for weight, size in zip(row, sizes, strict=True))
        lines.append(f"{label} {gap.join(cells)}")
    return lines


def _shade(weight: np.floating) -> str:
    return next((shade for least, shade in LEVELS if weight >= least), "?")  # NaN is not at least anything


def _downwards(labels: list[str]) -> list[str]:
    """The labels, one character below the other, in cells of the narrowest width; they end in the same line."""
    letters = [_letters(label) for label in labels]
    letters = [own if len(own) <= TALLEST else [*own[: TALLEST - 1], "…"] for own in letters]
    height = max(map(len, letters), default=0)
    padded = [[" "] * (height - len(own)) + own for own in letters]
    return ["".join(set_cell_size(own[line], NARROWEST) for own in padded) for line in range(height)]


def _letters(label: str) -> list[str]:
    """The characters, each with the marks that belong to it and take no column."""
    letters: list[str] = []
    for character in label:
        if letters and not cell_len(character):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _cut(label: str, width: int) -> str:
    return set_cell_size(label, width - 1) + "…" if width else ""


def _printable(label: str) -> str:
    if label == " ":
        return "␣"
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in label
    )
