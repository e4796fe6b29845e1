"""Every choice a person can make, as typed dataclasses; torch-free, so that `--help` and mistakes answer at once.

`None` means "follows": in training from the task or the data (`runs/choices.py` fills it in and `config.yaml` keeps
what was chosen), in the other commands from the run's own configuration. The rules among set keys are checked here,
before any data is read; a broken one raises ValueError and names both sides.
"""

from seq2see.options.commands import (
    COMMANDS,
    PATH_KEYS,
    AttentionLogOptions,
    AttentionOptions,
    CompareOptions,
    DecodeOptions,
    EvaluateOptions,
    OtherData,
    TrainOptions,
    TranslateOptions,
)
from seq2see.options.enums import (
    Activation,
    LoggerKind,
    Normalize,
    NormOrder,
    OnBadLine,
    Position,
    ScanSplit,
    Schedule,
    Score,
    Split,
    Study,
    TokenizerKind,
)
from seq2see.options.model import TINY, ModelOptions
from seq2see.options.tasks import (
    TASKS,
    DatesOptions,
    FilesOptions,
    HubOptions,
    LettersOptions,
    NumbersOptions,
    ScanOptions,
    TranslationOptions,
)
from seq2see.options.text import DataOptions, TokenizerOptions
from seq2see.options.training import LOWER_IS_BETTER, SCORES, OptimOptions, TrainerOptions, TrainingOptions, seconds_of

__all__ = [
    "Activation",
    "AttentionLogOptions",
    "AttentionOptions",
    "COMMANDS",
    "CompareOptions",
    "DataOptions",
    "DatesOptions",
    "DecodeOptions",
    "EvaluateOptions",
    "FilesOptions",
    "HubOptions",
    "LOWER_IS_BETTER",
    "LettersOptions",
    "LoggerKind",
    "ModelOptions",
    "NormOrder",
    "Normalize",
    "NumbersOptions",
    "OnBadLine",
    "OptimOptions",
    "OtherData",
    "PATH_KEYS",
    "Position",
    "SCORES",
    "ScanOptions",
    "ScanSplit",
    "Schedule",
    "Score",
    "Split",
    "Study",
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
