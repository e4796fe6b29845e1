"""Every choice a person can make, as typed dataclasses; torch-free, so that `--help` and mistakes answer at once.

`None` means "follows": in training from the task or the data (`runs/choices.py` fills it in and `config.yaml` keeps what was
chosen), in the other commands from the run's own configuration. The rules among set keys are checked here, before any
data is read; a broken one raises ValueError and names both sides.
"""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any


class TokenizerKind(Enum):
    """What one token is."""

    char = "char"
    word = "word"
    bpe = "bpe"


class Normalize(Enum):
    """The Unicode form that every text is brought into."""

    nfc = "nfc"
    none = "none"


class Position(Enum):
    """How the model knows where a token stands."""

    sinusoidal = "sinusoidal"
    learned = "learned"
    rope = "rope"
    relative = "relative"
    alibi = "alibi"
    none = "none"


class Score(Enum):
    """How similar a query and a key are."""

    scaled_dot = "scaled_dot"
    dot = "dot"
    additive = "additive"


class NormOrder(Enum):
    """Layer normalisation before each sub-layer, or after its residual sum."""

    pre = "pre"
    post = "post"


class Activation(Enum):
    """The non-linearity of the feed-forward layers."""

    relu = "relu"
    gelu = "gelu"
    swiglu = "swiglu"


class Schedule(Enum):
    """What the learning rate does after its warm-up."""

    inverse_sqrt = "inverse_sqrt"
    cosine = "cosine"
    linear = "linear"
    constant = "constant"


class OnBadLine(Enum):
    """What happens at a line that cannot be read."""

    error = "error"
    skip = "skip"


class LoggerKind(Enum):
    """Who receives the logged numbers; `default` is CSV and TensorBoard."""

    default = "default"
    csv = "csv"
    wandb = "wandb"
    mlflow = "mlflow"
    none = "none"


class Split(Enum):
    """Which pairs are scored."""

    train = "train"
    valid = "valid"
    test = "test"


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _require_positive(options: object, prefix: str, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        _require(value is None or value > 0, f"{prefix}.{name} ({value}) must be positive")


def _require_not_negative(options: object, prefix: str, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        _require(value is None or value >= 0, f"{prefix}.{name} ({value}) must not be negative")


@dataclass
class LettersOptions:
    """`copy`, `reverse`, `sort`: sequences of letters, generated."""

    kind: str
    seed: int = 0  # of the pairs; the top-level `seed` is that of the training
    train_size: int = 10_000  # pairs
    valid_size: int = 500  # pairs
    test_size: int = 1_000  # pairs
    min_length: int = 4  # letters
    max_length: int = 12  # letters
    vocab_size: int = 26  # different letters

    def __post_init__(self) -> None:
        _require_positive(self, "task", "train_size", "min_length", "vocab_size")
        _require_not_negative(self, "task", "valid_size", "test_size")
        _require(
            self.min_length <= self.max_length,
            f"task.min_length ({self.min_length}) must not exceed task.max_length ({self.max_length})",
        )
        _require(self.vocab_size <= 26, f"task.vocab_size ({self.vocab_size}) must be at most 26, the letters a to z")


@dataclass
class TranslationOptions:
    """`translation`: a small English-German grammar, generated."""

    kind: str = "translation"
    seed: int = 0  # of the pairs; the top-level `seed` is that of the training
    train_size: int = 40_000  # pairs
    valid_size: int = 500  # pairs
    test_size: int = 1_000  # pairs

    def __post_init__(self) -> None:
        _require_positive(self, "task", "train_size")
        _require_not_negative(self, "task", "valid_size", "test_size")


@dataclass
class FilesOptions:
    """`files`: your own pairs. What is left out of `valid` and `test` is split off the training pairs."""

    kind: str = "files"
    train: Any = None  # a path, or two of parallel files
    valid: Any = None
    test: Any = None
    source: Any = None  # column, by name or 0-based number; None: the first of two
    target: Any = None
    features: Any = None  # column of tags that are put before the source
    features_separator: str = ";"
    train_size: int | None = None  # pairs; None: all

    def __post_init__(self) -> None:
        _require(
            self.train is not None,
            "task.train is missing: name your file of pairs, as in task=files task.train=pairs.tsv",
        )
        _require_positive(self, "task", "train_size")
        _require(
            (self.source is None) == (self.target is None),
            f"task.source ({self.source}) and task.target ({self.target}) go together: set both, or neither",
        )
        _require(bool(self.features_separator), "task.features_separator must not be empty")


TASKS: dict[str, type] = {
    "translation": TranslationOptions,
    "copy": LettersOptions,
    "reverse": LettersOptions,
    "sort": LettersOptions,
    "files": FilesOptions,
}


@dataclass
class TokenizerOptions:
    """How text becomes ids."""

    source: TokenizerKind | None = None
    target: TokenizerKind | None = None
    vocab_size: int | None = None  # entries at most, special ones included; None: 8,000 for bpe, all for word and char
    shared: bool | None = None  # one vocabulary for both sides
    normalize: Normalize = Normalize.nfc

    def __post_init__(self) -> None:
        _require(
            self.vocab_size is None or self.vocab_size > 4,
            f"tokenizer.vocab_size ({self.vocab_size}) must be more than 4, the special symbols",
        )
        if self.shared and self.source is not None and self.target is not None:
            _require(
                self.source == self.target,
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

    def __post_init__(self) -> None:
        _require_positive(self, "data", "batch_size", "batch_tokens", "max_length")
        _require_not_negative(self, "data", "num_workers")
        _require(
            self.batch_size is None or self.batch_tokens is None,
            f"data.batch_size ({self.batch_size}) and data.batch_tokens ({self.batch_tokens}) exclude each other: set one",
        )


@dataclass
class ModelOptions:
    """The Transformer's shape. Sizes that are None are those of `model=tiny`, unless the data ask for more."""

    d_model: int | None = None  # width of the token vectors
    num_heads: int | None = None
    num_encoder_layers: int | None = None
    num_decoder_layers: int | None = None
    d_ff: int | None = None  # width inside the feed-forward layers
    dropout: float | None = None
    attention_dropout: float = 0.0  # on the attention weights; leaves the fused kernel
    position: Position = Position.rope  # of self attention
    cross_position: Position | None = None  # of cross attention: rope, relative, alibi, none; None: rope with rope
    max_positions: int = 1024  # tokens; the length of a learned table
    randomize_positions: int | None = None  # in training, positions are drawn from this many (Ruoss et al. 2023)
    window: int | None = None  # self attention sees this many tokens to each side; None: all
    score: Score = Score.scaled_dot
    norm: NormOrder = NormOrder.pre
    activation: Activation = Activation.relu
    tie_embeddings: bool = False  # output projection = target embedding (and source embedding, if tokenizer.shared)
    share_layers: bool = False  # one set of layer weights at every depth

    def __post_init__(self) -> None:
        _require_positive(self, "model", "d_model", "num_heads", "num_encoder_layers", "num_decoder_layers", "d_ff")
        _require_positive(self, "model", "max_positions", "randomize_positions", "window")
        for name in ("dropout", "attention_dropout"):
            value = getattr(self, name)
            _require(value is None or 0 <= value < 1, f"model.{name} ({value}) must be at least 0 and less than 1")
        self._check_widths()
        self._check_positions()

    def filled(self) -> "ModelOptions":
        """These options with nothing left open: the sizes of `model=tiny` where none are set, and no dropout."""
        missing = {name: value for name, value in TINY.items() if getattr(self, name) is None}
        follows = Position.rope if self.position is Position.rope else Position.none
        return replace(
            self, **missing, dropout=self.dropout or 0.0, cross_position=self.cross_position or follows
        )

    def _check_widths(self) -> None:
        d_model, num_heads = self.d_model or TINY["d_model"], self.num_heads or TINY["num_heads"]
        _require(
            d_model % num_heads == 0,
            f"model.d_model ({d_model}) must be divisible by model.num_heads ({num_heads})",
        )
        if Position.rope in (self.position, self.cross_position):
            _require(
                d_model // num_heads % 2 == 0,
                f"rope turns pairs of numbers: model.d_model / model.num_heads ({d_model} / {num_heads} = "
                f"{d_model // num_heads}) must be even",
            )
        if self.position == Position.sinusoidal:
            _require(d_model % 2 == 0, f"model.position=sinusoidal needs an even model.d_model, not {d_model}")

    def _check_positions(self) -> None:
        cross = self.cross_position or Position.none
        for name in ("position", "cross_position"):
            _require(
                not (self.score == Score.additive and getattr(self, name) == Position.rope),
                f"model.score=additive has no dot product for model.{name}=rope to turn: use relative or alibi"
                + (", sinusoidal, learned or none" if name == "position" else " or none"),
            )
        _require(
            cross not in (Position.sinusoidal, Position.learned),
            f"model.cross_position={cross.value} has no meaning: it is added to the embeddings, which "
            "model.position does; use rope, relative, alibi or none",
        )
        if self.randomize_positions is None:
            return
        _require(
            self.position != Position.none or cross != Position.none,
            f"model.randomize_positions ({self.randomize_positions}) has no meaning with model.position=none and "
            "model.cross_position=none, which use no positions",
        )
        _require(
            self.position != Position.learned or self.randomize_positions <= self.max_positions,
            f"model.randomize_positions ({self.randomize_positions}) must not exceed model.max_positions "
            f"({self.max_positions}) with model.position=learned",
        )


TINY = {"d_model": 128, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "d_ff": 512}


@dataclass
class OptimOptions:
    """AdamW and its learning rate."""

    lr: float | None = None  # the highest one
    weight_decay: float = 0.01
    warmup_steps: int | None = None  # optimiser steps
    schedule: Schedule = Schedule.linear
    label_smoothing: float | None = None
    betas: list[float] = field(default_factory=lambda: [0.9, 0.98])

    def __post_init__(self) -> None:
        _require_positive(self, "optim", "lr")
        _require_not_negative(self, "optim", "weight_decay", "warmup_steps")
        smoothing = self.label_smoothing
        _require(
            smoothing is None or 0 <= smoothing < 1,
            f"optim.label_smoothing ({smoothing}) must be at least 0 and less than 1",
        )
        _require(
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
    limit_test_batches: Any = 1.0
    log_every_n_steps: int = 10
    deterministic: bool = False
    detect_anomaly: bool = False

    def __post_init__(self) -> None:
        _require_positive(self, "trainer", "max_steps", "max_epochs", "accumulate_grad_batches", "log_every_n_steps")
        if self.max_time is not None:
            seconds_of(self.max_time)
        interval = self.val_check_interval
        if interval is not None:
            number = isinstance(interval, int | float) and not isinstance(interval, bool)
            valid = number and (interval >= 1 if isinstance(interval, int) else 0 < interval <= 1)
            _require(
                valid,
                f"trainer.val_check_interval ({interval}) must be a whole number of steps, or a fraction of an epoch "
                "above 0 and at most 1.0",
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
    _require(total > 0, f"trainer.max_time ({max_time}) must be more than nothing")
    return total


SCORES = ("exact_match", "bleu", "chrf", "loss", "token_accuracy")  # what a best checkpoint can be chosen by
LOWER_IS_BETTER = ("loss",)


@dataclass
class TrainingOptions:
    """Which checkpoint is best, and when to stop early."""

    select: str | None = None  # a score on the validation pairs
    patience: int | None = None  # validations without progress before stopping; None: never

    def __post_init__(self) -> None:
        _require(
            self.select is None or self.select in SCORES,
            f"training.select ({self.select}) must be one of {', '.join(SCORES)}",
        )
        _require_positive(self, "training", "patience")


@dataclass
class DecodeOptions:
    """How translations are found."""

    max_length: int | None = None  # tokens, EOS included; None: learned from the training pairs
    batch_size: int | None = None  # sentences decoded together

    def __post_init__(self) -> None:
        _require_positive(self, "decode", "max_length", "batch_size")


@dataclass
class AttentionLogOptions:
    """The attention maps that are kept while training."""

    enabled: bool = True
    every_n_steps: int | None = None  # optimiser steps; None: at log-spaced steps and at every validation
    num_examples: int = 12
    max_megabytes: float = 50.0

    def __post_init__(self) -> None:
        _require_positive(self, "attention_log", "every_n_steps", "num_examples", "max_megabytes")


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
        _require(-(2**63) <= self.seed < 2**63, f"seed ({self.seed}) must fit into 64 bits")


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
