"""Decoding with a cache gives the logits of decoding without, for every option, however the target is cut."""

import pytest
import torch
from option_sets import EVERY_OPTION, EVERY_OPTION_NAMES

from seq2see.transformer import Transformer

EACH_OPTION = pytest.mark.parametrize("options", EVERY_OPTION, ids=EVERY_OPTION_NAMES)


def model_and_batch(options):
    torch.manual_seed(0)
    model = Transformer(options, 11, 13).double().eval()
    src_mask = torch.arange(6) < torch.tensor([6, 4, 0])[:, None]
    return model, torch.randint(4, 11, (3, 6)), src_mask, torch.randint(4, 13, (3, 8))


@EACH_OPTION
@pytest.mark.parametrize("chunks", [[1] * 8, [3, 1, 4], [8]], ids=["step by step", "in chunks", "at once"])
@pytest.mark.parametrize("training", [False, True])
def test_a_cache_changes_no_logit(options, chunks, training):
    model, src, src_mask, tgt_in = model_and_batch(options)
    memory = model.encode(src, src_mask)
    expected = model.decode(tgt_in, memory, src_mask)
    model.train(training)  # even then: what is cached is not drawn anew
    state = model.new_cache()
    logits = [model.decode(part, memory, src_mask, state) for part in tgt_in.split(chunks, dim=1)]
    torch.testing.assert_close(torch.cat(logits, dim=1), expected, rtol=1e-6, atol=1e-6)
    assert state.length == 8


@EACH_OPTION
def test_rows_may_leave_and_repeat_in_mid_decoding(options):
    model, src, src_mask, tgt_in = model_and_batch(options)
    memory = model.encode(src, src_mask)
    rows = torch.tensor([1, 1, 0])
    expected = model.decode(tgt_in[rows], memory[rows], src_mask[rows])[:, 5:]
    state = model.new_cache()
    model.decode(tgt_in[:, :5], memory, src_mask, state)
    state.select(rows)
    logits = model.decode(tgt_in[rows, 5:], memory[rows], src_mask[rows], state)
    torch.testing.assert_close(logits, expected, rtol=1e-6, atol=1e-6)
