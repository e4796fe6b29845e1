"""How a model is trained: the optimiser, Lightning's Trainer, and which checkpoint is best."""

from dataclasses import dataclass, field
from typing import Any

from seq2see.options.enums import Schedule
from seq2see.options.rules import (
    ACCELERATORS,
    LARGEST,
    require,
    require_not_negative,
    require_number_or_share,
    require_one_of,
    require_positive,
)

PRECISIONS = (
    16,
    32,
    64,
    "16",
    "32",
    "64",
    "bf16",
    "16-mixed",
    "bf16-mixed",
    "16-true",
    "bf16-true",
    "32-true",
    "64-true",
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
        smoothing = self.label_smoothing
        require(
            smoothing is None or 0 <= smoothing < 1,
            f"optim.label_smoothing ({smoothing}) must be at least 0 and less than 1",
        )
        require(
            len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
            f"optim.betas ({self.betas}) must be two numbers, each at least 0 and less than 1",
        )


@dataclass
class TrainerOptions:
    """Lightning Trainer arguments, by their own names."""

    accelerator: str = "auto"
    devices: Any = 1
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
        require_positive(self, "trainer", "max_steps", "max_epochs", "accumulate_grad_batches", "log_every_n_steps")
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
        numbers = self.devices if isinstance(self.devices, list) else [self.devices]
        valid = bool(numbers) and all(type(number) is int for number in numbers)
        valid = valid and min(numbers) >= (0 if isinstance(self.devices, list) else 1)
        require(
            valid or self.devices in (-1, "auto"),
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


# what a best checkpoint can be chosen by
SCORES = ("exact_match", "bleu", "chrf", "cer", "wer", "ser", "loss", "token_accuracy")
LOWER_IS_BETTER = ("cer", "wer", "ser", "loss")


@dataclass
class TrainingOptions:
    """Which checkpoint is best, and when to stop early."""

    select: str | None = None  # a score on the validation pairs; of equal ones the lower loss is better
    patience: int | None = None  # validations without progress in that order before stopping; None: never
    keep: int | None = None  # newest checkpoints kept beside best and last, for average=; None: none

    def __post_init__(self) -> None:
        require(
            self.select is None or self.select in SCORES,
            f"training.select ({self.select}) must be one of {', '.join(SCORES)}",
        )
        require_positive(self, "training", "patience", "keep")
