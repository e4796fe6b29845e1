"""Greedy decoding and sampling: what the model says, no more and no less, and again when asked again."""

import pytest
import torch
from random_models import batch, random_model, sources

from seq2see.decoding import greedy
from seq2see.decoding.greedy import Sampler, kept_probs, sample
from seq2see.options import DecodeOptions
from seq2see.text import BOS, EOS, PAD

LOG_PROBS = torch.tensor([[0.5, 0.1, 0.25, 0.15]]).log()


def test_it_is_the_most_probable_token_at_each_step_and_the_score_their_sum() -> None:
    model = random_model()
    with torch.no_grad():
        model.target_embedding.weight[[PAD, BOS]] = 100.0  # which are never produced all the same
    for source in sources(8):
        (hypothesis,) = greedy(model, *batch(source), max_lengths=[9])
        ids = [*hypothesis.ids, *([EOS] if hypothesis.ended else [])]
        logits = model(*batch(source), torch.tensor([[BOS, *ids[:-1]]])).detach()[0]
        log_probs = logits.log_softmax(-1)  # of all symbols, as in the loss
        log_probs[:, [PAD, BOS]] = float("-inf")
        assert log_probs.argmax(-1).tolist() == ids
        assert hypothesis.score == pytest.approx(float(log_probs.max(-1).values.sum()), abs=1e-9)


def options(**keys: float) -> DecodeOptions:
    return DecodeOptions(sample=True, **keys).filled()  # type: ignore[arg-type]


def test_tokens_come_as_often_as_they_are_probable_at_each_step_of_each_row() -> None:
    sampler, probs = Sampler(options(), range(20_000)), LOG_PROBS.exp()[0]
    first, second = (sampler(LOG_PROBS.expand(20_000, -1), torch.arange(20_000)) for _ in range(2))
    both = torch.bincount(first * 4 + second, minlength=16).view(4, 4) / 20_000
    torch.testing.assert_close(both, probs[:, None] * probs, atol=0.015, rtol=0)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [0.5, 0.1, 0.25, 0.15]),
        ({"top_k": 2}, [2 / 3, 0, 1 / 3, 0]),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [2 / 3, 0, 1 / 3, 0]),
        ({"top_p": 1.0}, [0.5, 0.1, 0.25, 0.15]),
        ({"temperature": 0.5}, [0.25 / 0.345, 0.01 / 0.345, 0.0625 / 0.345, 0.0225 / 0.345]),
        ({"temperature": 1e-310}, [1, 0, 0, 0]),
        ({"top_p": 1e-310}, [1, 0, 0, 0]),
    ],
)
def test_temperature_top_k_and_top_p_leave_what_they_say(keys: dict, expected: list[float]) -> None:
    log_probs = torch.cat((torch.full((1, 2), float("-inf")), LOG_PROBS), dim=1).double()
    probs, order = kept_probs(log_probs.clone(), options(**keys))
    assert torch.zeros(6).double().scatter(0, order[0], probs[0]).tolist() == pytest.approx([0, 0, *expected])
    assert all(Sampler(options(**keys), [number])(log_probs, torch.tensor([0])) >= 2 for number in range(20))


def test_a_seed_repeats_its_samples_and_another_has_others() -> None:
    def samples(seed: int) -> list[list[int]]:
        keys = options(num_best=3, seed=seed)
        found = sample(random_model(), *batch([4, 5], [4, 5]), max_lengths=[8, 8], numbers=[0, 1], options=keys)
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
