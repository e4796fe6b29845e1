"""The LightningModule: a batch becomes a loss, and a validation becomes scores."""

from collections.abc import Iterable
from typing import Any

import lightning as L
import torch
from torch import Tensor, nn

from seq2see.data import Batch
from seq2see.decoding import LengthLimit, teacher_forced
from seq2see.evaluation import References, SentenceCounts
from seq2see.options import DecodeOptions, OptimOptions
from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.objective import NotFinite, objective_of
from seq2see.transformer import Transformer


def epoch_of(trainer: L.Trainer) -> int:
    """The 0-based number of the epoch that the last batch is of, also where a run goes on from its end."""
    return max(trainer.fit_loop.total_batch_idx, 0) // max(int(trainer.num_training_batches), 1)


class TrainingModule(L.LightningModule):
    """Trains a `Transformer`; every number it reports is per real token, however the pairs were batched.

    Args:
        model: the model.
        optim: AdamW, its learning rate, and label smoothing; nothing is left open.
        decode: how a validation translates.
        accumulate_grad_batches: micro-batches an optimiser step.
        budget: when the run ends; the learning rate follows it.
        references: of the validation pairs, and which of them each validation translates freely; None: no validation.
        length_limit: how long a translation may get.
        about: what stands in each checkpoint beside the weights, plain values.
    """

    def __init__(
        self,
        model: Transformer,
        optim: OptimOptions,
        decode: DecodeOptions,
        *,
        accumulate_grad_batches: int,
        budget: Budget,
        references: References | None,
        length_limit: LengthLimit,
        about: dict[str, Any],
    ) -> None:
        super().__init__()
        self.model = model
        self.optim = optim
        self.decode = decode
        self.accumulate_grad_batches = accumulate_grad_batches
        self.budget = budget
        self.references = references
        self.length_limit = length_limit
        self.about = about
        self.tokens_trained = 0  # real target tokens, in this process
        self.tokens_since_log = 0  # of these, since `take_train_loss` was called
        self._loss_sum: Tensor | float = 0.0  # their nats
        self._step_tokens: list[int] = []  # of the micro-batches of this optimiser step
        self._step_ids: list[Tensor] = []

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The objective of one micro-batch, scaled so that the optimiser step is a mean over all its tokens."""
        result = objective_of(self.model, batch, smoothing=self.optim.label_smoothing or 0.0)
        self._loss_sum += result.loss
        self.tokens_since_log += result.tokens
        self.tokens_trained += result.tokens
        self._step_tokens.append(result.tokens)
        self._step_ids.append(batch.ids)
        # Lightning divides by accumulate_grad_batches; on_before_optimizer_step mends the rest.
        return result.objective / self._step_tokens[0] * self.accumulate_grad_batches

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """From gradients per token of the first micro-batch to gradients per token of the whole step."""
        first, total = self._step_tokens[0], sum(self._step_tokens)
        self._step_tokens.clear()
        if total != first:
            for parameter in self.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(first / total)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips, and lets no gradient through to the weights that is not finite.

        Raises:
            NotFinite: it is not, and no loss scaling (`trainer.precision=16-mixed`) is there to skip the step.
        """
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
        ids, self._step_ids = self._step_ids, []
        if self.trainer.precision != "16-mixed" and not (norm + self._loss_sum).isfinite():
            raise NotFinite(self.global_step, torch.cat(ids).tolist())
        if gradient_clip_val and gradient_clip_algorithm == "value":
            nn.utils.clip_grad_value_(parameters, gradient_clip_val)
        elif gradient_clip_val:
            nn.utils.clip_grads_with_norm_(parameters, gradient_clip_val, norm)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Sets the learning rate of the coming optimiser step.

        (A LambdaLR would take it from the checkpoint, where `optim.lr` may have been changed, and knows no clock.)
        """
        optim = self.optim
        assert optim.lr is not None and optim.warmup_steps is not None
        step = self.global_step
        factor = learning_rate_factor(
            optim.schedule, step=step, warmup_steps=optim.warmup_steps, progress=self.budget.planned(step)
        )
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = optim.lr * factor

    def take_train_loss(self) -> float:
        """Mean unsmoothed loss, nats a token, over the tokens since the last call."""
        loss = float(self._loss_sum) / max(self.tokens_since_log, 1)
        self._loss_sum, self.tokens_since_log = 0.0, 0
        return loss

    def unlogged(self) -> dict[str, float]:
        """What `take_train_loss` has not taken yet, for a checkpoint."""
        return {"loss_sum": float(self._loss_sum), "token_sum": self.tokens_since_log}

    def load_unlogged(self, unlogged: dict[str, float]) -> None:
        """Goes on from what `unlogged` gave."""
        self._loss_sum, self.tokens_since_log = unlogged["loss_sum"], int(unlogged["token_sum"])

    def validate(self, batches: Iterable[Batch]) -> tuple[dict[str, float], list[str]]:
        """The scores under their full names, and the free translations: both are those of an evaluation.

        Args:
            batches: of the validation pairs.
        """
        assert self.references is not None
        with self.trainer.precision_plugin.val_step_context():
            forced = teacher_forced(self.model, batches)
        groups = self.references.groups
        if len(forced.ids) < sum(map(len, groups)):  # trainer.limit_val_batches
            groups = [[place] for place in range(len(forced.ids))]
        _, hypotheses = self.references.translated(self.model, limit=self.length_limit, decode=self.decode)
        free, _ = self.references.scorer.counts(hypotheses)
        scores = SentenceCounts(forced.columns(groups)).scores() | free.scores()
        return {f"val/{name}": value for name, value in scores.items()}, hypotheses

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW; embeddings, normalisations and biases are not decayed."""
        optim = self.optim
        assert optim.lr is not None
        not_matrices = {
            id(parameter)
            for module in self.model.modules()
            if not isinstance(module, nn.Linear) or module is self.model.output_proj
            for parameter in module.parameters(recurse=False)
        }
        decayed, others = [], []
        for parameter in self.model.parameters():
            is_matrix = parameter.ndim == 2 and id(parameter) not in not_matrices
            (decayed if is_matrix else others).append(parameter)
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": optim.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=optim.lr, betas=(optim.betas[0], optim.betas[1]), fused=True)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Makes the checkpoint self-contained."""
        checkpoint["seq2see"] = self.about
