"""Beam search is right where everything can be counted, and changes with nothing that should not matter."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.data import EncodedPairs, make_loader
from seq2see.data.encoded import Texts
from seq2see.decoding import Hypothesis, LengthLimit, beam_search, decode_sentences, greedy, teacher_forced
from seq2see.options import DecodeOptions, ModelOptions, Position
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer

LIMIT = LengthLimit(ratio=1.0, slack=4)


def random_model(seed: int = 0, vocab_size: int = 12) -> Transformer:
    torch.manual_seed(seed)
    options = ModelOptions(d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=2)
    model = Transformer(options, 12, vocab_size).double()
    with torch.no_grad():
        model.output_proj.weight.mul_(12)  # opinions, so that no two tokens are equally probable
    return model.eval()


def batch(*rows: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    src = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor([*row, EOS]) for row in rows], batch_first=True, padding_value=PAD
    )
    return src, src != PAD


def sources(count: int = 23) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 9, (count,), generator=generator).tolist()
    return [torch.randint(4, 12, (length,), generator=generator).tolist() for length in lengths]


def forced_scores(model: Transformer, rows: list[list[int]], texts: list[list[int]]) -> list[float]:
    """The log-probabilities of whole targets."""
    pairs = EncodedPairs(Texts.of(rows), Texts.of(texts), ids=np.arange(len(rows)))
    return teacher_forced(model, make_loader(pairs, batch_size=7, shuffle=False, seed=0)).totals


def everything(model: Transformer, row: list[int], symbols: list[int], max_length: int) -> list[Hypothesis]:
    """All texts that end within the limit, with their scores, one at a time and without a cache."""
    texts = [list(ids) for n in range(max_length) for ids in itertools.product(symbols, repeat=n)]
    scores = forced_scores(model, [row] * len(texts), texts)
    return [Hypothesis(ids, score, True) for ids, score in zip(texts, scores, strict=True)]


def assert_same(found: list[Hypothesis], wanted: list[Hypothesis], tolerance: float = 1e-9) -> None:
    assert [(one.ids, one.ended) for one in found] == [(one.ids, one.ended) for one in wanted]
    assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=tolerance)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_a_wide_beam_finds_what_brute_force_finds(seed: int, penalty: float) -> None:
    model = random_model(seed, vocab_size=6)  # the special symbols and two others, and UNK
    src, mask = batch([5, 6])
    (found,) = beam_search(model, src, mask, max_lengths=[4], beam_size=200, length_penalty=penalty, num_best=200)
    wanted = sorted(everything(model, [5, 6], [3, 4, 5], 4), key=lambda one: one.ranked_by(penalty), reverse=True)
    assert_same([one for one in found if one.ended], wanted)
    assert all(not one.ended for one in found[len(wanted) :])  # those that were cut come last
    (best,) = beam_search(model, src, mask, max_lengths=[4], beam_size=200, length_penalty=penalty)
    assert_same(best, wanted[:1])


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_beam_of_one_is_greedy(penalty: float) -> None:
    model = random_model()
    src, mask = batch(*sources())
    limits = [len(row) + 3 for row in sources()]
    one = beam_search(model, src, mask, max_lengths=limits, beam_size=1, length_penalty=penalty)
    assert_same([best for (best,) in one], greedy(model, src, mask, max_lengths=limits))


def test_a_beam_of_one_breaks_ties_as_greedy_does() -> None:
    model = random_model()
    with torch.no_grad():
        model.target_embedding.weight[4:] = model.target_embedding.weight[4]  # one probability for all of them
    src, mask = batch(*sources())
    limits = [len(row) + 3 for row in sources()]
    one = beam_search(model, src, mask, max_lengths=limits, beam_size=1)
    assert_same([best for (best,) in one], greedy(model, src, mask, max_lengths=limits))


def by_hand(
    model: Transformer, row: list[int], limit: int, beam_size: int, penalty: float, *, exact: bool
) -> list[Hypothesis]:
    """The same search on lists, for one source, without a cache and without stopping early."""
    alive: list[tuple[list[int], float]] = [([], 0.0)]
    found: list[Hypothesis] = []
    src, mask = batch(row)
    for length in range(1, limit + 1):
        grown = []
        for ids, score in alive:
            logits = model(src, mask, torch.tensor([[BOS, *ids]])).detach()[0, -1]
            for symbol, log_prob in enumerate(logits.log_softmax(-1).tolist()):
                possible = symbol not in (PAD, BOS) and (not exact or (symbol == EOS) == (length == limit))
                if possible:
                    grown.append(([*ids, symbol], score + log_prob))
        grown.sort(key=lambda one: -one[1])
        found += [Hypothesis(ids[:-1], score, True) for ids, score in grown[:beam_size] if ids[-1] == EOS]
        alive = [(ids, score) for ids, score in grown if ids[-1] != EOS][:beam_size]  # an end takes no place
        if beam_size == 1 and found:
            return found
    found += [Hypothesis(ids, score, False) for ids, score in alive if limit]
    return sorted(found, key=lambda one: (one.ended, one.ranked_by(penalty)), reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 5),
    num_best=st.integers(1, 5),
    penalty=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]),
    limits=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    exact=st.booleans(),
)
def test_it_is_the_search_by_hand_wherever_rows_leave_and_hypotheses_end(
    seed: int, beam_size: int, num_best: int, penalty: float, limits: list[int], exact: bool
) -> None:
    model = random_model(seed, vocab_size=7)
    rows = sources()[: len(limits)]
    found = beam_search(
        model,
        *batch(*rows),
        max_lengths=limits,
        beam_size=beam_size,
        length_penalty=penalty,
        num_best=num_best,
        exact_lengths=exact,
    )
    for row, limit, own in zip(rows, limits, found, strict=True):
        assert_same(own, by_hand(model, row, limit, beam_size, penalty, exact=exact)[:num_best])


def with_places(model: Transformer, row: list[int], limit: int, beam_size: int) -> Hypothesis:
    """The best that a narrower search finds, in which an end takes the place of a hypothesis that could go on."""
    alive: list[tuple[list[int], float]] = [([], 0.0)]
    found: list[Hypothesis] = []
    src, mask = batch(row)
    for length in range(1, limit + 1):
        logits = [model(src, mask, torch.tensor([[BOS, *ids]])).detach()[0, -1] for ids, _ in alive]
        grown = [
            ([*ids, symbol], score + log_prob)
            for (ids, score), own in zip(alive, logits, strict=True)
            for symbol, log_prob in enumerate(own.log_softmax(-1)[EOS:].tolist(), start=EOS)  # no PAD, no BOS
        ]
        kept = sorted(grown, key=lambda one: -one[1])[: beam_size - len(found)]
        found += [Hypothesis(ids[:-1], score, True) for ids, score in kept if ids[-1] == EOS]
        alive = [one for one in kept if one[0][-1] != EOS]
        found += [Hypothesis(*one, False) for one in alive if length == limit]
    return max(found, key=lambda one: (one.ended, one.ranked_by(1.0)))


def test_what_ends_takes_no_place_so_that_better_texts_are_found_and_never_worse_ones() -> None:
    rows = sources(6)
    better = 0
    for seed in range(12):
        model = random_model(seed)
        limits = [len(row) + 5 for row in rows]
        found = beam_search(model, *batch(*rows), max_lengths=limits, beam_size=3)
        for row, limit, (best,) in zip(rows, limits, found, strict=True):
            narrower = with_places(model, row, limit, 3)
            assert best.ended >= narrower.ended
            assert best.ended > narrower.ended or best.ranked_by(1.0) > narrower.ranked_by(1.0) - 1e-9
            better += best.ids != narrower.ids
    assert better >= 5


def best_of(found: list) -> list[Hypothesis]:
    return [one if isinstance(one, Hypothesis) else one[0] for one in found]


@pytest.mark.parametrize("decode", [greedy, lambda *args, **more: beam_search(*args, beam_size=2, **more)])
def test_each_row_needs_a_limit_and_one_of_zero_gets_nothing(decode: Callable) -> None:
    model = random_model()
    src, mask = batch([5], [6, 7], [8])
    nothing, *others = decode(model, src, mask, max_lengths=[0, 3, 4])
    assert nothing in ([], Hypothesis([], 0.0, False))
    alone = decode(model, src[1:], mask[1:], max_lengths=[3, 4])
    assert_same(best_of(others), best_of(alone))
    with pytest.raises(ValueError, match=r"max_lengths has 2 limits for 3 sources: give one for each"):
        decode(model, src, mask, max_lengths=[3, 4])
    with pytest.raises(ValueError, match=r"max_lengths \(-1\) must not be negative"):
        decode(model, src, mask, max_lengths=[3, 4, -1])


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_the_list_is_sorted_and_its_beginning_does_not_depend_on_how_many_are_asked_for(penalty: float) -> None:
    model = random_model(3)
    src, mask = batch(*sources())
    limits = [len(row) + 4 for row in sources()]
    lists = {
        n: beam_search(model, src, mask, max_lengths=limits, beam_size=5, length_penalty=penalty, num_best=n)
        for n in (1, 3, 5)
    }
    for one, three, five in zip(*lists.values(), strict=True):
        assert_same(three[:1], one)
        assert_same(five[:3], three)
        ranks = [(found.ended, found.ranked_by(penalty)) for found in five]
        assert ranks == sorted(ranks, reverse=True)
        assert len({tuple(found.ids) for found in five if found.ended}) == sum(found.ended for found in five)


def test_a_wider_beam_than_the_vocabulary_works() -> None:
    model = random_model(vocab_size=5)
    src, mask = batch([4], [])
    for found in beam_search(model, src, mask, max_lengths=[3, 3], beam_size=50, num_best=50):
        assert len({(tuple(one.ids), one.ended) for one in found}) == len(found) > 5


@pytest.mark.parametrize("decode", [{}, {"beam_size": 4, "num_best": 3}, {"sample": True, "num_best": 2}])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_what_is_found_does_not_depend_on_the_batch(decode: dict, batch_size: int) -> None:
    model = random_model()
    alone, together = (
        decode_sentences(model, sources(), limit=LIMIT, options=DecodeOptions(batch_size=size, **decode))
        for size in (23, batch_size)
    )
    for here, there in zip(together, alone, strict=True):
        assert_same(here, there)


def test_padding_beside_a_source_changes_nothing() -> None:
    model = random_model()
    src, mask = batch(*sources())
    wide = torch.nn.functional.pad(src, (0, 9), value=PAD)
    limits = [9] * len(src)
    for here, there in zip(
        beam_search(model, src, mask, max_lengths=limits, beam_size=3),
        beam_search(model, wide, wide != PAD, max_lengths=limits, beam_size=3),
        strict=True,
    ):
        assert_same(here, there)


def test_scores_are_those_of_the_text_when_it_is_given() -> None:
    model = random_model()
    found = decode_sentences(model, sources(), limit=LIMIT, options=DecodeOptions(beam_size=4))
    ended = [(row, best) for row, (best, *_) in zip(sources(), found, strict=True) if best.ended]
    assert ended
    forced = forced_scores(model, [row for row, _ in ended], [best.ids for _, best in ended])
    assert [best.score for _, best in ended] == pytest.approx(forced, abs=1e-9)


def test_every_length_has_its_limit_and_what_is_cut_says_so() -> None:
    model = random_model()
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0.0
    src, mask = batch([5, 6], [7, 8], [9, 4])
    for limit, found in zip(
        [0, 2, 5], beam_search(model, src, mask, max_lengths=[0, 2, 5], beam_size=3, num_best=3), strict=True
    ):
        assert all(len(one.ids) + one.ended <= limit for one in found)
        assert bool(found) == (limit > 0)
        assert all(one.ended or len(one.ids) == limit for one in found)
        assert not any({PAD, BOS, EOS} & set(one.ids) for one in found)


@pytest.mark.parametrize("decode", [{}, {"beam_size": 3, "num_best": 3}, {"sample": True}])
def test_an_output_that_fills_a_learned_table_can_be_fed_back(decode: dict) -> None:
    torch.manual_seed(0)
    options = ModelOptions(d_model=16, num_heads=2, d_ff=32, position=Position.learned, max_positions=9)
    model = Transformer(options, 12, 12)
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0.0
    found = decode_sentences(model, sources(), limit=LengthLimit(9.0, cap=9), options=DecodeOptions(**decode))
    cut = [(row, one) for row, own in zip(sources(), found, strict=True) for one in own if not one.ended]
    assert len(cut) > 5 and {len(one.ids) for _, one in cut} == {8}
    texts = Texts.of([row for row, _ in cut]), Texts.of([one.ids for _, one in cut])
    pairs = EncodedPairs(*texts, ids=np.arange(len(cut)))
    forced = teacher_forced(model, make_loader(pairs, batch_size=7, shuffle=False, seed=0)).log_probs
    assert [one.score for _, one in cut] == pytest.approx([scores[:-1].sum() for scores in forced], abs=1e-5)
    full = decode_sentences(  # and the table's last place is for EOS
        model, sources(), limit=LIMIT, options=DecodeOptions(**decode), exact_lengths=[9] * len(sources())
    )
    assert all(best.ended and len(best.ids) == 8 for best, *_ in full)


@pytest.mark.parametrize("decode", [{}, {"beam_size": 3}, {"sample": True}])
def test_with_the_references_lengths_every_output_has_exactly_that_length(decode: dict) -> None:
    model = random_model()
    lengths = [1 + n % 6 for n in range(23)]
    found = decode_sentences(model, sources(), limit=LIMIT, options=DecodeOptions(**decode), exact_lengths=lengths)
    assert [len(best.ids) + 1 for best, *_ in found] == lengths
    assert all(best.ended for best, *_ in found)
    forced = forced_scores(model, sources(), [best.ids for best, *_ in found])
    assert [best.score for best, *_ in found] == pytest.approx(forced, abs=1e-9)


def test_the_decoder_is_called_once_a_token_of_the_longest_hypothesis_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    calls = []
    decode = model.decode
    monkeypatch.setattr(model, "decode", lambda *args: calls.append(args[0].shape) or decode(*args))
    src, mask = batch(*sources())
    beam_search(model, src, mask, max_lengths=[6] * len(src), beam_size=4)
    assert len(calls) <= 6 and all(length == 1 for _, length in calls)
    assert calls[-1][0] <= calls[1][0]  # rows that are done leave
