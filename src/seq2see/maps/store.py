"""The folder `attention/`: every map of every stored step, on disk and back.

`index.json` says what the maps are of (model, tokens, true links) and what each step scored; `step-00000200.npz` holds
one step's maps in float16; `metrics.csv` holds one row of measures for each step, kind, layer and head, computed before
that rounding. A step whose maps were thinned away keeps its scores and measures. A log can also live in memory
(`folder=None`): what a finished checkpoint attends to is a log of one step.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from seq2see.atomic_write import whole_binary_file, write_bytes
from seq2see.maps import arrays
from seq2see.maps.arrays import Example, Index, Maps, StoredStep
from seq2see.maps.measures import HeadEffects, MeasureRow, read_table, table_of, write_table

LEAST_STEPS = 8  # that a limit of size leaves, if they are as large as was reckoned
USUAL_STEPS = 24  # that a run of some thousand steps stores
BYTES_A_CELL = 1.85  # in half precision, deflated: 1.7 to 1.8 at 100 tokens


class StoredLog:
    """Attention maps over training, kept and given back; `AttentionLog` is one that can be shown too."""

    def __init__(self, folder: Path | None, index: Index) -> None:
        """Use `create`, `open` or `of_maps`."""
        self.folder = folder
        self.model = index.model
        self.max_megabytes = index.max_megabytes
        self.examples = index.examples
        self._steps = {stored.step: stored for stored in index.steps}
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
    ) -> Self:
        """Start an empty log of these pairs, in the maps' order.

        Args:
            folder: made if missing, usually `RUN/attention`; None keeps the log in memory.
            examples: at least one.
            model: d_model, num_heads, num_encoder_layers, num_decoder_layers; where the encoder has another number of
                heads num_encoder_heads, and where cross attention has another number of layers num_cross_layers.
            max_megabytes: limit for the step files together, in millions of bytes; steps are thinned to keep it.

        Raises:
            ValueError: the folder already holds a log.
        """
        index = Index(arrays.dimensions(model), max_megabytes, tuple(examples), ())
        log = cls(None if folder is None else Path(folder), index)
        if log.folder is not None:
            if (log.folder / "index.json").exists():
                raise ValueError(
                    f"{log.folder} already holds an attention log;"
                    " continue it with AttentionLog.open or choose another folder"
                )
            log.folder.mkdir(parents=True, exist_ok=True)
            log._write(stale=())
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
        hypothesis_tokens: Sequence[Sequence[str]] | None = None,
        effects: HeadEffects | None = None,
    ) -> Self:
        """A log in memory of one step, such as a finished checkpoint's maps of any text; arguments as in `append`."""
        log = cls.create(None, examples=examples, model=model)
        log.append(
            step, maps, scores=scores, hypotheses=hypotheses, hypothesis_tokens=hypothesis_tokens, effects=effects
        )
        return log

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Read a log from a run folder or its `attention` folder; it can be appended to.

        Raises:
            ValueError: there is no log, its index is damaged, or a newer seq2see wrote it.
        """
        for place in (Path(folder) / "attention", Path(folder)):
            if (place / "index.json").is_file():
                return cls(place, arrays.read_index(place / "index.json"))
        raise ValueError(
            f"{folder}: no attention log here (no index.json);"
            " give a run folder trained with attention_log.enabled=true"
        )

    @property
    def steps(self) -> list[int]:
        """Steps whose maps are stored, ascending."""
        return sorted(step for step, stored in self._steps.items() if stored.has_maps)

    @property
    def history(self) -> list[StoredStep]:
        """All steps ever appended, also those whose maps were thinned away, ascending."""
        return [self._steps[step] for step in sorted(self._steps)]

    def at(self, step: int) -> StoredStep:
        """Scores and hypotheses of a step."""
        if step not in self._steps:
            raise ValueError(f"step {step} is not stored; choose one of {', '.join(map(str, self.steps)) or '(none)'}")
        return self._steps[step]

    def maps(self, step: int) -> Maps:
        """The maps of a stored step, float32.

        Raises:
            ValueError: the step is not stored, its maps were thinned away, or its file is damaged.
        """
        stored = self.at(step)
        if not stored.has_maps:
            raise ValueError(
                f"step {step}: its maps were dropped to keep the log within {self.max_megabytes:g} megabytes; choose"
                f" one of {', '.join(map(str, self.steps))}, or train with a larger attention_log.max_megabytes"
            )
        if self.folder is None:
            return self._maps[step]
        try:
            return arrays.read_maps(self._step_file(step), self.examples, self.model, stored.hypothesis_tokens)
        except ValueError as error:
            raise ValueError(f"{error}; delete it and its entry in index.json, or log the run again") from error

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
        hypothesis_tokens: Sequence[Sequence[str]] | None = None,
        effects: HeadEffects | None = None,
    ) -> None:
        """Store one step: its maps, its measures, what it scored and said; what was stored of later steps is dropped.

        Args:
            step: optimiser steps so far.
            maps: padding beyond the longest example is cut, hidden cells are set to zero.
            epoch: may be fractional.
            scores: by their logged names, such as "train/loss", "val/exact_match".
            hypotheses: what the model says now for each example.
            hypothesis_tokens: labels of the outputs that `*_free` maps are of, "<eos>" last where it was reached.
            effects: what each head is worth, where it was measured.

        Raises:
            ValueError: shapes do not fit the examples and the model, or there is not one hypothesis an example.
        """
        for said in (hypotheses, hypothesis_tokens):
            if said is not None and len(said) != len(self.examples):
                raise ValueError(
                    f"step {step}: {len(said)} hypotheses for {len(self.examples)} examples; give one each"
                )
        maps = arrays.fit(maps, self.examples, self.model, hypothesis_tokens)
        self.forget_after(step - 1)
        previous = (self._maps.get(self.steps[-1]) or self.maps(self.steps[-1])) if self.steps else None
        self._table = [*self.measures(), *table_of(step, maps, previous, self.examples, effects)]
        texts = None if hypotheses is None else tuple(hypotheses)
        tokens = None if hypothesis_tokens is None else tuple(map(tuple, hypothesis_tokens))
        if self.folder is not None:
            self._maps.clear()
            with whole_binary_file(self._step_file(step)) as stream:
                maps = arrays.write_maps(stream, maps)  # as read again, so that drift agrees in a run that goes on
        self._maps[step], self._steps[step] = maps, StoredStep(step, epoch, dict(scores or {}), texts, tokens)
        self._write(stale=self._thin())

    def forget_after(self, step: int) -> None:
        """Drop what was stored of later steps: a run that goes on from this one makes them anew."""
        later = [other for other in self._steps if other > step]
        rows = self.measures()
        self._table = [row for row in rows if row.step <= step]
        for stale in later:
            del self._steps[stale]
            self._maps.pop(stale, None)
        if later or len(self._table) < len(rows):
            self._write(stale=later)

    def _thin(self) -> list[int]:
        """Drop steps until the files fit, keeping the first, the last and those most evenly spaced in log(step)."""
        if self.folder is None:
            return []
        files = {step: self._step_file(step) for step in self.steps}
        sizes = {step: file.stat().st_size if file.exists() else 0 for step, file in files.items()}
        dropped = []
        while len(sizes) > 2 and sum(sizes.values()) > self.max_megabytes * 1e6:
            drop = densest_step(list(sizes))
            del sizes[drop]
            self._steps[drop] = replace(self._steps[drop], has_maps=False, hypothesis_tokens=None)
            self._maps.pop(drop, None)
            dropped.append(drop)
        return dropped

    def _write(self, *, stale: Sequence[int]) -> None:
        """Measures and index, and only then the stale steps' files go."""
        if self.folder is None:
            return
        write_bytes(self.folder / "metrics.csv", write_table(self._table).encode())
        index = Index(self.model, self.max_megabytes, self.examples, tuple(self.history))
        arrays.write_index(self.folder / "index.json", index)
        for step in stale:
            self._step_file(step).unlink(missing_ok=True)

    def _step_file(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / arrays.step_file_name(step)


class Room(NamedTuple):
    """What a log of a limited size holds: so many pairs, and whether inner steps have norms and own outputs too."""

    num_pairs: int
    is_whole: bool


def room_for(examples: Sequence[Example], model: Mapping[str, int], max_megabytes: float) -> Room:
    """At least one pair, and as many that `LEAST_STEPS` steps fit, the first and the last with norms and own outputs.

    The size of a step is reckoned before there is one, so that training never waits for what would be thrown away.
    """

    def size(name: str, num_pairs: int) -> float:
        layers, heads = arrays.depth_and_heads(model, name)
        cells = (queries * keys for queries, keys in zip(*arrays.lengths(name, examples[:num_pairs]), strict=True))
        return BYTES_A_CELL * layers * heads * sum(cells) / (2 if name.startswith("decoder") else 1)

    def sizes(num_pairs: int) -> tuple[float, float]:
        return sum(size(name, num_pairs) for name in arrays.KINDS), sum(size(name, num_pairs) for name in Maps._fields)

    most = max_megabytes * 1e6
    for num_pairs in range(len(examples), 0, -1):
        weights, whole = sizes(num_pairs)
        if num_pairs == 1 or 2 * whole + (LEAST_STEPS - 2) * weights <= most:
            return Room(num_pairs, is_whole=USUAL_STEPS * whole <= most)
    return Room(0, is_whole=True)


def densest_step(steps: Sequence[int], kept: Collection[int | str] = ()) -> int:
    """The inner step whose neighbours are nearest to each other in log(step + 1), of those not kept: to miss least."""
    inner = [i for i in range(1, len(steps) - 1) if steps[i] not in kept]
    return steps[min(inner, key=lambda i: math.log((steps[i + 1] + 1) / (steps[i - 1] + 1)))]
