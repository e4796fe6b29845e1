"""What patching found, shown: layers by heads for each kind of attention, as a figure, a table, in a terminal."""

import csv
import io
from collections.abc import Sequence

import numpy as np

from seq2see.evaluation.report import aligned
from seq2see.maps.arrays import KINDS
from seq2see.maps.drawing import (
    FONT,
    HIDDEN,
    INK,
    MARGIN,
    PAPER,
    SANS,
    TITLES,
    WIDTH,
    _room,
    _safe,
    _square,
    _text,
    cut,
)
from seq2see.maps.page import _digest
from seq2see.maps.patching import Recovered, Twins
from seq2see.options import AttentionKind

CELL, HEIGHT, LEFT, WIDEST = 44, 32, 62, 1000  # pixels
MOST_SHOWN = 8  # heads side by side in a terminal
ORDER = (AttentionKind.encoder, AttentionKind.decoder, AttentionKind.cross)
LESS, MORE = ((246, 246, 246), (232, 160, 96), (150, 74, 22)), ((246, 246, 246), (107, 160, 214), (30, 60, 130))
NOTE = (
    "1: the head alone brings all of the difference back; 0: nothing; below 0: it adds to it. "
    "Shares do not add up: heads work together and undo each other."
)


def mean_of(found: Sequence[Twins]) -> Recovered:
    """The mean over pairs."""
    each = [own.recovered for own in found]
    return Recovered(
        {kind: np.mean([own.heads[kind] for own in each], axis=0) for kind in KINDS},
        {kind: np.mean([own.layers[kind] for own in each], axis=0) for kind in KINDS},
        {kind: float(np.mean([own.kinds[kind] for own in each])) for kind in KINDS},
        float(np.mean([own.of_source for own in each])),
        float(np.mean([own.of_twin for own in each])),
    )


def _blocks(found: dict[int, Twins]) -> list[tuple[list[str], Recovered]]:
    """The mean of several, and each pair: what is said of it, and its shares."""
    blocks = []
    for number, own in found.items():
        one, other = own.tokens
        texts = [
            f"{number}: {own.source}",
            f"twin: {own.twin}",
            f"output: {own.outputs[0]}",
            f"of the twin: {own.outputs[1]}",
            f"target token {own.place + 1}, \u201c{one}\u201d against \u201c{other}\u201d: "
            f"{_signed(own.recovered.of_source)} nats, for the twin {_signed(own.recovered.of_twin)}",
        ]
        blocks.append((texts, own.recovered))
    if len(found) > 1:
        blocks.insert(0, ([f"mean of {len(found)} pairs"], mean_of(list(found.values()))))
    return blocks


def twins_table(found: dict[int, Twins]) -> str:
    """A row for each head, each layer (head `all`) and each kind (layer and head `all`), by the line of the pair."""
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("line", "kind", "layer", "head", "recovered"))
    for number, own in found.items():
        shares = own.recovered
        for kind in KINDS:
            for layer, head in np.ndindex(shares.heads[kind].shape):
                table.writerow((number, kind, layer + 1, head + 1, f"{shares.heads[kind][layer, head]:.6f}"))
            for layer, share in enumerate(shares.layers[kind]):
                table.writerow((number, kind, layer + 1, "all", f"{share:.6f}"))
            table.writerow((number, kind, "all", "all", f"{shares.kinds[kind]:.6f}"))
    return file.getvalue()


def twins_in_terminal(found: dict[int, Twins]) -> str:
    """Tables of at most 80 columns."""
    parts = []
    for texts, shares in _blocks(found):
        lines = [cut("".join(c if c.isprintable() else " " for c in line), WIDTH) for line in texts]
        for kind in ORDER:
            heads, layers = shares.heads[kind.value], shares.layers[kind.value]
            lines += ["", f"  {TITLES[kind]}, all of it {_figure(shares.kinds[kind.value])}"]
            for first in range(0, heads.shape[1], MOST_SHOWN):
                some = heads[:, first : first + MOST_SHOWN]
                names = [f"head {first + n + 1}" for n in range(some.shape[1])]
                rows = [("  layer", "all", *names)]
                rows += [(f"  {n + 1}", _figure(layers[n]), *map(_figure, own)) for n, own in enumerate(some)]
                lines += aligned(rows, 8, *[8] * (some.shape[1] + 1))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def twins_figure(found: dict[int, Twins]) -> str:
    """All pairs below each other, as an XML document; it needs no script, font or other file."""
    title = "What carries the difference between a source and its twin"
    parts = [_text(title, MARGIN, MARGIN + FONT, size=17)]
    top, width = 2 * MARGIN + FONT, _room(title, 17)
    for panel, panel_width, height in [*(_panel(*block) for block in _blocks(found)), _legend()]:
        parts.append(f'<g transform="translate({MARGIN} {top})">{panel}</g>')
        top, width = top + height + MARGIN, max(width, panel_width)
    width += 2 * MARGIN
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        f'font-family="{SANS}"><title>{_safe(title)}</title><rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def twins_page(found: dict[int, Twins], title: str) -> str:
    """The figure as a page that fetches and runs nothing."""
    style = "body{margin:0;background:" + PAPER + "}main{overflow-x:auto}"
    policy = f"default-src 'none'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    figure = twins_figure(found).split("\n", 1)[1]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>{style}</style>\n<main>\n{figure}</main>\n</html>\n"
    )


def _panel(texts: Sequence[str], shares: Recovered) -> tuple[str, int, int]:
    """What is said of a pair, and three maps of layers by heads, side by side if there is room; width and height."""
    parts = [_text(cut(line, 110), 0, FONT + 21 * n, size=15 if n < 1 else FONT) for n, line in enumerate(texts)]
    top, left, width, height = 21 * len(texts) + 14, 0, max(_room(cut(line, 110), 14) for line in texts), 0
    size = LEFT + (next(iter(shares.heads.values())).shape[1] + 1) * CELL + 12
    across = 3 if 3 * size + 2 * MARGIN <= WIDEST else 1
    for n, kind in enumerate(ORDER):
        if n and across == 1:
            top, height = top + height + MARGIN, 0
        left = n * (size + MARGIN) if across == 3 else 0
        drawn, own_height = _map(kind, shares)
        parts.append(f'<g transform="translate({left} {top})">{drawn}</g>')
        width, height = max(width, left + size), max(height, own_height)
    return "".join(parts), width, top + height


def _map(kind: AttentionKind, shares: Recovered) -> tuple[str, int]:
    heads, layers = shares.heads[kind.value], shares.layers[kind.value]
    parts = [_text(f"{TITLES[kind]}: {_figure(shares.kinds[kind.value])} in all", 0, FONT, size=FONT)]
    names = [str(n + 1) for n in range(heads.shape[1])]
    for n, name in enumerate(["head 1", *names[1:], "all"]):
        x = LEFT + (n + 0.5) * CELL + (8 if name == "all" else 0)
        parts.append(_text(name, x, 36, size=11, anchor="middle"))
    for layer, own in enumerate(heads):
        y = 44 + layer * HEIGHT
        parts.append(_text(f"layer {layer + 1}", LEFT - 8, y + HEIGHT / 2 + 4, size=11, anchor="end"))
        for n, share in enumerate([*own, layers[layer]]):
            x = LEFT + n * CELL + (8 if n == len(own) else 0)
            parts.append(_square(x, y, CELL - 2, HEIGHT - 2, _colour(float(share))))
            ink = PAPER if abs(share) > 0.6 else INK
            parts.append(
                _text(_figure(share), x + CELL / 2 - 1, y + HEIGHT / 2 + 3, size=11, anchor="middle", fill=ink)
            )
    return "".join(parts), 44 + len(heads) * HEIGHT


def _legend() -> tuple[str, int, int]:
    parts = [_square(10 * n, 0, 10, 8, _colour(n / 10 - 1)) for n in range(21)]
    parts.append(f'<rect x="0" y="0" width="210" height="8" fill="none" stroke="{HIDDEN}"/>')
    parts += [_text(name, x, 24, size=11) for name, x in (("\u22121", 0), ("0", 102), ("1", 202))]
    lines = NOTE.split(". ")
    parts += [_text(line.rstrip(".") + ".", 0, 46 + 18 * n, size=12) for n, line in enumerate(lines)]
    return "".join(parts), max(_room(line, 12) for line in lines), 46 + 18 * len(lines)


def _figure(share: float) -> str:
    return f"{share:z.2f}".replace("-", "\u2212")


def _signed(nats: float) -> str:
    return f"{nats:+.2f}".replace("-", "\u2212")


def _colour(share: float) -> str:
    ramp = np.array(LESS if share < 0 else MORE)
    return "#" + "".join(f"{round(float(np.interp(abs(share), (0, 0.5, 1), part))):02x}" for part in ramp.T)
