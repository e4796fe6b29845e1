"""When a run validates, which validation is the best, and when patience is at an end."""

import pytest

from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run
from seq2see.training.budget import Budget
from seq2see.training.callbacks import BestCheckpoint, ValidationSchedule


def after(best: BestCheckpoint, *rows: tuple[float, float], first: int = 1) -> list[int]:
    """The best steps after validations with these scores and losses; 0 stands for the end."""
    steps = []
    for step, (score, loss) in enumerate(rows, start=first):
        best.update(step, {"val/loss": loss, f"val/{best.select}": score})
        assert best.best is not None
        steps.append(0 if best.is_out_of_patience else best.best.step)
    return steps


@pytest.mark.parametrize(
    ("select", "patience", "rows", "best"),
    [
        ("bleu", None, [(0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.0, 2.0)], [1, 2, 2, 2]),
        ("exact_match", None, [(0.5, 1.0), (0.4, 0.1), (0.5, 0.9)], [1, 1, 3]),
        ("loss", None, [(3.0, 3.0), (2.0, 2.0), (2.5, 2.5)], [1, 2, 2]),
        *((select, None, [(0.9, 1), (0.8, 2)], [1, 2]) for select in ("cer", "wer", "ser")),
        ("exact_match", 2, [(0, 5), (0, 4), (0, 3), (0, 3), (0, 4)], [1, 2, 3, 3, 0]),
    ],
)
def test_the_better_score_is_best_and_of_equal_ones_the_lower_loss_which_is_progress_too(
    select: str, patience: int | None, rows: list[tuple[float, float]], best: list[int]
) -> None:
    assert after(BestCheckpoint(select, patience=patience), *rows) == best


def test_one_that_goes_on_knows_the_loss_of_the_best() -> None:
    best, other = (BestCheckpoint("bleu", patience=2) for _ in range(2))
    after(best, (0.0, 3.0), (0.0, 2.0))
    other.load_state_dict(best.state_dict())
    assert after(other, (0.0, 2.5), (0.0, 1.5), first=3) == [2, 4]


def test_validations_are_evenly_spread_or_at_their_multiples_and_always_at_the_end() -> None:
    for every, due in ((None, [84, 167, 250, 334, 417, 500]), (150, [150, 300, 450, 500])):
        schedule = ValidationSchedule(Budget(500), every=every)
        schedule.start(0)
        assert [step for step in range(1, 501) if schedule.advance(step)] == due
        schedule.start(200)  # goes on
        assert [step for step in range(201, 501) if schedule.advance(step)] == [step for step in due if step > 200]


def test_without_a_limit_of_steps_they_follow_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("seq2see.training.budget.time.monotonic", lambda: now[0])
    schedule = ValidationSchedule(Budget(None, max_seconds=60.0, seconds_before=25.0), every=None)
    schedule.start(100)
    due = []
    for step in range(101, 108):
        now[0] += 5.5
        if schedule.advance(step):
            due.append(step)
    assert due == [101, 103, 105, 107]  # after 30.5, 41.5, 52.5 and 63.5 seconds


def test_a_run_whose_score_stays_at_0_keeps_what_it_has_learned(tmp_path) -> None:
    overrides = [
        "task=reverse", "task.min_length=12", "task.max_length=18", "task.train_size=64", "task.valid_size=9",
        "task.test_size=0", "task.ood_size=0", "model.d_model=16", "model.d_ff=32", "model.num_heads=2",
        "trainer.max_steps=12", "trainer.val_check_interval=2", f"run_dir={tmp_path / 'reverse'}",
        "training.select=exact_match", "training.patience=2", "optim.warmup_steps=1", "attention_log.enabled=false",
    ]  # fmt: skip
    result = train_run(compose_options("train", overrides))
    assert result.steps == 12 and result.best == {"step": 12, "metric": "exact_match", "value": 0.0}
