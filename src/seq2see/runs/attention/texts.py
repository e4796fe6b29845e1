"""A log in memory of what a model attends to while it translates some lines, or is given their translations."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import Hypothesis, TranslationModel, decode_sentences
from seq2see.maps import AttentionLog, Example
from seq2see.maps.ablation import head_effects
from seq2see.maps.alignment import model_dimensions
from seq2see.maps.attended import word_numbers
from seq2see.maps.capture import capture, fed_back
from seq2see.runs.translate.lines import about_unfinished, read_lines

MAX_LINES = 200  # in one page
MOST_ABLATED = 32  # lines; with more, what each head is worth takes longer than all the rest
MOST_CELLS = 2**28  # of all maps together: 1 GB


class Line(NamedTuple):
    """A line to look at.

    Attributes:
        number: in its file, from 1.
        source: its text.
        target: what the decoder is to be fed; None: what the model writes.
    """

    number: int
    source: str
    target: str | None = None


def read_texts(path: str | None, target: str | None) -> list[Line]:
    """The lines of a file or of standard input with something in them, each with its target if there is such a file.

    Raises:
        ValueError: a file cannot be read, or the two have different numbers of lines.
    """
    sources = list(read_lines(path))
    if target is None:
        lines = [Line(number, source) for number, source in enumerate(sources, start=1)]
    else:
        try:
            targets = list(read_lines(target))
        except ValueError as error:
            raise ValueError(str(error).replace("input:", "target:", 1)) from error
        if len(targets) != len(sources):
            raise ValueError(
                f"target: {target} has {len(targets)} lines, {path or 'standard input'} has {len(sources)}: give one "
                "target for each line"
            )
        numbered = enumerate(zip(sources, targets, strict=True), start=1)
        lines = [Line(number, source, text) for number, (source, text) in numbered]
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
    source, target = trained.source_tokenizer, trained.target_tokenizer
    sources = source.encode_batch(line.source for line in lines)
    is_forced = lines[0].target is not None
    given = target.encode_batch(line.target or "" for line in lines) if is_forced else []
    _check_lengths(lines, sources, "input", *trained.source_limit)
    positions = trained.model.decoder_positions.max_length
    if is_forced and positions is not None:
        _check_lengths(lines, given, "target", positions, "model.max_positions")
    found = decode_sentences(
        trained.model,
        sources,
        limit=trained.length_limit,
        options=trained.options.decode,
        numbers=[line.number for line in lines],
    )
    hypotheses = [best for best, *_ in found]
    written = [hypothesis.ids for hypothesis in hypotheses]
    unfinished = [line.number for line, said in zip(lines, hypotheses, strict=True) if not said.ended]
    if unfinished:
        print(about_unfinished(unfinished, trained.length_limit.remedy), file=sys.stderr)
    targets = given if is_forced else written
    _check_size(trained, sources, [*targets, *(written if is_forced else [])])
    batch = EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(len(lines))).batch(range(len(lines)))
    maps = capture(trained.model, batch, norms=True)
    if is_forced:
        free = capture(trained.model, fed_back(batch, hypotheses), norms=True)
        maps = maps._replace(
            decoder_free=free.decoder,
            cross_free=free.cross,
            decoder_free_norm=free.decoder_norm,
            cross_free_norm=free.cross_norm,
        )
    examples = [
        Example(
            id=line.number,
            source=line.source,
            reference=line.target,
            source_tokens=(*source.tokens(source_ids), "<eos>"),
            target_tokens=(*target.tokens(ids), "<eos>"),
            source_words=tuple(source.word_numbers(line.source)),
            target_words=tuple(word_numbers(target, ids)),
        )
        for line, source_ids, ids in zip(lines, sources, targets, strict=True)
    ]
    return AttentionLog.of_maps(
        maps,
        examples=examples,
        model=model_dimensions(trained),
        step=trained.step,
        hypotheses=[target.decode(ids) for ids in written],
        hypothesis_tokens=[_labels(trained, hypothesis) for hypothesis in hypotheses] if is_forced else None,
        effects=head_effects(trained.model, batch) if len(lines) <= MOST_ABLATED else None,
    )


def _labels(trained: TranslationModel, hypothesis: Hypothesis) -> list[str]:
    return [*trained.target_tokenizer.tokens(hypothesis.ids), *["<eos>"] * hypothesis.ended]


def _check_lengths(lines: Sequence[Line], texts: Sequence[Sequence[int]], option: str, most: int, key: str) -> None:
    for line, ids in zip(lines, texts, strict=True):
        if len(ids) + 1 > most:
            raise ValueError(
                f"{option}, line {line.number}: {len(ids) + 1} tokens, the end included, are more than the {most} that "
                f"the model reads ({key}): give a shorter line"
            )


def _check_size(trained: TranslationModel, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
    model = model_dimensions(trained)
    longest_source, longest_target = max(map(len, sources)) + 1, max(map(len, targets), default=0) + 1
    maps = len(sources) * model["num_heads"] * max(model["num_encoder_layers"], model["num_decoder_layers"])
    cells = maps * (longest_source**2 + longest_target * (longest_source + longest_target))
    if cells > MOST_CELLS:
        raise ValueError(
            f"input: {len(sources)} lines of up to {max(longest_source, longest_target)} tokens have too many maps "
            "for one page: give fewer or shorter lines"
        )
