"""All that stands before the first step: pairs, tokenizers, ids, budget and model. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seq2see.data import AnyPairs, EncodedPairs, Loader, ResegmentedPairs, make_loader
from seq2see.decoding import LengthLimit
from seq2see.options import Position, TrainerOptions, TrainOptions, seconds_of
from seq2see.runs.checkpoint import Trained, device_of, load, longest_output
from seq2see.runs.choices import choose
from seq2see.runs.corpus import corpus_of
from seq2see.tasks import Pair, Task
from seq2see.text import Tokenizer
from seq2see.training.budget import Budget
from seq2see.transformer import Transformer

NUM_VALIDATION = 2_000  # pairs at most that each validation looks at
FEW_VALIDATION = 10  # a single pair is a tenth of the score then


@dataclass
class Prepared:
    """All that stands before the first step."""

    options: TrainOptions
    notes: list[str]
    task: Task
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: AnyPairs
    valid: EncodedPairs
    valid_pairs: Sequence[Pair]
    budget: Budget
    trained: Trained


def prepare(options: TrainOptions, *, goes_on: bool = False) -> Prepared:
    """Pairs, tokenizers, ids and the model; nothing is written but to the cache.

    Args:
        options: the run's; what is None follows from the task and the data.
        goes_on: whether a checkpoint's weights will take the place of the model's, so that `init` is not read.

    Raises:
        DataError: a file is wrong.
        ValueError: the options ask for what the device or the pairs do not give.
    """
    _check_device(options.trainer)
    corpus = corpus_of(options)
    task, source, target, encoded = corpus.task, corpus.source_tokenizer, corpus.target_tokenizer, corpus.train
    options, notes = choose(options, corpus.facts)
    valid_pairs = list(task.pairs("valid"))[:NUM_VALIDATION]
    valid = EncodedPairs.from_pairs(valid_pairs, source, target)
    notes = [*task.notes, *notes]
    if encoded.num_dropped:
        notes.append(f"{encoded.num_dropped:,} pairs longer than data.max_length ({options.data.max_length}) left out")
    if not valid_pairs:
        notes.append("no pairs to validate: the last checkpoint is the best one, and patience and select do nothing")
    elif len(valid_pairs) < FEW_VALIDATION:
        notes.append(
            f"{len(valid_pairs)} pairs to validate are few: the best checkpoint is chosen by chance among good ones"
        )
    train = _resegmented(encoded, source, target, options) if options.tokenizer.dropout else encoded
    tested = EncodedPairs.from_pairs(
        task.pairs("test") if options.model.position is Position.learned else [], source, target
    )
    _check_lengths(options, train, valid, tested)
    limit = LengthLimit.learn(encoded.source_lengths, encoded.target_lengths, cap=longest_output(options))
    torch.manual_seed(options.seed)
    model = Transformer(
        options.model, source.vocab_size, target.vocab_size, shared_vocabulary=bool(options.tokenizer.shared)
    )
    if options.init is not None and not goes_on:
        _start_from(model, options.init)
    trained = Trained(options, source, target, limit, model)
    return Prepared(options, notes, task, source, target, train, valid, valid_pairs, _budget(options, train), trained)


def _check_device(trainer: TrainerOptions) -> None:
    """Refuses what cannot be trained on here."""
    device = device_of(trainer.accelerator, key="trainer.accelerator")
    num_devices = torch.cuda.device_count() if device == "cuda" else 1
    devices, precision = trainer.devices, str(trainer.precision)
    asked = num_devices if devices in (-1, "auto") else len(devices) if isinstance(devices, list) else devices
    if asked > 1:
        raise ValueError(
            f"trainer.devices ({devices}) asks for {asked} devices, but a run trains on one: use trainer.devices=1"
        )
    if isinstance(devices, list) and devices[0] >= num_devices:
        raise ValueError(
            f"trainer.devices ({devices}) names a device that is not here, where there are {num_devices}, numbered "
            "from 0: use trainer.devices=1"
        )
    if precision == "16-true":
        raise ValueError(
            "trainer.precision (16-true) has no room for the squares of small gradients that AdamW divides by: use "
            "bf16-true, or 16-mixed on a GPU"
        )
    if device == "cpu" and precision in ("16", "16-mixed"):
        raise ValueError(f"trainer.precision ({precision}) needs a GPU: use bf16-mixed on a CPU")
    if device == "mps" and precision in ("64", "64-true"):
        raise ValueError(f"trainer.precision ({precision}) is not to be had on mps: use trainer.accelerator=cpu")


def _resegmented(pairs: EncodedPairs, source: Tokenizer, target: Tokenizer, options: TrainOptions) -> ResegmentedPairs:
    rate, max_length = options.tokenizer.dropout, options.data.max_length
    return ResegmentedPairs(pairs, source, target, rate=rate, seed=options.seed, max_length=max_length)


def _check_lengths(options: TrainOptions, *all_pairs: AnyPairs) -> None:
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


def _budget(options: TrainOptions, pairs: AnyPairs) -> Budget:
    limits = options.trainer
    max_steps = limits.max_steps
    if limits.max_epochs is not None:
        by_epochs = limits.max_epochs * steps_an_epoch(options, pairs)
        max_steps = by_epochs if max_steps is None else min(max_steps, by_epochs)
    return Budget(max_steps, None if limits.max_time is None else seconds_of(limits.max_time))


def steps_an_epoch(options: TrainOptions, pairs: AnyPairs) -> int:
    """Optimiser steps that go through all pairs once."""
    num_batches, limit = len(train_loader(options, pairs)), options.trainer.limit_train_batches
    num_batches = min(num_batches, limit) if isinstance(limit, int) else max(int(num_batches * limit), 1)
    return -(-num_batches // options.trainer.accumulate_grad_batches)


def train_loader(options: TrainOptions, pairs: AnyPairs) -> Loader:
    """The training batches, from the first epoch on."""
    return make_loader(
        pairs,
        batch_size=options.data.batch_size,
        batch_tokens=options.data.batch_tokens,
        shuffle=True,
        seed=options.seed,
        num_workers=options.data.num_workers,
    )
