"""Measures on maps whose answer is known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.maps import measures
from seq2see.maps.measures import Rows


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
STRAIGHT = [(0, 0), (1, 1), (2, 2), (3, 3)]
CROSSED = [(3, 0), (2, 1), (1, 2), (0, 3)]


def test_identity_aligns_a_straight_pair_and_reversal_a_crossed_one():
    for weights, links in ((IDENTITY, STRAIGHT), (REVERSAL, CROSSED)):
        assert measures.alignment_error_rate([weights], [links]) == 0
    assert measures.alignment_error_rate([IDENTITY], [CROSSED]) == 1


def test_a_map_shifted_by_one_row_is_right_only_where_words_are_read():
    shifted = np.concatenate([one_hot([4], 5), IDENTITY[:-1]])
    assert measures.alignment_error_rate([shifted], [STRAIGHT], rows=Rows.reads) == 0
    assert measures.alignment_error_rate([shifted], [STRAIGHT], rows=Rows.predicts) == 0.75
    assert measures.alignment_error_rate([IDENTITY], [STRAIGHT], rows=Rows.reads) == 1


def test_eos_can_neither_be_chosen_nor_is_its_row_scored():
    weights = 0.4 * IDENTITY + 0.6 * SINK
    assert measures.alignment_error_rate([weights], [STRAIGHT]) == 0


def test_alignment_error_rate_equals_an_example_worked_by_hand():
    """Och and Ney's formula on two sentences.

    First: 4 target words choose sources 0, 1, 1, 3. Sure: 0-0, 1-1. Possible besides: 1-2.
    A and S: 2; A and P: 3; |A| 4, |S| 2.
    Second: 2 target words choose sources 1, 1. Sure: 0-0, 1-1, 0-1. A and S: 1; A and P: 1; |A| 2, |S| 3.
    Corpus: 1 - (3 + 4) / (6 + 5) = 4/11. Sentences: 1 - 5/6 = 1/6 and 1 - 2/5 = 3/5, whose mean is 23/60.
    """
    first, second = one_hot([0, 1, 1, 3, 4], 5), one_hot([1, 1, 2], 3)
    sure = [[(0, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]]
    possible = [[(1, 2)], []]
    assert measures.alignment_error_rate([first], sure[:1], possible[:1]) == pytest.approx(1 / 6)
    assert measures.alignment_error_rate([second], sure[1:], possible[1:]) == pytest.approx(3 / 5)
    corpus = measures.alignment_error_rate([first, second], sure, possible)
    assert corpus == pytest.approx(4 / 11)
    assert corpus != pytest.approx(23 / 60)


def test_every_head_is_scored_at_once():
    rates = measures.alignment_error_rate([np.stack([[IDENTITY, REVERSAL], [SINK, UNIFORM]])], [STRAIGHT])
    np.testing.assert_allclose(rates, [[0, 1], [0.75, 0.75]])
    assert measures.choose_head(rates) == (0, 0)
    assert measures.choose_head(np.array([[np.nan, 0.5], [0.2, 0.2]])) == (1, 0)


def test_word_weight_is_the_sum_over_source_pieces_and_the_mean_over_target_pieces():
    weights = np.array(
        [[0.3, 0.3, 0.4, 0.0], [0.1, 0.1, 0.8, 0.0], [0.0, 0.1, 0.4, 0.5], [0.0, 0.0, 0.0, 1.0]], dtype=np.float32
    )
    grouped = measures.word_weights(weights, source_words=[0, 0, 1], target_words=[0, 1, 1])
    np.testing.assert_allclose(grouped, [[0.6, 0.4], [0.15, 0.6]], atol=1e-6)
    rate = measures.alignment_error_rate(
        [weights], [[(0, 0), (1, 1)]], source_words=[[0, 0, 1]], target_words=[[0, 1, 1]]
    )
    assert rate == 0
    assert weights[0].argmax() == 2, "no single piece of the right word would have won"


def test_mistakes_in_links_are_named():
    with pytest.raises(ValueError, match="link 4-0 lies outside a sentence of 4 source and 4 target words"):
        measures.alignment_error_rate([IDENTITY], [[(4, 0)]])
    with pytest.raises(ValueError, match="sure has 2 sentences, maps has 1"):
        measures.alignment_error_rate([IDENTITY], [[], []])
    with pytest.raises(ValueError, match="source_words has 2 entries, the map has 4 tokens"):
        measures.alignment_error_rate([IDENTITY], [STRAIGHT], source_words=[[0, 1]])
    with pytest.raises(ValueError, match="at least one map"):
        measures.alignment_error_rate([], [])


def test_alignment_mass_is_the_weight_on_true_links():
    weights = np.stack([IDENTITY, UNIFORM, SINK])
    mass, linked = measures.alignment_mass(weights, STRAIGHT)
    np.testing.assert_allclose(mass / linked, [1, 0.2, 0], atol=1e-6)


def test_chance_and_diagonal_are_what_a_head_must_beat():
    assert measures.uniform_error_rate([STRAIGHT], [4], [4]) == pytest.approx(0.75)
    np.testing.assert_array_equal(measures.diagonal_map(5, 5), IDENTITY)
    assert measures.diagonal_map(1, 3).tolist() == [[0, 0, 1]]
    assert measures.alignment_error_rate([measures.diagonal_map(5, 5)], [STRAIGHT]) == 0


def test_spread_is_none_for_one_key_and_all_for_uniform():
    weights = np.stack([IDENTITY, UNIFORM])
    np.testing.assert_allclose(measures.entropy(weights)[:, 0], [0, math.log(5)], atol=1e-6)
    np.testing.assert_allclose(measures.effective_keys(weights)[:, 0], [1, 5], rtol=1e-5)
    np.testing.assert_allclose(measures.confidence(weights)[:, 0], [1, 0.2])


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
    np.testing.assert_allclose(measures.coverage(weights, [5], [5]), [[0.2, 1, 1]], atol=1e-6)


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
        lambda w: measures.mean_over_rows(measures.confidence(w), lengths),
        lambda w: measures.sink_mass(w, lengths),
        lambda w: measures.diagonality(w, lengths, keys),
        lambda w: measures.coverage(w, lengths, keys),
        lambda w: measures.head_distance(w, lengths),
    ):
        np.testing.assert_allclose(measure(padded), measure(weights), rtol=1e-5, atol=1e-6)
