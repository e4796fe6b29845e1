from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.decoding import Hypothesis, LengthLimit, decode_sentences, greedy
from seq2see.options import DecodeOptions, ModelOptions
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer

LIMIT = LengthLimit(ratio=1.0, slack=4)


def decoded(model: Transformer, sources: list[list[int]], batch_size: int = 1, **more) -> list[Hypothesis]:
    options = DecodeOptions(batch_size=batch_size)
    return [best for best, *_ in decode_sentences(model, sources, limit=LIMIT, options=options, **more)]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    options = ModelOptions(d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=2)
    model = Transformer(options, 12, 12).double()
    with torch.no_grad():
        model.target_embedding.weight.mul_(3)  # confident enough that no two tokens are equally probable
    return model.eval()


def sources(count: int = 23) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 9, (count,), generator=generator).tolist()
    return [torch.randint(4, 12, (length,), generator=generator).tolist() for length in lengths]


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_the_text_found_does_not_depend_on_the_batch(model: Transformer, batch_size: int) -> None:
    alone = [decoded(model, [source])[0] for source in sources()]
    together = decoded(model, sources(), batch_size)
    assert [hypothesis.ids for hypothesis in together] == [hypothesis.ids for hypothesis in alone]
    for here, there in zip(together, alone, strict=True):
        assert here.score == pytest.approx(there.score, abs=1e-9)


def test_it_is_the_most_probable_token_at_each_step_and_the_score_their_sum(model: Transformer) -> None:
    for source in sources(8):
        (hypothesis,) = decoded(model, [source])
        src = torch.tensor([[*source, EOS]])
        ids = [*hypothesis.ids, *([EOS] if hypothesis.ended else [])]
        logits = model(src, torch.ones_like(src, dtype=torch.bool), torch.tensor([[BOS, *ids[:-1]]])).detach()[0]
        log_probs = logits.log_softmax(-1)  # of all symbols, as in the loss
        log_probs[:, [PAD, BOS]] = float("-inf")
        assert log_probs.argmax(-1).tolist() == ids
        assert hypothesis.score == pytest.approx(float(log_probs.max(-1).values.sum()), abs=1e-9)


def test_pad_and_bos_are_never_produced(model: Transformer) -> None:
    with torch.no_grad():
        model.target_embedding.weight[[PAD, BOS]] = 100.0
    for hypothesis in decoded(model, sources(), 8):
        assert not {PAD, BOS} & set(hypothesis.ids)


def test_a_row_ends_at_its_own_limit_and_says_so(model: Transformer) -> None:
    with torch.no_grad():
        model.target_embedding.weight[EOS] = 0.0
    src = torch.tensor([[5, 6, EOS], [7, 8, EOS]])
    short, long = greedy(model, src, torch.ones_like(src, dtype=torch.bool), max_lengths=[2, 5])
    assert len(short.ids) <= 2 and len(long.ids) <= 5
    assert short.ended == (len(short.ids) < 2)


def test_the_decoder_is_called_at_most_once_a_token_of_the_longest_output(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    decode = model.decode
    monkeypatch.setattr(model, "decode", lambda *args: calls.append(args[0].shape) or decode(*args))
    found = decoded(model, sources(), 64)
    assert len(calls) <= max(len(hypothesis.ids) for hypothesis in found) + 1
    assert all(length == 1 for _, length in calls)
    assert sum(rows for rows, _ in calls) == sum(len(h.ids) + h.ended for h in found)  # finished rows leave


def test_the_mode_of_the_model_is_put_back(model: Transformer) -> None:
    model.train()
    decoded(model, [[4, 5]])
    assert model.training


def test_nothing_in_gives_nothing_out(model: Transformer) -> None:
    assert decoded(model, []) == []


def test_progress_counts_every_sentence(model: Transformer) -> None:
    done: list[int] = []
    decoded(model, sources(), 5, progress=done.append)
    assert sum(done) == 23


def test_the_limit_follows_the_ratio_of_the_pairs_what_was_asked_for_and_the_cap() -> None:
    limit = LengthLimit.learn(np.array([5, 10, 20]), np.array([10, 20, 40]))
    assert limit.of(10) == 20 + limit.slack
    assert [replace(limit, asked=asked).of(10) for asked in (1, 7, 10**9)] == [1, 7, 10**9]  # up and down
    assert [replace(limit, asked=asked, cap=7).of(100) for asked in (None, 3, 9)] == [7, 3, 7]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 260)), min_size=1))
def test_every_target_that_the_limit_covers_can_be_written_and_one_odd_pair_does_not_lengthen_all(pairs) -> None:
    sources, targets = (np.array(side) for side in zip(*pairs, strict=True))
    learned = LengthLimit.learn(sources, targets)
    limit = learned.covering(sources, targets)
    assert all(target <= limit.of(source) for source, target in pairs)
    assert not limit.too_short_for(sources, targets).any()
    assert limit.of(10_000) <= max(learned.of(10_000), targets.max())


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("beam_size", [1, 3])
def test_each_core_decodes_batches_of_its_own_and_nothing_changes(model: Transformer, beam_size: int) -> None:
    model.train()
    options = DecodeOptions(beam_size=beam_size, batch_size=4)
    steps: list[int] = []
    together = decode_sentences(model, sources(), limit=LIMIT, options=options, progress=steps.append)
    assert model.training and torch.get_num_threads() == 2
    assert sum(steps) == 23 and len(steps) == 6
    for source, own in zip(sources(), together, strict=True):
        (alone,) = decode_sentences(model, [source], limit=LIMIT, options=options)
        assert [one.ids for one in own] == [one.ids for one in alone]
        assert [one.score for one in own] == pytest.approx([one.score for one in alone], abs=1e-9)


@pytest.mark.usefixtures("two_threads")
def test_a_mistake_in_one_batch_ends_all_and_leaves_the_threads_and_the_mode(model: Transformer) -> None:
    model.train()
    with pytest.raises(IndexError):
        decode_sentences(model, [*sources(), [99]], limit=LIMIT, options=DecodeOptions(batch_size=4))
    assert model.training and torch.get_num_threads() == 2
