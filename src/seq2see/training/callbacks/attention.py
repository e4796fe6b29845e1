"""Attention maps while training: read at once, measured and written beside it."""

from concurrent.futures import Future, ThreadPoolExecutor

import lightning as L
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.maps import AttentionLog
from seq2see.maps.ablation import head_effects
from seq2see.maps.capture import snapshot
from seq2see.maps.table import summary
from seq2see.training.loggers import MetricsFile
from seq2see.training.module import TrainingModule, epoch_of


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
        """The untrained model's maps, unless the run goes on from where they are known."""
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="attention-log")
        if self.attention_log.history:
            self._stored = self.attention_log.history[-1].step
        else:
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
        """Everything is written."""
        self.await_writer(trainer)
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
        epoch = epoch_of(trainer)
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

        self.await_writer(trainer)
        self._written = self._writer.submit(write)

    def await_writer(self, trainer: L.Trainer) -> None:
        """Waits for the last step's files, and gives its numbers to the loggers under that step."""
        if self._written is None:
            return
        step, numbers = self._written.result()
        self._written = None
        for logger in trainer.loggers:
            if not isinstance(logger, MetricsFile):  # its rows are over; `attention/metrics.csv` has all of them
                logger.log_metrics(numbers, step=step)
