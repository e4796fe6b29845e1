"""How a model is trained: text to ids and batches, the optimiser, Lightning's Trainer, and which checkpoint is best."""

from dataclasses import dataclass, field
from typing import Any

from seq2see.options.enums import Normalize, OnBadLine, Schedule, TokenizerKind
from seq2see.options.rules import (
    ACCELERATORS,
    LARGEST,
    require,
    require_not_negative,
    require_number_or_share,
    require_one_of,
    require_positive,
    require_share,
)
from seq2see.options.scores import SCORES

NUM_SPECIAL = 4  # entries of a vocabulary that are no text: PAD, BOS, EOS and UNK
LEAST_BPE = NUM_SPECIAL + 256  # an entry for each byte, so that every text can be spelled
STRATEGIES = ("auto", "ddp", "fsdp")
PRECISIONS = (16, 32, 64, *"16 32 64 bf16 16-mixed bf16-mixed 16-true bf16-true 32-true 64-true".split())


@dataclass
class TokenizerOptions:
    """How text becomes ids."""

    source: TokenizerKind | None = None
    target: TokenizerKind | None = None
    vocab_size: int | None = None  # entries at most, special ones included; None: all for word and char, some for bpe
    min_count: int = 1  # symbols seen less often in training are unknown
    shared: bool | None = None  # one vocabulary for both sides
    normalize: Normalize = Normalize.nfc

    def __post_init__(self) -> None:
        require_positive(self, "tokenizer", "vocab_size", "min_count")
        size, kinds = self.vocab_size, (self.source, self.target)
        require(
            size is None or size > NUM_SPECIAL,
            f"tokenizer.vocab_size ({size}) must be more than {NUM_SPECIAL}, the special symbols",
        )
        require(
            size is None or size >= LEAST_BPE or TokenizerKind.bpe not in kinds,
            f"tokenizer.vocab_size ({size}) must be at least {LEAST_BPE} for bpe, which has an entry for "
            f"each of 256 bytes and {NUM_SPECIAL} special symbols: raise it, or choose char or word for both sides",
        )
        if self.source and self.target:  # else this is checked when they have been chosen from the data
            require(
                not self.shared or self.source is self.target,
                f"tokenizer.shared needs one kind on both sides, but tokenizer.source is {self.source.value} and "
                f"tokenizer.target is {self.target.value}",
            )


@dataclass
class DataOptions:
    """How pairs become batches."""

    batch_size: int | None = None  # pairs a batch
    batch_tokens: int | None = None  # padded source and target tokens a batch
    max_length: int | None = None  # tokens a side, EOS included; longer pairs are dropped in training
    num_workers: int = 0  # processes beside the training one
    on_bad_line: OnBadLine = OnBadLine.error
    delimiter: str | None = None  # between the columns of a text file: a character, or `tab`; None: by the file's name
    encoding: str = "utf-8"  # of text files

    def __post_init__(self) -> None:
        require_text_format(self.delimiter, self.encoding)
        require_positive(self, "data", "batch_size", "batch_tokens", "max_length")
        require_not_negative(self, "data", "num_workers", most=1_000)
        require(
            self.batch_size is None or self.batch_tokens is None,
            f"data.batch_size ({self.batch_size}) and data.batch_tokens ({self.batch_tokens}) exclude each other: "
            "set one",
        )


def require_text_format(delimiter: str | None, encoding: str | None) -> None:
    """A delimiter can stand between columns, and Python knows the encoding; None: not set."""
    require(
        delimiter is None or delimiter == "tab" or (len(delimiter) == 1 and delimiter not in '"\r\n\0'),
        f"data.delimiter ({delimiter}) must be one character, no quote mark and no line end, or tab",
    )
    try:
        is_known = isinstance("".encode(encoding or "utf-8"), bytes)
    except (LookupError, ValueError):
        is_known = False
    require(
        is_known, f"data.encoding ({encoding}) must be an encoding that Python knows, as utf-8, utf-16-le or cp1252"
    )


@dataclass
class OptimOptions:
    """AdamW and its learning rate."""

    lr: float | None = None  # the highest one
    weight_decay: float = 0.01
    warmup_steps: int | None = None  # optimiser steps
    schedule: Schedule = Schedule.linear
    label_smoothing: float | None = None
    betas: list[float] = field(default_factory=lambda: [0.9, 0.98])
    ema: float | None = None  # decay of a moving average of the weights, which is then what is scored and kept

    def __post_init__(self) -> None:
        require_positive(self, "optim", "lr")
        require(self.ema is None or 0 < self.ema < 1, f"optim.ema ({self.ema}) must be between 0 and 1, such as 0.999")
        require_not_negative(self, "optim", "weight_decay", "warmup_steps")
        require_share(self, "optim", "label_smoothing")
        require(
            len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
            f"optim.betas ({self.betas}) must be two numbers, each at least 0 and less than 1",
        )


@dataclass
class TrainerOptions:
    """Lightning Trainer arguments, by their own names."""

    accelerator: str = "auto"
    devices: Any = 1  # on each node; of a CPU: processes. data.batch_size is that of all together
    num_nodes: int = 1
    strategy: str = "auto"  # of several devices: ddp, which auto means, or fsdp
    precision: Any = "32-true"
    max_steps: int | None = None  # optimiser steps
    max_epochs: int | None = None
    max_time: str | None = None  # DD:HH:MM:SS
    gradient_clip_val: float | None = 1.0
    gradient_clip_algorithm: str = "norm"
    accumulate_grad_batches: int = 1
    val_check_interval: Any = None  # an integer: optimiser steps, across epochs; a fraction: of an epoch
    limit_train_batches: Any = 1.0
    limit_val_batches: Any = 1.0
    log_every_n_steps: int = 10
    deterministic: bool = False
    detect_anomaly: bool = False

    def __post_init__(self) -> None:
        require_positive(
            self, "trainer", "max_steps", "max_epochs", "num_nodes", "accumulate_grad_batches", "log_every_n_steps"
        )
        if self.max_time is not None:
            seconds_of(self.max_time)
        if self.val_check_interval is not None:
            require_number_or_share(self.val_check_interval, "trainer.val_check_interval", "steps", "an epoch")
        for name in ("limit_train_batches", "limit_val_batches"):
            require_number_or_share(getattr(self, name), f"trainer.{name}", "batches", "them")
        require_not_negative(self, "trainer", "gradient_clip_val")
        require_one_of(self.gradient_clip_algorithm, "trainer.gradient_clip_algorithm", ("norm", "value"))
        require_one_of(self.accelerator, "trainer.accelerator", ACCELERATORS)
        require_one_of(self.precision, "trainer.precision", PRECISIONS)
        require_one_of(self.strategy, "trainer.strategy", STRATEGIES)
        numbers = self.devices if isinstance(self.devices, list) else [self.devices]
        are_numbers = bool(numbers) and all(type(number) is int for number in numbers)
        least = 0 if isinstance(self.devices, list) else 1
        require(
            self.devices in (-1, "auto") or are_numbers and min(numbers) >= least,
            f"trainer.devices ({self.devices}) must be a number of devices, a list of them as [0,1], -1 or auto",
        )


def seconds_of(max_time: str) -> int:
    """The seconds in a `DD:HH:MM:SS` text.

    Raises:
        ValueError: the text has another form.
    """
    parts = str(max_time).split(":")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"trainer.max_time ({max_time}) must have the form DD:HH:MM:SS, as 00:00:15:00 for 15 minutes")
    days, hours, minutes, seconds = map(int, parts)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    require(0 < total <= LARGEST, f"trainer.max_time ({max_time}) must be more than nothing, and at most 68 years")
    return total


@dataclass
class TrainingOptions:
    """Which checkpoint is best, and when to stop early."""

    select: str | None = None  # a score on the validation pairs; of equal ones the lower loss is better
    patience: int | None = None  # validations without progress in that order before stopping; None: never
    keep: int | None = None  # newest checkpoints kept beside best and last, for average=; None: none

    def __post_init__(self) -> None:
        choices = [name for name, score in SCORES.items() if score.can_choose]
        require(
            self.select is None or self.select in choices,
            f"training.select ({self.select}) must be one of {', '.join(choices)}",
        )
        require_positive(self, "training", "patience", "keep")
