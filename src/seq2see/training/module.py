"""The LightningModule: a batch becomes a loss, and a validation becomes scores."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import lightning as L
import torch
from lightning.pytorch.strategies import FSDPStrategy
from torch import Tensor, nn
from torch.distributed.fsdp import FullyShardedDataParallel

from seq2see.data import Batch
from seq2see.decoding import LengthLimit, teacher_forced
from seq2see.evaluation import References, SentenceCounts
from seq2see.options import DecodeOptions, OptimOptions
from seq2see.ranks import gathered, num_ranks, sharing, summed
from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.objective import NotFinite, objective_of
from seq2see.transformer import Transformer

UNIT = 1_000  # target tokens that a gradient is per while a step of several processes does not know its own number


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
        self.tokens_trained = 0  # real target tokens, since this process began
        self.tokens_since_log = 0  # of these, since `take_train_loss` was called
        self._loss_sum: Tensor | float = 0.0  # their nats
        self._step_loss: Tensor | float = 0.0  # of this optimiser step, in this process
        self._step_tokens: list[int] = []  # of its micro-batches
        self._step_ids: list[Tensor] = []
        self._matrices = _matrices_of(model)  # once sharded, weights have lost their shapes

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The objective of one micro-batch, scaled so that the optimiser step is a mean over all its tokens."""
        result = objective_of(self.model, batch, smoothing=self.optim.label_smoothing or 0.0)
        self._step_loss += result.loss
        self._step_tokens.append(result.tokens)
        self._step_ids.append(batch.ids)
        # Lightning divides by accumulate_grad_batches; on_before_optimizer_step mends the rest.
        return result.objective / self._unit * self.accumulate_grad_batches

    @property
    def _unit(self) -> int:
        """What gradients are per until the step is whole: tokens of its first micro-batch, or what all ranks know."""
        return self._step_tokens[0] if num_ranks() == 1 else UNIT

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """From gradients per unit, a mean over the processes, to gradients per token of the whole step."""
        unit, tokens, loss = self._unit, sum(self._step_tokens), self._step_loss
        if num_ranks() > 1:
            loss, of_all = summed(loss, tokens)
            unit, tokens = unit * num_ranks(), int(of_all)
        self._loss_sum += loss
        self.tokens_since_log += tokens
        self.tokens_trained += tokens
        self._step_loss = 0.0
        self._step_tokens.clear()
        if tokens != unit:
            for parameter in self.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(unit / tokens)

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
        if self.is_sharded:
            norm = norm.new_tensor(summed(norm**2)[0] ** 0.5)
        ids, self._step_ids = self._step_ids, []
        if self.trainer.precision != "16-mixed" and not (norm + self._loss_sum).isfinite():  # on all ranks, or on none
            raise NotFinite(self.global_step, list(chain.from_iterable(gathered(torch.cat(ids).tolist()))))
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
        with sharing(), self.whole():
            with self.trainer.precision_plugin.val_step_context():
                forced = teacher_forced(self.model, batches)
            _, hypotheses = self.references.translated(self.model, limit=self.length_limit, decode=self.decode)
        groups = self.references.groups
        if len(forced.ids) < sum(map(len, groups)):  # trainer.limit_val_batches
            groups = [[place] for place in range(len(forced.ids))]
        free, _ = self.references.scorer.counts(hypotheses)
        scores = SentenceCounts(forced.columns(groups)).scores() | free.scores()
        return {f"val/{name}": value for name, value in scores.items()}, hypotheses

    @property
    def is_sharded(self) -> bool:
        """Whether each process holds a part of the weights alone, as under `trainer.strategy=fsdp`."""
        return isinstance(self.trainer.strategy, FSDPStrategy)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """While this lasts the model has all its weights in each process, to look at; all must enter it."""
        if not self.is_sharded:
            yield
            return
        sharded = self.trainer.model
        assert sharded is not None
        with FullyShardedDataParallel.summon_full_params(sharded, writeback=False):
            yield

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW; embeddings, normalisations and biases are not decayed."""
        optim = self.optim
        assert optim.lr is not None
        decayed, others = [], []
        for name, parameter in self.model.named_parameters():
            (decayed if name in self._matrices else others).append(parameter)
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": optim.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=optim.lr, betas=(optim.betas[0], optim.betas[1]), fused=True)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Makes the checkpoint self-contained."""
        checkpoint["seq2see"] = self.about


def _matrices_of(model: Transformer) -> set[str]:
    """The names of the weights of linear maps, but for the last, whose rows are embeddings."""
    others = {
        id(parameter)
        for module in model.modules()
        if not isinstance(module, nn.Linear) or module is model.output_proj
        for parameter in module.parameters(recurse=False)
    }
    named = model.named_parameters()
    return {name for name, parameter in named if parameter.ndim == 2 and id(parameter) not in others}
