"""Every option trains, is saved, comes back whole and translates."""

import io

import pytest
import torch
from option_sets import EVERY_OPTION, EVERY_OPTION_NAMES, SIZES, covering, name_of
from torch.nn import functional as F

from seq2see.decoding import greedy
from seq2see.options import ModelOptions
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer

VOCABULARY = 9


def copy_task():
    """Six sources of two to four symbols, to be copied."""
    torch.manual_seed(0)
    lengths = torch.tensor([4, 4, 3, 3, 2, 2])
    src = torch.randint(4, VOCABULARY, (6, 5))
    places = torch.arange(5)
    src = src.masked_fill(places == lengths[:, None], EOS).masked_fill(places > lengths[:, None], PAD)
    tgt_in = torch.cat((torch.full((6, 1), BOS), src[:, :-1]), dim=1)
    return src, src != PAD, tgt_in, src


def assert_trains_and_comes_back(options):
    src, src_mask, tgt_in, tgt_out = copy_task()
    torch.manual_seed(1)
    model = Transformer(options, VOCABULARY, VOCABULARY)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    losses = []
    for _ in range(12):
        loss = F.cross_entropy(model(src, src_mask, tgt_in).transpose(1, 2), tgt_out, ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-3:]) < sum(losses[:3])  # false of NaN too
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    torch.manual_seed(2)
    again = Transformer(options, VOCABULARY, VOCABULARY)
    again.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert (again.output_proj.weight is again.target_embedding.weight) == options.tie_embeddings
    assert torch.equal(again.eval()(src, src_mask, tgt_in), model.eval()(src, src_mask, tgt_in))
    hypotheses = greedy(model, src, src_mask, max_lengths=[6] * 6)
    assert hypotheses == greedy(again, src, src_mask, max_lengths=[6] * 6)
    for hypothesis in hypotheses:
        assert len(hypothesis.ids) <= 6 and hypothesis.score < 0
        assert not {PAD, BOS, EOS} & set(hypothesis.ids)


@pytest.mark.parametrize("options", EVERY_OPTION, ids=EVERY_OPTION_NAMES)
def test_every_two_options_together_train_save_reload_and_decode(options):
    assert_trains_and_comes_back(options)


@pytest.mark.slow
def test_every_three_options_together_train_save_reload_and_decode():
    for choice in covering(3):
        print(name_of(choice))  # which one it was
        assert_trains_and_comes_back(ModelOptions(**SIZES, **choice))
