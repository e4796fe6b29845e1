"""What happens between the steps of a run: numbers, maps, validations, checkpoints, and when it ends."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch, Loader
from seq2see.options import SCORES
from seq2see.ranks import num_ranks, rank, summed
from seq2see.training.budget import Budget
from seq2see.training.checkpoints import random_state, require_state, set_random_state
from seq2see.training.log_attention import LogAttention
from seq2see.training.module import TrainingModule, epoch_of
from seq2see.training.moving_average import MovingAverage
from seq2see.training.objective import NotFinite

KEY = "training"  # in a checkpoint: what Lightning does not keep of a run that goes on
SECONDS_BETWEEN = 300.0  # a run that validates less often still loses no more than this
NUM_SAMPLES = 10  # sources of each validation in `samples.jsonl`, each with its first target


class Stopped(Exception):
    """The run was asked to stop, and has left a checkpoint to go on from."""


@dataclass(eq=False)
class ValidationSchedule(Callback):
    """When to validate: in optimiser steps, or in a run without a limit of them in its seconds.

    (Lightning's `val_check_interval` counts micro-batches, and an epoch's last step may have fewer of them.)

    Without `every` there are `num_validations` of them, evenly over the budget; either way there is one at its end.
    """

    state_key = "Pace"  # pyright: ignore[reportAssignmentType]  # in checkpoints, from an earlier name

    budget: Budget  # when the run ends
    every: int | None = None  # optimiser steps between validations
    num_validations: int = 6
    due: int | None = None  # the step whose validation is due, and has not ended yet
    _reached: int = 0  # of `num_validations`

    def start(self, step: int) -> None:
        """The budget's clock starts, or goes on, after this many optimiser steps."""
        self.budget.start()
        self._reached = self._share(step)

    def advance(self, step: int) -> bool:
        """Whether a validation is due after this many optimiser steps."""
        before, self._reached = self._reached, self._share(step)
        at_pace = self._reached > before if self.every is None else step % self.every == 0
        self.due = step if at_pace or self.budget.progress(step) >= 1 else None
        return self.due is not None

    def _share(self, step: int) -> int:
        return int(self.budget.planned(step) * self.num_validations + 1e-9)

    def state_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"seconds": self.budget.seconds, "due": self.due, "validations_done": self._reached}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.budget.seconds_before, self.due = state_dict["seconds"], state_dict["due"]


class Best(NamedTuple):
    """The best validation so far."""

    step: int  # optimiser steps done
    score: float  # the one that chooses
    loss: float = float("inf")  # `val/loss`, which decides between equal scores

    def order(self, select: str) -> tuple[float, float]:
        """What is greater the better a validation is: by the score, then by the loss."""
        return -self.score if SCORES[select].lower_is_better else self.score, -self.loss


@dataclass(eq=False)
class BestCheckpoint(Callback):
    """Which validation is best, and whether patience is at an end.

    Of equal scores the lower loss is the better one, and progress: scores such as `exact_match` may stay at 0 for long.
    (Lightning's ModelCheckpoint and EarlyStopping look at one number each.)
    """

    state_key = "Selection"  # pyright: ignore[reportAssignmentType]  # in checkpoints, from an earlier name

    select: str  # the score that chooses, without `val/`
    patience: int | None = None  # validations without progress before stopping; None: never
    best: Best | None = None
    _waited: int = 0

    def update(self, step: int, scores: dict[str, float]) -> bool:
        """Whether a validation is better than all before it."""
        new = Best(step, scores[f"val/{self.select}"], scores["val/loss"])
        if self.best is not None and new.order(self.select) <= self.best.order(self.select):
            self._waited += 1
            return False
        self.best, self._waited = new, 0
        return True

    @property
    def is_out_of_patience(self) -> bool:
        """Whether the run is to stop."""
        return self.patience is not None and self._waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"best": None if self.best is None else list(self.best), "waited": self._waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.best = None if state_dict["best"] is None else Best(*state_dict["best"])
        self._waited = state_dict["waited"]


@dataclass(eq=False)
class BetweenSteps(Callback):
    """What a run does after each optimiser step, in this order: numbers, maps, validation, checkpoint.

    It validates by itself, and not in Lightning's loop: that would begin a validation after another number of steps
    than was asked for, not at the end, and in a run that goes on not again where it was stopped. It writes `last.ckpt`
    before the first step, at every validation, every few minutes and when the run is asked to stop; by then everything
    up to this step is in the other files. So it must be the last of the callbacks.
    """

    folder: Path  # of the checkpoints
    samples: Path  # `samples.jsonl`
    valid: Loader | None  # the validation batches; None: no validation
    schedule: ValidationSchedule  # when it validates, and ends
    best: BestCheckpoint  # which validation is the best
    average: MovingAverage | None  # what is validated and kept in the place of the weights; None: they are
    attention: LogAttention | None  # where maps go; None: nowhere
    log_every_n_steps: int  # optimiser steps between rows of numbers
    limit_val_batches: int | float  # how many batches are validated: a number, or a share of them
    keep: int | None  # newest checkpoints kept beside best and last; None: none
    stop_requested: Callable[[], bool]  # whether somebody wants the run to stop
    report_training: Callable[[int, dict[str, float]], None]  # takes step and numbers of each row of them
    report_validation: Callable[[int, dict[str, float], list[str]], None]  # step, scores, and the translations

    goes_on: bool = False  # whether all is restored that the run goes on from
    _finished: bool = False
    _restored: dict[str, Any] | None = None
    _step: int = 0
    _saved: float = 0.0  # when the last checkpoint was written, seconds of the budget
    _asked: bool = False  # whether one of several processes has been asked to stop
    _since: float = 0.0  # when the last numbers were, pauses left out

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Goes on where the checkpoint stopped, with its validation if that was it; or saves the untrained model."""
        assert isinstance(pl_module, TrainingModule)
        self._step = step = trainer.global_step
        self.schedule.start(step)
        self._saved = self.schedule.budget.seconds
        if self._restored is None:
            if self.attention is not None:
                self.attention.store(trainer, pl_module, {}, is_last=False)
            self._save(trainer)
        else:
            set_random_state(self._restored["random"])
            pl_module.load_unlogged(self._restored["unlogged"])
            require_state(trainer, step=self._restored["step"])
            self.goes_on = True
            trainer.should_stop = self.schedule.budget.progress(step) >= 1
            if self.valid is not None and (self.schedule.due == step or trainer.should_stop):
                self._validate(trainer, pl_module, self.valid)
        self._since = time.monotonic()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """After an epoch's last batch Lightning has yet to count the epoch: only then a run can go on from there."""
        if batch_idx + 1 < trainer.num_training_batches:
            self._after_batch(trainer, pl_module)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """It is counted."""
        self._after_batch(trainer, pl_module)

    def _after_batch(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        assert isinstance(module, TrainingModule)
        step = trainer.global_step
        if step == self._step:
            return  # gradients are still being accumulated
        self._step = step
        if num_ranks() > 1:
            self.schedule.budget.agree()
            self._asked = summed(self.stop_requested()) != [0]
        if self.average is not None:
            self.average.update(module.model)
        if step % self.log_every_n_steps == 0:
            self._log_training(trainer, module)
        begin = time.monotonic()
        is_due = self.schedule.advance(step)
        trainer.should_stop = is_last = self.schedule.budget.progress(step) >= 1
        with_scores = is_due and self.attention is not None and self.attention.every_n_steps is None
        if self.attention is not None and not with_scores and self.attention.is_due(step, is_last=is_last):
            self.attention.store(trainer, module, {}, is_last=is_last)
        self.stop_if_requested(trainer)
        if is_due and self.valid is not None:
            self._validate(trainer, module, self.valid)
        elif self.schedule.budget.seconds - self._saved > SECONDS_BETWEEN:
            self._save(trainer)
        self._since += time.monotonic() - begin

    def _log_training(self, trainer: L.Trainer, module: TrainingModule) -> None:
        seconds, tokens = time.monotonic() - self._since, module.tokens_since_log
        numbers = {
            "lr": trainer.optimizers[0].param_groups[0]["lr"],
            "train/loss": module.take_train_loss(),
            "train/tokens_per_second": round(tokens / max(seconds, 1e-9)),
        }
        self._since = time.monotonic()
        _log(trainer, numbers)
        self.report_training(self._step, numbers)

    def _validate(self, trainer: L.Trainer, module: TrainingModule, valid: Loader) -> None:
        step = self._step
        profiler = trainer.profiler  # pyright: ignore[reportAttributeAccessIssue]  # is set outside of its class
        with profiler.profile("validation"), self._average_in_place(module):
            scores, translations = module.validate(self._until_stopped(trainer, valid))
            self.schedule.due = None
            _log(trainer, scores)
            self.report_validation(step, scores, translations)
            if rank() == 0:
                self._write_samples(module, translations)
            is_best = self.best.update(step, scores)
            trainer.should_stop |= self.best.is_out_of_patience
            if self.attention is not None and self.attention.every_n_steps is None:
                self.attention.store(trainer, module, scores, is_last=trainer.should_stop)
            if is_best:
                trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)
            if self.keep is not None:
                trainer.save_checkpoint(self.folder / f"step-{step:08}.ckpt", weights_only=True)
                for old in sorted(self.folder.glob("step-*.ckpt"))[: -self.keep] if rank() == 0 else ():
                    old.unlink()
        self._finished = trainer.should_stop
        self._save(trainer)

    def _until_stopped(self, trainer: L.Trainer, valid: Loader) -> Iterator[Batch]:
        limit = self.limit_val_batches
        for batch in islice(valid, limit if isinstance(limit, int) else max(int(limit * len(valid)), 1)):
            self.stop_if_requested(trainer)  # it is due again then
            yield batch

    def _write_samples(self, module: TrainingModule, translations: list[str]) -> None:
        references = module.references
        assert references is not None
        with self.samples.open("a", encoding="utf-8", newline="\n") as file:
            for first, hypothesis in islice(zip(references.firsts, translations, strict=True), NUM_SAMPLES):
                source, reference = references.sources[first], references.texts[first]
                line = {"step": self._step, "source": source, "reference": reference, "hypothesis": hypothesis}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Without a validation the last is the best."""
        assert isinstance(pl_module, TrainingModule)
        if self.best.best is None:
            with self._average_in_place(pl_module):
                trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)
            self._finished = True
            self._save(trainer)

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """A step that failed leaves the weights before it, to look into."""
        if isinstance(exception, NotFinite):
            trainer.save_checkpoint(self.folder / "failed.ckpt", weights_only=True)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Adds what Lightning does not keep."""
        assert isinstance(pl_module, TrainingModule)
        checkpoint[KEY] = {"random": random_state(), "unlogged": pl_module.unlogged(), "finished": self._finished}

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps it until training starts."""
        self._restored = {**checkpoint[KEY], "step": checkpoint["global_step"]}

    def stop_if_requested(self, trainer: L.Trainer) -> None:
        """Leaves a checkpoint and raises `Stopped`, if somebody wants the run to stop, in all its processes."""
        if self._asked if num_ranks() > 1 else self.stop_requested():
            self._save(trainer)
            raise Stopped

    def _average_in_place(self, module: TrainingModule) -> AbstractContextManager[None]:
        return nullcontext() if self.average is None else self.average.in_place(module.model)

    def _save(self, trainer: L.Trainer) -> None:
        for logger in trainer.loggers:
            logger.save()
        trainer.save_checkpoint(self.folder / "last.ckpt")
        self._saved = self.schedule.budget.seconds


def _log(trainer: L.Trainer, numbers: dict[str, float]) -> None:
    for logger in trainer.loggers:
        logger.log_metrics({**numbers, "epoch": epoch_of(trainer)}, step=trainer.global_step)
