"""Pairs in characters, with the links between their words."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from seq2see.runs.data_report.console import Glyphs, cropped, wrapped

Links = Sequence[tuple[int, int]]

_SHORT = 2  # columns of a word at most, for both sides to be labelled in full
_MOST_ROWS = 16
_MOST_DOTS = 96  # rows of dots, four of which make one line
_LABEL = 20  # columns of a label at most
_BITS = ((0, 3), (1, 4), (2, 5), (6, 7))  # of the dots of a Braille character, by row and column


def alignment(above: list[str], below: list[str], links: Links, *, width: int, glyphs: Glyphs) -> list[str]:
    """A pair with the links between its words, drawn in the way that fits.

    Args:
        above: the source's words, printable.
        below: the target's words, printable.
        links: source word and target word, 0-based.
        width: columns.
        glyphs: what to draw with.

    Returns:
        Lines. Letters are a grid, rows = target; sentences stand one above the other with lines between; what is too
        wide for that is a grid with numbered columns, or one of dots; what is too large even so is not drawn.
    """
    texts = [line for words in (above, below) for line in wrapped(" ".join(words), width, most=3)]
    longer = max(len(above), len(below))
    is_short = max(map(cell_len, above + below)) <= _SHORT
    if is_short and longer <= _MOST_ROWS:
        return _labelled(above, below, links, glyphs)
    if not is_short and glyphs.braille and max(_line_width(above), _line_width(below)) <= width:
        return _joined(above, below, links)
    if min(len(above), len(below)) <= _MOST_ROWS and longer + _LABEL + 1 <= width:
        return [*texts, "", *_numbered(above, below, links, glyphs)]
    if glyphs.braille and len(above) <= 2 * width and len(below) <= _MOST_DOTS:
        legend = f"(from left to right {len(above)} source words, from top to bottom {len(below)} target words)"
        return [*texts, legend, *_canvas(links, len(above), len(below))]
    return [*texts, f"({len(links)} links)"]


def _labelled(above: list[str], below: list[str], links: Links, glyphs: Glyphs) -> list[str]:
    """A grid with all words: columns are the source's, rows the target's."""
    cell = max(map(cell_len, above))
    margin = max(map(cell_len, below))
    linked = set(links)
    lines = [" " * margin + "".join(" " + set_cell_size(word, cell) for word in above)]
    for j, word in enumerate(below):
        cells = (glyphs.link if (i, j) in linked else glyphs.empty for i in range(len(above)))
        lines.append(set_cell_size(word, margin) + "".join(" " + mark.ljust(cell) for mark in cells))
    return [line.rstrip() for line in lines]


def _line_width(words: list[str]) -> int:
    return sum(map(cell_len, words)) + len(words) - 1


def _joined(above: list[str], below: list[str], links: Links) -> list[str]:
    """Two lines of words, the shorter one centred, and lines of dots from word to word."""
    width = max(_line_width(above), _line_width(below))
    margins = [(width - _line_width(words)) // 2 for words in (above, below)]
    places = [_centres(words, margin) for words, margin in zip((above, below), margins, strict=True)]
    ends = [(places[0][i], places[1][j]) for i, j in links]
    furthest = max((abs(start - end) for start, end in ends), default=0)
    rows = 2 if furthest < 16 else 3 if furthest < 40 else 4
    return [
        " " * margins[0] + " ".join(above),
        *_canvas(_dots_of(ends, 4 * rows), 2 * width, 4 * rows),
        " " * margins[1] + " ".join(below),
    ]


def _centres(words: list[str], start: int) -> list[int]:
    """The column of dots, two a character, in the middle of each word."""
    centres = []
    for word in words:
        centres.append(2 * start + cell_len(word) - 1)
        start += cell_len(word) + 1
    return centres


def _dots_of(ends: list[tuple[int, int]], height: int) -> Iterable[tuple[int, int]]:
    """The dots (column, row) of straight lines from the top row to the bottom row."""
    for start, end in ends:
        steps = max(abs(end - start), height - 1)
        for step in range(steps + 1):
            yield round(start + (end - start) * step / steps), round((height - 1) * step / steps)


def _canvas(dots: Iterable[tuple[int, int]], width: int, height: int) -> list[str]:
    """Dots (column, row) as Braille characters, each two dots wide and four high."""
    cells = [[0] * (-(-width // 2)) for _ in range(-(-height // 4))]
    for column, row in dots:
        cells[row // 4][column // 2] |= 1 << _BITS[row % 4][column % 2]
    return ["".join(chr(0x2800 + cell) if cell else " " for cell in line).rstrip() for line in cells]


def _numbered(above: list[str], below: list[str], links: Links, glyphs: Glyphs) -> list[str]:
    """A grid with one narrow column for each word of a side; rows = target, or the source if the target is too long."""
    rows, columns, linked = below, above, {(j, i) for i, j in links}
    if len(below) > _MOST_ROWS:
        rows, columns, linked = above, below, set(links)
    margin = min(max(map(cell_len, rows)), _LABEL)
    numbers = "".join(str(number).ljust(5) for number in range(1, len(columns) + 1, 5))
    lines = [" " * (margin + 1) + numbers.rstrip()]
    for row, word in enumerate(rows):
        marks = (glyphs.link if (row, column) in linked else glyphs.empty for column in range(len(columns)))
        lines.append(set_cell_size(cropped(word, margin), margin) + " " + "".join(marks))
    return lines
