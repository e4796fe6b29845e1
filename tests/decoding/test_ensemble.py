"""Several models as one: the mean of their probabilities, in every method of decoding."""

import itertools

import pytest
import torch
from random_models import LIMIT, assert_same, batch, forced, random_model, sources

from seq2see.decoding import Ensemble, Hypothesis, beam_search, decode_sentences
from seq2see.options import DecodeOptions, ModelOptions, Position
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer

METHODS = [{}, {"beam_size": 3, "num_best": 3}, {"sample": True, "num_best": 2}]
each_method = pytest.mark.parametrize("decode", METHODS, ids=["greedy", "beam", "sample"])


def other_model(vocab_size: int = 12) -> Transformer:
    """Of another shape than `random_model`."""
    torch.manual_seed(5)
    options = ModelOptions(
        d_model=24, num_heads=3, num_kv_heads=1, d_ff=32, num_encoder_layers=2, num_decoder_layers=3,
        position=Position.relative,
    )  # fmt: skip
    model = Transformer(options, 12, vocab_size).double()
    with torch.no_grad():
        model.output_proj.weight.mul_(12)
    return model.eval()


def members(vocab_size: int = 12) -> list[Transformer]:
    learned = random_model(2, vocab_size, position=Position.learned, max_positions=40)
    return [random_model(1, vocab_size), learned, other_model(vocab_size)]


def decoded(model: Transformer | Ensemble, decode: dict) -> list[list[Hypothesis]]:
    return decode_sentences(model, sources(), limit=LIMIT, options=DecodeOptions(batch_size=4, **decode))


@each_method
def test_scores_are_those_of_the_mean_of_the_probabilities_computed_without_a_cache(decode: dict) -> None:
    models = members()
    for row, own in zip(sources(), decoded(Ensemble(models), decode), strict=True):
        for one in own:
            ids = torch.tensor([[BOS, *one.ids]])
            with torch.no_grad():
                mean = sum(model(*batch(row), ids)[0].softmax(-1) for model in models) / 3
            targets = [*one.ids, *[EOS] * one.ended]
            assert one.score == pytest.approx(sum(float(p[t].log()) for p, t in zip(mean, targets, strict=False)))
            if not decode:
                mean[:, [PAD, BOS]] = 0
                assert mean.argmax(-1).tolist()[: len(targets)] == targets


def test_given_targets_have_the_mean_of_the_probabilities_too() -> None:
    models, texts = members(), [list(reversed(row)) for row in sources()]
    mean = torch.tensor([0.0] * sum(len(text) + 1 for text in texts)).double()
    for model in models:
        mean += torch.cat([torch.from_numpy(own) for own in forced(model, sources(), texts).log_probs]).exp() / 3
    found = forced(Ensemble(models), sources(), texts)
    torch.testing.assert_close(torch.cat([torch.from_numpy(own) for own in found.log_probs]), mean.log())


@each_method
def test_thrice_the_same_model_is_that_model_and_the_order_of_members_makes_no_difference(decode: dict) -> None:
    one, two, three = members()
    assert_same(decoded(Ensemble([one] * 3), decode), decoded(one, decode))
    assert_same(decoded(Ensemble([three, one, two]), decode), decoded(Ensemble([one, two, three]), decode))
    assert decoded(Ensemble([one, two]), decode) != decoded(one, decode)


def test_a_wide_beam_finds_what_brute_force_finds() -> None:
    model = Ensemble(members(vocab_size=6))
    (found,) = beam_search(model, *batch([5, 6]), max_lengths=[4], beam_size=200, num_best=200)
    texts = [list(ids) for length in range(4) for ids in itertools.product([3, 4, 5], repeat=length)]
    scores = forced(model, [[5, 6]] * len(texts), texts).totals
    every = [Hypothesis(ids, score, True) for ids, score in zip(texts, scores, strict=True)]
    assert_same([[one for one in found if one.ended]], [sorted(every, key=lambda one: -one.ranked_by(1.0))])


def test_the_shortest_table_of_positions_ends_what_all_of_them_write() -> None:
    short = random_model(3, position=Position.learned, max_positions=6)
    for models in ([random_model(), short], [short, random_model()]):
        ensemble = Ensemble(models)
        assert ensemble.encoder_positions.max_length == ensemble.decoder_positions.max_length == 6
        with torch.no_grad():
            for model in models:
                model.output_proj.weight[EOS] = -9.0
        (own,) = beam_search(ensemble, *batch([4, 5]), max_lengths=[6], beam_size=2)
        assert len(own[0].ids) <= 5


def test_probabilities_of_half_precision_are_averaged_in_float32() -> None:
    models = [model.bfloat16() for model in members()]
    logits = Ensemble(models)(*batch([4, 5]), torch.tensor([[BOS, 4]]))
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(1, 2))
