"""Beam search is right where everything can be counted, and changes with nothing that should not matter."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import assert_same, batch, forced, random_model, sources

from seq2see.decoding import Hypothesis, beam_search, greedy
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_a_wide_beam_finds_what_brute_force_finds(seed: int, penalty: float) -> None:
    model = random_model(seed, vocab_size=6)  # the special symbols and two others, and UNK
    (found,) = beam_search(model, *batch([5, 6]), max_lengths=[4], beam_size=200, length_penalty=penalty, num_best=200)
    texts = [list(ids) for length in range(4) for ids in itertools.product([3, 4, 5], repeat=length)]
    scores = forced(model, [[5, 6]] * len(texts), texts).totals
    every = [Hypothesis(ids, score, True) for ids, score in zip(texts, scores, strict=True)]
    every.sort(key=lambda one: one.ranked_by(penalty), reverse=True)
    assert_same([[one for one in found if one.ended]], [every])
    assert all(not one.ended for one in found[len(every) :])  # those that were cut come last


@pytest.mark.parametrize("is_tied", [False, True])
def test_a_beam_of_one_is_greedy_also_where_all_tokens_are_equally_probable(is_tied: bool) -> None:
    model = random_model()
    if is_tied:
        with torch.no_grad():
            model.target_embedding.weight[4:] = model.target_embedding.weight[4]
    limits = [len(row) + 3 for row in sources()]
    for penalty in (0.0, 1.0):
        one = beam_search(model, *batch(*sources()), max_lengths=limits, beam_size=1, length_penalty=penalty)
        assert_same(one, [[best] for best in greedy(model, *batch(*sources()), max_lengths=limits)])


def by_hand(model: Transformer, row: list[int], limit: int, beam_size: int, penalty: float) -> list[Hypothesis]:
    """The same search on lists, for one source, without a cache and without stopping early."""
    alive: list[tuple[list[int], float]] = [([], 0.0)]
    found: list[Hypothesis] = []
    for _ in range(limit):
        grown = []
        for ids, score in alive:
            logits = model(*batch(row), torch.tensor([[BOS, *ids]])).detach()[0, -1]
            for symbol, log_prob in enumerate(logits.log_softmax(-1).tolist()):
                if symbol not in (PAD, BOS):
                    grown.append(([*ids, symbol], score + log_prob))
        grown.sort(key=lambda one: -one[1])
        found += [Hypothesis(ids[:-1], score, True) for ids, score in grown[:beam_size] if ids[-1] == EOS]
        alive = [(ids, score) for ids, score in grown if ids[-1] != EOS][:beam_size]  # an end takes no place
        if beam_size == 1 and found:
            return found
    found += [Hypothesis(ids, score, False) for ids, score in alive if limit]
    return sorted(found, key=lambda one: (one.ended, one.ranked_by(penalty)), reverse=True)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 5),
    num_best=st.integers(1, 5),
    penalty=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]),
    limits=st.lists(st.integers(0, 6), min_size=1, max_size=3),
)
def test_it_is_the_search_by_hand_wherever_rows_leave_and_hypotheses_end(
    seed: int, beam_size: int, num_best: int, penalty: float, limits: list[int]
) -> None:
    model = random_model(seed, vocab_size=7)
    rows = sources()[: len(limits)]
    keys = dict(beam_size=beam_size, length_penalty=penalty, num_best=num_best)
    found = beam_search(model, *batch(*rows), max_lengths=limits, **keys)
    wanted = [by_hand(model, row, limit, beam_size, penalty) for row, limit in zip(rows, limits, strict=True)]
    assert_same(found, [own[:num_best] for own in wanted])
