"""Which validation is the best, and when patience is at an end."""

import types
from typing import Any

import pytest

from seq2see.options import TrainingOptions
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run
from seq2see.training.callbacks import Selection
from seq2see.training.module import TrainingModule


def after(selection: Selection, *rows: tuple[float, float], first: int = 1) -> list[int]:
    """The best steps after validations with these scores and losses; 0 stands for the end."""
    best = []
    for step, (score, loss) in enumerate(rows, start=first):
        trainer: Any = types.SimpleNamespace(global_step=step, should_stop=False)
        module = TrainingModule.__new__(TrainingModule)
        object.__setattr__(module, "scores", {"val/loss": loss, f"val/{selection.select}": score})
        selection.on_validation_end(trainer, module)
        assert selection.best is not None
        best.append(0 if trainer.should_stop else selection.best.step)
    return best


def test_of_equal_scores_the_lower_loss_is_the_better_one() -> None:
    assert after(Selection("bleu", patience=None), (0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.0, 2.0)) == [1, 2, 2, 2]
    assert after(Selection("exact_match", patience=None), (0.5, 1.0), (0.4, 0.1), (0.5, 0.9)) == [1, 1, 3]
    assert after(Selection("loss", patience=None), (3.0, 3.0), (2.0, 2.0), (2.5, 2.5)) == [1, 2, 2]


@pytest.mark.parametrize("select", ["cer", "wer", "ser"])
def test_the_lower_error_rate_is_the_better_one(select: str) -> None:
    assert after(Selection(TrainingOptions(select=select).select or "", patience=None), (0.9, 1), (0.8, 2)) == [1, 2]


def test_patience_counts_progress_in_that_order() -> None:
    assert after(Selection("exact_match", patience=2), (0, 5), (0, 4), (0, 3), (0, 3), (0, 4)) == [1, 2, 3, 3, 0]


def test_a_selection_that_goes_on_knows_the_loss_of_the_best() -> None:
    selection, other = Selection("bleu", patience=2), Selection("bleu", patience=2)
    after(selection, (0.0, 3.0), (0.0, 2.0))
    other.load_state_dict(selection.state_dict())
    assert after(other, (0.0, 2.5), (0.0, 1.5), first=3) == [2, 4]


def test_a_run_whose_score_stays_at_0_keeps_what_it_has_learned(tmp_path) -> None:
    run = tmp_path / "reverse"
    more = ["training.select=exact_match", "training.patience=2", "optim.warmup_steps=1", "attention_log.enabled=false"]
    result = train_run(
        compose_options(
            "train",
            [
                "task=reverse", "task.min_length=12", "task.max_length=18", "task.train_size=64", "task.valid_size=9",
                "task.test_size=0", "task.ood_size=0", "model.d_model=16", "model.d_ff=32", "model.num_heads=2",
                "trainer.max_steps=12", "trainer.val_check_interval=2", f"run_dir={run}", *more,
            ],
        )
    )  # fmt: skip
    assert result.steps == 12 and result.best == {"step": 12, "metric": "exact_match", "value": 0.0}
