# ruff: noqa: F401
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
    BenchmarkOptions,
    CompareOptions,
    DataReportOptions,
    DecodeOptions,
    EvaluateOptions,
    ExportOptions,
    OtherData,
    OtherText,
    PlotOptions,
    SelfcheckOptions,
    ServeOptions,
    TrainOptions,
    TranslateOptions,
    checkpoints_of,
    texts_of,
)
from seq2see.options.enums import (
    Activation,
    AttentionFormat,
    AttentionKind,
    ExportFormat,
    InitTokenizer,
    LastColumn,
    LoggerKind,
    Normalize,
    NormOrder,
    OnBadLine,
    PlotKind,
    Position,
    ScanSplit,
    Schedule,
    Score,
    Split,
    Suite,
    TokenizerKind,
    TranslationFormat,
)
from seq2see.options.model import TINY, ModelOptions
from seq2see.options.scores import SCORES, ScoreKind
from seq2see.options.tasks import (
    OWN_NUMBERS,
    TASKS,
    DatesOptions,
    FilesOptions,
    GeneratedOptions,
    GivenOptions,
    HubOptions,
    LettersOptions,
    NumbersOptions,
    ScanOptions,
    TranslationOptions,
    tag_separator,
)
from seq2see.options.training import (
    DataOptions,
    OptimOptions,
    TokenizerOptions,
    TrainerOptions,
    TrainingOptions,
    seconds_of,
)
