import math

import pytest
import torch
from torch.nn import functional as F

from seq2see.options import Schedule
from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.objective import label_smoothed_cross_entropy


def logits_and_targets() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(7, 11, generator=generator, dtype=torch.float64), torch.randint(11, (7,), generator=generator)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_objective_is_torchs_label_smoothed_cross_entropy(smoothing: float) -> None:
    logits, targets = logits_and_targets()
    result = label_smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(result.objective, expected)
    assert result.tokens == 7


def test_the_reported_loss_is_never_smoothed() -> None:
    logits, targets = logits_and_targets()
    result = label_smoothed_cross_entropy(logits, targets, smoothing=0.3)
    torch.testing.assert_close(result.loss, F.cross_entropy(logits, targets, reduction="sum"))
    assert not result.loss.requires_grad


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


def test_progress_of_a_run_by_the_clock_is_the_elapsed_share() -> None:
    budget = Budget(max_steps=None, max_seconds=1000.0)
    budget.start()
    assert math.isclose(budget.progress(10**9), 0.0, abs_tol=0.01)
