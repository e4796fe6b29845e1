"""What happens around the training step: pacing, logging, samples, checkpoints and attention maps."""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.maps import AttentionLog
from seq2see.maps.ablation import head_effects
from seq2see.maps.capture import snapshot
from seq2see.maps.table import summary
from seq2see.options import LOWER_IS_BETTER
from seq2see.training.budget import Budget
from seq2see.training.loggers import MetricsFile
from seq2see.training.module import TrainingModule


class Pace(Callback):
    """Says when to validate and when to stop: in optimiser steps or elapsed time, whatever the epochs are.

    The last step always validates.

    Args:
        budget: when the run ends.
        validate_every: optimiser steps between validations; None: `num_validations`, evenly over the budget.
        num_validations: see there.
    """

    def __init__(self, budget: Budget, *, validate_every: int | None, num_validations: int = 6) -> None:
        self.budget = budget
        self.validate_every = validate_every
        self.num_validations = num_validations
        self._validations_done = 0
        self._last_step = 0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The budget's clock starts, and Lightning's own validation times are switched off."""
        self.budget.start()
        trainer.val_check_batch = sys.maxsize

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Asks Lightning for a validation after this batch, or for the end, which validates too."""
        step = trainer.global_step
        if step == self._last_step:
            return  # gradients are still being accumulated
        self._last_step = step
        if self.budget.progress(step) >= 1:
            trainer.should_stop = True
        trainer.val_check_batch = 1 if self._due(step) else sys.maxsize

    def _due(self, step: int) -> bool:
        if self.validate_every is not None:
            return step % self.validate_every == 0
        due = int(self.budget.progress(step) * self.num_validations + 1e-9)
        if due <= self._validations_done:
            return False
        self._validations_done = due
        return True


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
        logger.log_metrics({**numbers, "epoch": trainer.current_epoch}, step=trainer.global_step)


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
    """`samples.jsonl`: the first validation pairs and what the model wrote for them, at each validation.

    Args:
        path: the file.
        num_samples: pairs written each time.
    """

    def __init__(self, path: Path, *, num_samples: int = 10) -> None:
        self.path = path
        self.num_samples = num_samples

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Appends one line a sample."""
        assert isinstance(pl_module, TrainingModule)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            for pair, hypothesis in list(zip(pl_module.samples, pl_module.hypotheses, strict=True))[: self.num_samples]:
                line = {"step": trainer.global_step, "source": pair.source, "reference": pair.target}
                file.write(json.dumps({**line, "hypothesis": hypothesis}, ensure_ascii=False) + "\n")


class Checkpoints(Callback):
    """`last.ckpt` at every validation, `best.ckpt` when the chosen score is better than ever; early stopping.

    Args:
        folder: where they go.
        select: the score that chooses, without `val/`.
        patience: validations without progress before stopping; None: never.
        keep: newest checkpoints kept beside those two, as `step-00000400.ckpt`; None: none.
    """

    def __init__(self, folder: Path, *, select: str, patience: int | None, keep: int | None = None) -> None:
        self.folder = folder
        self.select = select
        self.patience = patience
        self.keep = keep
        self.best: tuple[int, float] | None = None  # step and score
        self._waited = 0

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Saves, and stops the run when its patience is at an end."""
        assert isinstance(pl_module, TrainingModule)
        score = pl_module.scores[f"val/{self.select}"]
        if self._is_better(score):
            self.best, self._waited = (trainer.global_step, score), 0
            trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)
        else:
            self._waited += 1
        trainer.save_checkpoint(self.folder / "last.ckpt")
        if self.keep is not None:
            trainer.save_checkpoint(self.folder / f"step-{trainer.global_step:08}.ckpt", weights_only=True)
            for old in sorted(self.folder.glob("step-*.ckpt"))[: -self.keep]:
                old.unlink()
        if self.patience is not None and self._waited >= self.patience:
            trainer.should_stop = True

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Without validation pairs the last is the best."""
        if self.best is None:
            trainer.save_checkpoint(self.folder / "last.ckpt")
            trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)

    def _is_better(self, score: float) -> bool:
        if self.best is None:
            return True
        return score < self.best[1] if self.select in LOWER_IS_BETTER else score > self.best[1]


class LogAttention(Callback):
    """Attention maps of fixed validation pairs, before the first step, at log-spaced steps and at every validation.

    What the model attends to is read at once; measuring and writing go on in a thread beside the training. Before the
    first step and at the last, what each head is worth is measured too.

    Args:
        log: where they are stored.
        batch: the pairs.
        every_n_steps: store at multiples of this many optimiser steps, and at the last, instead; None: as above.
    """

    def __init__(self, log: AttentionLog, batch: Batch, *, every_n_steps: int | None) -> None:
        self.attention_log = log
        self.batch = batch
        self.every_n_steps = every_n_steps
        self._stored = -1
        self._writer: ThreadPoolExecutor | None = None
        self._written: Future[tuple[int, dict[str, float]]] | None = None

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The untrained model's maps."""
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="attention-log")
        self._store(trainer, pl_module, {}, is_last=False)

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Maps at the steps that are due."""
        step = trainer.global_step
        if self.every_n_steps is None:
            due, is_last = step & (step - 1) == 0, False  # the last step is validated
        else:
            due, is_last = step % self.every_n_steps == 0 or trainer.should_stop, trainer.should_stop
        if due:
            self._store(trainer, pl_module, {}, is_last=is_last)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Maps with this validation's scores."""
        assert isinstance(pl_module, TrainingModule)
        if self.every_n_steps is None:
            self._store(trainer, pl_module, pl_module.scores, is_last=trainer.should_stop)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Waits until everything is written."""
        self._await_writer(trainer)
        if self._writer is not None:
            self._writer.shutdown()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """What is being written is finished, so that an interrupted run leaves a whole log."""
        if self._writer is not None:
            self._writer.shutdown()

    def _store(
        self, trainer: L.Trainer, pl_module: L.LightningModule, scores: dict[str, float], *, is_last: bool
    ) -> None:
        assert isinstance(pl_module, TrainingModule) and self._writer is not None
        step = trainer.global_step
        if step == self._stored and not scores:
            return
        self._stored = step
        model, tokenizer = pl_module.model, pl_module.target_tokenizer
        maps, hypotheses = snapshot(model, self.batch, limit=pl_module.length_limit)
        effects = head_effects(model, self.batch) if step == 0 or is_last else None
        epoch = trainer.current_epoch
        texts = [tokenizer.decode(said.ids) for said in hypotheses]
        labels = [[*tokenizer.tokens(said.ids), *["<eos>"] * said.ended] for said in hypotheses]

        def write() -> tuple[int, dict[str, float]]:
            self.attention_log.append(
                step,
                maps,
                epoch=epoch,
                scores=scores,
                hypotheses=texts,
                hypothesis_tokens=labels,
                effects=effects,
            )
            return step, summary([row for row in self.attention_log.measures() if row.step == step])

        self._await_writer(trainer)
        self._written = self._writer.submit(write)

    def _await_writer(self, trainer: L.Trainer) -> None:
        """Waits for the last step's files, and gives its numbers to the loggers under that step."""
        if self._written is None:
            return
        step, numbers = self._written.result()
        self._written = None
        for logger in trainer.loggers:
            if not isinstance(logger, MetricsFile):  # its rows are over; `attention/metrics.csv` has all of them
                logger.log_metrics(numbers, step=step)
