"""When a run validates, which validation is the best so far, and when it is at an end."""

import sys
from typing import Any, NamedTuple

import lightning as L
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.options import LOWER_IS_BETTER
from seq2see.training.budget import Budget
from seq2see.training.module import TrainingModule


class Pace(Callback):
    """Says when to validate and when to stop: in optimiser steps, or without a limit of them in elapsed time.

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
        self.due: int | None = None  # the step after which a validation was asked for that has not ended yet
        self._validations_done = 0
        self._last_step = 0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The budget's clock starts or goes on, and Lightning's own validation times are switched off."""
        self.budget.start()
        reached = int(self.budget.planned(trainer.global_step) * self.num_validations + 1e-9)
        self._validations_done = min(self._validations_done, reached)  # a run that is made longer has more to come
        self._last_step = trainer.global_step
        trainer.val_check_batch = sys.maxsize

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Asks Lightning for a validation after this batch, or for the end, which validates too."""
        step = trainer.global_step
        if step == self._last_step:
            return  # gradients are still being accumulated
        self._last_step = step
        due = self._is_due(step)
        if self.budget.progress(step) >= 1:
            trainer.should_stop = due = True
        trainer.val_check_batch = 1 if due else sys.maxsize
        self.due = step if due else None

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """What was due is done."""
        self.due = None
        trainer.val_check_batch = sys.maxsize  # not again while gradients are being accumulated

    def state_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"seconds": self.budget.seconds, "due": self.due, "validations_done": self._validations_done}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.budget.seconds_before = state_dict["seconds"]
        self.due, self._validations_done = state_dict["due"], state_dict["validations_done"]

    def _is_due(self, step: int) -> bool:
        if self.validate_every is not None:
            return step % self.validate_every == 0
        due = int(self.budget.planned(step) * self.num_validations + 1e-9)
        if due <= self._validations_done:
            return False
        self._validations_done = due
        return True


class Best(NamedTuple):
    """The best validation so far.

    Args:
        step: optimiser steps done.
        score: the one that chooses.
        loss: `val/loss`, which decides between equal scores.
    """

    step: int
    score: float
    loss: float = float("inf")  # checkpoints of earlier versions do not have it

    def order(self, select: str) -> tuple[float, float]:
        """What is greater the better a validation is: by the score, then by the loss."""
        return -self.score if select in LOWER_IS_BETTER else self.score, -self.loss


class Selection(Callback):
    """Which validation is best, and whether patience is at an end, which stops the run.

    Of equal scores the lower loss is the better one, and progress: scores such as `exact_match` may stay at 0 for long.

    Args:
        select: the score that chooses, without `val/`.
        patience: validations without progress before stopping; None: never.
    """

    def __init__(self, select: str, *, patience: int | None) -> None:
        self.select = select
        self.patience = patience
        self.best: Best | None = None
        self.improved = False  # by the last validation
        self._waited = 0

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Compares, and stops the run when its patience is at an end."""
        assert isinstance(pl_module, TrainingModule)
        scores = pl_module.scores
        new = Best(trainer.global_step, scores[f"val/{self.select}"], scores["val/loss"])
        self.improved = self.best is None or new.order(self.select) > self.best.order(self.select)
        if self.improved:
            self.best, self._waited = new, 0
        else:
            self._waited += 1
        if self.patience is not None and self._waited >= self.patience:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"best": None if self.best is None else list(self.best), "waited": self._waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.best = None if state_dict["best"] is None else Best(*state_dict["best"])
        self._waited = state_dict["waited"]
