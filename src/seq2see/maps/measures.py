"""Numbers that say what a head does, and `metrics.csv`, their table: one row for each step, kind, layer and head.

Maps are float32 arrays (examples, layers, heads, query, key), zero at padding, each real row summing to 1. Most
functions give one number a head, (layers, heads): the mean over all real rows of all examples, so that a long sentence
counts for its length. Nothing here is ever trained towards: these are readings, not objectives. Where each comes from
stands in the README beside this file.
"""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.arrays import KINDS, Example, Maps, lengths
from seq2see.maps.links import Link, LinkCounts, Rows, count_links, word_weights


def choose_head(error_rates: NDArray) -> tuple[int, int]:
    """The (layer, head), 0-based, with the lowest error rate, first on ties. Choose on validation, report on test."""
    rates = np.where(np.isnan(error_rates), np.inf, error_rates)
    layer, head = np.unravel_index(int(rates.argmin()), rates.shape)
    return int(layer), int(head)


def entropy(weights: NDArray) -> NDArray:
    """How spread each row is, in nats, (..., query); 0 for all weight on one key, log(keys) for uniform."""
    safe = np.where(weights == 0, np.float32(1), weights)  # 0 log 0 is 0
    return -(safe * np.log(safe)).sum(-1)


def mean_over_rows(values: NDArray, lengths: Sequence[int] | NDArray) -> NDArray[np.float64]:
    """(examples, layers, heads, query) to (layers, heads): the mean over each example's first `lengths` rows.

    NaN without any.
    """
    real = np.arange(values.shape[-1]) < np.asarray(lengths)[:, None]
    count = real.sum()
    total = (values * real[:, None, None, :].astype(np.float64)).sum((0, 3))
    return total / count if count else np.full(values.shape[1:3], np.nan)


def offset_share(weights: NDArray, lengths: Sequence[int], offset: int) -> NDArray[np.float64]:
    """Self-attention's share on the token `offset` away: -1 the previous, 0 itself, 1 the next; (layers, heads).

    Rows without such a token (the first one has no previous) are left out of the mean. Voita et al. 2019 count maxima.
    """
    size = weights.shape[-1]
    queries = np.arange(max(0, -offset), min(size, size - offset))
    return mean_over_rows(weights[..., queries, queries + offset], np.asarray(lengths) - abs(offset))


def key_mass(weights: NDArray, query_lengths: Sequence[int], keys: Sequence[int]) -> NDArray[np.float64]:
    """The mean weight on one given key of each example (0 for BOS, its last one for EOS), (layers, heads)."""
    picked = np.stack([example[..., key] for example, key in zip(weights, keys, strict=True)])
    return mean_over_rows(picked, query_lengths)


def sink_mass(weights: NDArray, query_lengths: Sequence[int]) -> NDArray[np.float64]:
    """The mean weight on each sentence's key that gets most: 1 for a sink, 1 / keys if uniform; (layers, heads)."""
    most = weights.sum(-2).max(-1)  # (examples, layers, heads)
    return most.sum(0) / np.asarray(query_lengths, dtype=np.float64).sum()


def diagonality(
    weights: NDArray, query_lengths: Sequence[int], key_lengths: Sequence[int], *, width: float = 0.2
) -> NDArray[np.float64]:
    """How near the weight stays to the straight line from first to last tokens: 1 on it; (layers, heads).

    One minus the guided attention loss of Tachibana et al. 2018, with its g = 0.2. We place token n of N at
    n / (N - 1), so that both ends lie on the line.
    """
    queries, keys = (
        np.arange(size) / np.maximum(np.asarray(numbers)[:, None] - 1, 1)
        for size, numbers in zip(weights.shape[-2:], (query_lengths, key_lengths), strict=True)
    )
    near = np.exp(-((queries[:, :, None] - keys[:, None, :]) ** 2) / (2 * width**2))
    return mean_over_rows((weights * near[:, None, None]).sum(-1), query_lengths)


def coverage(weights: NDArray, key_lengths: Sequence[int]) -> NDArray[np.float64]:
    """How much of each key is looked at over the whole sentence: mean of min(1, sum over rows); (layers, heads)."""
    return mean_over_rows(np.minimum(weights.sum(-2), 1.0), key_lengths)


def jensen_shannon(left: NDArray, right: NDArray) -> NDArray:
    """How different two sets of rows are, in bits, 0 to 1, (..., query): Lin 1991, with equal weights."""
    middle = entropy((left + right) / 2)
    return np.maximum(middle - (entropy(left) + entropy(right)) / 2, 0.0) / np.log(2)


def head_distance(weights: NDArray, query_lengths: Sequence[int]) -> NDArray[np.float64]:
    """How far each head is from the others of its layer, mean Jensen-Shannon divergence in bits; NaN for a lone head.

    Clark et al. 2019 sum it over rows; a mean keeps long sentences on the same scale.
    """
    num_layers, num_heads = weights.shape[1:3]
    if num_heads < 2:
        return np.full((num_layers, num_heads), np.nan)
    total = np.zeros((num_layers, num_heads))
    for head in range(1, num_heads):  # every pair of heads is met by rolling them past each other
        total += mean_over_rows(jensen_shannon(weights, np.roll(weights, head, axis=2)), query_lengths)
    return total / (num_heads - 1)


def drift(weights: NDArray, previous: NDArray | None, query_lengths: Sequence[int]) -> NDArray[np.float64]:
    """How far each head has moved since the last stored step, mean Jensen-Shannon divergence in bits; NaN at first."""
    if previous is None:
        return np.full(weights.shape[1:3], np.nan)
    return mean_over_rows(jensen_shannon(weights, previous), query_lengths)


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
    for kind in KINDS:
        weights = getattr(maps, kind)
        if not weights.shape[1]:
            continue
        columns = _measure(kind, weights, None if previous is None else getattr(previous, kind), examples)
        if effects is not None:
            columns |= {name: own[kind] for name, own in effects._asdict().items()}
        for layer, head in np.ndindex(weights.shape[1:3]):
            values = {name: float(column[layer, head]) for name, column in columns.items()}
            rows.append(MeasureRow(step, kind, layer, head, **values))
    return rows


def _measure(kind: str, weights: NDArray, before: NDArray | None, examples: Sequence[Example]) -> dict[str, NDArray]:
    queries, keys = lengths(kind, examples)
    columns = {
        "entropy": mean_over_rows(entropy(weights), queries),
        "effective_keys": mean_over_rows(np.exp(entropy(weights)), queries),  # equal shares of the same entropy
        "confidence": mean_over_rows(weights.max(-1), queries),  # here EOS counts, unlike in Voita et al. 2019
        "sink_mass": sink_mass(weights, queries),
        "diagonality": diagonality(weights, queries, keys),
        "coverage": coverage(weights, keys),
        "head_distance": head_distance(weights, queries),
        "drift": drift(weights, before, queries),
    }
    if kind != "cross":
        columns["previous_share"] = offset_share(weights, queries, -1)
        columns["same_share"] = offset_share(weights, queries, 0)
    if kind == "encoder":
        columns["next_share"] = offset_share(weights, queries, 1)
    if kind == "decoder":
        columns["bos_mass"] = key_mass(weights, queries, [0] * len(examples))
    else:
        columns["eos_mass"] = key_mass(weights, queries, [length - 1 for length in keys])
    if kind == "cross" and any(example.links is not None for example in examples):
        columns |= _alignment(weights, examples, Rows.predicts)
        columns |= {f"{name}_reads": column for name, column in _alignment(weights, examples, Rows.reads).items()}
    return columns


def _alignment(weights: NDArray, examples: Sequence[Example], rows: Rows) -> dict[str, NDArray]:
    """The error rate, and the mean weight on true links over the target tokens that have one."""
    counts, mass, num_linked = LinkCounts(), np.zeros(weights.shape[1:3]), 0
    for own, example in zip(weights, examples, strict=True):
        if example.links is None:
            continue
        cut = own[..., : len(example.target_tokens), : len(example.source_tokens)]
        counts += _count(cut, example, rows)
        for source, target in set(example.links):
            mass += cut[..., target + rows.value, source]
        num_linked += len({target for _, target in example.links})
    columns = {"alignment_error_rate": counts.error_rate}
    return columns | ({"alignment_mass": mass / num_linked} if num_linked else {})


def _count(weights: NDArray, example: Example, rows: Rows = Rows.predicts) -> LinkCounts:
    source, target = example.source_words, example.target_words
    words = word_weights(weights, rows=rows, source_words=source, target_words=target)
    return count_links(words, _word_links(example))


def _word_links(example: Example) -> set[Link]:
    """The token links between the words that the tokens belong to."""
    source, target = example.source_words, example.target_words
    return {(source[i] if source else i, target[j] if target else j) for i, j in example.links or ()}


def baselines(examples: Sequence[Example]) -> dict[str, float]:
    """The alignment error rate of links by chance and of a diagonal map, on predicts rows; empty without true links."""
    aligned = [example for example in examples if example.links is not None]
    if not aligned:
        return {}
    chance, diagonal = LinkCounts(), LinkCounts()
    for example in aligned:
        num_sources, num_targets = len(example.source_tokens), len(example.target_tokens)
        diagonal += _count(diagonal_map(num_targets, num_sources), example)
        links = len(_word_links(example))
        source_words, target_words = (
            num - 1 if words is None else len(set(words))
            for num, words in ((num_sources, example.source_words), (num_targets, example.target_words))
        )
        hits = links / source_words if source_words else 0
        chance += LinkCounts(hits, hits, target_words, links)
    return {"chance": float(chance.error_rate), "diagonal": float(diagonal.error_rate)}


def diagonal_map(num_targets: int, num_sources: int) -> NDArray[np.float32]:
    """The map of a head that only knows how far it has come: all weight on the diagonal, (targets, sources)."""
    places = np.arange(num_targets) * (num_sources - 1) / max(num_targets - 1, 1)
    return np.eye(num_sources, dtype=np.float32)[np.round(places).astype(int)]


def summary(rows: Sequence[MeasureRow]) -> dict[str, float]:
    """A few numbers of one step for a logger: the best head's alignment error, and means over heads."""
    columns = {f"attention/{kind}_entropy": [row.entropy for row in rows if row.kind == kind] for kind in KINDS}
    columns["attention/drift"] = [row.drift for row in rows]
    known = {name: [value for value in column if math.isfinite(value)] for name, column in columns.items()}
    numbers = {name: sum(values) / len(values) for name, values in known.items() if values}
    rates = [row.alignment_error_rate for row in rows if math.isfinite(row.alignment_error_rate)]
    return numbers | ({"attention/cross_alignment_error_rate": min(rates)} if rates else {})


def write_table(rows: Sequence[MeasureRow]) -> str:
    """CSV with a header line; an empty field is a measure that the kind does not have or that was not taken."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(MeasureRow._fields)
    for row in rows:
        writer.writerow([*row[:4], *("" if math.isnan(value) else f"{value:.6g}" for value in row[4:])])
    return stream.getvalue()


def read_table(file: Path) -> list[MeasureRow]:
    """The rows of a `metrics.csv`; none if there is no such file. A damaged one is a ValueError."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            return [
                MeasureRow(
                    *(int(line["step"]), line["kind"], int(line["layer"]), int(line["head"])),
                    *(float(line[name]) if line.get(name) else math.nan for name in MEASURES),
                )
                for line in reader
            ]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(
                f"{file}, line {reader.line_num}: not a row of measures ({error!r}); delete the file, the maps are kept"
            ) from error
