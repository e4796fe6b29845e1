"""The training itself: Lightning's Trainer, with this project's callbacks and loggers around the steps."""

import logging
import warnings
from dataclasses import dataclass

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, LambdaCallback
from lightning.pytorch.loggers import Logger

from seq2see.data import EncodedPairs, scoring_loader
from seq2see.decoding import device_of
from seq2see.evaluation import References
from seq2see.maps import AttentionLog
from seq2see.options import LoggerKind, TrainOptions
from seq2see.runs.cost import Cost
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import TrainingSetup as Prepared
from seq2see.runs.prepare import steps_an_epoch, train_loader
from seq2see.runs.resume import Earlier
from seq2see.runs.signals import asked, held, listen_again
from seq2see.runs.terminal import Terminal, TrainingDisplay
from seq2see.training.callbacks import (
    Checkpoints,
    LogAttention,
    LogMetrics,
    Pace,
    ReportValidation,
    SamplesFile,
    Selection,
    Stopped,
)
from seq2see.training.checkpoint_io import AtomicCheckpointIO
from seq2see.training.loggers import MetricsFile
from seq2see.training.module import NotFinite, TrainingModule
from seq2see.training.moving_average import MovingAverage

DTYPES = {
    "bf16-true": torch.bfloat16,
    "64-true": torch.float64,
    "64": torch.float64,
    64: torch.float64,
}  # of the weights, by `trainer.precision`; others leave them float32
NUM_SAMPLES = 200  # sources that each validation translates freely, the first ones


@dataclass(frozen=True)
class Outcome:
    """How the training ended.

    Args:
        steps: optimiser steps done.
        best: step, score and loss of the best checkpoint; None without validation.
        cost: of this process's training; None if it was interrupted.
        interrupted: whether it was stopped before its end.
    """

    steps: int
    best: tuple[int, float, float] | None
    cost: Cost | None = None
    interrupted: bool = False


def fit(
    prepared: Prepared,
    folder: RunFolder,
    terminal: Terminal,
    log: AttentionLog | None,
    *,
    earlier: Earlier | None = None,
    tracker: Logger | None = None,
) -> Outcome:
    """Trains; the checkpoints are in the folder afterwards.

    Args:
        prepared: what to train, on what.
        folder: the run's.
        terminal: what is said.
        log: where attention maps go; None: nowhere.
        earlier: what the run goes on from; None: from the beginning.
        tracker: what takes the numbers too.

    Raises:
        NotFinite: a loss or a gradient is not a number; `failed.ckpt` has the weights before that step.
    """
    _quieten()
    options, budget = prepared.options, prepared.budget
    module = _module(prepared).to(DTYPES.get(options.trainer.precision))
    display = TrainingDisplay(
        terminal,
        budget,
        () if module.references is None else module.references.scorer.references[0],
        prepared.telling_scores,
    )
    assert options.training.select is not None
    pace = Pace(budget, validate_every=_validate_every(options, prepared.train))
    selection = Selection(options.training.select, patience=options.training.patience)
    attention = None
    if log is not None:
        batch = prepared.valid.batch(range(len(log.examples)))
        attention = LogAttention(
            log,
            batch,
            every_n_steps=options.attention_log.every_n_steps,
            of_average=options.optim.ema is not None,
        )
    callbacks: list[Callback] = [
        LambdaCallback(on_train_start=lambda *_: listen_again()),
        pace,
        LogMetrics(every_n_steps=options.trainer.log_every_n_steps, report=display.training),
        ReportValidation(display.validation),
        SamplesFile(folder.samples),
        selection,
    ]
    if attention is not None:
        callbacks.append(attention)
    if options.optim.ema is not None:
        callbacks.append(MovingAverage(options.optim.ema))
    checkpoints = Checkpoints(
        folder.checkpoints, pace=pace, selection=selection, keep=options.training.keep, asked=asked
    )
    callbacks.append(checkpoints)
    loggers = _loggers(options, folder, None if earlier is None else earlier.step)
    trainer = _trainer(options, callbacks, loggers if tracker is None else [*loggers, tracker])
    valid_loader = scoring_loader(prepared.valid) if len(prepared.valid) else None
    interrupted = False
    with display, held():
        try:
            trainer.fit(
                module,
                train_loader(options, prepared.train),
                valid_loader,
                ckpt_path=None if earlier is None else earlier.checkpoint.file,
                weights_only=True,
            )
        except Stopped:
            interrupted = True
        except (RuntimeError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if earlier is not None and not checkpoints.goes_on and not asked():
                raise ValueError(
                    f"resume: {earlier.checkpoint.file} lacks what a training goes on from ({type(error).__name__}: "
                    f"{' '.join(str(error).split())[:200]}): init={folder.shown} starts a new run with its weights"
                ) from error
            # such as that of a worker process that a signal has ended
            if not isinstance(error, RuntimeError) or isinstance(error, NotFinite) or not asked():
                raise
            interrupted = True
        except SystemExit as end:  # what Lightning makes of a signal
            if not asked():
                raise end.__context__ if isinstance(end.__context__, KeyboardInterrupt) else end from None
            interrupted = True
    before = 0 if earlier is None else earlier.step
    cost = (
        None
        if interrupted
        else Cost.of(
            prepared,
            steps=trainer.global_step - before,
            tokens=module.tokens_trained,
            seconds=budget.seconds - budget.seconds_before,
        )
    )
    return Outcome(trainer.global_step, selection.best, cost, interrupted)


def _module(prepared: Prepared) -> TrainingModule:
    pairs, source, target = prepared.valid_pairs, prepared.source_tokenizer, prepared.target_tokenizer
    return TrainingModule(
        prepared.trained.model,
        prepared.options,
        budget=prepared.budget,
        references=References(pairs, source, target, most=NUM_SAMPLES) if pairs else None,
        length_limit=prepared.trained.length_limit,
        about=prepared.about(),
    )


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


def _validate_every(options: TrainOptions, pairs: EncodedPairs) -> int | None:
    interval = options.trainer.val_check_interval
    if interval is None or isinstance(interval, int):
        return interval
    return max(round(interval * steps_an_epoch(options, pairs)), 1)


def _trainer(options: TrainOptions, callbacks: list[Callback], loggers: list[Logger]) -> L.Trainer:
    chosen = options.trainer
    return L.Trainer(
        accelerator=chosen.accelerator,
        devices=chosen.devices if isinstance(chosen.devices, list) and device_of(chosen.accelerator) == "cuda" else 1,
        # Lightning's own would set the default dtype of all threads, and cast a checkpoint's weights on their way
        precision="32-true" if chosen.precision in DTYPES else chosen.precision,
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


def _loggers(options: TrainOptions, folder: RunFolder, kept_until: int | None) -> list[Logger]:
    """What takes the numbers; of a run that goes on, what later steps wrote is dropped where that can be."""
    kind, loggers = options.logger, []
    if kind in (LoggerKind.default, LoggerKind.csv):
        loggers.append(MetricsFile(folder.path / "metrics.csv", kept_until=kept_until))
    if kind is LoggerKind.default:
        from lightning.pytorch.loggers import TensorBoardLogger

        purge_step = None if kept_until is None else kept_until + 1
        loggers.append(TensorBoardLogger(folder.path, name="tensorboard", version="", purge_step=purge_step))
    return loggers
