"""`index.json`: what the maps of a log are of, and what each stored step scored and said."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from seq2see.atomic_write import read_json, write_bytes

SCHEMA = 2  # 1 had no norms, no own outputs and no entries of thinned steps; it still opens
DIMENSIONS = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers")


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

    model: dict[str, int]  # DIMENSIONS
    max_megabytes: float
    examples: tuple[Example, ...]
    steps: tuple[StoredStep, ...]


def step_file_name(step: int) -> str:
    """Where a step's maps stand: `step-00000200.npz`."""
    return f"step-{step:08d}.npz"


def write_index(file: Path, index: Index) -> None:
    """Write `index.json`, whole or not at all."""
    content = {
        "schema": SCHEMA,
        "model": index.model,
        "max_megabytes": index.max_megabytes,
        "examples": [_example_entry(example) for example in index.examples],
        "steps": [_step_entry(stored) for stored in index.steps],
    }
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_bytes(file, text.encode("utf-8", "surrogatepass"))


def _example_entry(example: Example) -> dict[str, Any]:
    source_eos, target_eos = len(example.source_tokens) - 1, len(example.target_tokens) - 1
    special = {"source_eos": source_eos, "target_bos": 0, "target_eos": target_eos}
    return {**asdict(example), "special": special}


def _step_entry(stored: StoredStep) -> dict[str, Any]:
    return {
        "step": stored.step,
        "epoch": stored.epoch,
        "file": step_file_name(stored.step) if stored.has_maps else None,
        "scores": {name: float(value) if math.isfinite(value) else None for name, value in stored.scores.items()},
        "hypotheses": stored.hypotheses,
        "hypothesis_tokens": stored.hypothesis_tokens,
    }


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
        model = {name: int(content["model"][name]) for name in DIMENSIONS}
        return Index(model, float(content["max_megabytes"]), examples, tuple(map(_stored_step, content["steps"])))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{file}: not a valid attention log ({error!r}); log the run again or restore the file"
        ) from error


def _stored_step(entry: dict[str, Any]) -> StoredStep:
    return StoredStep(
        int(entry["step"]),
        entry["epoch"],
        {name: math.nan if value is None else float(value) for name, value in entry["scores"].items()},
        _tuples(entry["hypotheses"]),
        _tuples(entry.get("hypothesis_tokens")),
        has_maps=entry["file"] is not None,
    )


def _tuples(value: Any) -> Any:
    """JSON's lists as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
