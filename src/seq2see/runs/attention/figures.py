"""One map of each text, as a table or in the terminal."""

import csv
import io
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from seq2see.maps import AttentionLog, Example
from seq2see.maps.terminal import heat_map
from seq2see.options import AttentionKind
from seq2see.runs.attention.choice import Choice

WIDTH = 80  # columns at most
COLUMNS = ("line", "text", "kind", "layer", "head", "query", "query_token", "key", "key_token")


@dataclass(frozen=True)
class Figure:
    """A map and what stands on its axes.

    Args:
        line: what people know the text by.
        text: `given` or `output`: what the decoder was fed; `source` where it is not asked.
        source: the text.
        target: what was fed or said, as text; None where it has no part in the map.
        weights: or norms, (query, key), without padding.
        queries: a label for each row; a row of the decoder is named for the token that it predicts.
        keys: a label for each column.
        causal: whether later keys are hidden.
    """

    line: int | str
    text: str
    source: str
    target: str | None
    weights: NDArray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    causal: bool

    def visible(self, query: int) -> int:
        """How many keys a row can see."""
        return query + 1 if self.causal else len(self.keys)


def figures_of(log: AttentionLog, choice: Choice) -> list[Figure]:
    """The chosen map of each text; where there are both, of what was given and of the output."""
    step, kind = log.steps[-1] if choice.step is None else choice.step, choice.kind
    maps, stored = log.maps(step).named(), log.at(step)
    figures = []
    for number, example in enumerate(log.examples):
        said = None if stored.hypotheses is None else stored.hypotheses[number]
        for name, free in ((kind.value, False), (f"{kind.value}_free", True)):
            name += "_norm" if choice.norms else ""
            if name not in maps:
                continue
            queries, keys = (sizes[number] for sizes in log.lengths(name, step))
            weights = choice.of(maps[name][number])[:queries, :keys]
            if kind is AttentionKind.encoder:
                figures.append(_figure(example, "source", None, weights, kind, ()))
            elif free and stored.hypothesis_tokens is not None:
                figures.append(_figure(example, "output", said, weights, kind, stored.hypothesis_tokens[number]))
            else:
                is_given = example.reference is not None
                target = example.reference if is_given else said
                text = "given" if is_given else "output"
                figures.append(_figure(example, text, target, weights, kind, example.target_tokens))
    return figures


def _figure(
    example: Example, text: str, target: str | None, weights: NDArray, kind: AttentionKind, tokens: tuple[str, ...]
) -> Figure:
    queries = example.source_tokens if kind is AttentionKind.encoder else tokens
    keys = ("<bos>", *tokens[:-1]) if kind is AttentionKind.decoder else example.source_tokens
    if kind is AttentionKind.decoder:
        keys = keys[: len(tokens)]
    causal = kind is AttentionKind.decoder
    return Figure(example.id, text, example.source, target, weights, queries, keys, causal)


def csv_table(figures: Sequence[Figure], choice: Choice) -> str:
    """A row for each cell that can be seen; lines, layers, heads, queries and keys count from 1."""
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow((*COLUMNS, "norm" if choice.norms else "weight"))
    head = "mean" if choice.place.head is None else choice.place.head + 1
    for figure in figures:
        for query, query_token in enumerate(figure.queries):
            for key in range(figure.visible(query)):
                weight = f"{figure.weights[query, key]:.6f}"
                cell = (query + 1, query_token, key + 1, figure.keys[key], weight)
                table.writerow((figure.line, figure.text, choice.kind.value, choice.place.layer + 1, head, *cell))
    return file.getvalue()


def in_terminal(figures: Sequence[Figure], choice: Choice) -> str:
    """Blocks of five shades, at most 80 columns."""
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    parts = [textwrap.fill(str(choice), width)]
    for figure in figures:
        heading = [f"{figure.line}: {figure.source}"]
        heading += [] if figure.target is None else [f"{figure.text}: {figure.target}"]
        blocks = heat_map(figure.weights, figure.queries, figure.keys, width=width)
        parts.append("\n".join([*(_cut(line, width) for line in heading), blocks]))
    return "\n\n".join(parts) + "\n"


def _cut(line: str, width: int) -> str:
    """In one line of the terminal, whatever the text holds."""
    line = "".join(letter if letter.isprintable() else " " for letter in line)
    return line if cell_len(line) <= width else set_cell_size(line, width - 1) + "…"
