"""Choices among names."""

from enum import Enum


class TokenizerKind(Enum):
    """What one token is."""

    char = "char"
    word = "word"
    bpe = "bpe"


class Normalize(Enum):
    """The Unicode form that every text is brought into."""

    nfc = "nfc"
    none = "none"


class InitTokenizer(Enum):
    """The tokenizers of a run that starts from a checkpoint: its own, to which new symbols are added, or new ones."""

    keep = "keep"
    new = "new"


class Position(Enum):
    """How the model knows where a token stands."""

    sinusoidal = "sinusoidal"
    learned = "learned"
    rope = "rope"
    relative = "relative"
    alibi = "alibi"
    none = "none"

    @property
    def is_embedded(self) -> bool:
        """Whether it is added to the embeddings; the others act inside attention."""
        return self in (Position.sinusoidal, Position.learned)


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
    ood = "ood"  # out of distribution: longer, or combined as never in training


class ScanSplit(Enum):
    """How the commands of `scan` are divided into training and test."""

    simple = "simple"
    length = "length"
    addprim_jump = "addprim_jump"
    addprim_turn_left = "addprim_turn_left"
    template_right = "template_right"
    template_opposite_right = "template_opposite_right"
    template_around_right = "template_around_right"
    template_jump_around_right = "template_jump_around_right"
    filler = "filler"
    few_shot = "few_shot"


class Suite(Enum):
    """What a benchmark measures."""

    start = "start"
    load = "load"
    train = "train"
    solve = "solve"
    busy = "busy"
    decode = "decode"
    maps = "maps"
    serve = "serve"
    growth = "growth"
    gpu = "gpu"
    scaling = "scaling"


class PlotKind(Enum):
    """What is drawn of runs: scores over the steps, by length, or the test score of each recipe."""

    curves = "curves"
    lengths = "lengths"
    comparison = "comparison"


class TranslationFormat(Enum):
    """How translations are written: the best of each line alone, or all that are asked for, with what is known."""

    text = "text"
    tsv = "tsv"
    jsonl = "jsonl"


class LastColumn(Enum):
    """What stands behind the last tab of a line: what its translation begins with, or one that is to be scored."""

    prefix = "prefix"
    target = "target"


class ExportFormat(Enum):
    """For whom a model is written down: programs that run ONNX, or those that read weights by name."""

    onnx = "onnx"
    safetensors = "safetensors"


class AttentionKind(Enum):
    """Who looks at what: output words at source words, source words at each other, output words at those before."""

    cross = "cross"
    encoder = "encoder"
    decoder = "decoder"


class AttentionFormat(Enum):
    """How attention is shown: a page to explore, a figure, a table of all cells, blocks in the terminal.

    A playground is a page that holds the model and runs it.
    """

    html = "html"
    svg = "svg"
    csv = "csv"
    terminal = "terminal"
    playground = "playground"
