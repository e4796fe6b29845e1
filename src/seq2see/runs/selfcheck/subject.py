"""What is checked: a model, and a few pairs that it is for."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from seq2see.data import Batch, EncodedPairs, make_loader
from seq2see.data.encoded import Texts
from seq2see.decoding import Trained, load
from seq2see.options import HubOptions, Position, SelfcheckOptions, Split, TrainOptions
from seq2see.runs.data import pairs_of
from seq2see.runs.prepare import prepare, train_loader
from seq2see.tasks import Pair
from seq2see.text import UNK
from seq2see.training.budget import Budget
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

NUM_PAIRS = 8
_NUM_CANDIDATES = 500  # pairs that they are chosen from
_NUM_COLUMNS = 50
_MOST_TOKENS = 64  # of a side, if there are enough such pairs
_NUM_BATCHES = 4  # of training, that are looked at


@dataclass
class Subject:
    """A model and a few pairs.

    Args:
        title: which model.
        origin: which pairs.
        trained: the model as it is used, in evaluation mode, with its tokenizers and options.
        pairs: `NUM_PAIRS` of them, as text.
        sources: their ids, without EOS.
        targets: their ids, without BOS and EOS.
        training_batches: some batches, as training gets them.
    """

    title: str
    origin: str
    trained: Trained
    pairs: list[Pair]
    sources: list[list[int]]
    targets: list[list[int]]
    training_batches: list[Batch]

    @cached_property
    def model(self) -> Transformer:
        """A copy of the model in double precision, on the CPU, in evaluation mode."""
        return deepcopy(self.trained.model).cpu().double().eval()

    @cached_property
    def encoded(self) -> EncodedPairs:
        """The pairs as training takes them."""
        return _encoded(self.sources, self.targets)

    @cached_property
    def batch(self) -> Batch:
        """All pairs in one batch."""
        return self.encoded.batch(range(NUM_PAIRS))

    @property
    def num_columns(self) -> int:
        """How many columns of padding may follow the batch: 50, or as many as the model has learned positions for."""
        options = self.model.options
        if options.position is not Position.learned:
            return _NUM_COLUMNS
        return min(_NUM_COLUMNS, options.max_positions - max(self.batch.src.shape[1], self.batch.tgt_in.shape[1]))

    def training_module(self, options: TrainOptions | None = None) -> TrainingModule:
        """What computes the loss in training, around a double precision copy of the model, in evaluation mode.

        Args:
            options: of the run; None: its own.
        """
        options = options or self.trained.options
        module = TrainingModule(
            deepcopy(self.model),
            options,
            budget=Budget(1),
            references=None,
            length_limit=self.trained.length_limit,
            about=self.trained.describe(),
        )
        return module.eval()

    @classmethod
    def of(cls, options: SelfcheckOptions) -> "Subject":
        """The model that the options name, or a new one for them.

        Raises:
            ValueError: the checkpoint, the options or the data are wrong.
        """
        return _of_checkpoint(options.ckpt) if options.ckpt is not None else _untrained(options)


def _of_checkpoint(path: str) -> Subject:
    trained = load(path)
    candidates = valid_pairs_of(trained)
    title = f"step {trained.step:,} of {path}"
    if not candidates:
        return _with_random_tokens(title, trained)
    return _with_pairs(title, "of the run's validation pairs", trained, candidates)


def valid_pairs_of(trained: Trained) -> Sequence[Pair]:
    """The run's validation pairs; none if they are gone, or would have to be fetched."""
    kept = trained.run is not None and (trained.run / "data").is_dir()
    if isinstance(trained.options.task, HubOptions) and not kept:
        return []
    try:
        return pairs_of(trained.options, Split.valid, run=trained.run)
    except (ValueError, OSError):
        return []


def _untrained(options: SelfcheckOptions) -> Subject:
    prepared = prepare(TrainOptions(**{field.name: getattr(options, field.name) for field in fields(TrainOptions)}))
    prepared.trained.model.eval()
    candidates, origin = prepared.valid_pairs, "of the validation pairs"
    if not candidates:
        candidates, origin = prepared.task.pairs("train"), "of the training pairs"
    title = f"a new model for task={options.task.kind}"
    subject = _with_pairs(title, origin, prepared.trained, candidates)
    alone = replace(prepared.options, data=replace(prepared.options.data, num_workers=0))
    batches = zip(range(_NUM_BATCHES), train_loader(alone, prepared.train), strict=False)
    return replace(subject, training_batches=[batch for _, batch in batches])


def _with_pairs(title: str, origin: str, trained: Trained, candidates: Sequence[Pair]) -> Subject:
    """With pairs from the shortest to the longest, but no very long ones if that can be helped."""
    candidates = list(candidates[:_NUM_CANDIDATES])
    sources = trained.source_tokenizer.encode_batch([pair.source for pair in candidates])
    targets = trained.target_tokenizer.encode_batch([pair.target for pair in candidates])
    longest = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
    order = sorted(range(len(candidates)), key=lambda index: longest[index])
    short = [index for index in order if longest[index] <= _MOST_TOKENS]
    order = short if len(short) >= NUM_PAIRS else order[:NUM_PAIRS]
    places = np.linspace(0, len(order) - 1, NUM_PAIRS).round().astype(int)  # some twice if there are fewer
    chosen = [order[place] for place in places]
    number = len(set(chosen))
    return _subject(
        title,
        f"{number} {origin}",
        trained,
        [candidates[index] for index in chosen],
        [sources[index] for index in chosen],
        [targets[index] for index in chosen],
    )


def _with_random_tokens(title: str, trained: Trained) -> Subject:
    generator = np.random.default_rng(0)

    def texts(vocab_size: int) -> list[list[int]]:
        first = min(UNK + 1, vocab_size - 1)
        return [generator.integers(first, vocab_size, length).tolist() for length in range(2, NUM_PAIRS + 2)]

    sources, targets = texts(trained.source_tokenizer.vocab_size), texts(trained.target_tokenizer.vocab_size)
    pairs = [
        Pair(trained.source_tokenizer.decode(source), trained.target_tokenizer.decode(target))
        for source, target in zip(sources, targets, strict=True)
    ]
    return _subject(title, f"{NUM_PAIRS} pairs of random tokens", trained, pairs, sources, targets)


def _subject(
    title: str,
    origin: str,
    trained: Trained,
    pairs: list[Pair],
    sources: list[list[int]],
    targets: list[list[int]],
) -> Subject:
    batches = list(make_loader(_encoded(sources, targets), batch_size=3, shuffle=True, seed=trained.options.seed))
    return Subject(title, origin, trained, pairs, sources, targets, batches)


def _encoded(sources: list[list[int]], targets: list[list[int]]) -> EncodedPairs:
    return EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(len(sources)))


def random_ids(vocab_size: int, *shape: int) -> Tensor:
    """Any ids of a vocabulary, int64; always the same."""
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(0))
