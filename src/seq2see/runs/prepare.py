"""All that stands before the first step: pairs, tokenizers, ids, budget and model. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seq2see.data import EncodedPairs, Loader, make_loader
from seq2see.decoding import LengthLimit
from seq2see.options import Position, TokenizerOptions, TrainOptions, seconds_of
from seq2see.runs.checkpoint import Trained, load
from seq2see.runs.choices import Facts, choose
from seq2see.runs.data import task_of
from seq2see.tasks import Pair, Task
from seq2see.text import Tokenizer
from seq2see.training import Budget
from seq2see.transformer import Transformer

NUM_VALIDATION = 2_000  # pairs at most that each validation looks at


@dataclass
class Prepared:
    """All that stands before the first step."""

    options: TrainOptions
    notes: list[str]
    task: Task
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: EncodedPairs
    valid: EncodedPairs
    valid_pairs: Sequence[Pair]
    budget: Budget
    trained: Trained


def prepare(options: TrainOptions) -> Prepared:
    """Pairs, tokenizers, ids and the model; nothing is written."""
    task = task_of(options)
    train_pairs, valid_pairs = task.pairs("train"), task.pairs("valid")
    options, notes = choose(options, Facts.of(train_pairs))
    source, target = _fit_tokenizers(train_pairs, options)
    encoded = EncodedPairs.from_pairs(train_pairs, source, target, max_length=options.data.max_length)
    valid_pairs = list(valid_pairs)[:NUM_VALIDATION]
    valid = EncodedPairs.from_pairs(valid_pairs, source, target)
    notes = [*task.notes, *notes]
    if encoded.num_dropped:
        notes.append(f"{encoded.num_dropped:,} pairs longer than data.max_length ({options.data.max_length}) left out")
    _check_lengths(options, encoded, valid)
    limit = LengthLimit.learn(encoded.source_lengths, encoded.target_lengths, cap=options.decode.max_length)
    torch.manual_seed(options.seed)
    model = Transformer(
        options.model, source.vocab_size, target.vocab_size, shared_vocabulary=bool(options.tokenizer.shared)
    )
    if options.init is not None:
        _start_from(model, options.init)
    trained = Trained(options, source, target, limit, model)
    return Prepared(
        options, notes, task, source, target, encoded, valid, valid_pairs, _budget(options, encoded), trained
    )


def _fit_tokenizers(pairs: Sequence[Pair], options: TrainOptions) -> tuple[Tokenizer, Tokenizer]:
    chosen: TokenizerOptions = options.tokenizer
    assert chosen.source is not None and chosen.target is not None
    if chosen.shared:
        lines = (text for pair in pairs for text in (pair.source, pair.target))
        both = Tokenizer.fit(chosen.source, lines, vocab_size=chosen.vocab_size, normalize=chosen.normalize)
        return both, both
    source, target = (
        Tokenizer.fit(kind, lines, vocab_size=chosen.vocab_size, normalize=chosen.normalize)
        for kind, lines in (
            (chosen.source, (pair.source for pair in pairs)),
            (chosen.target, (pair.target for pair in pairs)),
        )
    )
    return source, target


def _check_lengths(options: TrainOptions, *all_pairs: EncodedPairs) -> None:
    """Refuses pairs that are longer than the positions that the model can tell apart."""
    longest = max(int(lengths.max()) for p in all_pairs if len(p) for lengths in (p.source_lengths, p.target_lengths))
    limits = {"model.randomize_positions": options.model.randomize_positions}
    if options.model.position is Position.learned:
        limits["model.max_positions"] = options.model.max_positions
    for key, limit in limits.items():
        if limit is not None and longest > limit:
            raise ValueError(
                f"{key} ({limit}) is less than the {longest} tokens of the longest text: raise it, or lower "
                "data.max_length"
            )


def _start_from(model: Transformer, init: str) -> None:
    other = load(init).model
    try:
        model.load_state_dict(other.state_dict())
    except RuntimeError as error:
        raise ValueError(
            f"init: {init} holds a model of other dimensions ({str(error).splitlines()[1].strip()}): use its model.* "
            "and tokenizer.* keys, or another checkpoint"
        ) from error


def _budget(options: TrainOptions, pairs: EncodedPairs) -> Budget:
    limits = options.trainer
    max_steps = limits.max_steps
    if limits.max_epochs is not None:
        by_epochs = limits.max_epochs * steps_an_epoch(options, pairs)
        max_steps = by_epochs if max_steps is None else min(max_steps, by_epochs)
    return Budget(max_steps, None if limits.max_time is None else seconds_of(limits.max_time))


def steps_an_epoch(options: TrainOptions, pairs: EncodedPairs) -> int:
    """Optimiser steps that go through all pairs once."""
    return -(-len(train_loader(options, pairs)) // options.trainer.accumulate_grad_batches)


def train_loader(options: TrainOptions, pairs: EncodedPairs) -> Loader:
    """The training batches, from the first epoch on."""
    return make_loader(
        pairs,
        batch_size=options.data.batch_size,
        batch_tokens=options.data.batch_tokens,
        shuffle=True,
        seed=options.seed,
        num_workers=options.data.num_workers,
    )
