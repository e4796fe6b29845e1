"""Attention maps while training, read, measured and written beside it."""

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from seq2see.data import Batch
from seq2see.maps import AttentionLog
from seq2see.maps.ablation import head_effects
from seq2see.maps.capture import snapshot
from seq2see.maps.measures import summary
from seq2see.training.metrics_file import MetricsFile
from seq2see.training.module import TrainingModule, epoch_of
from seq2see.transformer import Transformer

KEY = "attention"  # in a checkpoint
FIRST = 4  # step of the powers of 2 at which maps are read: before, nothing has been learned


class LogAttention(Callback):
    """Attention maps of fixed validation pairs, before the first step, at log-spaced steps and at every validation.

    The weights are copied; looking at the copy, measuring and writing go on in a thread of one core beside training.
    Before the first step and at the last, what each head is worth is measured too.

    Args:
        log: where they are stored.
        batch: the pairs.
        every_n_steps: store at multiples of this many optimiser steps, and at the last, instead; None: as above.
        of_average: whether validations look at a moving average of the weights, not at what a checkpoint goes on from.
    """

    def __init__(self, log: AttentionLog, batch: Batch, *, every_n_steps: int | None, of_average: bool = False) -> None:
        self.attention_log = log
        self.batch = batch
        self.every_n_steps = every_n_steps
        self.of_average = of_average
        self._stored = -1
        self._writer: ThreadPoolExecutor | None = None
        self._written: Future[tuple[int, dict[str, float]]] | None = None
        self._copy: Transformer | None = None  # what the thread looks at
        self._wanted: dict[str, Any] | None = None  # step, scores, and whether it is the last: what was stored last

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The untrained model's maps, or those of the checkpoint that were not written in time."""
        assert isinstance(pl_module, TrainingModule)
        self._writer = self._one_core()
        self._copy = copy.deepcopy(pl_module.model)
        known = {stored.step: dict(stored.scores) for stored in self.attention_log.history}
        wanted = self._wanted or (None if known else {"step": 0, "scores": {}, "is_last": False})
        if wanted is not None and known.get(wanted["step"]) != wanted["scores"]:
            self._store(trainer, pl_module, wanted["scores"], is_last=wanted["is_last"])
        elif trainer.global_step in known:
            self._stored = trainer.global_step

    def after_step(self, trainer: L.Trainer, module: TrainingModule) -> None:
        """Maps at the steps that are due."""
        step = trainer.global_step
        if self.every_n_steps is None:
            if step >= FIRST and step & (step - 1) == 0:
                self._store(trainer, module, {}, is_last=False)  # the last step is validated
        elif step % self.every_n_steps == 0 or trainer.should_stop:
            self._store(trainer, module, {}, is_last=trainer.should_stop)

    def after_validation(self, trainer: L.Trainer, module: TrainingModule, scores: dict[str, float]) -> None:
        """Maps with this validation's scores."""
        if self.every_n_steps is None:
            self._store(trainer, module, scores, is_last=trainer.should_stop)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Everything is written."""
        self.await_writer(trainer)
        if self._writer is not None:
            self._writer.shutdown()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """What is being written is finished, so that an interrupted run leaves a whole log."""
        with suppress(Exception):  # the one that is on its way says enough
            self.await_writer(trainer)
        if self._writer is not None:
            self._writer.shutdown()

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Says what may not be written yet, to be looked at again by a run that goes on; or waits if it could not."""
        can_be_repeated = trainer.global_step == self._stored and not self.of_average and not trainer.should_stop
        if not can_be_repeated:
            self.await_writer(trainer)
        checkpoint[KEY] = self._wanted if can_be_repeated else None

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Keeps it until training starts."""
        self._wanted = checkpoint[KEY]

    def _store(self, trainer: L.Trainer, module: TrainingModule, scores: dict[str, float], *, is_last: bool) -> None:
        assert module.references is not None and self._writer is not None and self._copy is not None
        step, epoch = trainer.global_step, epoch_of(trainer)
        if step == self._stored and not scores:
            return
        self.await_writer(trainer, is_logged=step != self._stored)  # maps with scores take the place of those without
        self._stored = step
        self._copy.load_state_dict(module.model.state_dict())
        self._wanted = {"step": step, "scores": scores, "is_last": is_last}
        model, limit, tokenizer = self._copy, module.length_limit, module.references.target_tokenizer

        def look() -> tuple[int, dict[str, float]]:
            maps, hypotheses = snapshot(model, self.batch, limit=limit)
            self.attention_log.append(
                step,
                maps,
                epoch=epoch,
                scores=scores,
                hypotheses=[tokenizer.decode(said.ids) for said in hypotheses],
                hypothesis_tokens=[[*tokenizer.tokens(said.ids), *["<eos>"] * said.ended] for said in hypotheses],
                effects=head_effects(model, self.batch) if step == 0 or is_last else None,
            )
            return step, summary([row for row in self.attention_log.measures() if row.step == step])

        self._written = self._writer.submit(look)

    def _one_core(self) -> ThreadPoolExecutor:
        num_threads = torch.get_num_threads()
        writer = ThreadPoolExecutor(
            1, thread_name_prefix="attention-log", initializer=torch.set_num_threads, initargs=(1,)
        )
        writer.submit(torch.get_num_threads).result()
        torch.set_num_threads(num_threads)  # the thread's number would be that of threads to come
        return writer

    def await_writer(self, trainer: L.Trainer, *, is_logged: bool = True) -> None:
        """Waits for the last step's files, and gives its numbers to the loggers under that step."""
        if self._written is None:
            return
        step, numbers = self._written.result()
        self._written = None
        for logger in trainer.loggers if is_logged else []:
            if not isinstance(logger, MetricsFile):  # its rows are over; `attention/metrics.csv` has all of them
                logger.log_metrics(numbers, step=step)
