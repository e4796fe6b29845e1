"""Half precision, autocast, `torch.compile` and `torch.export` of the whole model."""

from dataclasses import replace

import pytest
import torch
from option_sets import EVERY_OPTION, EVERY_OPTION_NAMES
from tensors import DEVICES, assert_same, require
from torch.export import Dim

from seq2see.options import ModelOptions, Position
from seq2see.transformer import Transformer

EACH_OPTION = pytest.mark.parametrize("options", EVERY_OPTION, ids=EVERY_OPTION_NAMES)


def model_and_batch(options, *, device="cpu", batch=3, num_sources=7, num_targets=6):
    device = require(device)
    torch.manual_seed(0)
    model = Transformer(options, 11, 13).eval()
    lengths = torch.linspace(num_sources, 0, batch).round().long()  # one source is empty
    src_mask = torch.arange(num_sources) < lengths[:, None]
    src, tgt_in = torch.randint(4, 11, (batch, num_sources)), torch.randint(4, 13, (batch, num_targets))
    return model.to(device), (src.to(device), src_mask.to(device), tgt_in.to(device))


@DEVICES
@EACH_OPTION
@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [(torch.float32, False), (torch.bfloat16, False), (torch.float16, False), (torch.bfloat16, True)],
)
def test_narrow_precisions_and_autocast_are_finite_and_near_float64(device, options, dtype, autocast):
    model, batch = model_and_batch(options, device=device)
    with torch.autocast(device, dtype=dtype, enabled=autocast):
        logits = (model if autocast else model.to(dtype))(*batch)
    assert logits.dtype == dtype and logits.isfinite().all()
    logits.float().logsumexp(-1).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert_same(logits.double(), model.double()(*batch), dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("position", "rows_of"),
    [
        (Position.sinusoidal, lambda x, terms: x[0]),
        (Position.rope, lambda x, terms: torch.view_as_real(terms.query_rotation).flatten(1)),
        (Position.alibi, lambda x, terms: terms.bias[0]),
    ],
)
def test_far_positions_stay_apart_in_half_precision(dtype, position, rows_of):
    """Positions are computed in float32 there: bfloat16 has no number between 512 and 516."""
    torch.manual_seed(0)
    model = Transformer(ModelOptions(d_model=8, num_heads=2, position=position), 5, 5).to(dtype)
    rows = []
    model.encoder_layers[0].self_attention.register_forward_pre_hook(
        lambda _, args, kwargs: rows.extend(rows_of(args[0], kwargs["positions"])), with_kwargs=True
    )
    model.encode(torch.ones(1, 516, dtype=torch.int64), torch.ones(1, 516, dtype=torch.bool))
    assert len(torch.stack(rows[512:]).to(dtype).unique(dim=0)) == 4


@pytest.mark.slow  # so long does torch take to load its compiler
def test_the_traced_model_gives_the_same_numbers_and_gradients():
    model, batch = model_and_batch(replace(EVERY_OPTION[9], num_encoder_layers=1, num_decoder_layers=1))
    torch.compiler.reset()
    found = []
    for traced in (model, torch.compile(model, backend="aot_eager", fullgraph=True)):
        model.zero_grad()
        logits = traced(*batch)
        logits.logsumexp(-1).sum().backward()
        found.append((logits, [p.grad for p in model.parameters() if p.grad is not None]))
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@EACH_OPTION
def test_the_model_exports_for_any_batch_and_lengths(options):
    model, batch = model_and_batch(options)
    pairs, sources, targets = (Dim(name, min=2, max=512) for name in ("pairs", "sources", "targets"))
    shapes = ({0: pairs, 1: sources}, {0: pairs, 1: sources}, {0: pairs, 1: targets})
    exported = torch.export.export(model, batch, dynamic_shapes=shapes).module()
    for sizes in ((3, 7, 6), (2, 30, 3), (5, 5, 5)):
        _, other = model_and_batch(options, batch=sizes[0], num_sources=sizes[1], num_targets=sizes[2])
        assert_same(exported(*other), model(*other), torch.float32)
