"""What a run leaves so that it can go on as if nothing had happened."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch, Loader
from seq2see.training.callbacks.pace import Pace, Selection
from seq2see.training.module import NotFinite, TrainingModule

KEY = "training"  # in a checkpoint: what Lightning does not keep of a run that goes on
SECONDS_BETWEEN = 300.0  # a run that validates less often still loses no more than this


class Stopped(Exception):
    """The run was asked to stop, and has left a checkpoint to go on from."""


class Checkpoints(Callback):
    """`last.ckpt` before the first step, at every validation and every few minutes; `best.ckpt` at the best validation.

    It must be the last of the callbacks: when it saves, everything up to this step is in the other files.

    Args:
        folder: where they go.
        pace: when the run validates.
        selection: which validation is the best.
        keep: newest checkpoints kept beside those two, as `step-00000400.ckpt`; None: none.
        asked: whether somebody wants the run to stop; looked at between optimiser steps.
    """

    def __init__(
        self,
        folder: Path,
        *,
        pace: Pace,
        selection: Selection,
        keep: int | None = None,
        asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.folder = folder
        self.pace = pace
        self.selection = selection
        self.keep = keep
        self.asked = asked
        self.goes_on = False  # whether all is restored that the run goes on from
        self._finished = False
        self._restored: dict[str, Any] | None = None
        self._step = 0
        self._saved = time.monotonic()

    @property
    def last(self) -> Path:
        """What a run goes on from."""
        return self.folder / "last.ckpt"

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Goes on where the checkpoint stopped, in its validation if that was it; or saves the untrained model."""
        assert isinstance(pl_module, TrainingModule)
        self._step = trainer.global_step
        if self._restored is None:
            self._save(trainer)
            return
        set_random_state(self._restored["random"])
        pl_module.load_unlogged(self._restored["unlogged"])
        _require_state(trainer, step=self._restored["step"])
        self.goes_on = True
        loader = trainer.train_dataloader
        if isinstance(loader, Loader) and loader.buckets.position >= trainer.num_training_batches:
            loader.buckets.position = len(loader.buckets)  # limit_train_batches: the rest of the epoch is left out
        trainer.should_stop = self.pace.budget.progress(trainer.global_step) >= 1
        if trainer.enable_validation and (self.pace.due == trainer.global_step or trainer.should_stop):
            trainer.validating = True
            trainer.fit_loop.epoch_loop.val_loop.restarting = False
            trainer.fit_loop.epoch_loop.val_loop.run()
            trainer.training = True

    def on_train_batch_start(self, trainer: L.Trainer, *args: object, **more: object) -> None:
        """Lightning does not count the epoch that begins where a run goes on from the end of one."""
        epochs: Any = trainer.fit_loop.epoch_progress
        if epochs.current.ready == epochs.current.processed:
            epochs.increment_ready()
            epochs.increment_started()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Between two optimiser steps: stops if asked to, and saves if that was long ago."""
        if trainer.global_step == self._step:
            return  # gradients are still being accumulated
        self._step = trainer.global_step
        self.stop_if_asked(trainer)
        if self.pace.due is None and time.monotonic() - self._saved > SECONDS_BETWEEN:
            self._save(trainer)

    def on_validation_batch_end(self, trainer: L.Trainer, *args: object, **more: object) -> None:
        """A validation that is stopped is due again."""
        self.stop_if_asked(trainer)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Saves."""
        self._finished = trainer.should_stop
        if self.selection.improved:
            trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)
        if self.keep is not None:
            trainer.save_checkpoint(self.folder / f"step-{trainer.global_step:08}.ckpt", weights_only=True)
            for old in sorted(self.folder.glob("step-*.ckpt"))[: -self.keep]:
                old.unlink()
        self._save(trainer)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Without a validation the last is the best."""
        if self.selection.best is None:
            self._finished = True
            trainer.save_checkpoint(self.folder / "best.ckpt", weights_only=True)
            self._save(trainer)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Adds what Lightning does not keep."""
        assert isinstance(pl_module, TrainingModule)
        checkpoint[KEY] = {
            "random": random_state(),
            "unlogged": pl_module.unlogged(),
            "finished": self._finished,
        }

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps it until training starts."""
        self._restored = {**checkpoint[KEY], "step": checkpoint["global_step"]}

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """A step that failed leaves the weights before it, to look into."""
        if isinstance(exception, NotFinite):
            trainer.save_checkpoint(self.folder / "failed.ckpt", weights_only=True)

    def stop_if_asked(self, trainer: L.Trainer) -> None:
        """Leaves a checkpoint and raises `Stopped`, if somebody wants the run to stop."""
        if self.asked():
            self._save(trainer)
            raise Stopped

    def _save(self, trainer: L.Trainer) -> None:
        for logger in trainer.loggers:
            logger.save()
        trainer.save_checkpoint(self.last)
        self._saved = time.monotonic()


def _require_state(trainer: L.Trainer, *, step: int) -> None:
    """Lightning and torch go on without loops, and with an optimiser's state that is not there or of other weights."""
    if trainer.global_step != step:
        raise ValueError(f"its loops are at step {trainer.global_step}, its weights at step {step}")
    for optimizer in trainer.optimizers if trainer.global_step else ():
        for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
            state = optimizer.state[parameter]
            if any(state[name].shape != parameter.shape for name in ("exp_avg", "exp_avg_sq")):
                raise ValueError("the optimiser's state is of other weights")


def random_state() -> dict[str, Any]:
    """The global generators' states, as plain values and tensors."""
    version, numbers, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Puts the global generators back where `random_state` saw them."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
