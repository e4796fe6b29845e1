"""What each command takes."""

from dataclasses import dataclass, field
from typing import Any

from seq2see.options.enums import LoggerKind, Split
from seq2see.options.model import ModelOptions
from seq2see.options.rules import require, require_positive
from seq2see.options.tasks import TranslationOptions
from seq2see.options.text import DataOptions, TokenizerOptions
from seq2see.options.training import OptimOptions, TrainerOptions, TrainingOptions


@dataclass
class DecodeOptions:
    """How translations are found."""

    max_length: int | None = None  # tokens, EOS included; None: learned from the training pairs
    batch_size: int | None = None  # sentences decoded together

    def __post_init__(self) -> None:
        require_positive(self, "decode", "max_length", "batch_size")


@dataclass
class AttentionLogOptions:
    """The attention maps that are kept while training."""

    enabled: bool = True
    every_n_steps: int | None = None  # optimiser steps; None: at log-spaced steps and at every validation
    num_examples: int = 12
    max_megabytes: float = 50.0

    def __post_init__(self) -> None:
        require_positive(self, "attention_log", "every_n_steps", "num_examples", "max_megabytes")


@dataclass
class TrainOptions:
    """`scripts/train.py`."""

    seed: int = 0
    run_dir: str | None = None  # None: outputs/<task>/<date>_<time>
    init: str | None = None  # a checkpoint to start the weights from
    task: Any = field(default_factory=TranslationOptions)  # one of TASKS
    tokenizer: TokenizerOptions = field(default_factory=TokenizerOptions)
    data: DataOptions = field(default_factory=DataOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    optim: OptimOptions = field(default_factory=OptimOptions)
    trainer: TrainerOptions = field(default_factory=TrainerOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    attention_log: AttentionLogOptions = field(default_factory=AttentionLogOptions)
    logger: LoggerKind = LoggerKind.default

    def __post_init__(self) -> None:
        require(-(2**63) <= self.seed < 2**63, f"seed ({self.seed}) must fit into 64 bits")


@dataclass
class OtherData:
    """Other pairs to score than the run's own."""

    test: Any = None  # a path, or two of parallel files


@dataclass
class EvaluateOptions:
    """`scripts/evaluate.py`."""

    ckpt: Any = None  # a run folder, a .ckpt file, or several
    split: Split = Split.test
    task: OtherData = field(default_factory=OtherData)
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    output: str | None = None  # folder for the scores; None: the run's own evaluation/
    accelerator: str = "auto"


@dataclass
class TranslateOptions:
    """`scripts/translate.py`."""

    ckpt: str | None = None
    input: str | None = None  # None: standard input
    output: str | None = None  # None: standard output
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    accelerator: str = "auto"


@dataclass
class AttentionOptions:
    """`scripts/attention.py`."""

    ckpt: str | None = None
    run: str | None = None  # a run folder whose log becomes a page
    input: str | None = None  # None: standard input
    output: str | None = None  # the page; None: attention.html in the working directory
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    accelerator: str = "auto"


@dataclass
class CompareOptions:
    """`scripts/compare.py`."""

    ckpt: Any = None  # run folders


COMMANDS: dict[str, type] = {
    "train": TrainOptions,
    "evaluate": EvaluateOptions,
    "translate": TranslateOptions,
    "attention": AttentionOptions,
    "compare": CompareOptions,
}
PATH_KEYS = ("ckpt", "run", "run_dir", "resume", "init", "input", "output", "config")
PATH_KEYS += ("task.train", "task.valid", "task.test", "task.path")
