"""The folder `attention/`: every map of every stored step, on disk and back.

`index.json` says what the maps are of (model, tokens, true links) and what each step scored; `step-00000200.npz` holds one step's
maps in float16; `metrics.csv` holds one row of measures for each step, kind, layer and head, computed before that rounding.
A log can also live in memory (`folder=None`): what a finished checkpoint attends to is a log of one step.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.table import MeasureRow, read_table, table_of, write_table

SCHEMA = 1
KINDS = ("encoder", "decoder", "cross")
DIMENSIONS = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers")


class Maps(NamedTuple):
    """Attention weights of one step, float32 (examples, layers, heads, query, key), zero at padding.

    encoder: source tokens look at source tokens, EOS included.
    decoder: what has been read so far (BOS + target) looks at itself.
    cross: row t reads tgt_in[t], predicts tgt_out[t], and looks at the source tokens.
    """

    encoder: NDArray
    decoder: NDArray
    cross: NDArray


@dataclass(frozen=True)
class Example:
    """One pair whose maps are kept.

    Args:
        id: what users know it by, such as its number in the validation split.
        source: text as it was read.
        reference: text to produce; None where none is known (a checkpoint's own hypothesis).
        source_tokens: labels for people, "<eos>" last.
        target_tokens: labels of tgt_out, "<eos>" last; tgt_in is "<bos>" and all but the last of these.
        links: sure links (source token, target token), 0-based, EOS not among them; None where the alignment is not known.
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
        for name in ("source_tokens", "target_tokens", "source_words", "target_words"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(value))
        if self.links is not None:
            object.__setattr__(self, "links", tuple((int(source), int(target)) for source, target in self.links))
            self._check_links(self.links)
        for side, tokens, words in (
            ("source", self.source_tokens, self.source_words),
            ("target", self.target_tokens, self.target_words),
        ):
            if words is not None and len(words) != len(tokens) - 1:
                raise ValueError(
                    f"example {self.id}: {side}_words has {len(words)} entries for {len(tokens) - 1} {side} tokens without EOS"
                )

    def _check_links(self, links: Sequence[tuple[int, int]]) -> None:
        num_sources, num_targets = len(self.source_tokens) - 1, len(self.target_tokens) - 1
        for source, target in links:
            if not (0 <= source < num_sources and 0 <= target < num_targets):
                raise ValueError(
                    f"example {self.id}: link {source}-{target} lies outside {num_sources} source and {num_targets} target tokens"
                    " (EOS not counted); give links between tokens, 0-based"
                )


@dataclass(frozen=True)
class StoredStep:
    """What is known of one stored step besides its maps."""

    step: int  # optimiser steps
    epoch: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)  # by their logged names, such as "val/loss"
    hypotheses: tuple[str, ...] | None = None  # one text an example


class AttentionLog:
    """Attention maps over training, in a folder or in memory; made by `create`, `open` or `of_maps`."""

    def __init__(
        self,
        folder: Path | None,
        *,
        examples: Sequence[Example],
        model: Mapping[str, int],
        max_megabytes: float,
        steps: Sequence[StoredStep] = (),
    ) -> None:
        """Use `create`, `open` or `of_maps`."""
        self.folder = folder
        self.examples = tuple(examples)
        self.model = dict(model)
        self.max_megabytes = max_megabytes
        self._steps = {stored.step: stored for stored in steps}
        self._maps: dict[int, Maps] = {}  # all of them for a log in memory, else only the last one written
        self._table: list[MeasureRow] = []

    @classmethod
    def create(
        cls,
        folder: str | Path | None,
        *,
        examples: Sequence[Example],
        model: Mapping[str, int],
        max_megabytes: float = 64.0,
    ) -> AttentionLog:
        """Start an empty log.

        Args:
            folder: made if missing, usually `RUN/attention`; None keeps the log in memory.
            examples: the pairs whose maps will be stored, in the maps' order.
            model: d_model, num_heads, num_encoder_layers, num_decoder_layers.
            max_megabytes: limit for the step files together, in millions of bytes; steps are thinned to keep it.

        Raises:
            ValueError: a dimension is missing, there is no example, or the folder already holds a log.
        """
        missing = [name for name in DIMENSIONS if name not in model]
        if missing:
            raise ValueError(f"model dimensions lack {', '.join(missing)}; give all of {', '.join(DIMENSIONS)}")
        if not examples:
            raise ValueError("an attention log needs at least one example, got none")
        log = cls(
            None if folder is None else Path(folder),
            examples=examples,
            model={name: int(model[name]) for name in DIMENSIONS},
            max_megabytes=max_megabytes,
        )
        if log.folder is not None:
            if (log.folder / "index.json").exists():
                raise ValueError(f"{log.folder} already holds an attention log; continue it with AttentionLog.open or choose another folder")
            log.folder.mkdir(parents=True, exist_ok=True)
            log._write_index()
        return log

    @classmethod
    def of_maps(
        cls,
        maps: Maps,
        *,
        examples: Sequence[Example],
        model: Mapping[str, int],
        step: int = 0,
        scores: Mapping[str, float] | None = None,
        hypotheses: Sequence[str] | None = None,
    ) -> AttentionLog:
        """A log in memory of one step, such as a finished checkpoint's maps of any text."""
        log = cls.create(None, examples=examples, model=model)
        log.append(step, maps, scores=scores, hypotheses=hypotheses)
        return log

    @classmethod
    def open(cls, folder: str | Path) -> AttentionLog:
        """Read a log from a run folder or its `attention` folder; it can be appended to.

        Raises:
            ValueError: there is no log, its index is damaged, or a newer seq2see wrote it.
        """
        folder = Path(folder)
        inner = folder / "attention"
        index_file = next((place / "index.json" for place in (inner, folder) if (place / "index.json").is_file()), None)
        if index_file is None:
            raise ValueError(f"{folder}: no attention log here (no index.json); give a run folder trained with attention_log.enabled=true")
        index = _read_index(index_file)
        try:
            examples = [Example(**{name: entry.get(name) for name in Example.__dataclass_fields__}) for entry in index["examples"]]
            steps = [_stored_step(entry) for entry in index["steps"]]
            model = {name: int(index["model"][name]) for name in DIMENSIONS}
            max_megabytes = float(index["max_megabytes"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{index_file}: not a valid attention log ({error!r}); log the run again or restore the file") from error
        return cls(index_file.parent, examples=examples, model=model, max_megabytes=max_megabytes, steps=steps)

    @property
    def steps(self) -> list[int]:
        """Stored steps, ascending."""
        return sorted(self._steps)

    def at(self, step: int) -> StoredStep:
        """Scores and hypotheses of a stored step."""
        if step not in self._steps:
            raise ValueError(f"step {step} is not stored; choose one of {', '.join(map(str, self.steps)) or '(none)'}")
        return self._steps[step]

    def maps(self, step: int) -> Maps:
        """The maps of a stored step, float32.

        Raises:
            ValueError: the step is not stored, or its file is missing or damaged.
        """
        self.at(step)
        if self.folder is None:
            return self._maps[step]
        file = self._step_file(step)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                maps = Maps(*(arrays[kind].astype(np.float32) for kind in KINDS))
            self._check_shapes(maps)
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{file}: cannot be read ({error}); delete it and its entry in index.json, or log the run again"
            ) from error
        return maps

    def measures(self) -> list[MeasureRow]:
        """The measures, one row for each step, kind, layer and head, of all steps ever appended."""
        if self.folder is None or self._table:
            return self._table
        return read_table(self.folder / "metrics.csv")

    def append(
        self,
        step: int,
        maps: Maps,
        *,
        epoch: float | None = None,
        scores: Mapping[str, float] | None = None,
        hypotheses: Sequence[str] | None = None,
    ) -> None:
        """Store one step: its maps, its measures, what it scored and said.

        A resumed run may append a step again: what was stored from that step on is dropped first.

        Args:
            step: optimiser steps so far.
            maps: float32, as `Maps` says; padding beyond the longest example is cut, hidden cells are set to zero.
            epoch: epochs so far, may be fractional.
            scores: by their logged names, such as "train/loss", "val/exact_match".
            hypotheses: what the model says now for each example.

        Raises:
            ValueError: shapes do not fit the examples and the model, or there is not one hypothesis an example.
        """
        if hypotheses is not None and len(hypotheses) != len(self.examples):
            raise ValueError(f"step {step}: {len(hypotheses)} hypotheses for {len(self.examples)} examples; give one each")
        maps = self._fit(maps)
        for stale in [other for other in self._steps if other >= step]:
            self._forget(stale)
        previous = self._previous_maps()
        rows = [row for row in self.measures() if row.step < step] + table_of(step, maps, previous, self.examples)
        self._table = rows
        stored = StoredStep(step, epoch, dict(scores or {}), None if hypotheses is None else tuple(hypotheses))
        if self.folder is not None:
            self._write_maps(step, maps)
            self._maps.clear()
        self._maps[step] = maps
        self._steps[step] = stored
        dropped = self._thin()
        if self.folder is not None:
            write_atomically(self.folder / "metrics.csv", write_table(rows).encode())
            self._write_index()
            for old in dropped:
                self._step_file(old).unlink(missing_ok=True)

    def _previous_maps(self) -> Maps | None:
        if not self._steps:
            return None
        last = self.steps[-1]
        return self._maps[last] if last in self._maps else self.maps(last)

    def _forget(self, step: int) -> None:
        del self._steps[step]
        self._maps.pop(step, None)
        if self.folder is not None:
            self._write_index()
            self._step_file(step).unlink(missing_ok=True)

    def _fit(self, maps: Maps) -> Maps:
        """Cut to the longest example, hidden cells exactly zero."""
        num_sources = max(len(example.source_tokens) for example in self.examples)
        num_targets = max(len(example.target_tokens) for example in self.examples)
        cut = Maps(
            np.asarray(maps.encoder, np.float32)[..., :num_sources, :num_sources],
            np.asarray(maps.decoder, np.float32)[..., :num_targets, :num_targets],
            np.asarray(maps.cross, np.float32)[..., :num_targets, :num_sources],
        )
        self._check_shapes(cut)
        return Maps(*(np.where(self.visible(kind)[:, None, None], getattr(cut, kind), np.float32(0)) for kind in KINDS))

    def visible(self, kind: str) -> NDArray[np.bool_]:
        """Which cells of a kind's maps may hold weight, (examples, query, key): neither padding nor, in the decoder, later."""
        sources = _real([len(example.source_tokens) for example in self.examples])
        targets = _real([len(example.target_tokens) for example in self.examples])
        queries = sources if kind == "encoder" else targets
        keys = targets if kind == "decoder" else sources
        cells = queries[:, :, None] & keys[:, None, :]
        return np.tril(cells) if kind == "decoder" else cells

    def _check_shapes(self, maps: Maps) -> None:
        num_sources = max(len(example.source_tokens) for example in self.examples)
        num_targets = max(len(example.target_tokens) for example in self.examples)
        num_heads = self.model["num_heads"]
        encoder = (len(self.examples), self.model["num_encoder_layers"], num_heads)
        decoder = (len(self.examples), self.model["num_decoder_layers"], num_heads)
        expected = {
            "encoder": (*encoder, num_sources, num_sources),
            "decoder": (*decoder, num_targets, num_targets),
            "cross": (*decoder, num_targets, num_sources),
        }
        for kind in KINDS:
            shape = getattr(maps, kind).shape
            if shape != expected[kind]:
                raise ValueError(
                    f"{kind} maps have shape {shape}, the examples and the model need {expected[kind]}"
                    " (examples, layers, heads, query, key)"
                )

    def _thin(self) -> list[int]:
        """Drop steps until the files fit, keeping the first, the last and those most evenly spaced in log(step)."""
        sizes = {step: self._size(step) for step in self.steps}
        dropped = []
        while len(sizes) > 2 and sum(sizes.values()) > self.max_megabytes * 1e6:
            drop = densest_step(list(sizes))
            del sizes[drop], self._steps[drop]
            self._maps.pop(drop, None)
            dropped.append(drop)
        return dropped

    def _size(self, step: int) -> int:
        if self.folder is None:
            return 0
        file = self._step_file(step)
        return file.stat().st_size if file.exists() else 0

    def _step_file(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"step-{step:08d}.npz"

    def _write_maps(self, step: int, maps: Maps) -> None:
        buffer = io.BytesIO()
        halves = (array.astype(np.float16) for array in maps)
        encoder, decoder, cross = halves
        np.savez_compressed(buffer, encoder=encoder, decoder=decoder, cross=cross)
        write_atomically(self._step_file(step), buffer.getvalue())

    def _write_index(self) -> None:
        assert self.folder is not None
        index = {
            "schema": SCHEMA,
            "model": self.model,
            "max_megabytes": self.max_megabytes,
            "examples": [_example_entry(example) for example in self.examples],
            "steps": [_step_entry(self._steps[step], self._step_file(step).name) for step in self.steps],
        }
        text = json.dumps(index, ensure_ascii=False, indent=1, allow_nan=False)
        write_atomically(self.folder / "index.json", text.encode("utf-8", "surrogatepass"))


def densest_step(steps: Sequence[int]) -> int:
    """The inner step whose neighbours are nearest to each other in log(step + 1): the one to miss least."""
    inner = range(1, len(steps) - 1)
    return steps[min(inner, key=lambda i: math.log((steps[i + 1] + 1) / (steps[i - 1] + 1)))]


def write_atomically(file: Path, content: bytes) -> None:
    """Write so that a reader, or a power cut, sees the old file or the new one, never a part."""
    temporary = file.with_name(f".{file.name}-{os.getpid()}.part")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _real(lengths: Sequence[int]) -> NDArray[np.bool_]:
    return np.arange(max(lengths)) < np.asarray(lengths)[:, None]


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


def _step_entry(stored: StoredStep, file: str) -> dict:
    return {
        "step": stored.step,
        "epoch": stored.epoch,
        "file": file,
        "scores": {name: float(value) if math.isfinite(value) else None for name, value in stored.scores.items()},
        "hypotheses": None if stored.hypotheses is None else list(stored.hypotheses),
    }


def _stored_step(entry: dict) -> StoredStep:
    scores = {name: math.nan if value is None else float(value) for name, value in entry["scores"].items()}
    hypotheses = entry["hypotheses"]
    return StoredStep(int(entry["step"]), entry["epoch"], scores, None if hypotheses is None else tuple(hypotheses))


def _read_index(file: Path) -> dict:
    try:
        index = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: cannot be read ({error}); restore the file or log the run again") from error
    schema = index.get("schema") if isinstance(index, dict) else None
    if not isinstance(schema, int):
        raise ValueError(f"{file}: has no schema version, so it is not an attention log; give a run folder of seq2see")
    if schema > SCHEMA:
        raise ValueError(f"{file}: written by a newer seq2see (schema {schema}, this one reads up to {SCHEMA}); update seq2see to read it")
    return index
