"""Promises of decoding: what a model writes follows from the source alone."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn import functional as F

from seq2see.decoding import Hypothesis, beam_search, decode_sentences, greedy
from seq2see.options import DecodeOptions
from seq2see.runs.selfcheck.model import distance, greatest
from seq2see.runs.selfcheck.subject import NUM_PAIRS, Subject
from seq2see.text import BOS, EOS

BEAM_SIZE = 4
_MOST_TOKENS = 16  # of an output: a new model seldom ends one
_SAME = 1e-9  # nats between scores that are the same


def greedy_batches(subject: Subject) -> int:
    """Outputs that are others when sources are decoded together, greedily."""
    return _differing_batches(subject, beam_size=1)


def beam_batches(subject: Subject) -> int:
    """Outputs that are others when sources are decoded together, with a beam."""
    return _differing_batches(subject, beam_size=BEAM_SIZE)


def _differing_batches(subject: Subject, *, beam_size: int) -> int:
    limit = replace(subject.trained.length_limit, cap=_longest(subject))
    alone, few, together = (
        [
            hypotheses[0]
            for hypotheses in decode_sentences(
                subject.model,
                subject.sources,
                limit=limit,
                options=DecodeOptions(beam_size=beam_size, batch_size=batch_size),
            )
        ]
        for batch_size in (1, 3, NUM_PAIRS)
    )
    return _num_other(few, alone) + _num_other(together, alone)


def beam_of_one(subject: Subject) -> int:
    """Outputs of beam search that are others than greedy ones, when the beam is one."""
    model, batch = subject.model, subject.batch
    limits = [_longest(subject)] * NUM_PAIRS
    expected = greedy(model, batch.src, batch.src_mask, max_lengths=limits)
    found = beam_search(model, batch.src, batch.src_mask, max_lengths=limits, beam_size=1)
    return _num_other([hypotheses[0] for hypotheses in found], expected)


def cache(subject: Subject) -> float:
    """The greatest difference of a logit between one pass over a target and a step for each of its tokens."""
    model, batch = subject.model, subject.batch
    num_targets = min(batch.tgt_in.shape[1], _MOST_TOKENS)
    differences = []
    with torch.inference_mode():
        memory = model.encode(batch.src, batch.src_mask)
        logits = model.decode(batch.tgt_in[:, :num_targets], memory, batch.src_mask)
        state = model.new_cache()
        for place in range(num_targets):
            step = model.decode(batch.tgt_in[:, place : place + 1], memory, batch.src_mask, state)
            differences.append(distance(step[:, 0], logits[:, place]))
    return greatest(differences)


def scores(subject: Subject) -> float:
    """The greatest distance, nats, of an output's or a target's score from the log-probabilities of the loss."""
    model, batch = subject.model, subject.batch
    found = greedy(model, batch.src, batch.src_mask, max_lengths=[_longest(subject)] * NUM_PAIRS)
    written = [[*one.ids, EOS] if one.ended else one.ids for one in found]
    expected = [
        _log_prob(subject, row, ids) for row, ids in enumerate([*written, *([*own, EOS] for own in subject.targets)])
    ]
    given = replace(subject.trained, model=model).score((pair.source, pair.target) for pair in subject.pairs)
    return greatest(
        abs(own - other) for own, other in zip([*(one.score for one in found), *given], expected, strict=True)
    )


def _log_prob(subject: Subject, row: int, ids: Sequence[int]) -> float:
    """Of a target of the row, by the cross entropy that training minimises."""
    model, batch = subject.model, subject.batch
    src, src_mask = batch.src[row % NUM_PAIRS, None], batch.src_mask[row % NUM_PAIRS, None]
    with torch.inference_mode():
        logits = model(src, src_mask, torch.tensor([[BOS, *ids[:-1]]]))[0]
    return -float(F.cross_entropy(logits, torch.tensor(ids, dtype=torch.int64), reduction="sum")) if ids else 0.0


def _longest(subject: Subject) -> int:
    return min(_MOST_TOKENS, subject.trained.length_limit.cap or _MOST_TOKENS)


def _num_other(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> int:
    return sum(
        here.ids != there.ids or here.ended != there.ended or not abs(here.score - there.score) <= _SAME
        for here, there in zip(found, expected, strict=True)
    )
