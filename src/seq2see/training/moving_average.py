"""A moving average of the weights, which is what is validated, scored and kept."""

from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch.optim.swa_utils import AveragedModel

from seq2see.data import Batch
from seq2see.training.module import TrainingModule

KEY = "training_weights"  # in a checkpoint: what training goes on from; its `state_dict` is the average
NUM_AVERAGED = "num_averaged"


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
        self._average: AveragedModel | None = None
        self._weights: dict[str, torch.Tensor] | None = None  # those of training, while the module holds the average
        self._step = 0

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Begins with the weights as they are."""
        assert isinstance(pl_module, TrainingModule)
        share = 1 - self.decay
        self._average = AveragedModel(
            pl_module.model, avg_fn=lambda average, new, _: torch.lerp(average, new.to(average.dtype), share)
        )
        self._average.to(torch.promote_types(pl_module.model.output_proj.weight.dtype, torch.float32))

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The average goes where the weights are."""
        assert self._average is not None
        self._average.to(pl_module.device)
        self._step = trainer.global_step

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Takes the new weights in after each optimiser step."""
        assert isinstance(pl_module, TrainingModule) and self._average is not None
        if trainer.global_step > self._step:
            self._step = trainer.global_step
            self._average.update_parameters(pl_module.model)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The average takes the place of the weights."""
        self._put(pl_module, in_place=True)

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """The weights come back."""
        self._put(pl_module, in_place=False)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Without a validation too, the average is what is kept."""
        self._put(pl_module, in_place=True)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps both: the average as the model, the weights to go on from."""
        assert isinstance(pl_module, TrainingModule) and self._average is not None
        weights = pl_module.model.state_dict() if self._weights is None else self._weights
        average = {f"model.{name}": value for name, value in self._average.module.state_dict().items()}
        checkpoint["state_dict"] = {**checkpoint["state_dict"], **average}
        checkpoint[KEY] = {f"model.{name}": value for name, value in weights.items()}
        checkpoint[NUM_AVERAGED] = self._average.n_averaged

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Both again."""
        assert isinstance(pl_module, TrainingModule) and self._average is not None
        self._average.module.load_state_dict(_of_model(checkpoint["state_dict"]))
        self._average.n_averaged.copy_(checkpoint[NUM_AVERAGED])
        pl_module.model.load_state_dict(_of_model(checkpoint[KEY]))

    @torch.no_grad()
    def _put(self, pl_module: L.LightningModule, *, in_place: bool) -> None:
        assert isinstance(pl_module, TrainingModule) and self._average is not None
        if in_place and self._weights is None:
            self._weights = {name: value.clone() for name, value in pl_module.model.state_dict().items()}
            pl_module.model.load_state_dict(self._average.module.state_dict())
        elif not in_place and self._weights is not None:
            pl_module.model.load_state_dict(self._weights)
            self._weights = None


def _of_model(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A module's state as its model's own."""
    return {name.removeprefix("model."): value for name, value in state.items() if name.startswith("model.")}
