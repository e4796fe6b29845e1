"""What each command takes."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

from seq2see.options.enums import (
    AttentionFormat,
    AttentionKind,
    ExportFormat,
    InitTokenizer,
    LastColumn,
    LoggerKind,
    OnBadLine,
    PlotKind,
    Split,
    Suite,
    TranslationFormat,
)
from seq2see.options.model import ModelOptions
from seq2see.options.rules import ACCELERATORS, require, require_not_negative, require_one_of, require_positive
from seq2see.options.scores import SCORES
from seq2see.options.tasks import TranslationOptions, require_both_columns, require_files
from seq2see.options.training import (
    DataOptions,
    OptimOptions,
    TokenizerOptions,
    TrainerOptions,
    TrainingOptions,
    require_text_format,
)


@dataclass
class DecodeOptions:
    """How translations are found. What is None follows the run, and there `filled`."""

    beam_size: int | None = None  # hypotheses followed at a time; 1: greedy
    length_penalty: float | None = None  # ranked by log-probability / length ** length_penalty
    num_best: int | None = None  # hypotheses given for each source
    sample: bool | None = None  # tokens at random, as probable as the model says
    temperature: float | None = None  # of sampling: above 1 flatter, below 1 sharper
    top_k: int | None = None  # of sampling: only the so many most probable tokens
    top_p: float | None = None  # of sampling: only the most probable that together reach this
    seed: int | None = None  # of sampling
    max_length: int | None = None  # the limit of an output, tokens, EOS included; None: learned from the pairs
    max_source_length: int | None = None  # translate: tokens at which a longer line is cut; None: 1,000
    batch_size: int | None = None  # sentences decoded together

    def __post_init__(self) -> None:
        require_positive(self, "decode", "temperature", "top_k", "max_length", "max_source_length", "batch_size")
        require_positive(self, "decode", "beam_size", "num_best", most=1_000)  # as many rows for each sentence
        require_not_negative(self, "decode", "length_penalty", most=10)  # length ** length_penalty stays a number
        require_not_negative(self, "decode", "seed")
        require(self.top_p is None or 0 < self.top_p <= 1, f"decode.top_p ({self.top_p}) must be above 0 and at most 1")
        num_best, beam_size = self.num_best or 1, self.beam_size or (1 if self.sample else self.num_best) or 1
        if self.sample:
            require(
                beam_size == 1,
                f"decode.sample=true draws at random, decode.beam_size ({beam_size}) searches: set one of them",
            )
            return
        require(
            num_best <= beam_size,
            f"decode.num_best ({num_best}) must not exceed decode.beam_size ({beam_size})",
        )
        for name in ("temperature", "top_k", "top_p"):
            value = getattr(self, name)
            require(value is None, f"decode.{name} ({value}) is for sampling: add decode.sample=true, or leave it out")

    def filled(self) -> "DecodeOptions":
        """These options with nothing left open but the limits: greedy, unless they say otherwise."""
        return replace(
            self,
            beam_size=self.beam_size or (1 if self.sample else self.num_best or 1),
            length_penalty=1.0 if self.length_penalty is None else self.length_penalty,
            num_best=self.num_best or 1,
            sample=bool(self.sample),
            temperature=self.temperature or (1.0 if self.sample else None),
            seed=self.seed or 0,
            max_source_length=self.max_source_length or 1_000,
            batch_size=self.batch_size or 64,
        )


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
    resume: str | None = None  # a run to go on with: its folder, or auto: the one in run_dir, if it has begun
    init: str | None = None  # a checkpoint to start from: its weights, its model.* keys and its tokenizers
    init_tokenizer: InitTokenizer = InitTokenizer.keep  # new: fitted on the new pairs; rows of weights follow symbols
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
        require(0 <= self.seed < 2**32, f"seed ({self.seed}) must be 0 to 4294967295")
        for name, value in (("optim.ema", self.optim.ema), ("attention_log.enabled", self.attention_log.enabled)):
            require(
                self.trainer.strategy != "fsdp" or not value,
                f"{name} ({value}) needs the whole weights between steps, and trainer.strategy (fsdp) shards them: use "
                f"trainer.strategy=ddp, or {name}={'null' if name == 'optim.ema' else 'false'}",
            )
        require(
            self.resume != "auto" or self.run_dir is not None,
            "resume=auto goes on with the run in run_dir: set run_dir too, or resume=RUN",
        )
        require(
            self.init_tokenizer is InitTokenizer.keep or self.init is not None,
            "init_tokenizer=new is about the checkpoint that init= starts from: set init too, or leave it out",
        )


@dataclass
class DataReportOptions(TrainOptions):
    """`scripts/data.py`: the options of the training run that it looks ahead to."""

    output: str | None = None  # a .json file for all that is shown; None: no file


@dataclass
class SelfcheckOptions(TrainOptions):
    """`scripts/selfcheck.py`: a trained model, or the options of the training run that a new one is for."""

    ckpt: str | None = None  # a run folder or a .ckpt file; goes with none of the other keys


@dataclass
class OtherData:
    """Other pairs to score than the run's own."""

    test: Any = None  # as `task.train` of `files`; the rest says how it is read, where not as the run's own files
    source: Any = None  # column, by name or 0-based number
    target: Any = None
    features: Any = None
    features_separator: str | None = None

    def __post_init__(self) -> None:
        require_files(self.test, "task.test")
        require_both_columns(self.source, self.target)
        _require_test(self, self.test, "task")


@dataclass
class OtherText:
    """How the text of other pairs is read, where not as that of the run's own."""

    on_bad_line: OnBadLine | None = None
    delimiter: str | None = None  # between columns: a character, or `tab`
    encoding: str | None = None

    def __post_init__(self) -> None:
        require_text_format(self.delimiter, self.encoding)


def _require_test(part: object, test: Any, prefix: str) -> None:
    for name, value in vars(part).items():
        require(
            value is None or test is not None,
            f"{prefix}.{name} ({value}) says how task.test is read: set task.test too, or leave it out",
        )


@dataclass
class EvaluateOptions:
    """`scripts/evaluate.py`."""

    ckpt: Any = None  # a run folder, a .ckpt file, or several
    average: int | None = None  # the mean of the run's so many newest kept checkpoints (training.keep)
    ensemble: bool = False  # several as one model, by the mean of their probabilities; otherwise they are compared
    split: Split = Split.test
    task: OtherData = field(default_factory=OtherData)
    data: OtherText = field(default_factory=OtherText)
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    output: str | None = None  # folder for the scores; None: the run's own evaluation/
    baselines: bool = True  # what copying and the training pairs alone would score
    report: bool = True  # a page of the worst outputs, and what attention says of wrong ones
    scores: bool = False  # a file with the log-probability of each token of the references
    accelerator: str = "auto"

    def __post_init__(self) -> None:
        require_positive(self, "", "average")
        require_one_of(self.accelerator, "accelerator", ACCELERATORS)
        _require_test(self.data, self.task.test, "data")


@dataclass
class TranslateOptions:
    """`scripts/translate.py`."""

    ckpt: Any = None  # a run folder, a .ckpt file, or the members of an ensemble
    average: int | None = None  # the mean of the run's so many newest kept checkpoints (training.keep)
    ensemble: bool = False  # several as one model, by the mean of their probabilities
    input: str | None = None  # None: standard input
    output: str | None = None  # None: standard output
    format: TranslationFormat = TranslationFormat.text
    last_column: LastColumn | None = None  # what stands behind the last tab of each line; None: nothing of its own
    prefix: str | None = None  # what all translations begin with
    must: Any = None  # texts that appear in each translation
    forbid: Any = None  # texts that appear in none
    copy_unknown: bool = False  # an unknown word is the source word that it attends to most
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    accelerator: str = "auto"

    def __post_init__(self) -> None:
        require_positive(self, "", "average")
        require_one_of(self.accelerator, "accelerator", ACCELERATORS)
        for name in ("prefix", "must", "forbid", "copy_unknown"):
            value = getattr(self, name)
            require(
                not value or self.last_column is not LastColumn.target,
                f"{name} ({value}) is of what the model writes, and last_column=target scores what is given: "
                "leave out one of them",
            )
        require(
            self.prefix is None or self.last_column is not LastColumn.prefix,
            f"prefix ({self.prefix}) is for all lines, and last_column=prefix has one in each: leave out one of them",
        )


def texts_of(value: Any) -> list[str]:
    """What `must` or `forbid` names: one text, several, or none."""
    return [] if value is None else list(map(str, value)) if isinstance(value, list | tuple) else [str(value)]


@dataclass
class ServeOptions:
    """`scripts/serve.py`."""

    ckpt: Any = None  # a run folder, a .ckpt file, or the members of an ensemble
    average: int | None = None  # the mean of the run's so many newest kept checkpoints (training.keep)
    ensemble: bool = False  # several as one model, by the mean of their probabilities
    host: str = "127.0.0.1"  # the address to listen at; 0.0.0.0: all of this machine
    port: int = 8000  # 0: a free one
    page: bool = True  # the playground at /, which holds the model
    max_texts: int = 64  # of one request
    max_length: int = 1_000  # of one text, characters; of a translation, tokens that a request may ask for
    max_beam_size: int = 8
    max_waiting: int = 1_024  # texts; a request beyond them is to come again
    timeout: float = 30.0  # seconds that a request may take
    window: float = 0.005  # seconds that a request waits for others to be translated with
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    accelerator: str = "auto"

    def __post_init__(self) -> None:
        limits = ("max_texts", "max_length", "max_beam_size", "max_waiting")
        require_positive(self, "", "average", *limits, "timeout")
        require_not_negative(self, "", "port", most=65_535)
        require_not_negative(self, "", "window", most=1)
        require(
            self.max_texts <= self.max_waiting,
            f"max_texts ({self.max_texts}) of one request must not exceed max_waiting ({self.max_waiting}) of all",
        )
        require_one_of(self.accelerator, "accelerator", ACCELERATORS)


def checkpoints_of(options: EvaluateOptions | TranslateOptions | ServeOptions) -> list[str]:
    """What `ckpt` names: one run folder or `.ckpt` file, or several, with `ensemble` as one model.

    Raises:
        ValueError: there is none, or an ensemble of one.
    """
    paths = options.ckpt if isinstance(options.ckpt, list) else [options.ckpt]
    if not paths or not all(isinstance(path, str) for path in paths):
        raise ValueError("ckpt is missing: name a run folder or a .ckpt file, as in ckpt=outputs/translation/RUN")
    if options.ensemble and len(paths) == 1:
        raise ValueError(f"ensemble=true makes one model of several, ckpt={paths[0]} is one: write ckpt=[RUN,RUN,RUN]")
    return paths


@dataclass
class AttentionOptions:
    """`scripts/attention.py`: maps of a model on any text (`ckpt`), maps of a run's log (`run`), or links (`gold`)."""

    ckpt: str | None = None
    average: int | None = None  # the mean of the run's so many newest kept checkpoints (training.keep)
    run: Any = None  # a run folder whose log is shown, or two: the second one's is compared with
    input: str | None = None  # None: standard input
    target: str | None = None  # a file with a target for each line of the input; None: what the model writes, alone
    twin: str | None = None  # a file with each line changed in one word, or auto: which heads carry the difference
    causes: bool | None = None  # what each source word does to each target token; None: in a page, of few short lines
    output: str | None = None  # None: attention.html, .svg or playground.html here; standard output for the others
    format: AttentionFormat = AttentionFormat.html
    kind: AttentionKind = AttentionKind.cross
    layer: int | None = None  # from 1; None: that of the head that aligns best, or the last one
    head: int | None = None  # from 1; None: the mean of the layer's heads, or the head that aligns best
    step: int | None = None  # of a run's log; None: the last one that is stored
    norms: bool = False  # norm-weighted maps in the place of weights
    float32: bool = False  # a playground's weights as they are, in twice the room
    stages: bool | None = (
        None  # a playground holds the model before training and half-way too; None: within 3 megabytes
    )
    gold: str | None = None  # a file of true links: those of `hypothesis` are scored
    hypothesis: str | None = None  # a file of links, or what translate.py writes as tsv or jsonl
    reverse: str | None = None  # the same of the other direction
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    accelerator: str = "auto"

    def __post_init__(self) -> None:
        runs = self.run if isinstance(self.run, list) else [self.run or ""]
        require(
            1 <= len(runs) <= 2 and all(isinstance(run, str) for run in runs),
            f"run ({self.run}) must be a run folder, or two: run=[A,B]",
        )
        require(
            len(runs) == 1 or self.format is AttentionFormat.html,
            f"run=[A,B] is a page, and format={self.format.value} is set: leave out one of them",
        )
        require_positive(self, "", "average")
        require_one_of(self.accelerator, "accelerator", ACCELERATORS)
        require_not_negative(self, "", "step")
        for name in ("layer", "head"):
            value = getattr(self, name)
            require(value is None or value > 0, f"{name} ({value}) must be positive: layers and heads count from 1")
        require(
            self.head is None or self.layer is not None,
            f"head={self.head} is one of each layer's heads: set layer= too",
        )


@dataclass
class ExportOptions:
    """`scripts/export.py`."""

    ckpt: str | None = None  # a run folder or a .ckpt file
    average: int | None = None  # the mean of the run's so many newest kept checkpoints (training.keep)
    format: ExportFormat = ExportFormat.onnx
    int8: bool = False  # matrices of the ONNX graphs as 8-bit integers
    output: str | None = None  # a new folder

    def __post_init__(self) -> None:
        require_positive(self, "", "average")
        require(
            not self.int8 or self.format is ExportFormat.onnx,
            f"int8=true is of ONNX graphs, and format={self.format.value} is set: leave out one of them",
        )


@dataclass
class CompareOptions:
    """`scripts/compare.py`."""

    ckpt: Any = None  # run folders, or a sweep's
    output: str | None = None  # a .csv, .md, .tex or .html file for the table; None: no file
    against: str | None = None  # a run; its row is the one that the others are tested against; None: the first
    metric: str | None = None  # the score that is tested; None: the one that chose the checkpoints, or exact_match

    def __post_init__(self) -> None:
        ending = os.path.splitext(self.output or "")[1].lower()
        require(
            self.output is None or ending in COMPARE_FORMATS,
            f"output ({self.output}) must end in {', '.join(COMPARE_FORMATS[:-1])} or {COMPARE_FORMATS[-1]}",
        )
        if self.metric is not None:
            require_one_of(self.metric, "metric", (*SCORES, "alignment_error_rate"))


@dataclass
class PlotOptions:
    """`scripts/plot.py`."""

    ckpt: Any = None  # run folders, or a sweep's
    what: PlotKind = PlotKind.curves
    metric: str | None = None  # the score that is drawn; None: the one that chose the checkpoints, or exact_match
    output: str | None = None  # a .svg, .png or .pdf file; None: <what>.svg in the working directory

    def __post_init__(self) -> None:
        require(
            self.output is None or os.path.splitext(self.output)[1].lower() in FIGURE_FORMATS,
            f"output ({self.output}) must end in {', '.join(FIGURE_FORMATS[:-1])} or {FIGURE_FORMATS[-1]}",
        )
        if self.metric is not None:
            require_one_of(self.metric, "metric", tuple(SCORES))


@dataclass
class BenchmarkOptions:
    """`scripts/benchmark.py`."""

    suite: Suite | None = None  # None: all that need no GPU
    rounds: int = 3  # medians are of so many, after one to warm up
    pairs: int = 1_000_000  # of suite=load
    output: str | None = None  # JSON with all figures

    def __post_init__(self) -> None:
        require_positive(self, "", "rounds", "pairs")

    def suites(self) -> list[Suite]:
        """What is to be measured."""
        return [one for one in Suite if one is not Suite.gpu] if self.suite is None else [self.suite]


COMMANDS: dict[str, type] = {
    "train": TrainOptions,
    "evaluate": EvaluateOptions,
    "translate": TranslateOptions,
    "serve": ServeOptions,
    "attention": AttentionOptions,
    "export": ExportOptions,
    "compare": CompareOptions,
    "plot": PlotOptions,
    "data": DataReportOptions,
    "selfcheck": SelfcheckOptions,
    "benchmark": BenchmarkOptions,
}
FIGURE_FORMATS = (".svg", ".png", ".pdf")
COMPARE_FORMATS = (".csv", ".md", ".tex", ".html")
PATH_KEYS = ("ckpt", "run", "run_dir", "resume", "init", "input", "output", "config", "against")
PATH_KEYS += ("target", "twin", "gold", "hypothesis", "reverse")
PATH_KEYS += ("task.train", "task.valid", "task.test", "task.path")
