"""Measures on maps whose answer is known beforehand, and their table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_log import planted_log

from seq2see.maps import AttentionLog, Example, Maps, measures
from seq2see.maps.arrays import DIMENSIONS
from seq2see.maps.measures import baselines, summary


def one_hot(columns: list[int], num_keys: int) -> np.ndarray:
    """A map that puts each row's whole weight on one column."""
    return np.eye(num_keys, dtype=np.float32)[columns]


def as_heads(*maps: np.ndarray) -> np.ndarray:
    """Maps of one example as (1, 1, heads, query, key)."""
    return np.stack(maps)[None, None]


IDENTITY = one_hot([0, 1, 2, 3, 4], 5)
REVERSAL = one_hot([3, 2, 1, 0, 4], 5)
UNIFORM = np.full((5, 5), 0.2, np.float32)
SINK = one_hot([4, 4, 4, 4, 4], 5)
SHIFTED = one_hot([0, 0, 1, 2, 3], 5)


def pair(number: int, links: list[tuple[int, int]] | None, **words: tuple[int, ...]) -> Example:
    return Example(number, "a b", "x y", ("a", "b", "<eos>"), ("x", "y", "<eos>"), links=links, **words)  # pyright: ignore


def test_chance_and_a_diagonal_are_what_a_head_must_beat() -> None:
    straight, crossed = pair(0, [(0, 0), (1, 1)]), pair(1, [(1, 0), (0, 1)])
    assert baselines([straight]) == {"chance": 0.5, "diagonal": 0.0}
    assert baselines([straight, crossed]) == {"chance": 0.5, "diagonal": 0.5}
    assert baselines([pair(2, [(0, 0), (1, 0)], source_words=(0, 0), target_words=(0, 0))])["chance"] == 0.0
    assert baselines([pair(3, None)]) == {}
    np.testing.assert_array_equal(measures.diagonal_map(5, 5), IDENTITY)


def test_a_summary_is_a_handful_of_finite_numbers() -> None:
    log = planted_log(steps=(0, 100))
    last = summary([row for row in log.measures() if row.step == 100])
    assert set(last) == {
        "attention/cross_alignment_error_rate",
        "attention/encoder_entropy",
        "attention/decoder_entropy",
        "attention/cross_entropy",
        "attention/drift",
    }
    rates = [row.alignment_error_rate for row in log.measures() if row.step == 100 and row.kind == "cross"]
    assert last["attention/cross_alignment_error_rate"] == min(rates)
    assert "attention/drift" not in summary([row for row in log.measures() if row.step == 0])


def test_weight_on_true_links_is_a_mean_over_the_target_tokens_that_have_one() -> None:
    log = planted_log(steps=(1200,))
    (row,) = [row for row in log.measures() if (row.kind, row.layer, row.head) == ("cross", 1, 2)]
    maps = log.maps(1200).cross[:, 1, 2]
    mass = [maps[n, target, source] for n, example in enumerate(log.examples) for source, target in example.links or ()]
    assert row.alignment_mass == pytest.approx(np.mean(mass), rel=1e-5)
    reads = [maps[n, target + 1, source] for n, own in enumerate(log.examples) for source, target in own.links or ()]
    assert row.alignment_mass_reads == pytest.approx(np.mean(reads), rel=1e-5)


def test_spread_is_none_for_one_key_and_all_for_uniform():
    np.testing.assert_allclose(measures.entropy(np.stack([IDENTITY, UNIFORM]))[:, 0], [0, math.log(5)], atol=1e-6)
    log = AttentionLog.create(None, examples=[pair(0, None)], model=dict.fromkeys(DIMENSIONS, 1))
    straight, uniform = one_hot([0, 1, 2], 3)[None, None, None], np.full((1, 1, 1, 3, 3), 1 / 3)
    log.append(0, Maps(uniform, straight, straight))
    encoder, _, cross = log.measures()
    assert (encoder.effective_keys, encoder.confidence) == pytest.approx((3, 1 / 3))
    assert (cross.effective_keys, cross.confidence) == (1, 1)


def test_positional_shares_tell_previous_same_and_next_apart():
    nexts = one_hot([1, 2, 3, 4, 4], 5)
    weights = as_heads(SHIFTED, IDENTITY, nexts)
    assert measures.offset_share(weights, [5], -1).tolist() == [[1, 0, 0]]
    assert measures.offset_share(weights, [5], 0).tolist() == [[0.2, 1, 0.2]]
    assert measures.offset_share(weights, [5], 1).tolist() == [[0, 0, 1]]
    assert np.isnan(measures.offset_share(np.ones((1, 1, 1, 1, 1)), [1], -1)).all()


def test_a_sink_is_seen_as_mass_on_its_key_and_as_little_coverage():
    weights = as_heads(SINK, IDENTITY, UNIFORM)
    np.testing.assert_allclose(measures.key_mass(weights, [5], [4]), [[1, 0.2, 0.2]], atol=1e-6)
    np.testing.assert_allclose(measures.sink_mass(weights, [5]), [[1, 0.2, 0.2]], atol=1e-6)
    np.testing.assert_allclose(measures.coverage(weights, [5]), [[0.2, 1, 1]], atol=1e-6)


def test_diagonality_is_one_on_the_line_also_when_lengths_differ():
    weights = as_heads(measures.diagonal_map(5, 9), one_hot([8, 6, 4, 2, 0], 9))
    straight, crossed = measures.diagonality(weights, [5], [9])[0]
    assert straight == pytest.approx(1)
    assert crossed < 0.3


def test_head_distance_is_zero_for_twins_and_one_bit_for_strangers():
    np.testing.assert_allclose(measures.head_distance(as_heads(IDENTITY, IDENTITY), [5]), [[0, 0]], atol=1e-6)
    np.testing.assert_allclose(measures.head_distance(as_heads(IDENTITY[:4], REVERSAL[:4]), [4]), [[1, 1]], atol=1e-6)
    assert np.isnan(measures.head_distance(as_heads(IDENTITY), [5])).all()


def test_drift_is_the_distance_to_the_step_before():
    assert np.isnan(measures.drift(as_heads(IDENTITY), None, [5])).all()
    assert measures.drift(as_heads(IDENTITY), as_heads(IDENTITY), [5])[0, 0] == pytest.approx(0, abs=1e-6)
    assert measures.drift(as_heads(SINK), as_heads(IDENTITY), [5])[0, 0] == pytest.approx(0.8)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 3), st.integers(0, 2**16))
def test_padding_changes_no_measure(num_queries: int, num_keys: int, padding: int, seed: int):
    weights = np.random.default_rng(seed).dirichlet(np.ones(num_keys), (1, 1, 2, num_queries)).astype(np.float32)
    weights = weights.reshape(1, 1, 2, num_queries, num_keys)
    padded = np.pad(weights, [(0, 0)] * 3 + [(0, padding)] * 2)
    lengths, keys = [num_queries], [num_keys]
    for measure in (
        lambda w: measures.mean_over_rows(measures.entropy(w), lengths),
        lambda w: measures.sink_mass(w, lengths),
        lambda w: measures.diagonality(w, lengths, keys),
        lambda w: measures.coverage(w, keys),
        lambda w: measures.head_distance(w, lengths),
    ):
        np.testing.assert_allclose(measure(padded), measure(weights), rtol=1e-5, atol=1e-6)
