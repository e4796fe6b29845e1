"""Attention maps while training, read, measured and written between the steps."""

import lightning as L

from seq2see.data import Batch
from seq2see.maps import AttentionLog
from seq2see.maps.ablation import head_effects
from seq2see.maps.capture import snapshot
from seq2see.maps.kept_weights import KeptWeights
from seq2see.maps.measures import summary
from seq2see.maps.store import room_for
from seq2see.training.module import TrainingModule, epoch_of

FIRST = 4  # step of the powers of 2 at which maps are read: before, nothing has been learned


class LogAttention:
    """Attention maps of fixed validation pairs, before the first step, at log-spaced steps and at every validation.

    Before the first step and at the last, what each head is worth is measured too, and where the log has little room
    only these steps have norms and own outputs.

    Args:
        log: where they are stored.
        batch: the pairs.
        every_n_steps: store at multiples of this many optimiser steps, and at the last, instead; None: as above.
    """

    def __init__(self, log: AttentionLog, batch: Batch, *, every_n_steps: int | None) -> None:
        self.log = log
        self.batch = batch
        self.every_n_steps = every_n_steps
        self.is_whole = room_for(log.examples, log.model, log.max_megabytes).is_whole
        self.weights = None if log.folder is None else KeptWeights(log.folder)

    def is_due(self, step: int, *, is_last: bool) -> bool:
        """Whether to store after this many optimiser steps, before a validation."""
        if self.every_n_steps is None:
            return step >= FIRST and step & (step - 1) == 0
        return step % self.every_n_steps == 0 or is_last

    def store(self, trainer: L.Trainer, module: TrainingModule, scores: dict[str, float], *, is_last: bool) -> None:
        """Looks at the weights as they are, stores the maps, and gives some numbers to the loggers."""
        profiler = trainer.profiler  # pyright: ignore[reportAttributeAccessIssue]  # is set outside of its class
        with profiler.profile("maps"):
            self._store(trainer, module, scores, is_last=is_last)

    def _store(self, trainer: L.Trainer, module: TrainingModule, scores: dict[str, float], *, is_last: bool) -> None:
        assert module.references is not None
        model, step, tokenizer = module.model, trainer.global_step, module.references.target_tokenizer
        is_whole = self.is_whole or step == 0 or is_last
        maps, hypotheses = snapshot(model, self.batch, limit=module.length_limit, is_whole=is_whole)
        said = [[*tokenizer.tokens(own.ids), *["<eos>"] * own.ended] for own in hypotheses] if is_whole else None
        outputs = [tokenizer.decode(own.ids) for own in hypotheses]
        self.log.append(
            step,
            maps,
            epoch=epoch_of(trainer),
            scores=scores,
            hypotheses=outputs,
            hypothesis_tokens=said,
            effects=head_effects(model, self.batch) if step == 0 or is_last else None,
        )
        if self.weights is not None:
            self.weights.keep(step, model, outputs, [example.reference or "" for example in self.log.examples])
        numbers = summary([row for row in self.log.measures() if row.step == step])
        for logger in trainer.loggers:
            logger.log_metrics(numbers, step=step)
