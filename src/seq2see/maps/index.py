"""`index.json`: what the maps of a log are of, and what each stored step scored and said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from seq2see.atomic_write import read_json, write_bytes

SCHEMA = 2  # 1 had no norms, no own outputs and no entries of thinned steps; it still opens
DIMENSIONS = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers")


@dataclass(frozen=True)
class Example:
    """One pair whose maps are kept.

    Args:
        id: what users know it by, such as its number in the validation split.
        source: text as it was read.
        reference: text to produce; None where none is known (a checkpoint's own hypothesis).
        source_tokens: labels for people, "<eos>" last.
        target_tokens: labels of tgt_out, "<eos>" last; tgt_in is "<bos>" and all but the last of these.
        links: sure links (source token, target token), 0-based, EOS not among them; None where the alignment is not
            known.
        source_words: word number of each source token, EOS left out; None means each token is a word.
        target_words: the same for target tokens.
    """

    id: int | str
    source: str
    reference: str | None
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    links: tuple[tuple[int, int], ...] | None = None
    source_words: tuple[int, ...] | None = None
    target_words: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Accept lists, as JSON has them, and check that links lie inside the sentence."""
        for name in ("source_tokens", "target_tokens"):
            object.__setattr__(self, name, _texts(getattr(self, name)))
        for name in ("source_words", "target_words"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(map(int, value)))
        if self.links is not None:
            object.__setattr__(self, "links", tuple((int(source), int(target)) for source, target in self.links))
            self._check_links(self.links)
        for side, tokens, words in (
            ("source", self.source_tokens, self.source_words),
            ("target", self.target_tokens, self.target_words),
        ):
            if words is not None and len(words) != len(tokens) - 1:
                raise ValueError(
                    f"example {self.id}: {side}_words has {len(words)} entries for {len(tokens) - 1} {side} tokens"
                    " without EOS; give one word number a token"
                )

    def _check_links(self, links: Sequence[tuple[int, int]]) -> None:
        num_sources, num_targets = len(self.source_tokens) - 1, len(self.target_tokens) - 1
        for source, target in links:
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


def read_index(file: Path) -> Index:
    """What `write_index` wrote.

    Raises:
        ValueError: the file is damaged, is something else, or a newer seq2see wrote it.
    """
    content = _read_json(file)
    try:
        names = [each.name for each in fields(Example)]
        examples = tuple(Example(**{name: entry.get(name) for name in names}) for entry in content["examples"])
        model = {name: int(content["model"][name]) for name in DIMENSIONS}
        if not examples or min(model.values()) < 1:
            raise ValueError("no examples, or a model without a size")
        steps = tuple(_stored_step(entry, len(examples)) for entry in content["steps"])
        return Index(model, float(content["max_megabytes"]), examples, steps)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{file}: not a valid attention log ({error!r}); log the run again or restore the file"
        ) from error


def step_file_name(step: int) -> str:
    """Where a step's maps stand: `step-00000200.npz`."""
    return f"step-{step:08d}.npz"


def _example_entry(example: Example) -> dict:
    return {
        "id": example.id,
        "source": example.source,
        "reference": example.reference,
        "source_tokens": list(example.source_tokens),
        "target_tokens": list(example.target_tokens),
        "links": None if example.links is None else [list(link) for link in example.links],
        "source_words": None if example.source_words is None else list(example.source_words),
        "target_words": None if example.target_words is None else list(example.target_words),
        "special": {
            "source_eos": len(example.source_tokens) - 1,
            "target_bos": 0,
            "target_eos": len(example.target_tokens) - 1,
        },
    }


def _step_entry(stored: StoredStep) -> dict:
    return {
        "step": stored.step,
        "epoch": stored.epoch,
        "file": step_file_name(stored.step) if stored.has_maps else None,
        "scores": {name: float(value) if math.isfinite(value) else None for name, value in stored.scores.items()},
        "hypotheses": None if stored.hypotheses is None else list(stored.hypotheses),
        "hypothesis_tokens": None if stored.hypothesis_tokens is None else list(map(list, stored.hypothesis_tokens)),
    }


def _stored_step(entry: dict, num_examples: int) -> StoredStep:
    scores = {name: math.nan if value is None else float(value) for name, value in entry["scores"].items()}
    hypotheses, tokens = entry["hypotheses"], entry.get("hypothesis_tokens")
    if not isinstance(entry["epoch"], int | float | None):
        raise ValueError(f"step {entry['step']}: its epoch is no number")
    for each in (hypotheses, tokens):
        if each is not None and len(each) != num_examples:
            raise ValueError(f"step {entry['step']}: {len(each)} hypotheses for {num_examples} examples")
    return StoredStep(
        int(entry["step"]),
        entry["epoch"],
        scores,
        None if hypotheses is None else _texts(hypotheses),
        None if tokens is None else tuple(map(_texts, tokens)),
        has_maps=entry["file"] is not None,
    )


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{values!r:.80} are not texts")
    return tuple(values)


def _read_json(file: Path) -> dict:
    index = read_json(file, "restore the file or log the run again")
    schema = index.get("schema")
    if not isinstance(schema, int):
        raise ValueError(f"{file}: has no schema version, so it is not an attention log; give a run folder of seq2see")
    if schema > SCHEMA:
        raise ValueError(
            f"{file}: written by a newer seq2see (schema {schema}, this one reads up to {SCHEMA});"
            " update seq2see to read it"
        )
    return index
