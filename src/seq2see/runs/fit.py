"""The training itself: Lightning's Trainer, with this project's callbacks and loggers around the steps."""

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback, LambdaCallback
from lightning.pytorch.loggers import Logger

from seq2see.data import AnyPairs, make_loader
from seq2see.maps import AttentionLog
from seq2see.options import LoggerKind, TrainOptions
from seq2see.runs.data import normalized_targets
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import Prepared, steps_an_epoch, train_loader
from seq2see.runs.signals import stop_if_asked
from seq2see.runs.terminal import Terminal, TrainingDisplay
from seq2see.training.callbacks import Checkpoints, LogAttention, LogMetrics, Pace, ReportValidation, SamplesFile
from seq2see.training.checkpoint_io import AtomicCheckpointIO
from seq2see.training.loggers import MetricsFile
from seq2see.training.module import TrainingModule
from seq2see.training.moving_average import MovingAverage

NUM_SAMPLES = 200  # validation pairs that each validation translates freely


@dataclass(frozen=True)
class Outcome:
    """How the training ended.

    Args:
        steps: optimiser steps done.
        best: step, metric and value of the best checkpoint; empty without validation.
    """

    steps: int
    best: dict[str, Any]


def fit(prepared: Prepared, folder: RunFolder, terminal: Terminal, log: AttentionLog | None) -> Outcome:
    """Trains; the checkpoints are in the folder afterwards."""
    _quieten()
    options, budget = prepared.options, prepared.budget
    module = TrainingModule(
        prepared.trained.model,
        options,
        budget=budget,
        source_tokenizer=prepared.source_tokenizer,
        target_tokenizer=prepared.target_tokenizer,
        samples=[
            pair._replace(target=target)
            for pair, target in zip(
                prepared.valid_pairs[:NUM_SAMPLES],
                normalized_targets(prepared.valid_pairs[:NUM_SAMPLES], options),
                strict=True,
            )
        ],
        length_limit=prepared.trained.length_limit,
        about=prepared.trained.describe(),
    )
    display = TrainingDisplay(terminal, budget, module.samples)
    assert options.training.select is not None
    checkpoints = Checkpoints(
        folder.checkpoints,
        select=options.training.select,
        patience=options.training.patience,
        keep=options.training.keep,
    )
    pace = Pace(budget, validate_every=_validate_every(options, prepared.train))
    callbacks: list[Callback] = [
        LambdaCallback(on_train_batch_end=lambda *_: stop_if_asked()),
        pace,
        LogMetrics(every_n_steps=options.trainer.log_every_n_steps, report=display.training),
        ReportValidation(display.validation),
        SamplesFile(folder.path / "samples.jsonl"),
        checkpoints,
    ]
    if log is not None:
        batch = prepared.valid.batch(range(len(log.examples)))
        callbacks.append(LogAttention(log, batch, every_n_steps=options.attention_log.every_n_steps))
    if options.optim.ema is not None:
        callbacks.append(MovingAverage(options.optim.ema))
    trainer = _trainer(options, callbacks, _loggers(options, folder))
    valid_loader = make_loader(prepared.valid, batch_size=128, shuffle=False, seed=0) if len(prepared.valid) else None
    with display:
        try:
            trainer.fit(module, train_loader(options, prepared.train), valid_loader)
        except SystemExit as end:  # what Lightning makes of an interrupt
            raise end.__context__ if isinstance(end.__context__, KeyboardInterrupt) else end from None
    best: dict[str, Any] = {}
    if checkpoints.best is not None:
        step, value = checkpoints.best
        best = {"step": step, "metric": checkpoints.select, "value": value}
    return Outcome(trainer.global_step, best)


def _quieten() -> None:
    """Silences what Lightning says that a user can do nothing about; errors and our own messages stay."""
    for name in ("lightning.pytorch.utilities.rank_zero", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for message in (
        "The .*dataloader.* does not have many workers",
        ".*LeafSpec.*",
        ".*val_dataloader.*",
        ".*isinstance.treespec.*",
    ):
        warnings.filterwarnings("ignore", message=message)


def _validate_every(options: TrainOptions, pairs: AnyPairs) -> int | None:
    interval = options.trainer.val_check_interval
    if interval is None or isinstance(interval, int):
        return interval
    return max(round(interval * steps_an_epoch(options, pairs)), 1)


def _trainer(options: TrainOptions, callbacks: list[Callback], loggers: list[Logger]) -> L.Trainer:
    chosen = options.trainer
    return L.Trainer(
        accelerator=chosen.accelerator,
        devices=chosen.devices,
        precision=chosen.precision,
        gradient_clip_val=chosen.gradient_clip_val,
        gradient_clip_algorithm=chosen.gradient_clip_algorithm,
        accumulate_grad_batches=chosen.accumulate_grad_batches,
        limit_train_batches=chosen.limit_train_batches,
        limit_val_batches=chosen.limit_val_batches,
        deterministic=chosen.deterministic,
        detect_anomaly=chosen.detect_anomaly,
        log_every_n_steps=1,  # `LogMetrics` logs
        max_epochs=-1,  # `Pace` ends the run
        check_val_every_n_epoch=None,
        val_check_interval=1,  # `Pace` says when
        num_sanity_val_steps=0,
        callbacks=callbacks,
        logger=loggers or False,
        plugins=[AtomicCheckpointIO()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )


def _loggers(options: TrainOptions, folder: RunFolder) -> list[Logger]:
    kind, loggers = options.logger, []
    if kind in (LoggerKind.default, LoggerKind.csv):
        loggers.append(MetricsFile(folder.path / "metrics.csv"))
    if kind is LoggerKind.default:
        from lightning.pytorch.loggers import TensorBoardLogger

        loggers.append(TensorBoardLogger(folder.path, name="tensorboard", version=""))
    if kind is LoggerKind.wandb:
        from lightning.pytorch.loggers import WandbLogger

        loggers.append(WandbLogger(project="seq2see", save_dir=folder.path))
    if kind is LoggerKind.mlflow:
        from lightning.pytorch.loggers import MLFlowLogger

        loggers.append(MLFlowLogger(experiment_name="seq2see"))
    return loggers
