"""What a run says while it trains, and of its scores."""

from pathlib import Path

import pytest

from seq2see.runs.summary import scores_line, too_short
from seq2see.runs.terminal import Terminal, TrainingDisplay, about, clock
from seq2see.training.budget import Budget

SCORES = {"loss": 1.1949, "token_accuracy": 0.7309, "exact_match": 0.145, "bleu": 36.04, "ser": 0.25}


@pytest.mark.parametrize(
    ("scores", "head", "row"),
    [
        (["exact_match", "bleu"], "   exact   BLEU", "   0.145   36.0"),
        (["exact_match", "ser", "bleu"], "   exact    SER   BLEU", "   0.145  0.250   36.0"),
    ],
)
def test_a_validation_is_a_row_below_one_head_and_a_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scores: list[str], head: str, row: str
) -> None:
    display = TrainingDisplay(Terminal(tmp_path / "train.log"), Budget(10), ["ein Hund"], scores)
    numbers = {f"val/{name}": value for name, value in SCORES.items()}
    display.validation(5, numbers, ["ein" * 99])
    display.training(6, {"train/loss": 1.4471})
    display.validation(1084, numbers, ["ein Hund"])
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"   step    time  train loss  val loss  token acc.{head}",
        f"      5    0:00           -     1.195       0.731{row}",
        f"        ~ {'ein' * 99}"[:77] + "...",
        f"  1,084    0:00       1.447     1.195       0.731{row}",
        "        = ein Hund",
    ]
    assert (tmp_path / "train.log").read_text(encoding="utf-8").splitlines() == said


def test_durations_are_written_as_people_say_them() -> None:
    assert [clock(seconds) for seconds in (4.6, 65, 7265)] == ["0:05", "1:05", "2:01:05"]
    assert [about(seconds) for seconds in (1, 47, 200, 9000)] == [
        "about 5 s",
        "about 45 s",
        "about 3 min",
        "about 2.5 h",
    ]


@pytest.mark.parametrize(
    ("telling", "line"),
    [
        (["exact_match", "bleu"], "exact match 0.500   BLEU 0.5   chrF 0.5   CER 0.500"),
        (["exact_match", "ser"], "exact match 0.500   SER 0.500   chrF 0.5   CER 0.500"),
        (["exact_match", "cer"], "exact match 0.500   CER 0.500   chrF 0.5   token acc. 0.500"),
        (["exact_match", "bleu", "wer"], "exact match 0.500   BLEU 0.5   WER 0.500   chrF 0.5   CER 0.500"),
    ],
)
def test_a_line_of_scores_begins_with_those_that_say_most_and_fits_a_terminal(telling: list[str], line: str) -> None:
    scores = dict.fromkeys(["loss", "token_accuracy", "exact_match", "bleu", "chrf", "cer", "wer", "ser"], 0.5)
    assert scores_line(scores, telling) == line


def test_a_run_far_slower_than_expected_says_so_once_with_the_reason_and_what_to_do(capsys) -> None:
    display = TrainingDisplay(
        Terminal(), Budget(100, seconds_before=60.0), ["ein Hund"], expected_seconds=100.0, num_threads=2
    )
    numbers = {"train/loss": 1.4}
    display.training(50, numbers)  # 60 s where 50 were expected
    assert capsys.readouterr().err == ""
    display.training(20, numbers)
    display.training(21, numbers)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("  slow: 20% after 1:00, 0:20 expected; it gets 0.0 of 2 cores.")
    assert len(said) == 2 and "Close other programs" in said[1]
    assert all(len(line) <= 80 for line in said)


def test_a_run_that_has_just_begun_is_not_called_slow(capsys) -> None:
    display = TrainingDisplay(Terminal(), Budget(100, seconds_before=10.0), [], expected_seconds=100.0)
    display.training(1, {"train/loss": 1.4})
    assert capsys.readouterr().err == ""


def test_a_run_that_the_clock_ends_before_its_model_could_learn_says_so() -> None:
    timed = "00:00:02:00"
    said = too_short(timed, 57, planned=None)
    assert said is not None and "not trained: 57 steps within trainer.max_time=00:00:02:00" in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert too_short(timed, 57, planned=100_000) == said
    assert too_short(timed, 200, planned=None) is None
    assert too_short(timed, 30, planned=30) is None
    assert too_short(None, 30, planned=30) is None


def test_a_slow_run_that_has_the_cores_to_itself_does_not_blame_other_programs(capsys, monkeypatch) -> None:
    display = TrainingDisplay(Terminal(), Budget(100, seconds_before=60.0), [], expected_seconds=100.0, num_threads=2)
    used = display._of_processor + 120.0
    monkeypatch.setattr("time.process_time", lambda: used)
    display.training(20, {"train/loss": 1.4})
    said = capsys.readouterr().err.splitlines()
    assert "it gets 2.0 of 2 cores" in said[0] and "Either validations take the time" in said[1]
    assert all(len(line) <= 80 for line in said)
