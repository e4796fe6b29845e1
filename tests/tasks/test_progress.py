"""What takes long says so on a terminal, and nowhere else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from seq2see.decoding import load
from seq2see.evaluation import evaluate_pairs
from seq2see.tasks import Pair
from seq2see.tasks.progress import counted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_scoring_shows_how_far_it_is_on_a_terminal_alone(
    stream: type[io.StringIO], small_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.stderr", said := stream())
    monkeypatch.setenv("TERM", "xterm")
    evaluate_pairs(load(str(small_run)), [Pair("a b", "b a")] * 3)
    if stream is Terminal:
        assert "translating" in said.getvalue() and "3 of 3" in said.getvalue()
        assert "\x1b[2K" in said.getvalue(), "the line is taken away"
    else:
        assert said.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_what_is_not_counted_is_named_and_taken_for_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", said := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with counted("writing [red]a.html"):
        pass
    assert "writing [red]a.html" in said.getvalue()


def test_a_run_says_beforehand_how_long_its_test_will_take(small_run: Path) -> None:
    log = (small_run / "train.log").read_text(encoding="utf-8")
    (line,) = (line for line in log.splitlines() if line.startswith("  training"))
    assert line.endswith(" s to test") and ", then about " in line and len(line) <= 80
