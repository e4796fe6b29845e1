"""What is shown: the texts, with what the model makes of them, and of all maps the one that comes first."""

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seq2see.commands.translate.lines import about_unfinished, read_lines
from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, decode_sentences
from seq2see.maps import AttentionLog
from seq2see.maps.ablation import head_effects
from seq2see.maps.attended import CrossHead, dimensions_of, labelled, labels_of
from seq2see.maps.capture import capture, with_outputs
from seq2see.maps.drawing import TITLES, Choice
from seq2see.options import AttentionKind, AttentionOptions

MAX_LINES = 200  # in one page
MOST_ABLATED = 32  # lines; with more, what each head is worth takes longer than all the rest


class Line(NamedTuple):
    """A line to look at."""

    number: int  # in its file, from 1
    source: str
    target: str | None = None  # what the decoder is to be fed; None: what the model writes


def read_texts(path: str | None, target: str | None) -> list[Line]:
    """The lines of a file or of standard input with something in them, each with its target if there is such a file.

    Raises:
        ValueError: a file cannot be read, or the two have different numbers of lines.
    """
    sources = list(read_lines(path))
    targets: Sequence[str | None] = [None] * len(sources)
    if target is not None:
        try:
            targets = list(read_lines(target))
        except ValueError as error:
            raise ValueError(str(error).replace("input:", "target:", 1)) from error
    if len(targets) != len(sources):
        raise ValueError(
            f"target: {target} has {len(targets)} lines, {path or 'standard input'} has {len(sources)}: give one "
            "target for each line"
        )
    lines = map(Line, range(1, len(sources) + 1), sources, targets)
    return [line for line in lines if line.source.strip()]


def log_of(trained: TranslationModel, lines: Sequence[Line]) -> AttentionLog:
    """A log of one step, in memory: what the model attends to while it translates these lines.

    The decoder is fed the very ids that the model wrote; where targets are given it is fed those, and the maps of the
    model's own outputs stand beside them (`*_free`).

    Args:
        trained: the model; its decoding options hold.
        lines: all of them with a target, or none.

    Raises:
        ValueError: there is no line, or there are more than one page holds, or longer ones than the model reads.
    """
    if not lines:
        raise ValueError("input: there is no line with text in it: give at least one")
    if len(lines) > MAX_LINES:
        raise ValueError(f"input: {len(lines)} lines are more than the {MAX_LINES} that one page holds: give fewer")
    target, is_forced = trained.target_tokenizer, lines[0].target is not None
    sources = trained.source_tokenizer.encode_batch(line.source for line in lines)
    given = target.encode_batch(line.target or "" for line in lines) if is_forced else []
    most = trained.model.decoder_positions.max_length
    for option, texts, (limit, key) in (
        ("input", sources, trained.source_limit),
        ("target", given, (most, "model.max_positions")),
    ):
        for line, ids in zip(lines, texts, strict=False):
            if limit is not None and len(ids) + 1 > limit:
                raise ValueError(
                    f"{option}, line {line.number}: {len(ids) + 1} tokens, the end included, are more than the {limit} "
                    f"that the model reads ({key}): give a shorter line"
                )
    numbers = [line.number for line in lines]
    found = decode_sentences(
        trained.model, sources, limit=trained.length_limit, options=trained.options.decode, numbers=numbers
    )
    hypotheses = [best for best, *_ in found]
    unfinished = [number for number, said in zip(numbers, hypotheses, strict=True) if not said.ended]
    if unfinished:
        print(about_unfinished(unfinished, trained.length_limit.remedy), file=sys.stderr)
    targets = given if is_forced else [said.ids for said in hypotheses]
    batch = EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(len(lines))).batch(range(len(lines)))
    if is_forced:
        maps = with_outputs(trained.model, batch, hypotheses)
        tokens = [labels_of(target, said.ids, ended=said.ended) for said in hypotheses]
    else:
        maps, tokens = capture(trained.model, batch, norms=True), None
    return AttentionLog.of_maps(
        maps,
        examples=[
            labelled(trained, line.number, line.source, ids, line.target)
            for line, ids in zip(lines, targets, strict=True)
        ],
        model=dimensions_of(trained),
        step=trained.step,
        hypotheses=[target.decode(said.ids) for said in hypotheses],
        hypothesis_tokens=tokens,
        effects=head_effects(trained.model, batch) if len(lines) <= MOST_ABLATED else None,
    )


def choose(options: AttentionOptions, log: AttentionLog, aligning: CrossHead | None) -> Choice:
    """What was asked for; of cross attention else the head that aligns best, of the others the last layer.

    `aligning` is what `aligning_head` found; None: the head with the lowest alignment error rate in the log.

    Raises:
        ValueError: there is no such layer, head or step, or it has no norms.
    """
    if options.step is not None and options.step not in log.steps:
        raise ValueError(f"step={options.step} is not stored: there are maps of step {', '.join(map(str, log.steps))}")
    step, kind = log.steps[-1] if options.step is None else options.step, options.kind
    if options.norms and f"{kind.value}_norm" not in log.maps(step).named():
        raise ValueError(f"norms=true: the log has weights alone at step {step}: leave norms out")
    heads = log.model["num_heads"]
    layers = log.model["num_encoder_layers" if kind is AttentionKind.encoder else "num_decoder_layers"]
    if options.layer is None:
        place, reason = _aligned_best(log, aligning) if kind is AttentionKind.cross else (None, "")
        place, reason = (place, reason) if place else (CrossHead(layers - 1), "layer= and head= choose another")
    elif options.layer > layers:
        raise ValueError(f"layer={options.layer}: {TITLES[kind]} has layers 1 to {layers}")
    elif options.head is not None and options.head > heads:
        raise ValueError(f"head={options.head}: there are heads 1 to {heads}")
    else:
        place, reason = CrossHead(options.layer - 1, None if options.head is None else options.head - 1), ""
    return Choice(kind, place, reason, options.step, options.norms)


def _aligned_best(log: AttentionLog, aligning: CrossHead | None) -> tuple[CrossHead | None, str]:
    if aligning is not None:
        known = aligning if aligning.head is not None else None
        return known, "aligned best on validation pairs when the run was evaluated"
    rows = [row for row in log.measures() if row.step == log.steps[-1] and not math.isnan(row.alignment_error_rate)]
    best = min(rows, key=lambda row: row.alignment_error_rate, default=None)
    reason = "the lowest alignment error rate on the logged pairs at the last step"
    return None if best is None else CrossHead(best.layer, best.head), reason
