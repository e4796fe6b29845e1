"""Small models with opinions of their own, and sources for them."""

import numpy as np
import pytest
import torch

from seq2see.data import EncodedPairs, make_loader
from seq2see.data.encoded import Texts
from seq2see.decoding import Forced, Hypothesis, LengthLimit, teacher_forced
from seq2see.decoding.ensemble import Predictor
from seq2see.options import ModelOptions, Position
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer

LIMIT = LengthLimit(ratio=1.0, slack=4)


def random_model(
    seed: int = 0, vocab_size: int = 12, *, position: Position = Position.rope, max_positions: int = 1_024
) -> Transformer:
    torch.manual_seed(seed)
    sizes = dict(d_model=16, num_heads=2, d_ff=32, num_encoder_layers=1, num_decoder_layers=2)
    options = ModelOptions(**sizes, position=position, max_positions=max_positions)
    model = Transformer(options, 12, vocab_size).double()
    with torch.no_grad():
        model.output_proj.weight.mul_(12)  # opinions, so that no two tokens are equally probable
    return model.eval()


def endless(model: Transformer) -> Transformer:
    """The model, which hardly ever ends a text."""
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0.0
    return model


def assert_same(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]]) -> None:
    for here, there in zip(found, wanted, strict=True):
        assert [(one.ids, one.ended) for one in here] == [(one.ids, one.ended) for one in there]
        assert [one.score for one in here] == pytest.approx([one.score for one in there], abs=1e-9)


def batch(*rows: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    src = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor([*row, EOS]) for row in rows], batch_first=True, padding_value=PAD
    )
    return src, src != PAD


def sources(count: int = 23) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 9, (count,), generator=generator).tolist()
    return [torch.randint(4, 12, (length,), generator=generator).tolist() for length in lengths]


def forced(model: Predictor, rows: list[list[int]], texts: list[list[int]]) -> Forced:
    """What the model makes of these target ids."""
    pairs = EncodedPairs(Texts.of(rows), Texts.of(texts), ids=np.arange(len(rows)))
    return teacher_forced(model, make_loader(pairs, batch_size=7, shuffle=False, seed=0))
