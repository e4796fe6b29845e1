"""What is checked: a model, and a few pairs that it is for."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Self

import numpy as np

from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, load
from seq2see.options import HubOptions, SelfcheckOptions, Split, TrainOptions
from seq2see.runs.data import pairs_of
from seq2see.runs.prepare import prepare
from seq2see.tasks import Pair
from seq2see.text import UNK
from seq2see.training.budget import Budget
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

NUM_PAIRS = 8
_NUM_CANDIDATES = 500  # pairs that they are chosen from


class Fixture:
    """A model and a few pairs.

    Args:
        title: which model.
        origin: which pairs.
        trained: the model as it is used, in evaluation mode, with its tokenizers and options.
        pairs: that `NUM_PAIRS` of them are chosen from.
    """

    def __init__(self, title: str, origin: str, trained: TranslationModel, pairs: Sequence[Pair]) -> None:
        self.pairs = _short_and_long(pairs)
        self.title, self.origin = title, f"{len({pair[:2] for pair in self.pairs})} {origin}"
        self.trained = trained
        self.sources = trained.source_tokenizer.encode_batch([pair.source for pair in self.pairs])  # without EOS
        self.targets = trained.target_tokenizer.encode_batch([pair.target for pair in self.pairs])
        self.encoded = EncodedPairs(Texts.of(self.sources), Texts.of(self.targets), ids=np.arange(NUM_PAIRS))
        self.batch = self.encoded.batch(range(NUM_PAIRS))
        self.model = deepcopy(trained.model).cpu().double().eval().requires_grad_(False)

    @classmethod
    def of(cls, options: SelfcheckOptions) -> Self:
        """The checkpoint that the options name, or a new model for them.

        Raises:
            ValueError: the checkpoint, the options or the data are wrong.
        """
        if options.ckpt is not None:
            trained = load(options.ckpt)
            title, pairs = f"step {trained.step:,} of {options.ckpt}", valid_pairs_of(trained)
            if pairs:
                return cls(title, "of the run's validation pairs", trained, pairs)
            return cls(title, "pairs of random tokens", trained, _random_pairs(trained))
        prepared = prepare(TrainOptions(**{field.name: getattr(options, field.name) for field in fields(TrainOptions)}))
        prepared.trained.model.eval()
        title, pairs = f"a new model for task={options.task.kind}", prepared.valid_pairs
        if pairs:
            return cls(title, "of the validation pairs", prepared.trained, pairs)
        return cls(title, "of the training pairs", prepared.trained, prepared.task.pairs("train"))

    def training_module(self, model: Transformer, *, smoothing: float = 0.0, accumulate: int = 1) -> TrainingModule:
        """What computes the loss in training, in evaluation mode, with so many micro-batches a step."""
        own = self.trained.options
        return TrainingModule(
            model,
            replace(own.optim, label_smoothing=smoothing),
            own.decode,
            accumulate_grad_batches=accumulate,
            budget=Budget(1),
            references=None,
            length_limit=self.trained.length_limit,
            about=self.trained.describe(),
        ).eval()


def valid_pairs_of(trained: TranslationModel) -> Sequence[Pair]:
    """The run's validation pairs; none if they are gone, or would have to be fetched."""
    has_copy = trained.run is not None and (trained.run / "data").is_dir()
    if isinstance(trained.options.task, HubOptions) and not has_copy:
        return []
    try:
        return pairs_of(trained.options, Split.valid, run=trained.run)
    except (ValueError, OSError):
        return []


def _short_and_long(pairs: Sequence[Pair]) -> list[Pair]:
    """From the shortest to the longest of the pairs, but for a tenth: it may hold very long ones; few: some twice."""
    ordered = sorted(pairs[:_NUM_CANDIDATES], key=lambda pair: max(len(pair.source), len(pair.target)))
    last = len(ordered) - len(ordered) // 10 - 1
    return [ordered[place] for place in np.linspace(0, last, NUM_PAIRS).round().astype(int)]


def _random_pairs(trained: TranslationModel) -> list[Pair]:
    generator, pairs = np.random.default_rng(0), []
    for length in range(2, NUM_PAIRS + 2):
        sides = []
        for tokenizer in (trained.source_tokenizer, trained.target_tokenizer):
            size = tokenizer.vocab_size
            text = tokenizer.decode(generator.integers(min(UNK + 1, size - 1), size, length).tolist())
            sides.append(" ".join("".join(filter(str.isprintable, text)).split()) or "-")  # what a file can hold of it
        pairs.append(Pair(*sides))
    return pairs
