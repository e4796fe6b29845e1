"""Sampling draws what the model says, no more and no less, and again when asked again."""

import pytest
import torch

from seq2see.decoding import LengthLimit, Sampler, decode_sentences, kept_probs
from seq2see.options import DecodeOptions, ModelOptions
from seq2see.transformer import Transformer

LOG_PROBS = torch.tensor([[0.5, 0.1, 0.25, 0.15]]).log()


def test_tokens_come_as_often_as_they_are_probable() -> None:
    sampler = Sampler(0, range(20_000))
    tokens = sampler(LOG_PROBS.expand(20_000, -1), torch.arange(20_000), 0)
    shares = torch.bincount(tokens, minlength=4) / 20_000
    torch.testing.assert_close(shares, LOG_PROBS.exp()[0], atol=0.015, rtol=0)


def test_steps_and_rows_are_independent() -> None:
    sampler = Sampler(0, range(20_000))
    first, second = (sampler(LOG_PROBS.expand(20_000, -1), torch.arange(20_000), step) for step in (0, 1))
    both = torch.bincount(first * 4 + second, minlength=16).view(4, 4) / 20_000
    probs = LOG_PROBS.exp()[0]
    torch.testing.assert_close(both, probs[:, None] * probs, atol=0.015, rtol=0)


def test_temperature_top_k_and_top_p_leave_what_they_say() -> None:
    def kept(**keys: float) -> list[float]:
        probs, order = kept_probs(LOG_PROBS.clone(), **keys)
        return torch.zeros(4).scatter(0, order[0], probs[0]).tolist()

    assert kept() == pytest.approx([0.5, 0.1, 0.25, 0.15])
    assert kept(top_k=2) == pytest.approx([2 / 3, 0, 1 / 3, 0])
    assert kept(top_p=0.5) == pytest.approx([1, 0, 0, 0])
    assert kept(top_p=0.51) == pytest.approx([2 / 3, 0, 1 / 3, 0])
    assert kept(top_p=1.0) == pytest.approx(kept())
    squared = (LOG_PROBS * 2).softmax(-1)[0].tolist()
    assert kept(temperature=0.5) == pytest.approx(squared)


@pytest.mark.parametrize("keys", [{"temperature": 1e-310}, {"top_p": 1e-310}, {"top_k": 1}])
def test_as_little_chance_as_can_be_is_the_most_probable_token(keys: dict) -> None:
    log_probs = torch.cat((torch.full((1, 2), float("-inf")), LOG_PROBS), dim=1).double()
    probs, order = kept_probs(log_probs.clone(), **keys)
    assert probs[0].tolist() == [1, 0, 0, 0, 0, 0] and int(order[0, 0]) == 2
    assert Sampler(0, [0], **keys)(log_probs, torch.tensor([0]), 0).tolist() == [2]


def test_a_seed_repeats_its_samples_and_another_has_others() -> None:
    torch.manual_seed(0)
    options = ModelOptions(d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=1)
    model = Transformer(options, 12, 12)

    def samples(seed: int) -> list[list[int]]:
        decode = DecodeOptions(sample=True, num_best=3, seed=seed)
        found = decode_sentences(model, [[4, 5], [4, 5]], limit=LengthLimit(1.0), options=decode)
        return [one.ids for row in found for one in row]

    assert samples(1) == samples(1) != samples(2)
    assert len({tuple(ids) for ids in samples(1)}) > 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sample": True, "beam_size": 4}, "decode.beam_size .4. searches"),
        ({"temperature": 0.5}, "decode.temperature .0.5. is for sampling"),
        ({"beam_size": 2, "num_best": 3}, "decode.num_best .3. must not exceed decode.beam_size .2."),
        ({"sample": True, "top_p": 1.5}, "decode.top_p"),
    ],
)
def test_choices_that_contradict_each_other_are_refused(keys: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodeOptions(**keys)
