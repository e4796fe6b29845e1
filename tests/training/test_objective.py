import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from seq2see.options import Schedule
from seq2see.training import objective
from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.objective import label_smoothed_cross_entropy


def states_weight_targets() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(7, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    return states, weight, torch.randint(11, (7,), generator=generator)


@pytest.mark.parametrize("chunk", [objective.CHUNK, 22, 1])  # all rows at once; two, the last alone; one
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_objective_and_its_gradient_are_those_of_torch(
    smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective, "CHUNK", chunk)
    states, weight, targets = states_weight_targets()
    result = label_smoothed_cross_entropy(states, weight, targets, smoothing=smoothing)
    expected = F.cross_entropy(states @ weight.t(), targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(result.objective, expected)
    assert result.tokens == 7
    found = torch.autograd.grad(result.objective / 3, (states, weight))
    torch.testing.assert_close(found, torch.autograd.grad(expected / 3, (states, weight)))


@pytest.mark.parametrize("chunk", [objective.CHUNK, 22])
def test_mixed_precision_multiplies_in_half_precision_and_sums_in_single(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective, "CHUNK", chunk)
    states, weight, targets = states_weight_targets()
    states, weight = states.float().detach().requires_grad_(), weight.float().detach().requires_grad_()
    exact = torch.autograd.grad(F.cross_entropy(states @ weight.t(), targets, reduction="sum"), (states, weight))
    with torch.autocast("cpu", torch.bfloat16):
        result = label_smoothed_cross_entropy(states, weight, targets, smoothing=0.0)
    assert result.objective.dtype == result.loss.dtype == torch.float32
    found = torch.autograd.grad(result.objective, (states, weight))
    torch.testing.assert_close(found, exact, atol=0.03, rtol=0.03)
    assert not torch.equal(found[0], exact[0])


def test_the_reported_loss_is_never_smoothed() -> None:
    states, weight, targets = states_weight_targets()
    result = label_smoothed_cross_entropy(states, weight, targets, smoothing=0.3)
    torch.testing.assert_close(result.loss, F.cross_entropy(states @ weight.t(), targets, reduction="sum"))
    assert not result.loss.requires_grad


def test_no_logits_of_all_tokens_are_ever_there() -> None:
    states, weight = torch.randn(4_000, 8, requires_grad=True), torch.randn(5_000, 8, requires_grad=True)
    with LargestTensor() as largest:
        label_smoothed_cross_entropy(states, weight, torch.zeros(4_000, dtype=torch.int64), smoothing=0.1)[0].backward()
    assert largest.numel <= objective.CHUNK < states.shape[0] * weight.shape[0]


class LargestTensor(TorchDispatchMode):
    """Remembers how many numbers the largest result of any operation had."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numel = max(self.numel, result.numel())
        return result


def factor(schedule: Schedule, step: int, progress: float = 0.0) -> float:
    return learning_rate_factor(schedule, step=step, warmup_steps=10, progress=progress)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_every_schedule_rises_linearly_in_the_warm_up(schedule: Schedule) -> None:
    assert factor(schedule, 0) == pytest.approx(0.1)
    assert factor(schedule, 4) == pytest.approx(0.5)
    assert factor(schedule, 9) == pytest.approx(1.0)


def test_cosine_and_linear_end_at_nothing_and_constant_stays() -> None:
    assert factor(Schedule.cosine, 100, progress=1.0) == pytest.approx(0.0)
    assert factor(Schedule.linear, 100, progress=1.0) == pytest.approx(0.0)
    assert factor(Schedule.cosine, 100, progress=0.5) == pytest.approx(0.5)
    assert factor(Schedule.linear, 100, progress=0.25) == pytest.approx(0.75)
    assert factor(Schedule.constant, 100, progress=1.0) == 1.0


def test_inverse_square_root_is_halved_at_four_times_the_warm_up() -> None:
    assert factor(Schedule.inverse_sqrt, 39) == pytest.approx(0.5)


def test_a_schedule_without_warm_up_starts_at_the_highest_rate() -> None:
    for schedule in Schedule:
        assert learning_rate_factor(schedule, step=0, warmup_steps=0, progress=0.0) == pytest.approx(1.0)


def test_progress_is_that_of_the_limit_that_comes_first() -> None:
    assert Budget(max_steps=100).progress(25) == 0.25
    late = Budget(max_steps=100, max_seconds=10.0)
    late.started -= 5
    assert late.progress(25) == pytest.approx(0.5, abs=0.01)
    late.started -= 50
    assert late.progress(25) == 1.0


def test_what_is_planned_follows_the_steps_where_they_are_limited_and_else_the_clock() -> None:
    both = Budget(max_steps=100, max_seconds=10.0, seconds_before=8.0)
    assert both.planned(0) == 0.0 and both.planned(25) == 0.25 and both.planned(200) == 1.0
    assert both.progress(25) == pytest.approx(0.8, abs=0.01)
    assert Budget(None, max_seconds=10.0, seconds_before=8.0).planned(25) == pytest.approx(0.8, abs=0.01)


def test_progress_of_a_run_by_the_clock_is_the_elapsed_share() -> None:
    budget = Budget(max_steps=None, max_seconds=1000.0)
    budget.start()
    assert math.isclose(budget.progress(10**9), 0.0, abs_tol=0.01)
