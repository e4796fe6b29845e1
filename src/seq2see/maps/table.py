"""`metrics.csv`: one row of measures for each step, kind, layer and head."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.maps import measures
from seq2see.maps.arrays import Maps
from seq2see.maps.index import Example
from seq2see.maps.measures import AlignmentCounts, Rows


class MeasureRow(NamedTuple):
    """One head at one step; NaN where a measure has no meaning for the kind. Layers and heads count from 0."""

    step: int
    kind: str
    layer: int
    head: int
    entropy: float = math.nan  # nats
    effective_keys: float = math.nan  # keys
    confidence: float = math.nan
    previous_share: float = math.nan
    same_share: float = math.nan
    next_share: float = math.nan
    bos_mass: float = math.nan
    eos_mass: float = math.nan
    sink_mass: float = math.nan
    diagonality: float = math.nan
    coverage: float = math.nan
    head_distance: float = math.nan  # bits
    drift: float = math.nan  # bits
    alignment_error_rate: float = math.nan  # rows that predict the word
    alignment_error_rate_reads: float = math.nan  # rows that read the word
    alignment_mass: float = math.nan
    alignment_mass_reads: float = math.nan
    importance: float = math.nan  # nats a token; this and what follows only at steps where it was measured
    ablation_loss: float = math.nan  # nats a token more with this head off
    ablation_exact_match: float = math.nan  # share of pairs, change with this head off


MEASURES = MeasureRow._fields[4:]
EFFECTS = MEASURES[-3:]


class HeadEffects(NamedTuple):
    """What each head is worth to the loss and to the outputs: for each kind float (layers, heads).

    Args:
        importance: mean over pairs of |d loss / d mask|, nats a token.
        ablation_loss: loss with the head off minus loss with all heads, nats a token.
        ablation_exact_match: the same difference of the share of pairs that come out right.
    """

    importance: dict[str, NDArray]
    ablation_loss: dict[str, NDArray]
    ablation_exact_match: dict[str, NDArray]


def table_of(
    step: int,
    maps: Maps,
    previous: Maps | None,
    examples: Sequence[Example],
    effects: HeadEffects | None = None,
) -> list[MeasureRow]:
    """All measures of one step, of the teacher-forced weights, in float32 before any rounding."""
    rows = []
    for kind in ("encoder", "decoder", "cross"):
        weights = getattr(maps, kind)
        before = None if previous is None else getattr(previous, kind)
        columns = _measure(kind, weights, before, examples)
        if effects is not None:
            columns |= {name: getattr(effects, name)[kind] for name in EFFECTS}
        for layer, head in np.ndindex(weights.shape[1:3]):
            values = [float(columns[name][layer, head]) if name in columns else math.nan for name in MEASURES]
            rows.append(MeasureRow(step, kind, layer, head, *values))
    return rows


def _measure(kind: str, weights: NDArray, before: NDArray | None, examples: Sequence[Example]) -> dict[str, NDArray]:
    sources = [len(example.source_tokens) for example in examples]
    targets = [len(example.target_tokens) for example in examples]
    queries = sources if kind == "encoder" else targets
    keys = targets if kind == "decoder" else sources
    columns = {
        "entropy": measures.mean_over_rows(measures.entropy(weights), queries),
        "effective_keys": measures.mean_over_rows(measures.effective_keys(weights), queries),
        "confidence": measures.mean_over_rows(measures.confidence(weights), queries),
        "sink_mass": measures.sink_mass(weights, queries),
        "diagonality": measures.diagonality(weights, queries, keys),
        "coverage": measures.coverage(weights, queries, keys),
        "head_distance": measures.head_distance(weights, queries),
        "drift": measures.drift(weights, before, queries),
    }
    if kind != "cross":
        columns["previous_share"] = measures.offset_share(weights, queries, -1)
        columns["same_share"] = measures.offset_share(weights, queries, 0)
    if kind == "encoder":
        columns["next_share"] = measures.offset_share(weights, queries, 1)
    if kind == "decoder":
        columns["bos_mass"] = measures.key_mass(weights, queries, [0] * len(examples))
    else:
        columns["eos_mass"] = measures.key_mass(weights, queries, [length - 1 for length in sources])
    if kind == "cross":
        columns |= _alignment(weights, examples)
    return columns


def _alignment(weights: NDArray, examples: Sequence[Example]) -> dict[str, NDArray]:
    columns = {}
    for rows, suffix in ((Rows.predicts, ""), (Rows.reads, "_reads")):
        counts: AlignmentCounts | None = None
        mass, num_linked = np.zeros(weights.shape[1:3]), 0
        for index, example in enumerate(examples):
            if example.links is None:
                continue
            cut = weights[index, ..., : len(example.target_tokens), : len(example.source_tokens)]
            here = measures.alignment_counts(
                cut,
                _word_links(example),
                rows=rows,
                source_words=example.source_words,
                target_words=example.target_words,
            )
            counts = here if counts is None else counts + here
            more, linked = measures.alignment_mass(cut, example.links, rows=rows)
            mass, num_linked = mass + more, num_linked + linked
        if counts is not None:
            columns[f"alignment_error_rate{suffix}"] = counts.error_rate
        if num_linked:
            columns[f"alignment_mass{suffix}"] = mass / num_linked
    return columns


def summary(rows: Sequence[MeasureRow]) -> dict[str, float]:
    """A few numbers of one step for a logger: the best head's alignment error, and means over heads."""
    numbers = {}
    rates = [row.alignment_error_rate for row in rows if not math.isnan(row.alignment_error_rate)]
    if rates:
        numbers["attention/cross_alignment_error_rate"] = min(rates)
    for kind in ("encoder", "decoder", "cross"):
        numbers[f"attention/{kind}_entropy"] = _mean(row.entropy for row in rows if row.kind == kind)
    numbers["attention/drift"] = _mean(row.drift for row in rows)
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def baselines(examples: Sequence[Example]) -> dict[str, float]:
    """The alignment error rate of links by chance and of a diagonal map, on predicts rows; empty without true links."""
    aligned = [example for example in examples if example.links is not None]
    if not aligned:
        return {}
    links = [_word_links(example) for example in aligned]
    words = [(example.source_words, example.target_words) for example in aligned]
    tokens = [(len(example.source_tokens), len(example.target_tokens)) for example in aligned]
    num_words = [
        (len(set(source)) if source else num_sources - 1, len(set(target)) if target else num_targets - 1)
        for (source, target), (num_sources, num_targets) in zip(words, tokens, strict=True)
    ]
    chance = measures.uniform_error_rate(
        links, [source for source, _ in num_words], [target for _, target in num_words]
    )
    diagonal: AlignmentCounts | None = None
    for pair_links, (source, target), (num_sources, num_targets) in zip(links, words, tokens, strict=True):
        weights = measures.diagonal_map(num_targets, num_sources)
        here = measures.alignment_counts(weights, pair_links, source_words=source, target_words=target)
        diagonal = here if diagonal is None else diagonal + here
    assert diagonal is not None
    return {"chance": chance, "diagonal": float(diagonal.error_rate)}


def _word_links(example: Example) -> list[tuple[int, int]]:
    """The token links between the words that the tokens belong to."""
    source, target = example.source_words, example.target_words
    return sorted({(source[i] if source else i, target[j] if target else j) for i, j in example.links or ()})


def write_table(rows: Sequence[MeasureRow]) -> str:
    """CSV with a header line; an empty field is a measure that the kind does not have or that was not taken."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(MeasureRow._fields)
    for row in rows:
        writer.writerow([*row[:4], *("" if math.isnan(value) else f"{value:.6g}" for value in row[4:])])
    return stream.getvalue()


def read_table(file: Path) -> list[MeasureRow]:
    """The rows of a `metrics.csv`; none if there is no such file.

    Raises:
        ValueError: the file is damaged.
    """
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            return [_parse(line) for line in reader]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(
                f"{file}, line {reader.line_num}: not a row of measures ({error!r}); delete the file, the maps are kept"
            ) from error


def _parse(line: dict[str, str]) -> MeasureRow:
    values = [float(line[name]) if line.get(name) else math.nan for name in MEASURES]
    return MeasureRow(int(line["step"]), line["kind"], int(line["layer"]), int(line["head"]), *values)
