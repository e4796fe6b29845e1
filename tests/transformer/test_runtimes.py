"""Half precision, autocast, `torch.compile` and `torch.export` of the whole model."""

from dataclasses import replace

import pytest
import torch
from option_sets import EVERY_OPTION, EVERY_OPTION_NAMES
from torch.export import Dim

from seq2see.options import ModelOptions
from seq2see.transformer import Transformer

EACH_OPTION = pytest.mark.parametrize("options", EVERY_OPTION, ids=EVERY_OPTION_NAMES)
TOLERANCE = {torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 6e-2}
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu])])


def model_and_batch(options, *, device="cpu", batch=3, num_sources=7, num_targets=6):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    torch.manual_seed(0)
    model = Transformer(options, 11, 13).eval()
    lengths = torch.linspace(num_sources, 0, batch).round().long()  # one source is empty
    src_mask = torch.arange(num_sources) < lengths[:, None]
    src, tgt_in = torch.randint(4, 11, (batch, num_sources)), torch.randint(4, 13, (batch, num_targets))
    return model.to(device), (src.to(device), src_mask.to(device), tgt_in.to(device))


@DEVICES
@EACH_OPTION
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrow_precisions_are_finite_and_near_float64(device, options, dtype):
    model, batch = model_and_batch(options, device=device)
    logits = model.to(dtype)(*batch)
    assert logits.dtype == dtype and logits.isfinite().all()
    logits.float().logsumexp(-1).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    expected = model.double()(*batch)
    torch.testing.assert_close(logits.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@DEVICES
@EACH_OPTION
def test_autocast_is_finite_and_near_float64(device, options):
    model, batch = model_and_batch(options, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        logits = model(*batch)
    logits.float().logsumexp(-1).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    expected = model.double()(*batch)
    torch.testing.assert_close(
        logits.double(), expected, rtol=TOLERANCE[torch.bfloat16], atol=TOLERANCE[torch.bfloat16]
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("which", range(3))
def test_far_positions_stay_apart_in_half_precision(dtype, which):
    """Positions are computed in float32 there: bfloat16 has no number between 512 and 516."""
    from seq2see.transformer import AlibiPositions, RotaryPositions, SinusoidalPositions

    positions = torch.arange(512, 516)
    scheme = [SinusoidalPositions(8), RotaryPositions(8), AlibiPositions(4)][which].to(dtype)
    options = ModelOptions(d_model=8, num_heads=2)
    float_type = Transformer(options, 5, 5).to(dtype)._position_dtype
    assert float_type is torch.float32
    if which == 0:
        rows = scheme.embed(positions, float_type).to(dtype)
    else:
        terms = scheme.terms(positions, positions, positions, float_type)
        rows = torch.view_as_real(terms.query_rotation).flatten(1).to(dtype) if which == 1 else terms.bias[0].to(dtype)
    assert len(rows.unique(dim=0)) == 4


def assert_trains_alike(model, compiled, batch):
    expected = model(*batch)
    expected.logsumexp(-1).sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    logits = compiled(*batch)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    logits.logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        if name in gradients:
            torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-3, atol=1e-3)


def test_the_traced_model_gives_the_same_numbers_and_gradients():
    options = replace(EVERY_OPTION[9], num_encoder_layers=1, num_decoder_layers=1)
    model, batch = model_and_batch(options)
    torch.compiler.reset()
    assert_trains_alike(model, torch.compile(model, backend="aot_eager", fullgraph=True), batch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("which", [0, 3, 9])  # fused; additive with relative and alibi; rope twice
def test_the_compiled_model_gives_the_same_numbers_and_gradients(which):
    model, batch = model_and_batch(replace(EVERY_OPTION[which], num_encoder_layers=1, num_decoder_layers=1))
    torch.compiler.reset()
    assert_trains_alike(model, torch.compile(model, fullgraph=True), batch)


@pytest.mark.slow
@EACH_OPTION
def test_every_option_compiles_for_changing_lengths(options):
    model, _ = model_and_batch(options)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
    for sizes in ((2, 5, 4), (3, 9, 2), (2, 1, 1), (4, 4, 4)):
        _, batch = model_and_batch(options, batch=sizes[0], num_sources=sizes[1], num_targets=sizes[2])
        torch.testing.assert_close(compiled(*batch), model(*batch), rtol=1e-4, atol=1e-4)


def assert_exports(options):
    model, batch = model_and_batch(options)
    pairs, sources, targets = (
        Dim("pairs", min=2, max=64),
        Dim("sources", min=2, max=512),
        Dim("targets", min=2, max=512),
    )
    shapes = ({0: pairs, 1: sources}, {0: pairs, 1: sources}, {0: pairs, 1: targets})
    exported = torch.export.export(model, batch, dynamic_shapes=shapes).module()
    for sizes in ((3, 7, 6), (2, 30, 3), (5, 5, 5)):
        _, other = model_and_batch(options, batch=sizes[0], num_sources=sizes[1], num_targets=sizes[2])
        torch.testing.assert_close(exported(*other), model(*other), rtol=1e-4, atol=1e-4)


def test_the_model_exports_for_any_batch_and_lengths():
    assert_exports(EVERY_OPTION[0])


@pytest.mark.slow
@EACH_OPTION
def test_every_option_exports_for_any_batch_and_lengths(options):
    assert_exports(options)
