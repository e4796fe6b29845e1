"""One map of each text, drawn: as an SVG figure, as a table, or in characters."""

import csv
import io
import math
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from seq2see.maps.attended import CrossHead
from seq2see.maps.store import StoredLog
from seq2see.options import AttentionKind

COLUMNS = ("line", "text", "kind", "layer", "head", "query", "query_token", "key", "key_token")  # of the table
WIDTH = 80  # columns of a terminal at most
LEVELS = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"), (float("-inf"), "·"))  # least weight, and how it is drawn
LEGEND = "· below 5 %   ░ from 5 %   ▒ from 20 %   ▓ from 40 %   █ from 70 %"
HIDDEN_LEGEND = LEGEND.replace("   ", "  ") + "  blank: later"
NARROWEST = 2  # columns of a cell: as many as a CJK character takes
TALLEST = 12  # characters of a label that is written downwards

# The page's scale for weights (maps/page/colour.js, light): ever darker, even to the eye, colour-blind-safe.
RAMP = np.array([(241, 247, 250), (180, 233, 239), (77, 188, 212), (35, 122, 184), (49, 56, 131), (32, 20, 68)])
PLACES = (0, 0.2, 0.4, 0.6, 0.8, 1)  # the weights of these colours
INK, PAPER, HIDDEN = "#17202e", "#fbfcfd", "#c2ccd6"
SANS = "'Avenir Next', 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
CELL, LARGEST, MARGIN, FONT = 26, 900, 24, 13  # pixels; the largest map is as wide as that
ADVANCE = 0.6  # of a letter, in font sizes, generously; a CJK letter takes two
LONGEST = 24  # columns of a label
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

TITLES = {
    AttentionKind.cross: "cross attention",
    AttentionKind.encoder: "encoder self-attention",
    AttentionKind.decoder: "decoder self-attention",
}


@dataclass(frozen=True)
class Choice:
    """One map out of those of all layers and heads."""

    kind: AttentionKind
    place: CrossHead  # layer, and head or the mean of all
    reason: str = ""  # why this one, if nobody asked for it
    step: int | None = None  # of a run's log; None: the last one
    norms: bool = False  # whether it is norm-weighted, in the place of weights

    @property
    def name(self) -> str:
        """For people; layers and heads count from 1."""
        norms = ", norms" if self.norms else ""
        return f"{TITLES[self.kind]}, {self.place}{norms}" + ("" if self.step is None else f", step {self.step}")

    @property
    def view(self) -> Mapping[str, str | int]:
        """The page's view that is nearest, as its address names it: the page has no means, so it shows head 1."""
        place = {"kind": self.kind.value, "layer": self.place.layer + 1, "head": (self.place.head or 0) + 1}
        step = {} if self.step is None else {"step": self.step}
        return {**place, **step, **({"cells": "norms"} if self.norms else {})}

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


@dataclass(frozen=True)
class LabelledMap:
    """A map and what stands on its axes."""

    line: int | str  # what people know the text by
    source: str
    text: str  # `given` or `output`: what the decoder was fed; `source` where it is not asked
    target: str | None  # what was fed or said, as text; None where it has no part in the map
    weights: NDArray  # or norms, (query, key), without padding
    queries: tuple[str, ...]  # a label for each row; a row of the decoder is named for the token that it predicts
    keys: tuple[str, ...]
    causal: bool  # whether later keys are hidden

    def visible(self, query: int) -> int:
        """How many keys a row can see."""
        return query + 1 if self.causal else len(self.keys)

    @property
    def heading(self) -> list[str]:
        """The text, and what was fed or said."""
        return [self.source] if self.target is None else [self.source, f"{self.text}: {self.target}"]


def labelled_maps(log: StoredLog, choice: Choice) -> list[LabelledMap]:
    """The chosen map of each text; where there are both, of what was given and of the output."""
    step, kind = log.steps[-1] if choice.step is None else choice.step, choice.kind
    maps, stored = log.maps(step).named(), log.at(step)
    found = []
    for number, example in enumerate(log.examples):
        output = "output", None if stored.hypotheses is None else stored.hypotheses[number]
        given = output if example.reference is None else ("given", example.reference)
        sides = {kind.value: given, f"{kind.value}_free": output}
        if kind is AttentionKind.encoder:
            sides = {kind.value: ("source", None)}
        for name, (text, target) in sides.items():
            stored_name = f"{name}_norm" if choice.norms else name
            if stored_name not in maps:
                continue
            tokens = example.target_tokens
            if name.endswith("free") and stored.hypothesis_tokens is not None:
                tokens = stored.hypothesis_tokens[number]
            queries = example.source_tokens if kind is AttentionKind.encoder else tokens
            causal = kind is AttentionKind.decoder
            keys = ("<bos>", *tokens)[: len(tokens)] if causal else example.source_tokens
            weights = choice.place.of(maps[stored_name][number])[: len(queries), : len(keys)]
            found.append(LabelledMap(example.id, example.source, text, target, weights, queries, keys, causal))
    return found


def csv_table(maps: Sequence[LabelledMap], choice: Choice) -> str:
    """A row for each cell that can be seen; lines, layers, heads, queries and keys count from 1."""
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow((*COLUMNS, "norm" if choice.norms else "weight"))
    head = "mean" if choice.place.head is None else choice.place.head + 1
    for own in maps:
        for query, query_token in enumerate(own.queries):
            for key in range(own.visible(query)):
                cell = (query + 1, query_token, key + 1, own.keys[key], f"{own.weights[query, key]:.6f}")
                table.writerow((own.line, own.text, choice.kind.value, choice.place.layer + 1, head, *cell))
    return file.getvalue()


def in_terminal(maps: Sequence[LabelledMap], choice: Choice) -> str:
    """Blocks of five shades, at most 80 columns."""
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    parts = [textwrap.fill(str(choice), width)]
    for own in maps:
        text, *target = own.heading
        lines = ("".join(c if c.isprintable() else " " for c in line) for line in (f"{own.line}: {text}", *target))
        blocks = heat_map(own.weights, own.queries, own.keys, width=width, causal=own.causal)
        parts.append("\n".join([*(cut(line, width) for line in lines), blocks]))
    return "\n\n".join(parts) + "\n"


def heat_map(
    weights: NDArray, row_labels: Sequence[str], column_labels: Sequence[str], *, width: int = 80, causal: bool = False
) -> str:
    """The weights as blocks of five shades.

    Labels of columns stand side by side if all of them fit, else they are written downwards; columns that do not fit
    follow below, with the rows' labels again. What has no shape is shown as an escape.

    Args:
        weights: float (T, S), each 0 to 1; at least one column.
        row_labels: T words.
        column_labels: S words.
        width: columns of the terminal, which no line is wider than; CJK characters take two.
        causal: whether a row sees no column after its own; what it does not see stays blank.
    """
    rows, columns = ([_printable(label) for label in labels] for labels in (row_labels, column_labels))
    left = min(max((cell_len(row) for row in rows), default=0), width // 4)
    rows = [" " * (left - cell_len(row)) + cut(row, left) for row in rows]
    sizes, gap = [max(cell_len(column), NARROWEST) for column in columns], " "
    room = num_fitting = max(width - left - 1, NARROWEST)
    fits = sum(sizes) + len(sizes) - 1 <= room
    if not fits:
        sizes, gap, num_fitting = [NARROWEST] * len(columns), "", room // NARROWEST
    lines = []
    for start in range(0, len(columns), num_fitting):
        some = columns[start : start + num_fitting]
        if num_fitting < len(columns):
            lines.append(" " * (left + 1) + f"{start + 1}-{start + len(some)} of {len(columns)}")
        height = min(TALLEST, max(map(len, some)))
        header = [some] if fits else zip(*(label[:height].rjust(height) for label in some), strict=True)
        lines += [" " * (left + 1) + gap.join(map(set_cell_size, line, sizes)) for line in header]
        for number, (label, row) in enumerate(zip(rows, weights[:, start : start + num_fitting], strict=True)):
            seen = row[: max(0, number + 1 - start)] if causal else row
            shades = [next((shade for least, shade in LEVELS if weight >= least), "?") for weight in seen]  # ? is NaN
            shades += " " * (len(row) - len(seen))
            lines.append(f"{label} {gap.join(map(str.__mul__, shades, sizes))}")
    return "\n".join(line.rstrip() for line in [*lines, HIDDEN_LEGEND if causal else LEGEND])


def cut(text: str, width: int) -> str:
    """The text in at most so many columns."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width else ""


def _printable(label: str) -> str:
    letters = unicodedata.normalize("NFC", label) if label != " " else "␣"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in letters)


def svg_figure(maps: Sequence[LabelledMap], choice: Choice) -> str:
    """All maps below each other in the page's colours, as an XML document; it needs no script, font or other file."""
    legend = [_square(10 * step, 0, 10, 8, _colour(step / 20)) for step in range(21)]
    legend += [_text(text, x, 24, size=11) for text, x in (("0", 0), ("0.5", 100), ("1", 200))]
    panels, top, width = [_text(choice.name, MARGIN, MARGIN + FONT, size=17)], 2 * MARGIN + FONT, _room(choice.name, 17)
    for panel, panel_width, height in [*map(_panel, maps), ("".join(legend), 210, 26)]:
        panels.append(f'<g transform="translate({MARGIN} {top})">{panel}</g>')
        top, width = top + height + MARGIN, max(width, panel_width)
    width += 2 * MARGIN
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        f'font-family="{SANS}"><title>{_safe(choice.name)}</title><rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _panel(own: LabelledMap) -> tuple[str, int, int]:
    """A map with its texts and labels, and its width and height."""
    queries, keys = ([cut(label, LONGEST) for label in labels] for labels in (own.queries, own.keys))
    cell = max(2, min(CELL, LARGEST // max(len(queries), len(keys), 1)))
    size = min(FONT, max(6, cell - 2))
    every = math.ceil(size / cell)  # labels stand on every so many rows and columns
    parts = [_text(line, 0, FONT + 22 * number, size=15) for number, line in enumerate(own.heading)]
    left = max(_room(label, size) for label in queries) + 10
    top = 22 * len(own.heading) + max(_room(label, size) for label in keys) + 12
    for query, label in list(enumerate(queries))[::every]:
        parts.append(_text(label, left - 8, top + (query + 0.5) * cell + 0.35 * size, size=size, anchor="end"))
    for key, label in list(enumerate(keys))[::every]:
        parts.append(_text(label, left + (key + 0.5) * cell + 0.35 * size, top - 6, size=size, turn=-90))
    side = cell - (1 if cell >= 8 else 0)
    for query, key in np.ndindex(len(queries), len(keys)):
        colour = _colour(float(own.weights[query, key])) if key < own.visible(query) else HIDDEN
        parts.append(_square(left + key * cell, top + query * cell, side, side, colour))
    width = max(left + len(keys) * cell, *(_room(line, 15) for line in own.heading))
    return "".join(parts), width, top + len(queries) * cell


def _colour(weight: float) -> str:
    if math.isnan(weight):
        return "none"
    return "#" + "".join(f"{round(float(np.interp(weight, PLACES, part))):02x}" for part in RAMP.T)


def _square(x: int, y: int, width: int, height: int, fill: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>'


def _text(text: str, x: float, y: float, *, size: int, anchor: str = "start", turn: int = 0, fill: str = INK) -> str:
    return (
        f'<text transform="translate({x:g} {y:g}) rotate({turn})" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}" xml:space="preserve">{_safe(text)}</text>'
    )


def _room(text: str, size: int) -> int:
    return math.ceil(cell_len(text) * size * ADVANCE)


def _safe(text: str) -> str:
    """The text as XML; what no XML document may hold is shown as U+FFFD."""
    return escape(_NO_XML.sub("\ufffd", text))
