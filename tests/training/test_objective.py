import pytest
import torch
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.options import ModelOptions, Schedule
from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.objective import label_smoothed_cross_entropy, objective_of
from seq2see.transformer import Transformer


def logits_and_targets() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, 11, generator=generator, dtype=torch.float64, requires_grad=True)
    return logits, torch.randint(11, (7,), generator=generator)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_objective_and_its_gradient_are_those_of_torch_and_the_loss_is_never_smoothed(smoothing: float) -> None:
    logits, targets = logits_and_targets()
    objective, loss = label_smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(objective, expected)
    torch.testing.assert_close(torch.autograd.grad(objective, logits), torch.autograd.grad(expected, logits))
    torch.testing.assert_close(loss, F.cross_entropy(logits, targets, reduction="sum"))
    assert not loss.requires_grad


def a_model_and_a_batch() -> tuple[Transformer, Batch]:
    torch.manual_seed(0)
    options = ModelOptions(d_model=8, num_heads=2, d_ff=12, num_encoder_layers=1, num_decoder_layers=1)
    src, tgt = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([[1, 7, 8, 2], [1, 9, 2, 0]])
    return Transformer(options, 11, 13), Batch(torch.arange(2), src, src != 0, tgt[:, :-1], tgt[:, 1:])


def test_it_is_of_the_real_tokens_and_of_every_parameter_of_the_model() -> None:
    model, batch = a_model_and_a_batch()
    model.output_proj.bias = torch.nn.Parameter(torch.randn(13))  # whatever a projection has is trained
    result = objective_of(model, batch, smoothing=0.1)
    logits = model(batch.src, batch.src_mask, batch.tgt_in)
    expected = F.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, label_smoothing=0.1, reduction="sum"
    )
    torch.testing.assert_close(result.objective, expected)
    assert result.tokens == 5
    result.objective.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_mixed_precision_multiplies_in_half_precision_and_sums_in_single() -> None:
    model, batch = a_model_and_a_batch()
    exact = objective_of(model, batch, smoothing=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        assert model(batch.src, batch.src_mask, batch.tgt_in).dtype == torch.bfloat16
        result = objective_of(model, batch, smoothing=0.1)
    assert result.objective.dtype == result.loss.dtype == torch.float32
    torch.testing.assert_close(result.objective, exact.objective, atol=0.1, rtol=0.01)


@pytest.mark.parametrize(
    ("schedule", "halfway", "end"),
    [
        (Schedule.constant, 1.0, 1.0), (Schedule.linear, 0.5, 0.0), (Schedule.cosine, 0.5, 0.0),
        (Schedule.inverse_sqrt, 50**-0.5 * 10**0.5, 0.1**0.5),
    ],
)  # fmt: skip
def test_every_schedule_rises_linearly_in_the_warm_up_and_falls_as_its_name_says(
    schedule: Schedule, halfway: float, end: float
) -> None:
    def factor(step: int) -> float:
        return learning_rate_factor(schedule, step=step, warmup_steps=10, progress=(step + 1) / 100)

    rise = [learning_rate_factor(schedule, step=step, warmup_steps=10, progress=0.0) for step in (0, 4, 9)]
    assert rise == pytest.approx([0.1, 0.5, 1.0])
    assert [factor(49), factor(99)] == pytest.approx([halfway, end])
    assert learning_rate_factor(schedule, step=0, warmup_steps=0, progress=0.0) == pytest.approx(1.0)


def test_progress_is_that_of_the_limit_that_comes_first() -> None:
    assert Budget(max_steps=100).progress(25) == 0.25
    assert Budget(max_steps=None, max_seconds=1000.0).progress(10**9) == pytest.approx(0.0, abs=0.01)
    for before, expected in ((5.0, 0.5), (55.0, 1.0)):
        late = Budget(max_steps=100, max_seconds=10.0, seconds_before=before)
        assert late.progress(25) == pytest.approx(expected, abs=0.01)


def test_what_is_planned_follows_the_steps_where_they_are_limited_and_else_the_clock() -> None:
    both = Budget(max_steps=100, max_seconds=10.0, seconds_before=8.0)
    assert both.planned(0) == 0.0 and both.planned(25) == 0.25 and both.planned(200) == 1.0
    assert both.progress(25) == pytest.approx(0.8, abs=0.01)
    assert Budget(None, max_seconds=10.0, seconds_before=8.0).planned(25) == pytest.approx(0.8, abs=0.01)
