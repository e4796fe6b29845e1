"""All that stands before the first step: pairs, tokenizers, ids, budget and model. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from seq2see.data import EncodedPairs, Loader, make_loader
from seq2see.decoding import Content, LengthLimit, TranslationModel, bounded, device_of
from seq2see.options import (
    DataOptions,
    GivenOptions,
    InitTokenizer,
    ModelOptions,
    Position,
    TrainerOptions,
    TrainOptions,
    seconds_of,
)
from seq2see.ranks import num_ranks, rank
from seq2see.runs.choices import Facts, choose, telling_scores
from seq2see.runs.corpus import corpus_of
from seq2see.runs.data import with_whole_paths
from seq2see.runs.init import begin, note_of, take_weights
from seq2see.runs.pair_digests import PAIRS, Plain
from seq2see.tasks import Pair, Task
from seq2see.text import Tokenizer
from seq2see.training.budget import Budget
from seq2see.transformer import Transformer

NUM_VALIDATION = 2_000  # pairs at most that each validation looks at
FEW_VALIDATION = 10  # a single pair is a tenth of the score then


@dataclass
class TrainingSetup:
    """What is trained, on what, and how."""

    options: TrainOptions  # the run's, with nothing left open
    notes: list[str]  # what people should know of the data and of the choices that followed from them
    task: Task  # gives the pairs of the other splits
    train: EncodedPairs  # the training pairs as ids
    valid: EncodedPairs  # the validation pairs as ids
    valid_pairs: Sequence[Pair]  # the same as text
    budget: Budget  # when the training ends
    trained: TranslationModel  # the new model, and what is needed to use it
    telling_scores: list[str]  # names of the scores that say most of such outputs, the most telling first
    facts: Facts  # of the training pairs, from which choices followed
    digests: dict[str, Plain]  # of the pairs, by split, by which a run that goes on knows them again
    expected_seconds: float | None = None  # of training, from a few steps; None: not measured

    @property
    def source_tokenizer(self) -> Tokenizer:
        """Of the model."""
        return self.trained.source_tokenizer

    @property
    def target_tokenizer(self) -> Tokenizer:
        """Of the model."""
        return self.trained.target_tokenizer

    def about(self) -> dict[str, Any]:
        """What a checkpoint of the run says beside its weights, in plain values."""
        return {**self.trained.describe(), PAIRS: self.digests}


def prepare(options: TrainOptions, *, goes_on: Content | None = None) -> TrainingSetup:
    """Pairs, tokenizers, ids and the model; nothing is written but to the cache.

    Args:
        options: the run's; what is None follows from the task and the data.
        goes_on: the checkpoint of the run that this is the rest of, whose weights will take the place of the model's;
            `init` is not read then. None: the run begins.

    Raises:
        DataError: a file is wrong.
        ValueError: the options ask for what the device or the pairs do not give.
    """
    _check_device(options.trainer)
    if goes_on is None:
        options, init = begin(options)
        known = init if options.init_tokenizer is InitTokenizer.keep else None
    else:
        init, known = None, goes_on
    corpus = corpus_of(options, None if known is None else known.tokenizers)
    task, source, target, train = corpus.task, corpus.source_tokenizer, corpus.target_tokenizer, corpus.train
    options, reasons = choose(options, corpus.facts)
    options = replace(options, task=with_whole_paths(options.task))
    valid_pairs = list(task.pairs("valid"))[:NUM_VALIDATION]
    valid = EncodedPairs.from_pairs(valid_pairs, source, target)

    is_generated = not isinstance(options.task, GivenOptions)
    tests = []
    if is_generated or options.model.position is Position.learned:
        tests = [EncodedPairs.from_pairs(task.pairs(split), source, target) for split in ("test", "ood")]
    _check_lengths(options.model, train, valid, *tests)
    limit = LengthLimit.learn(train.source_lengths, train.target_lengths)
    # The lengths that a generator can write are known before any pair is drawn, so they give nothing away; of a user's
    # files the test targets stay unseen, and those that are longer are counted when they are scored.
    for pairs in (train, valid, *(tests if is_generated else ())):
        limit = limit.covering(pairs.source_lengths, pairs.target_lengths)
    longest = int(train.source_lengths.max(initial=0))
    if known is not None:
        longest = max(longest, known.longest_source)
        limit = replace(limit, ratio=max(limit.ratio, known.length_ratio), floor=max(limit.floor, known.length_floor))

    torch.manual_seed(options.seed)
    shared = bool(options.tokenizer.shared)
    model = Transformer(options.model, source.vocab_size, target.vocab_size, shared_vocabulary=shared)
    if init is not None:
        take_weights(model, init, source, target)
    return TrainingSetup(
        options,
        notes=[
            *([] if init is None else [note_of(init, options.init_tokenizer, source, target, shared=shared)]),
            *task.notes,
            *reasons,
            *_about_sizes(train.num_dropped, options.data.max_length, len(valid_pairs)),
        ],
        task=task,
        train=train,
        valid=valid,
        valid_pairs=valid_pairs,
        budget=_budget(options.trainer, options.data, options.seed, train),
        trained=TranslationModel(
            options, source, target, bounded(limit, options.decode, options.model), model, longest
        ),
        telling_scores=telling_scores(corpus.facts, options.training.select),
        facts=corpus.facts,
        digests=corpus.digests,
    )


def _about_sizes(num_dropped: int, max_length: int | None, num_valid: int) -> list[str]:
    notes = []
    if num_dropped:
        notes.append(f"{num_dropped:,} pairs longer than data.max_length ({max_length}) left out")
    if not num_valid:
        notes.append("no pairs to validate: the last checkpoint is the best one, and patience and select do nothing")
    elif num_valid < FEW_VALIDATION:
        notes.append(f"{num_valid} pairs to validate are few: the best checkpoint is chosen by chance among good ones")
    return notes


def _check_device(trainer: TrainerOptions) -> None:
    """Refuses what cannot be trained on here."""
    device, precision = device_of(trainer.accelerator, key="trainer.accelerator"), str(trainer.precision)
    if precision == "16-true":
        raise ValueError(
            "trainer.precision (16-true) has no room for the squares of small gradients that AdamW divides by: use "
            "bf16-true, or 16-mixed on a GPU"
        )
    if device == "cpu" and precision in ("16", "16-mixed"):
        raise ValueError(f"trainer.precision ({precision}) needs a GPU: use bf16-mixed on a CPU")
    if device == "mps" and precision in ("64", "64-true"):
        raise ValueError(f"trainer.precision ({precision}) is not to be had on mps: use trainer.accelerator=cpu")


def _check_lengths(model: ModelOptions, *all_pairs: EncodedPairs) -> None:
    """Refuses pairs that are longer than the positions that the model can tell apart."""
    longest = max(int(lengths.max()) for p in all_pairs if len(p) for lengths in (p.source_lengths, p.target_lengths))
    limits = {"model.randomize_positions": model.randomize_positions}
    if model.position is Position.learned:
        limits["model.max_positions"] = model.max_positions
    for key, limit in limits.items():
        if limit is not None and longest > limit:
            raise ValueError(
                f"{key} ({limit}) is less than the {longest} tokens of the longest text: raise it, or lower "
                "data.max_length"
            )


def _budget(trainer: TrainerOptions, data: DataOptions, seed: int, pairs: EncodedPairs) -> Budget:
    max_steps = trainer.max_steps
    if trainer.max_epochs is not None:
        by_epochs = trainer.max_epochs * steps_an_epoch(trainer, train_loader(data, seed, pairs))
        max_steps = by_epochs if max_steps is None else min(max_steps, by_epochs)
    return Budget(max_steps, None if trainer.max_time is None else seconds_of(trainer.max_time))


def steps_an_epoch(trainer: TrainerOptions, loader: Loader) -> int:
    """Optimiser steps that go through all pairs once."""
    num_batches, limit = len(loader), trainer.limit_train_batches
    num_batches = min(num_batches, limit) if isinstance(limit, int) else max(int(num_batches * limit), 1)
    return -(-num_batches // trainer.accumulate_grad_batches)


def train_loader(data: DataOptions, seed: int, pairs: EncodedPairs) -> Loader:
    """The training batches, from the first epoch on: of each what falls to this process."""
    return make_loader(
        pairs,
        batch_size=data.batch_size,
        batch_tokens=data.batch_tokens,
        shuffle=True,
        seed=seed,
        share=(rank(), num_ranks()),
        num_workers=data.num_workers,
    )
