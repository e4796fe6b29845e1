"""What a log's files hold: `index.json` says what the maps are of, and each step file has those of one step."""

import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.atomic_write import read_json, write_bytes

SCHEMA = 3  # 1 had no norms, no own outputs and no entries of thinned steps, 2 no EXTRA_DIMENSIONS; both still open
DIMENSIONS = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers")
EXTRA_DIMENSIONS = ("num_encoder_heads", "num_cross_layers")  # of other models, where they differ from those above
KINDS: tuple[str, ...] = ("encoder", "decoder", "cross")
MOST_UNPACKED = 2**27  # bytes of a step's maps that a file of any size may unpack to
MOST_PACKED = 20  # times its size that a larger one may

Labels = Sequence[Sequence[str]] | None
"""Of the model's own outputs, one an example; None where there are no maps of them."""


@dataclass(frozen=True)
class Example:
    """One pair whose maps are kept."""

    id: int | str  # what users know it by, such as its number in the validation split
    source: str  # text as it was read
    reference: str | None  # text to produce; None where none is known (a checkpoint's own hypothesis)
    source_tokens: tuple[str, ...]  # labels for people, "<eos>" last
    target_tokens: tuple[str, ...]  # of tgt_out, "<eos>" last; tgt_in is "<bos>" and all but the last of these
    links: tuple[tuple[int, int], ...] | None = None  # sure ones (source token, target token), 0-based, without EOS
    source_words: tuple[int, ...] | None = None  # word number of each token but EOS; None: each token is a word
    target_words: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        num_sources, num_targets = len(self.source_tokens) - 1, len(self.target_tokens) - 1
        for source, target in self.links or ():
            if not (0 <= source < num_sources and 0 <= target < num_targets):
                raise ValueError(
                    f"example {self.id}: link {source}-{target} lies outside {num_sources} source and {num_targets}"
                    " target tokens (EOS not counted); give links between tokens, 0-based"
                )


@dataclass(frozen=True)
class StoredStep:
    """What is known of one step besides its maps."""

    step: int  # optimiser steps
    epoch: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)  # by their logged names, such as "val/loss"
    hypotheses: tuple[str, ...] | None = None  # one text an example
    hypothesis_tokens: tuple[tuple[str, ...], ...] | None = None  # of the model's own outputs, for `*_free` maps
    has_maps: bool = True  # False: thinned away


class Index(NamedTuple):
    """All that `index.json` holds."""

    model: dict[str, int]  # DIMENSIONS, and any of EXTRA_DIMENSIONS
    max_megabytes: float
    examples: tuple[Example, ...]
    steps: tuple[StoredStep, ...]


def dimensions(model: Mapping[str, int]) -> dict[str, int]:
    """What a log says of a model's size. A missing dimension is a KeyError."""
    return {name: int(model[name]) for name in (*DIMENSIONS, *(name for name in EXTRA_DIMENSIONS if name in model))}


def depth_and_heads(model: Mapping[str, int], kind: str) -> tuple[int, int]:
    """How many layers have maps of this kind, and how many heads a layer; no layers: the log has no such maps."""
    if kind == "encoder":
        return model["num_encoder_layers"], model.get("num_encoder_heads", model["num_heads"])
    layers = model["num_decoder_layers"]
    return model.get("num_cross_layers", layers) if kind == "cross" else layers, model["num_heads"]


def step_file_name(step: int) -> str:
    """Where a step's maps stand: `step-00000200.npz`."""
    return f"step-{step:08d}.npz"


def write_index(file: Path, index: Index) -> None:
    """Write `index.json`, whole or not at all."""
    content = {
        "schema": SCHEMA if set(index.model) & set(EXTRA_DIMENSIONS) else 2,
        "model": index.model,
        "max_megabytes": index.max_megabytes,
        "examples": [
            {
                **asdict(example),
                "special": {
                    "source_eos": len(example.source_tokens) - 1,
                    "target_bos": 0,
                    "target_eos": len(example.target_tokens) - 1,
                },
            }
            for example in index.examples
        ],
        "steps": [
            {
                "step": stored.step,
                "epoch": stored.epoch,
                "file": step_file_name(stored.step) if stored.has_maps else None,
                "scores": {name: float(own) if math.isfinite(own) else None for name, own in stored.scores.items()},
                "hypotheses": stored.hypotheses,
                "hypothesis_tokens": stored.hypothesis_tokens,
            }
            for stored in index.steps
        ],
    }
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_bytes(file, text.encode("utf-8", "surrogatepass"))


def read_index(file: Path) -> Index:
    """What `write_index` wrote.

    Raises:
        ValueError: the file is damaged, is something else, or a newer seq2see wrote it.
    """
    content = read_json(file, "restore the file or log the run again")
    schema = content.get("schema")
    if not isinstance(schema, int):
        raise ValueError(f"{file}: has no schema version, so it is not an attention log; give a run folder of seq2see")
    if schema > SCHEMA:
        raise ValueError(
            f"{file}: written by a newer seq2see (schema {schema}, this one reads up to {SCHEMA});"
            " update seq2see to read it"
        )
    try:
        names = [each.name for each in fields(Example)]
        examples = tuple(Example(**{name: _tuples(entry.get(name)) for name in names}) for entry in content["examples"])
        model = dimensions(content["model"])
        steps = tuple(
            StoredStep(
                int(entry["step"]),
                entry["epoch"],
                {name: math.nan if value is None else float(value) for name, value in entry["scores"].items()},
                _tuples(entry["hypotheses"]),
                _tuples(entry.get("hypothesis_tokens")),
                has_maps=entry["file"] is not None,
            )
            for entry in content["steps"]
        )
        return Index(model, float(content["max_megabytes"]), examples, steps)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{file}: not a valid attention log ({error!r}); log the run again or restore the file"
        ) from error


def _tuples(value: Any) -> Any:
    """JSON's lists as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class Maps(NamedTuple):
    """Attention of one step, float32 (examples, layers, heads, query, key), zero at padding.

    encoder: source tokens look at source tokens, EOS included; without layers where another model's maps lack it.
    decoder: what has been read so far (BOS + target) looks at itself.
    cross: row t reads tgt_in[t], predicts tgt_out[t], and looks at the source tokens.

    `*_norm` are norm-weighted: cell (t, s) is the length of the vector that key s adds to the output of query t,
    `||a[t, s] f(x_s)||` with `f(x) = (x W_v + b_v) W_o`, divided by the sum of its row. So a row sums to 1 as a row of
    weights does, unless it adds nothing at all; a key with a large weight and a short vector has little.

    `*_free` are those of the model's own greedy output, fed back in place of the reference. The encoder knows no
    difference.

    Source:
        Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms". They compare
        lengths between layers too, which shares of a row cannot.
    """

    encoder: NDArray
    decoder: NDArray
    cross: NDArray
    encoder_norm: NDArray | None = None
    decoder_norm: NDArray | None = None
    cross_norm: NDArray | None = None
    decoder_free: NDArray | None = None
    cross_free: NDArray | None = None
    decoder_free_norm: NDArray | None = None
    cross_free_norm: NDArray | None = None

    def named(self) -> dict[str, NDArray]:
        """Those that there are, by name."""
        return {name: array for name, array in self._asdict().items() if array is not None}


def lengths(name: str, examples: Sequence[Example], hypotheses: Labels = None) -> tuple[list[int], list[int]]:
    """How many queries and keys each example has in the maps of this name, a field of `Maps`."""
    sources = [len(example.source_tokens) for example in examples]
    targets = [len(example.target_tokens) for example in examples]
    if "free" in name and hypotheses is not None:
        targets = [len(tokens) for tokens in hypotheses]
    return sources if name.startswith("encoder") else targets, targets if name.startswith("decoder") else sources


def visible(name: str, examples: Sequence[Example], hypotheses: Labels = None) -> NDArray[np.bool_]:
    """Which cells may hold weight, (examples, query, key): not padding, not later ones."""
    queries, keys = (
        np.arange(max(numbers)) < np.array(numbers)[:, None] for numbers in lengths(name, examples, hypotheses)
    )
    cells = queries[:, :, None] & keys[:, None, :]
    return np.tril(cells) if name.startswith("decoder") else cells


def fit(maps: Maps, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Labels) -> Maps:
    """Cut to the longest example, hidden cells exactly zero.

    Raises:
        ValueError: shapes do not fit the examples and the model, or free maps come without hypotheses.
    """
    if hypotheses is None and any("free" in name for name in maps.named()):
        raise ValueError("maps of the model's own outputs (`*_free`) need hypothesis_tokens to say what they are of")
    fitted = {}
    for name, array in maps.named().items():
        cells, expected = visible(name, examples, hypotheses), _shape(name, examples, model, hypotheses)
        cut = np.asarray(array, np.float32)[..., : expected[3], : expected[4]]
        if cut.shape != expected:
            raise ValueError(
                f"{name} maps have shape {cut.shape}, the examples and the model need {expected}"
                " (examples, layers, heads, query, key)"
            )
        fitted[name] = np.where(cells[:, None, None], cut, np.float32(0))
    return Maps(**fitted)


def _shape(name: str, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Labels) -> tuple[int, ...]:
    queries, keys = lengths(name, examples, hypotheses)
    return len(examples), *depth_and_heads(model, name.partition("_")[0]), max(queries), max(keys)


def write_maps(stream: BinaryIO, maps: Maps) -> Maps:
    """Writes them in half precision, and returns them as they can be read again."""
    halves = {name: array.astype(np.float16) for name, array in maps.named().items()}
    np.savez_compressed(stream, allow_pickle=False, **halves)
    return Maps(**{name: array.astype(np.float32) for name, array in halves.items()})


def read_maps(file: Path, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Labels) -> Maps:
    """What `write_maps` wrote, of these examples and this model: nothing is unpacked that is larger than they need.

    Raises:
        ValueError: the file is not there, or damaged; the message says how.
    """
    try:
        if not file.is_file():  # a pipe would be waited for
            raise ValueError("there is no such file")
        with zipfile.ZipFile(file) as entries:
            names = {info.filename.removesuffix(".npy"): info for info in entries.infolist()}
            if sum(info.file_size for info in names.values()) > max(MOST_UNPACKED, MOST_PACKED * file.stat().st_size):
                raise ValueError("it would unpack to far more than it is")
            known = [name for name in names if name in Maps._fields]
            return Maps(
                **{name: _read(entries, names[name], _shape(name, examples, model, hypotheses)) for name in known}
            )
    except (OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file}: cannot be read ({error})") from error


def _read(entries: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...]) -> NDArray:
    """One array of half precision; its header is believed only if it says what is expected."""
    with entries.open(info) as entry:
        if np.lib.format.read_magic(entry) != (1, 0):
            raise ValueError(f"{info.filename} is of another format")
        header = np.lib.format.read_array_header_1_0(entry)
        if header != (shape, False, np.float16):
            raise ValueError(f"{info.filename} has shape {header[0]} of {header[2]}, the index says {shape} of float16")
        return np.frombuffer(entry.read(), np.float16).reshape(shape).astype(np.float32)
