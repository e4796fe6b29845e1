"""What is checked: a model, and a few pairs that it is for."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np

from seq2see.data import Batch, EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, load
from seq2see.options import HubOptions, Position, SelfcheckOptions, Split, TrainOptions
from seq2see.runs.data import pairs_of
from seq2see.runs.prepare import prepare
from seq2see.tasks import Pair
from seq2see.text import UNK
from seq2see.training.budget import Budget
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

NUM_PAIRS = 8
_NUM_CANDIDATES = 500  # pairs that they are chosen from
_NUM_COLUMNS = 50
_MOST_TOKENS = 64  # of a side, if there are enough such pairs


@dataclass
class Fixture:
    """A model and a few pairs.

    Args:
        title: which model.
        origin: which pairs.
        trained: the model as it is used, in evaluation mode, with its tokenizers and options.
        pairs: `NUM_PAIRS` of them, as text.
        sources: their ids, without EOS.
        targets: their ids, without BOS and EOS.
    """

    title: str
    origin: str
    trained: TranslationModel
    pairs: list[Pair]
    sources: list[list[int]]
    targets: list[list[int]]

    @classmethod
    def of(cls, options: SelfcheckOptions) -> Self:
        """The checkpoint that the options name, or a new model for them.

        Raises:
            ValueError: the checkpoint, the options or the data are wrong.
        """
        if options.ckpt is not None:
            trained = load(options.ckpt)
            title, pairs = f"step {trained.step:,} of {options.ckpt}", valid_pairs_of(trained)
            if not pairs:
                return cls._with_random_tokens(title, trained)
            return cls._with_some(title, "of the run's validation pairs", trained, pairs)
        prepared = prepare(TrainOptions(**{field.name: getattr(options, field.name) for field in fields(TrainOptions)}))
        prepared.trained.model.eval()
        split, pairs = "validation", prepared.valid_pairs
        if not pairs:
            split, pairs = "training", prepared.task.pairs("train")
        return cls._with_some(
            f"a new model for task={options.task.kind}", f"of the {split} pairs", prepared.trained, pairs
        )

    @classmethod
    def _with_some(cls, title: str, origin: str, trained: TranslationModel, pairs: Sequence[Pair]) -> Self:
        """From the shortest to the longest of the pairs, but no very long ones if that can be helped."""
        pairs = list(pairs[:_NUM_CANDIDATES])
        sources = trained.source_tokenizer.encode_batch([pair.source for pair in pairs])
        targets = trained.target_tokenizer.encode_batch([pair.target for pair in pairs])
        lengths = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
        order = sorted(range(len(pairs)), key=lambda index: lengths[index])
        num_short = sum(length <= _MOST_TOKENS for length in lengths)
        last = min(max(num_short, NUM_PAIRS), len(pairs)) - 1
        chosen = [order[place] for place in np.linspace(0, last, NUM_PAIRS).round().astype(int)]  # few: some twice
        origin = f"{len(set(chosen))} {origin}"
        return cls(title, origin, trained, *([part[index] for index in chosen] for part in (pairs, sources, targets)))

    @classmethod
    def _with_random_tokens(cls, title: str, trained: TranslationModel) -> Self:
        generator = np.random.default_rng(0)
        tokenizers = trained.source_tokenizer, trained.target_tokenizer
        sources, targets = (
            [
                generator.integers(min(UNK + 1, own.vocab_size - 1), own.vocab_size, length).tolist()
                for length in range(2, NUM_PAIRS + 2)
            ]
            for own in tokenizers
        )
        texts = (
            [_readable(own.decode(one)) for one in ids] for own, ids in zip(tokenizers, (sources, targets), strict=True)
        )
        pairs = [Pair(source, target) for source, target in zip(*texts, strict=True)]
        return cls(title, f"{NUM_PAIRS} pairs of random tokens", trained, pairs, sources, targets)

    @cached_property
    def model(self) -> Transformer:
        """A copy of the model in double precision, on the CPU, in evaluation mode."""
        return deepcopy(self.trained.model).cpu().double().eval()

    @cached_property
    def encoded(self) -> EncodedPairs:
        """The pairs as training takes them."""
        return EncodedPairs(Texts.of(self.sources), Texts.of(self.targets), ids=np.arange(NUM_PAIRS))

    @cached_property
    def batch(self) -> Batch:
        """All pairs in one batch."""
        return self.encoded.batch(range(NUM_PAIRS))

    @property
    def num_columns(self) -> int:
        """How many columns of padding may follow the batch: 50, or as many as the model has learned positions for."""
        options = self.model.options
        room = options.max_positions - max(self.batch.src.shape[1], self.batch.tgt_in.shape[1])
        return min(_NUM_COLUMNS, room) if options.position is Position.learned else _NUM_COLUMNS

    def training_module(self, model: Transformer, *, smoothing: float = 0.0, accumulate: int = 1) -> TrainingModule:
        """What computes the loss in training, in evaluation mode, with so many micro-batches a step."""
        own = self.trained.options
        options = replace(
            own,
            optim=replace(own.optim, label_smoothing=smoothing),
            trainer=replace(own.trainer, accumulate_grad_batches=accumulate),
        )
        limit, about = self.trained.length_limit, self.trained.describe()
        return TrainingModule(model, options, budget=Budget(1), references=None, length_limit=limit, about=about).eval()


def valid_pairs_of(trained: TranslationModel) -> Sequence[Pair]:
    """The run's validation pairs; none if they are gone, or would have to be fetched."""
    kept = trained.run is not None and (trained.run / "data").is_dir()
    if isinstance(trained.options.task, HubOptions) and not kept:
        return []
    try:
        return pairs_of(trained.options, Split.valid, run=trained.run)
    except (ValueError, OSError):
        return []


def _readable(text: str) -> str:
    """What a file can hold of it: random tokens may be control characters."""
    return " ".join("".join(filter(str.isprintable, text)).split()) or "-"
