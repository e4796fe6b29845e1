"""A moving average of the weights, which is what is validated, scored and kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

KEY = "training_weights"  # in a checkpoint: what training goes on from; its `state_dict` is the average


class MovingAverage(Callback):
    """Averages the weights exponentially, float32 at least: half precision would lose what a step changes.

    (Lightning's own `EMAWeightAveraging` exchanges weights by hooks of its own, before a validation translates.)

    Args:
        decay: share of the average that each optimiser step leaves.

    Source:
        Polyak and Juditsky 1992; Izmailov et al. 2018 on its use with networks.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self._average: dict[str, torch.Tensor] = {}  # empty before the first step
        self._weights: dict[str, torch.Tensor] | None = None  # those of training, while the model holds the average

    def update(self, model: Transformer) -> None:
        """Takes the new weights in after an optimiser step."""
        for name, value in model.state_dict().items():
            new = value.to(torch.promote_types(value.dtype, torch.float32))
            old = self._average.get(name)
            self._average[name] = new.clone() if old is None else torch.lerp(old.to(new.device), new, 1 - self.decay)

    @contextmanager
    def in_place(self, model: Transformer) -> Iterator[None]:
        """While this lasts the model has the average in the place of its weights; both are saved as ever."""
        self._weights = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(self._average)
        try:
            yield
        finally:
            model.load_state_dict(self._weights)
            self._weights = None

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps both: the average as the model, the weights to go on from."""
        assert isinstance(pl_module, TrainingModule)
        weights = pl_module.model.state_dict() if self._weights is None else self._weights
        checkpoint[KEY] = {f"model.{name}": value for name, value in weights.items()}
        average = {f"model.{name}": value for name, value in self._average.items()}
        checkpoint["state_dict"] = {**checkpoint["state_dict"], **average}

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Both again."""
        assert isinstance(pl_module, TrainingModule)
        model, state = pl_module.model, checkpoint["state_dict"]
        names = model.state_dict()
        if checkpoint["global_step"]:
            self._average = {name: state[f"model.{name}"] for name in names}
        model.load_state_dict({name: checkpoint[KEY][f"model.{name}"] for name in names})
