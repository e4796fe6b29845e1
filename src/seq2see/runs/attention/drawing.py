"""A clean, static SVG figure: the maps of all texts below each other, in the page's colours."""

import math
import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from rich.cells import cell_len

from seq2see.runs.attention.choice import Choice
from seq2see.runs.attention.figures import Figure

# The page's scale for weights (maps/page/colour.js, light): ever darker, even to the eye, colour-blind-safe.
RAMP = ((241, 247, 250), (180, 233, 239), (77, 188, 212), (35, 122, 184), (49, 56, 131), (32, 20, 68))
INK, QUIET, PAPER, HIDDEN = "#17202e", "#566274", "#fbfcfd", "#c2ccd6"
SERIF = "'Iowan Old Style', Palatino, Georgia, 'Liberation Serif', serif"
SANS = "'Avenir Next', 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
CELL, LARGEST, MARGIN, FONT = 26, 900, 24, 13  # pixels; the largest map is as wide as that
ADVANCE = 0.6  # of a letter, in font sizes, generously; a CJK letter takes two
LONGEST = 24  # columns of a label
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_figure(figures: Sequence[Figure], choice: Choice) -> str:
    """The figure as an XML document; it needs no script, no font and no other file."""
    panels, top, width = [], 2 * MARGIN + FONT, 0
    for figure in figures:
        panel, panel_width, height = _panel(figure)
        panels.append(f'<g transform="translate({MARGIN} {top})">{panel}</g>')
        top, width = top + height + MARGIN, max(width, panel_width)
    title = _text(choice.name, MARGIN, MARGIN + FONT, size=17, family=SERIF)
    width = max(width + 2 * MARGIN, _room(choice.name, 17) + 2 * MARGIN)
    legend, legend_height = _legend()
    panels.append(f'<g transform="translate({MARGIN} {top})">{legend}</g>')
    height = top + legend_height + MARGIN
    pattern = (
        '<defs><pattern id="hidden" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<line x1="0" y1="0" x2="0" y2="6" stroke="{HIDDEN}" stroke-width="1.4"/></pattern></defs>'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{_safe(choice.name)}</title>{pattern}<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join([title, *panels])
        + "\n</svg>\n"
    )


def _panel(figure: Figure) -> tuple[str, int, int]:
    """A map with its texts and labels, and its width and height."""
    queries, keys = ([_short(label) for label in labels] for labels in (figure.queries, figure.keys))
    cell = max(2, min(CELL, LARGEST // max(len(queries), len(keys), 1)))
    size = min(FONT, max(6, cell - 2))
    every = math.ceil(size / cell)  # labels stand on every so many rows and columns
    lines = [figure.source] if figure.target is None else [figure.source, f"{figure.text}: {figure.target}"]
    parts = [
        _text(line, 0, FONT + 22 * number, size=15, family=SERIF, fill=QUIET if number else INK)
        for number, line in enumerate(lines)
    ]
    left = max((_room(label, size) for label in queries), default=0) + 10
    top = 22 * len(lines) + max((_room(label, size) for label in keys), default=0) + 12
    for query, label in enumerate(queries):
        if query % every == 0:
            y = top + (query + 0.5) * cell + 0.35 * size
            parts.append(_text(label, left - 8, y, size=size, anchor="end", fill=_ink(label)))
    for key, label in enumerate(keys):
        if key % every == 0:
            x = left + (key + 0.5) * cell + 0.35 * size
            parts.append(_text(label, x, top - 6, size=size, turn=True, fill=_ink(label)))
    gap = 1 if cell >= 8 else 0
    for query in range(len(queries)):
        seen, y = figure.visible(query), top + query * cell
        for key in range(seen):
            colour = _colour(float(figure.weights[query, key]))
            side = cell - gap
            parts.append(f'<rect x="{left + key * cell}" y="{y}" width="{side}" height="{side}" fill="{colour}"/>')
        if seen < len(keys):
            x, hidden = left + seen * cell, (len(keys) - seen) * cell
            parts.append(f'<rect x="{x}" y="{y}" width="{hidden}" height="{cell}" fill="url(#hidden)"/>')
    width = max(left + len(keys) * cell, *(_room(line, 15) for line in lines))
    return "".join(parts), width, top + len(queries) * cell


def _legend() -> tuple[str, int]:
    width, steps = 190, 38
    parts = [
        f'<rect x="{width * step // steps}" y="0" width="{width // steps + 1}" height="8" '
        f'fill="{_colour(step / (steps - 1))}"/>'
        for step in range(steps)
    ]
    parts += [
        _text(text, x, 24, size=11, anchor=anchor, fill=QUIET)
        for text, x, anchor in (("0", 0, "start"), ("0.5", width // 2, "middle"), ("1", width, "end"))
    ]
    return "".join(parts), 26


def _colour(weight: float) -> str:
    if math.isnan(weight):
        return "none"
    place = min(max(weight, 0.0), 1.0) * (len(RAMP) - 1)
    index = min(int(place), len(RAMP) - 2)
    share = place - index
    mixed = (round(low + (high - low) * share) for low, high in zip(RAMP[index], RAMP[index + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _text(
    text: str,
    x: float,
    y: float,
    *,
    size: int,
    family: str = SANS,
    fill: str = INK,
    anchor: str = "start",
    turn: bool = False,
) -> str:
    place = f'transform="translate({x:g} {y:g}) rotate(-90)"' if turn else f'x="{x:g}" y="{y:g}"'
    return (
        f'<text {place} font-size="{size}" font-family="{family}" fill="{fill}" text-anchor="{anchor}" '
        f'xml:space="preserve">{_safe(text)}</text>'
    )


def _ink(label: str) -> str:
    return QUIET if label in ("<bos>", "<eos>") else INK


def _room(text: str, size: int) -> int:
    return math.ceil(cell_len(text) * size * ADVANCE)


def _short(label: str) -> str:
    if cell_len(label) <= LONGEST:
        return label
    kept = label
    while cell_len(kept) >= LONGEST:
        kept = kept[:-1]
    return kept + "…"


def _safe(text: str) -> str:
    """The text as XML; what no XML document may hold is shown as U+FFFD."""
    return escape(_NO_XML.sub("\ufffd", text))
