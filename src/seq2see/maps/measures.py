"""Numbers that say what a head does: pure functions of attention maps, numpy in, numpy out.

Maps are float32 arrays (examples, layers, heads, query, key), zero at padding, each real row summing to 1. Most
functions give one number a head, (layers, heads): the mean over all real rows of all examples, so that a long sentence
counts for its length. Nothing here is ever trained towards: these are readings, not objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Links = Sequence[tuple[int, int]]
"""Alignment links of one pair: (source word, target word), 0-based."""


class Rows(Enum):
    """Which row of a map stands for target token t: the one that predicts it (row t) or that reads it (row t + 1)."""

    predicts = "predicts"
    reads = "reads"


@dataclass(frozen=True)
class AlignmentCounts:
    """What an alignment error rate is made of, summed over sentences; arrays of one entry a head (any leading shape).

    Counts of two batches add with `+`, so a corpus is scored in pieces and divided once.
    """

    sure_hits: NDArray[np.float64]
    possible_hits: NDArray[np.float64]
    num_predicted: NDArray[np.float64]
    num_sure: NDArray[np.float64]

    def __add__(self, other: AlignmentCounts) -> AlignmentCounts:
        """The counts of both corpora together."""
        return AlignmentCounts(
            self.sure_hits + other.sure_hits,
            self.possible_hits + other.possible_hits,
            self.num_predicted + other.num_predicted,
            self.num_sure + other.num_sure,
        )

    @property
    def error_rate(self) -> NDArray[np.float64]:
        """1 - (|A and S| + |A and P|) / (|A| + |S|); NaN where nothing was predicted and nothing was sure."""
        total = self.num_predicted + self.num_sure
        hits = self.sure_hits + self.possible_hits
        return 1.0 - np.divide(hits, total, out=np.full(np.shape(total), np.nan), where=total > 0)


def alignment_error_rate(
    maps: Sequence[NDArray],
    sure: Sequence[Links],
    possible: Sequence[Links] | None = None,
    *,
    rows: Rows = Rows.predicts,
    source_words: Sequence[Sequence[int]] | None = None,
    target_words: Sequence[Sequence[int]] | None = None,
) -> NDArray[np.float64]:
    """The share of wrong links when each target word is linked to the source word that it attends to most; 0 is best.

    Sums run over the whole corpus before the one division, so it is not the mean of the sentences' rates. EOS is left
    out on both
    sides: its row is not scored and its column cannot be chosen. Punctuation is a word like any other. A target word
        without a
    true link still predicts one and pays for it. Ties go to the first source word.

    Args:
        maps: one cross-attention map a sentence, float (..., target tokens with EOS, source tokens with EOS), no
            padding; the leading axes (layers, heads) are kept.
        sure: for each sentence its sure links (source word, target word).
        possible: for each sentence further links that are no mistake when predicted; sure ones count as possible
            anyway.
        rows: which row stands for a target token.
        source_words: for each sentence the word number of each source token, EOS left out; None means each token is a
            word. A source word's weight is the sum over its tokens.
        target_words: the same for target tokens; a target word's row is the mean over its tokens.

    Returns:
        float64, of the maps' leading shape.

    Raises:
        ValueError: there are not as many lists of links (or words) as maps, there are no maps, or a link points
            outside.

    Source:
        Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models".
        Links by argmax for each target word as in Zenkel, Wuebker and DeNero 2019 and Chen et al. 2020 (who also
        compare the two rows).
    """
    if not len(maps):
        raise ValueError("an alignment error rate needs at least one map, got none")
    lists = {"sure": sure, "possible": possible, "source_words": source_words, "target_words": target_words}
    for name, values in lists.items():
        if values is not None and len(values) != len(maps):
            raise ValueError(f"{name} has {len(values)} sentences, maps has {len(maps)}; give one entry a sentence")
    total: AlignmentCounts | None = None
    for index, weights in enumerate(maps):
        counts = alignment_counts(
            weights,
            sure[index],
            possible[index] if possible is not None else (),
            rows=rows,
            source_words=source_words[index] if source_words is not None else None,
            target_words=target_words[index] if target_words is not None else None,
        )
        total = counts if total is None else total + counts
    assert total is not None
    return total.error_rate


def alignment_counts(
    weights: NDArray,
    sure: Links,
    possible: Links = (),
    *,
    rows: Rows = Rows.predicts,
    source_words: Sequence[int] | None = None,
    target_words: Sequence[int] | None = None,
) -> AlignmentCounts:
    """One sentence's counts for `alignment_error_rate`, which explains the arguments."""
    words = word_weights(weights, rows=rows, source_words=source_words, target_words=target_words)
    *leading, num_targets, num_sources = words.shape
    is_sure = np.zeros((num_targets, num_sources), dtype=bool)
    is_possible = is_sure.copy()
    for links, grid in ((sure, is_sure), (possible, is_possible)):
        for source, target in links:
            if not (0 <= source < num_sources and 0 <= target < num_targets):
                raise ValueError(
                    f"link {source}-{target} lies outside a sentence of {num_sources} source and {num_targets}"
                    " target words; links are source-target, 0-based, EOS not counted"
                )
            grid[target, source] = True
    is_possible |= is_sure
    every_head = np.ones(tuple(leading))
    if not num_sources or not num_targets:
        return AlignmentCounts(every_head * 0, every_head * 0, every_head * 0, every_head * 0)
    chosen = words.argmax(-1)
    targets = np.arange(num_targets)
    return AlignmentCounts(
        sure_hits=is_sure[targets, chosen].sum(-1) * every_head,
        possible_hits=is_possible[targets, chosen].sum(-1) * every_head,
        num_predicted=num_targets * every_head,
        num_sure=is_sure.sum() * every_head,
    )


def word_weights(
    weights: NDArray,
    *,
    rows: Rows = Rows.predicts,
    source_words: Sequence[int] | None = None,
    target_words: Sequence[int] | None = None,
) -> NDArray:
    """A cross map without EOS, of words: summed over a source word's tokens, averaged over a target word's."""
    num_targets = weights.shape[-2] - 1
    first = 0 if rows is Rows.predicts else 1
    inner = weights[..., first : first + num_targets, :-1]
    if source_words is not None:
        inner = inner @ _membership(source_words, inner.shape[-1], "source_words").T
    if target_words is not None:
        members = _membership(target_words, num_targets, "target_words")
        inner = (members / np.maximum(members.sum(-1, keepdims=True), 1)) @ inner
    return inner


def _membership(words: Sequence[int], num_tokens: int, name: str) -> NDArray[np.float32]:
    """0/1, (words, tokens)."""
    numbers = np.asarray(words, dtype=np.int64)
    if numbers.shape != (num_tokens,):
        raise ValueError(
            f"{name} has {numbers.size} entries, the map has {num_tokens} tokens without EOS;"
            " give one word number a token"
        )
    num_words = int(numbers.max()) + 1 if numbers.size else 0
    return (np.arange(num_words)[:, None] == numbers[None, :]).astype(np.float32)


def alignment_mass(weights: NDArray, sure: Links, *, rows: Rows = Rows.predicts) -> tuple[NDArray[np.float64], int]:
    """The attention that falls on true links: its sum over the target tokens that have one, and how many they are.

    Args:
        weights: float (..., T, S), one sentence with EOS, no padding.
        sure: links between tokens.
        rows: which row stands for a target token.
    """
    first = 0 if rows is Rows.predicts else 1
    total = np.zeros(weights.shape[:-2])
    for source, target in set(sure):
        total = total + weights[..., target + first, source]
    return total, len({target for _, target in sure})


def uniform_error_rate(sure: Sequence[Links], source_lengths: Sequence[int], target_lengths: Sequence[int]) -> float:
    """The alignment error rate to expect of links drawn by chance; lengths are words, EOS not counted."""
    hits = sum(len(set(links)) / length for links, length in zip(sure, source_lengths, strict=True) if length)
    num_sure = sum(len(set(links)) for links in sure)
    total = sum(target_lengths) + num_sure
    return 1.0 - 2.0 * hits / total if total else float("nan")


def diagonal_map(num_targets: int, num_sources: int) -> NDArray[np.float32]:
    """The map of a head that only knows how far it has come: all weight on the diagonal, (targets, sources)."""
    weights = np.zeros((num_targets, num_sources), dtype=np.float32)
    if num_targets < 2:
        columns = np.full(num_targets, num_sources - 1)
    else:
        columns = np.round(np.arange(num_targets) * (num_sources - 1) / (num_targets - 1)).astype(int)
    weights[np.arange(num_targets), columns] = 1.0
    return weights


def choose_head(error_rates: NDArray) -> tuple[int, int]:
    """The (layer, head), 0-based, with the lowest error rate, first on ties. Choose on validation, report on test."""
    rates = np.where(np.isnan(error_rates), np.inf, error_rates)
    layer, head = np.unravel_index(int(rates.argmin()), rates.shape)
    return int(layer), int(head)


def entropy(weights: NDArray) -> NDArray:
    """How spread each row is, in nats, (..., query); 0 for all weight on one key, log(keys) for uniform.

    Source:
        Shannon 1948; of attention rows as in Ghader and Monz 2017, "What does Attention in Neural Machine Translation
        Pay Attention to?".
    """
    safe = np.where(weights == 0, np.float32(1), weights)  # 0 log 0 is 0
    return -(safe * np.log(safe)).sum(-1)


def effective_keys(weights: NDArray) -> NDArray:
    """The number of equal shares with the same entropy as each row (its perplexity), (..., query)."""
    return np.exp(entropy(weights))


def confidence(weights: NDArray) -> NDArray:
    """The largest weight of each row, (..., query).

    Source:
        Voita et al. 2019, "Analyzing Multi-Head Self-Attention" (there EOS is left out; here it counts).
    """
    return weights.max(-1) if weights.shape[-1] else np.zeros(weights.shape[:-1], weights.dtype)


def mean_over_rows(values: NDArray, lengths: Sequence[int]) -> NDArray[np.float64]:
    """(examples, layers, heads, query) to (layers, heads): the mean over each example's first `lengths` rows."""
    real = np.arange(values.shape[-1]) < np.asarray(lengths)[:, None]
    weights = real[:, None, None, :].astype(np.float64)
    count = weights.sum()
    return (values * weights).sum((0, 3)) / count if count else np.full(values.shape[1:3], np.nan)


def offset_share(weights: NDArray, lengths: Sequence[int], offset: int) -> NDArray[np.float64]:
    """Self-attention's share on the token `offset` away: -1 the previous, 0 itself, 1 the next; (layers, heads).

    Rows without such a token (the first one has no previous) are left out of the mean.

    Source:
        Positional heads of Voita et al. 2019, and Raganato and Tiedemann 2018, as a mean weight rather
        than a count of maxima.
    """
    size = weights.shape[-1]
    queries = np.arange(max(0, -offset), min(size, size - offset))
    if not queries.size:
        return np.full(weights.shape[1:3], np.nan)
    picked = weights[..., queries, queries + offset]
    ends = np.asarray(lengths)[:, None]
    real = (queries < ends) & (queries + offset < ends)
    count = real.sum()
    return (picked * real[:, None, None, :]).sum((0, 3)) / count if count else np.full(weights.shape[1:3], np.nan)


def key_mass(weights: NDArray, query_lengths: Sequence[int], keys: Sequence[int]) -> NDArray[np.float64]:
    """The mean weight on one given key of each example (0 for BOS, its last one for EOS), (layers, heads).

    Source:
        Clark et al. 2019, "What Does BERT Look At?", for [CLS] and [SEP].
    """
    picked = np.stack([example[..., key] for example, key in zip(weights, keys, strict=True)])
    return mean_over_rows(picked, query_lengths)


def sink_mass(weights: NDArray, query_lengths: Sequence[int]) -> NDArray[np.float64]:
    """The mean weight on the key of each sentence that gets most: 1 for a sink, 1 / keys if uniform; (layers, heads).

    Source:
        Xiao et al. 2024, "Efficient Streaming Language Models with Attention Sinks", who describe it on
        the first token.
    """
    lengths = np.maximum(np.asarray(query_lengths, dtype=np.float64), 1)
    most = weights.sum(-2).max(-1)  # (examples, layers, heads)
    return most.sum(0) / lengths.sum() if len(lengths) else np.full(weights.shape[1:3], np.nan)


def diagonality(
    weights: NDArray, query_lengths: Sequence[int], key_lengths: Sequence[int], *, width: float = 0.2
) -> NDArray[np.float64]:
    """How near the weight stays to the straight line from first to last tokens: 1 on it; (layers, heads).

    Source:
        One minus the guided attention loss of Tachibana et al. 2018, "Efficiently Trainable Text-to-Speech System Based
        on Deep Convolutional Networks with Guided Attention", with its g = 0.2. We place token n of N at n /
        (N - 1), so that both ends lie on the line.
    """
    queries = _places(weights.shape[-2], query_lengths)[:, :, None]
    keys = _places(weights.shape[-1], key_lengths)[:, None, :]
    near = np.exp(-((queries - keys) ** 2) / (2 * width**2))
    return mean_over_rows((weights * near[:, None, None]).sum(-1), query_lengths)


def _places(size: int, lengths: Sequence[int]) -> NDArray[np.float64]:
    return np.arange(size) / np.maximum(np.asarray(lengths)[:, None] - 1, 1)


def coverage(weights: NDArray, query_lengths: Sequence[int], key_lengths: Sequence[int]) -> NDArray[np.float64]:
    """How much of each key is looked at over the whole sentence: mean of min(1, sum over rows); (layers, heads).

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", without its logarithm.
    """
    seen = np.minimum(weights.sum(-2), 1.0)  # (examples, layers, heads, key)
    return mean_over_rows(seen, key_lengths)


def jensen_shannon(left: NDArray, right: NDArray) -> NDArray:
    """How different two sets of rows are, in bits, 0 to 1, (..., query).

    Source:
        Lin 1991, "Divergence Measures Based on the Shannon Entropy", with equal weights.
    """
    middle = entropy((left + right) / 2)
    return np.maximum(middle - (entropy(left) + entropy(right)) / 2, 0.0) / np.log(2)


def head_distance(weights: NDArray, query_lengths: Sequence[int]) -> NDArray[np.float64]:
    """How far each head is from the others of its layer, mean Jensen-Shannon divergence in bits; NaN for a lone head.

    Source:
        Clark et al. 2019, who sum it over rows; a mean keeps long sentences on the same scale.
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
    return mean_over_rows(jensen_shannon(weights, previous.astype(np.float32)), query_lengths)
