"""Numbers and samples of a run, as they come: to the loggers, to the terminal and to `samples.jsonl`."""

import json
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.training.module import TrainingModule, epoch_of


class LogMetrics(Callback):
    """Writes the numbers of training and validation to the loggers; a step is the number of optimiser steps done.

    Args:
        every_n_steps: optimiser steps between rows.
        report: called with step and numbers of each training row.
    """

    def __init__(self, *, every_n_steps: int, report: Callable[[int, dict[str, float]], None]) -> None:
        self.every_n_steps = every_n_steps
        self.report = report
        self._step = 0
        self._since = time.monotonic()

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The clock of the first row starts."""
        self._step = trainer.global_step
        self._since = time.monotonic()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """A row of training numbers, at the steps that are due."""
        assert isinstance(pl_module, TrainingModule)
        step = trainer.global_step
        if step == self._step or step % self.every_n_steps:
            return
        self._step = step
        seconds, tokens = time.monotonic() - self._since, pl_module.tokens_since_log
        numbers = {
            "lr": trainer.optimizers[0].param_groups[0]["lr"],
            "train/loss": pl_module.take_train_loss(),
            "train/tokens_per_second": round(tokens / max(seconds, 1e-9)),
        }
        self._since = time.monotonic()
        _log(trainer, numbers)
        self.report(step, numbers)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A row of validation numbers."""
        assert isinstance(pl_module, TrainingModule)
        _log(trainer, pl_module.scores)
        self._since = time.monotonic()  # validation is not training time


def _log(trainer: L.Trainer, numbers: dict[str, float]) -> None:
    for logger in trainer.loggers:
        logger.log_metrics({**numbers, "epoch": epoch_of(trainer)}, step=trainer.global_step)


class ReportValidation(Callback):
    """Passes each validation's step, scores and translations on.

    Args:
        report: called with step, scores by their full names, and the samples' translations.
    """

    def __init__(self, report: Callable[[int, dict[str, float], list[str]], None]) -> None:
        self.report = report

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Reports."""
        assert isinstance(pl_module, TrainingModule)
        self.report(trainer.global_step, pl_module.scores, pl_module.hypotheses)


class SamplesFile(Callback):
    """`samples.jsonl`: the first validation sources and targets, and what the model wrote, at each validation.

    Args:
        path: the file.
        num_samples: sources written each time, each with its first target.
    """

    def __init__(self, path: Path, *, num_samples: int = 10) -> None:
        self.path = path
        self.num_samples = num_samples

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Appends one line a sample."""
        assert isinstance(pl_module, TrainingModule) and pl_module.references is not None
        references = pl_module.references
        rows = zip(references.firsts, pl_module.hypotheses, strict=True)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            for first, hypothesis in islice(rows, self.num_samples):
                source, reference = references.sources[first], references.texts[first]
                line = {"step": trainer.global_step, "source": source, "reference": reference}
                file.write(json.dumps({**line, "hypothesis": hypothesis}, ensure_ascii=False) + "\n")
