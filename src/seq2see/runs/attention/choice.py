"""Which map is shown first, or where there is room for one: a kind, a layer, a head or the mean of all, a step."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import NDArray

from seq2see.maps import AttentionLog
from seq2see.maps.attended import CrossHead
from seq2see.options import AttentionKind, AttentionOptions

TITLES = {
    AttentionKind.cross: "cross attention",
    AttentionKind.encoder: "encoder self-attention",
    AttentionKind.decoder: "decoder self-attention",
}


@dataclass(frozen=True)
class Choice:
    """One map out of those of all layers and heads.

    Args:
        kind: whose attention.
        place: layer, and head or the mean of all.
        reason: why this one, if nobody asked for it.
        step: of a run's log; None: the last one.
        norms: whether it is norm-weighted, in the place of weights.
    """

    kind: AttentionKind
    place: CrossHead
    reason: str = ""
    step: int | None = None
    norms: bool = False

    @property
    def name(self) -> str:
        """For people; layers and heads count from 1."""
        norms = ", norms" if self.norms else ""
        return f"{TITLES[self.kind]}, {self.place}{norms}" + ("" if self.step is None else f", step {self.step}")

    @property
    def view(self) -> Mapping[str, str | int]:
        """The page's view that is nearest, as its address names it: the page has no means, so it shows head 1."""
        view: dict[str, str | int] = {"kind": self.kind.value, "layer": self.place.layer + 1}
        view["head"] = 1 if self.place.head is None else self.place.head + 1
        if self.step is not None:
            view["step"] = self.step
        return view | {"cells": "norms"} if self.norms else view

    def of(self, maps: NDArray) -> NDArray:
        """Its weights or norms (query, key) out of those of all (layers, H, query, key)."""
        return self.place.of(maps)

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


def choose(options: AttentionOptions, log: AttentionLog, aligning: CrossHead | None) -> Choice:
    """What was asked for; of cross attention else the head that aligns best, of the others the last layer.

    Args:
        options: `kind`, `layer`, `head`, `step` and `norms`.
        log: what there is to choose from, at least one step.
        aligning: what `aligning_head` found; None: the head with the lowest alignment error rate in the log.

    Raises:
        ValueError: there is no such layer, head or step, or it has no norms.
    """
    if options.step is not None and options.step not in log.steps:
        raise ValueError(f"step={options.step} is not stored: there are maps of step {', '.join(map(str, log.steps))}")
    step = log.steps[-1] if options.step is None else options.step
    if options.norms and f"{options.kind.value}_norm" not in log.maps(step).named():
        raise ValueError(f"norms=true: the log has weights alone at step {step}: leave norms out")
    place, reason = _place(options, log, aligning)
    return Choice(options.kind, place, reason, options.step, options.norms)


def _place(options: AttentionOptions, log: AttentionLog, aligning: CrossHead | None) -> tuple[CrossHead, str]:
    kind, heads = options.kind, log.model["num_heads"]
    layers = log.model["num_encoder_layers" if kind is AttentionKind.encoder else "num_decoder_layers"]
    if options.layer is not None:
        if options.layer > layers:
            raise ValueError(f"layer={options.layer}: {TITLES[kind]} has layers 1 to {layers}")
        if options.head is not None and options.head > heads:
            raise ValueError(f"head={options.head}: there are heads 1 to {heads}")
        return CrossHead(options.layer - 1, None if options.head is None else options.head - 1), ""
    if kind is AttentionKind.cross:
        if aligning is not None and aligning.head is not None:
            return aligning, "aligned best on validation pairs when the run was evaluated"
        best = _best_in(log)
        if aligning is None and best is not None:
            return best, "the lowest alignment error rate on the logged pairs at the last step"
    return CrossHead(layers - 1), "layer= and head= choose another"


def _best_in(log: AttentionLog) -> CrossHead | None:
    rows = [
        row
        for row in log.measures()
        if row.step == log.steps[-1] and row.kind == "cross" and not math.isnan(row.alignment_error_rate)
    ]
    best = min(rows, key=lambda row: row.alignment_error_rate, default=None)
    return None if best is None else CrossHead(best.layer, best.head)
