"""What a run says: progress and messages on stderr, results on stdout, and all of it in `train.log`."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from seq2see.options import SCORES

if TYPE_CHECKING:
    from seq2see.training.budget import Budget  # with torch, which not every command needs

WIDTH = 80  # columns that everything fits into
SLOW, SOON = 2.5, 20  # times as long as expected, after so many seconds: then the run says so
CROWDED = 0.75  # share of the cores: with less, other programs have the rest


class Terminal:
    """Prints, and writes what it prints to a file, without the progress line.

    Args:
        log: the file; None: no file.
        quiet: whether messages are left out.
    """

    def __init__(self, log: Path | None = None, *, quiet: bool = False) -> None:
        self.log = log
        self.stderr = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True, emoji=False, markup=False)

    def say(self, text: str = "") -> None:
        """A message, on stderr."""
        self.log_only(text)
        with self._kept_anyway(sys.stderr):
            self.stderr.print(text)

    def result(self, text: str = "") -> None:
        """A result, on stdout."""
        self.log_only(text)
        with self._kept_anyway(sys.stdout):
            sys.stdout.write(_printable(text, sys.stdout.encoding) + "\n")
            sys.stdout.flush()

    @contextmanager
    def _kept_anyway(self, stream: TextIO) -> Iterator[None]:
        """A stream that takes nothing, such as a pipe that ended, ends no run whose file has the text too."""
        try:
            yield
        except OSError:
            if self.log is None:
                raise
            mute(stream)

    def log_only(self, text: str) -> None:
        """Writes a line that nobody wants on the screen."""
        if self.log is not None:
            with self.log.open("a", encoding="utf-8", newline="\n") as file:
                file.write(text + "\n")


def mute(stream: TextIO) -> None:
    """From now on the stream takes anything, and nothing comes of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _printable(text: str, encoding: str | None) -> str:
    """The text with what the console cannot show replaced, so that no result is lost to an encoding."""
    encoding = encoding or "ascii"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


class TrainingDisplay:
    """One progress line while training, and a row of numbers at each validation.

    Args:
        terminal: where to.
        budget: how far the run is.
        right: what the first validation source may become; its translation is shown at each validation. Empty: none.
        scores: the names of those in the last columns.
        expected_seconds: of the whole training; None: not known.
        num_threads: that compute.
    """

    def __init__(
        self,
        terminal: Terminal,
        budget: "Budget",
        right: Sequence[str],
        scores: Sequence[str] = ("exact_match", "bleu"),
        *,
        expected_seconds: float | None = None,
        num_threads: int = 1,
    ) -> None:
        self.terminal = terminal
        self.budget = budget
        self.right = right
        self.scores = scores
        self.expected_seconds = expected_seconds
        self.num_threads = num_threads
        self._of_processor = time.process_time()  # seconds of this process, all threads
        self._train_loss = "-"  # none logged so far
        self._has_head = False
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[left]} left  loss {task.fields[loss]}"),
            console=terminal.stderr,
            transient=True,
            disable=not terminal.stderr.is_terminal,
        )
        self._task = self._progress.add_task("starting", total=1.0, left="-:--", loss="-")

    def __enter__(self) -> "TrainingDisplay":
        """The progress line appears."""
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """The progress line is taken away."""
        self._progress.stop()

    def training(self, step: int, numbers: dict[str, float]) -> None:
        """The progress line after this many optimiser steps."""
        self._train_loss = f"{numbers['train/loss']:.3f}"
        done = self.budget.progress(step)
        left = clock(self.budget.seconds / done * (1 - done)) if done else "-:--"
        self._progress.update(
            self._task, description=f"step {step:,}", completed=done, left=left, loss=self._train_loss
        )
        self._say_if_slow(done)

    def _say_if_slow(self, done: float) -> None:
        """Once, where the run takes far longer than its first steps let expect."""
        seconds = self.budget.seconds
        expected = self.expected_seconds
        if expected is None or seconds < max(SOON, SLOW * expected * done):
            return
        self.expected_seconds, num_cores = None, (time.process_time() - self._of_processor) / seconds
        share = f"it gets {num_cores:.1f} of {self.num_threads} cores"
        is_crowded = num_cores < CROWDED * self.num_threads
        self.terminal.say(
            f"  slow: {done:.0%} after {clock(seconds)}, {clock(expected * done)} expected; {share}.\n    "
            + (
                "Close other programs, or stop it with Ctrl-C and go on later with resume=RUN"
                if is_crowded
                else "Either validations take the time (see report.html), or the cores are slow"
            )
        )

    def validation(self, step: int, scores: dict[str, float], hypotheses: Sequence[str]) -> None:
        """A row of numbers, and below it what the model makes of the first sample."""
        if not self.right or not scores:
            return
        labels = [SCORES[name].label.removesuffix(" match") for name in self.scores]
        widths = [7, 8, 12, 10, 12, *(max(len(label), 4) + 3 for label in labels)]
        head = ["step", "time", "train loss", "val loss", "token acc.", *labels]
        row = [f"{step:,}", clock(self.budget.seconds), self._train_loss]
        row += [f"{scores[f'val/{name}']:.3f}" for name in ("loss", "token_accuracy")]
        row += [SCORES[name].form.format(scores[f"val/{name}"]) for name in self.scores]
        for cells in [row] if self._has_head else [head, row]:
            self.terminal.say("".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
        self._has_head = True
        mark = "=" if hypotheses[0] in self.right else "~"
        self.terminal.say(shortened(f"        {mark} {hypotheses[0]}"))


def clock(seconds: float) -> str:
    """Minutes and seconds, `1:05`, or hours too, `2:01:05`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def shortened(text: str, width: int = WIDTH) -> str:
    """The text cut to this many characters, with an ellipsis if anything is left out."""
    return text if len(text) <= width else text[: width - 3] + "..."


def command_line(command: str) -> str:
    """How a command is typed where this one was: in a checkout, or with the installed console command."""
    return f"seq2see {command}" if Path(sys.argv[0]).stem == "seq2see" else f"python scripts/{command}.py"


def about(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 90:
        return f"about {max(round(seconds / 5) * 5, 5)} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
