"""The training itself: Lightning's Trainer, with this project's callbacks and loggers around the steps."""

import logging
import warnings
from functools import partial
from typing import Any, NamedTuple

import lightning as L
import numpy as np
import torch
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.callbacks import Callback, LambdaCallback
from lightning.pytorch.loggers import Logger
from lightning.pytorch.profilers import Profiler
from lightning.pytorch.strategies import FSDPStrategy

from seq2see.data import scoring_loader
from seq2see.decoding import device_of
from seq2see.evaluation import References
from seq2see.maps import AttentionLog
from seq2see.options import LoggerKind, TrainerOptions
from seq2see.ranks import num_ranks, rank
from seq2see.runs.cost import cost_of
from seq2see.runs.folder import RunFolder
from seq2see.runs.phases import PHASES, Phases
from seq2see.runs.prepare import TrainingSetup, steps_an_epoch, train_loader
from seq2see.runs.report import Report
from seq2see.runs.resume import ResumeState
from seq2see.runs.signals import defer_signals, listen_again, stop_requested, stop_too
from seq2see.runs.terminal import Terminal, TrainingDisplay
from seq2see.runs.tracker import show_validation
from seq2see.training.callbacks import BestCheckpoint, BetweenSteps, Stopped, ValidationSchedule
from seq2see.training.checkpoints import AtomicCheckpointIO
from seq2see.training.log_attention import LogAttention
from seq2see.training.metrics_file import MetricsFile
from seq2see.training.module import TrainingModule
from seq2see.training.moving_average import MovingAverage
from seq2see.training.objective import NotFinite

DTYPES = {
    "bf16-true": torch.bfloat16,
    "64-true": torch.float64,
    "64": torch.float64,
    64: torch.float64,
}  # of the weights, by `trainer.precision`; others leave them float32
NUM_SAMPLES = 200  # sources that each validation translates freely, the first ones


class Outcome(NamedTuple):
    """How the training ended, or was stopped."""

    steps: int  # optimiser steps done
    best: tuple[int, float, float] | None  # step, score and loss of the best checkpoint; None without validation
    cost: dict[str, float | None]  # of this process's training; empty if it was stopped


def fit(
    setup: TrainingSetup,
    folder: RunFolder,
    terminal: Terminal,
    log: AttentionLog | None,
    *,
    earlier: ResumeState | None = None,
    tracker: Logger | None = None,
    report: Report | None = None,
) -> Outcome:
    """Trains; the checkpoints are in the folder afterwards.

    Args:
        setup: what to train, on what.
        folder: the run's.
        terminal: what is said.
        log: where attention maps go; None: nowhere.
        earlier: what the run goes on from; None: from the beginning.
        tracker: what takes the numbers too.
        report: the run's page, which is kept up to date; None: there is none.

    Raises:
        NotFinite: a loss or a gradient is not a number; `failed.ckpt` has the weights before that step.
        ValueError: the checkpoint to go on from lacks something.
    """
    _quieten()
    options, budget, pairs = setup.options, setup.budget, setup.valid_pairs
    references = None
    if pairs:
        references = References(pairs, setup.source_tokenizer, setup.target_tokenizer, most=NUM_SAMPLES)
    module = TrainingModule(
        setup.trained.model,
        options.optim,
        options.decode,
        accumulate_grad_batches=options.trainer.accumulate_grad_batches,
        budget=budget,
        references=references,
        length_limit=setup.trained.length_limit,
        about=setup.about(),
    ).to(DTYPES.get(options.trainer.precision))
    first = () if references is None else references.scorer.references[0]
    display = TrainingDisplay(
        terminal,
        budget,
        first,
        setup.telling_scores,
        expected_seconds=setup.expected_seconds,
        num_threads=torch.get_num_threads(),
    )
    assert options.training.select is not None
    loader, every = train_loader(options.data, options.seed, setup.train), options.trainer.val_check_interval
    if isinstance(every, float):  # of an epoch
        every = max(round(every * steps_an_epoch(options.trainer, loader)), 1)
    schedule = ValidationSchedule(budget, every=every)
    best = BestCheckpoint(options.training.select, patience=options.training.patience)
    average = None if options.optim.ema is None else MovingAverage(options.optim.ema)
    attention = None
    if log is not None:
        attention = LogAttention(
            log,
            setup.valid.batch(range(len(log.examples))),
            every_n_steps=options.attention_log.every_n_steps,
        )
    between = BetweenSteps(
        folder.checkpoints,
        folder.samples,
        scoring_loader(setup.valid) if len(setup.valid) else None,
        schedule=schedule,
        best=best,
        average=average,
        attention=attention,
        log_every_n_steps=options.trainer.log_every_n_steps,
        limit_val_batches=options.trainer.limit_val_batches,
        keep=options.training.keep,
        stop_requested=stop_requested,
        report_training=display.training,
        report_validation=display.validation,
    )
    listening = LambdaCallback(
        on_train_start=lambda *_: listen_again(), on_save_checkpoint=partial(_keep_up, report, folder, log)
    )
    callbacks: list[Callback] = [part for part in (listening, schedule, best, average, between) if part is not None]
    step = 0 if earlier is None else earlier.step
    loggers = _loggers(options.logger, folder, None if earlier is None else step) if rank() == 0 else []
    if rank() > 0:  # other dropout than the first process has
        torch.manual_seed(int(np.random.default_rng([options.seed, rank(), step]).integers(2**62)))
    trainer = _trainer(options.trainer, callbacks, loggers if tracker is None else [*loggers, tracker], report)
    with display, defer_signals():
        try:
            trainer.fit(
                module,
                loader,
                ckpt_path=None if earlier is None else earlier.checkpoint.file,
                weights_only=True,
            )
        except Stopped:
            if num_ranks() > 1:  # the signal may have come to another process
                stop_too()
        except SystemExit as end:  # what Lightning makes of a signal
            if not stop_requested():
                raise end.__context__ if isinstance(end.__context__, KeyboardInterrupt) else end from None
        except Exception as error:
            of_a_signal = stop_requested() and isinstance(error, RuntimeError) and not isinstance(error, NotFinite)
            if earlier is not None and not between.goes_on and not of_a_signal and not isinstance(error, OSError):
                raise ValueError(
                    f"resume: {earlier.checkpoint.file} lacks what a training goes on from ({type(error).__name__}: "
                    f"{' '.join(str(error).split())[:200]}): init={folder.shown} starts a new run with its weights"
                ) from error
            if not of_a_signal:  # such as that of a worker process that it has ended
                raise
    cost = {}
    if rank() == 0 and not stop_requested() and options.trainer.strategy != "fsdp":  # whose weights are in parts
        cost = cost_of(
            setup.trained.model,
            train_loader(options.data, options.seed, setup.train),
            accumulate_grad_batches=options.trainer.accumulate_grad_batches,
            steps=trainer.global_step - step,
            tokens=module.tokens_trained,
            seconds=budget.seconds - budget.seconds_before,
        )
    return Outcome(trainer.global_step, best.best, cost)


class _PhaseProfiler(Profiler):
    """Tells what the time goes to, by what Lightning and our own callbacks say that they begin and end."""

    phase_of = {"run_training_epoch": "training", "save_checkpoint": "checkpoints"}
    phase_of |= {"validation": "validations", "maps": "attention maps"}

    def __init__(self, phases: Phases) -> None:
        super().__init__()
        self.phases = phases

    def start(self, action_name: str) -> None:
        if action_name in self.phase_of:
            self.phases.begin(self.phase_of[action_name])

    def stop(self, action_name: str) -> None:
        if action_name in self.phase_of:
            self.phases.end(self.phase_of[action_name])


def _keep_up(
    report: Report | None,
    folder: RunFolder,
    log: AttentionLog | None,
    trainer: L.Trainer,
    module: L.LightningModule,
    checkpoint: dict[str, Any],
) -> None:
    """Whenever the run leaves a state to go on from, all of it is in the files: then page and loggers follow."""
    if report is not None:
        with report.phases("images and samples logged"):
            show_validation(trainer.loggers, folder, log, trainer.global_step)
        checkpoint[PHASES] = report.phases.seconds()
        report.keep_up()


def _quieten() -> None:
    """Silences what Lightning says that a user can do nothing about; errors and our own messages stay."""
    for name in ("lightning.pytorch.utilities.rank_zero", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for message in ("The .*dataloader.* does not have many workers", ".*LeafSpec.*", ".*isinstance.treespec.*"):
        warnings.filterwarnings("ignore", message=message)


def _trainer(
    chosen: TrainerOptions, callbacks: list[Callback], loggers: list[Logger], report: Report | None
) -> L.Trainer:
    devices, strategy = chosen.devices, "auto"
    if chosen.strategy == "fsdp":
        strategy = FSDPStrategy(state_dict_type="full")
    elif num_ranks() > 1:
        strategy = "ddp"
    elif not isinstance(devices, list) or device_of(chosen.accelerator) != "cuda":
        devices = 1
    return L.Trainer(
        accelerator=chosen.accelerator,
        devices=devices,
        num_nodes=chosen.num_nodes,
        strategy=strategy,
        # Lightning's own would set the default dtype of all threads, and cast a checkpoint's weights on their way
        precision="32-true" if chosen.precision in DTYPES else chosen.precision,
        gradient_clip_val=chosen.gradient_clip_val,
        gradient_clip_algorithm=chosen.gradient_clip_algorithm,
        accumulate_grad_batches=chosen.accumulate_grad_batches,
        limit_train_batches=chosen.limit_train_batches,
        deterministic=chosen.deterministic,
        detect_anomaly=chosen.detect_anomaly,
        log_every_n_steps=1,  # `BetweenSteps` logs, and ends the run after a last validation
        max_epochs=-1,
        callbacks=callbacks,
        logger=loggers or False,
        profiler=None if report is None else _PhaseProfiler(report.phases),
        plugins=[AtomicCheckpointIO(), *([TorchElasticEnvironment()] if num_ranks() > 1 else [])],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )


def _loggers(kind: LoggerKind, folder: RunFolder, kept_until: int | None) -> list[Logger]:
    """What takes the numbers; of a run that goes on, what later steps wrote is dropped where that can be."""
    loggers: list[Logger] = []
    if kind in (LoggerKind.default, LoggerKind.csv):
        loggers.append(MetricsFile(folder.path / "metrics.csv", kept_until=kept_until))
    if kind is LoggerKind.default:
        from lightning.pytorch.loggers import TensorBoardLogger

        purge_step = None if kept_until is None else kept_until + 1
        loggers.append(TensorBoardLogger(folder.path, name="tensorboard", version="", purge_step=purge_step))
    return loggers
