"""What holds for every method of decoding: batches, limits, lengths, learned tables, threads."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import LIMIT, assert_same, batch, endless, forced, random_model, sources

from seq2see.decoding import Hypothesis, LengthLimit, beam_search, decode_sentences, greedy
from seq2see.options import DecodeOptions, Position
from seq2see.text import BOS, EOS, PAD

METHODS = [{}, {"beam_size": 3, "num_best": 3}, {"sample": True, "num_best": 2}]
each_method = pytest.mark.parametrize("decode", METHODS, ids=["greedy", "beam", "sample"])


def decoded(
    model, rows: list[list[int]], decode: dict, *, limit: LengthLimit = LIMIT, **more
) -> list[list[Hypothesis]]:
    return decode_sentences(model, rows, limit=limit, options=DecodeOptions(**decode), **more)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@each_method
def test_nothing_depends_on_the_batch_nor_on_how_many_cores_decode(decode: dict, two_threads: None) -> None:
    model, rows = random_model().train(), sources(11)
    alone = [decoded(model, [row], decode, numbers=[number])[0] for number, row in enumerate(rows)]
    for batch_size in (4, 64):
        done: list[int] = []
        assert_same(decoded(model, rows, {"batch_size": batch_size, **decode}, progress=done.append), alone)
        assert sum(done) == 11
        assert model.training and torch.get_num_threads() == 2  # as before
    assert decoded(model, [], decode) == []


def test_a_mistake_in_one_batch_ends_all_and_leaves_the_threads_and_the_mode(two_threads: None) -> None:
    model = random_model().train()
    with pytest.raises(IndexError):
        decoded(model, [*sources(), [99]], {"batch_size": 4})
    assert model.training and torch.get_num_threads() == 2


@each_method
def test_scores_are_those_of_the_text_when_it_is_given(decode: dict) -> None:
    model = random_model()
    ended = [
        (row, one) for row, own in zip(sources(), decoded(model, sources(), decode), strict=True) for one in own
        if one.ended
    ]  # fmt: skip
    assert len(ended) > 5
    scores = forced(model, [row for row, _ in ended], [one.ids for _, one in ended]).totals
    assert [one.score for _, one in ended] == pytest.approx(scores, abs=1e-9)


@each_method
def test_an_output_that_fills_a_learned_table_can_be_fed_back(decode: dict) -> None:
    model = endless(random_model(position=Position.learned, max_positions=9))
    found = decoded(model, sources(), decode, limit=LengthLimit(9.0, cap=9))
    cut = [(row, one) for row, own in zip(sources(), found, strict=True) for one in own if not one.ended]
    assert len(cut) > 5 and {len(one.ids) for _, one in cut} == {8}
    scores = forced(model, [row for row, _ in cut], [one.ids for _, one in cut]).log_probs
    assert [one.score for _, one in cut] == pytest.approx([own[:-1].sum() for own in scores], abs=1e-9)


@pytest.mark.parametrize("beam_size", [None, 3])
def test_each_row_has_a_limit_of_its_own_and_padding_beside_it_changes_nothing(beam_size: int | None) -> None:
    model, limits = endless(random_model()), [0, 2, 5, 3]
    src, mask = batch([5], [7, 8], [9, 4], [6, 7, 8])

    def search(src: torch.Tensor, mask: torch.Tensor, limits: list[int]) -> list[list[Hypothesis]]:
        if beam_size is None:
            return [[best] for best in greedy(model, src, mask, max_lengths=limits)]
        return beam_search(model, src, mask, max_lengths=limits, beam_size=beam_size, num_best=beam_size)

    found = search(src, mask, limits)
    assert found[0] in ([], [Hypothesis([], 0.0, False)])
    for limit, own in zip(limits, found, strict=True):
        assert all(one.ended and len(one.ids) < limit or len(one.ids) == limit for one in own)
        assert not any({PAD, BOS, EOS} & set(one.ids) for one in own)
    assert_same(search(src[1:], mask[1:], limits[1:]), found[1:])
    wide = torch.nn.functional.pad(src, (0, 9), value=PAD)
    assert_same(search(wide, wide != PAD, limits), found)


@pytest.mark.parametrize("decode", [{}, {"beam_size": 4}])
def test_the_decoder_is_called_once_a_token_of_the_longest_output_and_rows_that_are_done_leave(
    decode: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, calls = random_model(), []
    through = model.decode
    monkeypatch.setattr(model, "decode", lambda *args: calls.append(args[0].shape) or through(*args))
    found = decoded(model, sources(), decode, limit=LengthLimit(0.0, slack=6))
    assert len(calls) <= 6 and all(length == 1 for _, length in calls)
    assert calls[-1][0] < calls[1][0]
    if not decode:
        assert sum(rows for rows, _ in calls) == sum(len(best.ids) + best.ended for best, *_ in found)


def test_the_limit_follows_the_ratio_of_the_pairs_what_was_asked_for_and_the_cap() -> None:
    limit = LengthLimit.learn(np.array([5, 10, 20]), np.array([10, 20, 40]))
    assert limit.of(10) == 20 + limit.slack
    assert [replace(limit, asked=asked).of(10) for asked in (1, 7, 10**9)] == [1, 7, 10**9]  # up and down
    assert [replace(limit, asked=asked, cap=7).of(100) for asked in (None, 3, 9)] == [7, 3, 7]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 260)), min_size=1))
def test_every_target_that_the_limit_covers_can_be_written_and_one_odd_pair_does_not_lengthen_all(pairs) -> None:
    lengths = [np.array(side) for side in zip(*pairs, strict=True)]
    learned = LengthLimit.learn(*lengths)
    limit = learned.covering(*lengths)
    assert all(target <= limit.of(source) for source, target in pairs)
    assert not limit.too_short_for(*lengths).any()
    assert limit.of(10_000) <= max(learned.of(10_000), lengths[1].max())
