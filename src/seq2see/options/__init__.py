"""Every choice a person can make, as typed dataclasses; torch-free, so that `--help` and mistakes answer at once.

`None` means "follows": in training from the task or the data (`runs/choices.py` fills it in and `config.yaml` keeps
what was chosen), in the other commands from the run's own configuration. The rules among set keys are checked here,
before any data is read; a broken one raises ValueError and names both sides.
"""

from seq2see.options.commands import (
    AttentionLogOptions,
    AttentionOptions,
    COMMANDS,
    CompareOptions,
    DecodeOptions,
    EvaluateOptions,
    OtherData,
    PATH_KEYS,
    TrainOptions,
    TranslateOptions,
)
from seq2see.options.enums import (
    Activation,
    LoggerKind,
    NormOrder,
    Normalize,
    OnBadLine,
    Position,
    Schedule,
    Score,
    Split,
    TokenizerKind,
)
from seq2see.options.model import ModelOptions, TINY
from seq2see.options.tasks import FilesOptions, LettersOptions, TASKS, TranslationOptions
from seq2see.options.text import DataOptions, TokenizerOptions
from seq2see.options.training import LOWER_IS_BETTER, OptimOptions, SCORES, TrainerOptions, TrainingOptions, seconds_of

__all__ = [
    "Activation",
    "AttentionLogOptions",
    "AttentionOptions",
    "COMMANDS",
    "CompareOptions",
    "DataOptions",
    "DecodeOptions",
    "EvaluateOptions",
    "FilesOptions",
    "LOWER_IS_BETTER",
    "LettersOptions",
    "LoggerKind",
    "ModelOptions",
    "NormOrder",
    "Normalize",
    "OnBadLine",
    "OptimOptions",
    "OtherData",
    "PATH_KEYS",
    "Position",
    "SCORES",
    "Schedule",
    "Score",
    "Split",
    "TASKS",
    "TINY",
    "TokenizerKind",
    "TokenizerOptions",
    "TrainOptions",
    "TrainerOptions",
    "TrainingOptions",
    "TranslateOptions",
    "TranslationOptions",
    "seconds_of",
]
