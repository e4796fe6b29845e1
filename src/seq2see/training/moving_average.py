"""A moving average of the weights, which is what is validated, scored and kept."""

from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

KEY = "training_weights"  # in a checkpoint: what training goes on from; its `state_dict` is the average


class MovingAverage(Callback):
    """Averages the weights exponentially, and puts the average in their place from a validation to the next batch.

    So whoever looks at the model when a validation ends, and what is saved then, has the average.
    (Lightning's own `EMAWeightAveraging` takes the weights back before the module translates its samples.)
    The average is float32 at least: half precision would lose what a step changes in it.

    Args:
        decay: share of the average that each optimiser step leaves.

    Source:
        Polyak and Juditsky 1992; Izmailov et al. 2018 on its use with networks.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self._average: dict[str, torch.Tensor] = {}  # empty before the first step
        self._weights: dict[str, torch.Tensor] | None = None  # those of training, while the model holds the average
        self._step = 0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The average goes where the weights are."""
        self._average = {name: value.to(pl_module.device) for name, value in self._average.items()}
        self._step = trainer.global_step

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Takes the new weights in after each optimiser step."""
        if trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        for name, value in _model_of(pl_module).state_dict().items():
            new = value.to(torch.promote_types(value.dtype, torch.float32))
            old = self._average.get(name)
            self._average[name] = new.clone() if old is None else torch.lerp(old, new, 1 - self.decay)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The average takes the place of the weights."""
        if self._average and self._weights is None:
            model = _model_of(pl_module)
            self._weights = {name: value.clone() for name, value in model.state_dict().items()}
            model.load_state_dict(self._average)

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """The weights come back."""
        if self._weights is not None:
            _model_of(pl_module).load_state_dict(self._weights)
            self._weights = None

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Without a validation too, the average is what is kept."""
        self.on_validation_start(trainer, pl_module)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps both: the average as the model, the weights to go on from."""
        weights = _model_of(pl_module).state_dict() if self._weights is None else self._weights
        checkpoint[KEY] = {f"model.{name}": value for name, value in weights.items()}
        average = {f"model.{name}": value for name, value in self._average.items()}
        checkpoint["state_dict"] = {**checkpoint["state_dict"], **average}

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Both again."""
        model, state = _model_of(pl_module), checkpoint["state_dict"]
        names = model.state_dict()
        if checkpoint["global_step"]:
            self._average = {name: state[f"model.{name}"] for name in names}
        model.load_state_dict({name: checkpoint[KEY][f"model.{name}"] for name in names})


def _model_of(module: L.LightningModule) -> Transformer:
    assert isinstance(module, TrainingModule)
    return module.model
