"""Which source word each target word attends to, while the model writes what it wrote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seq2see.atomic_write import read_json
from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import teacher_forced
from seq2see.maps.capture import capture
from seq2see.maps.measures import word_weights
from seq2see.options import TokenizerKind
from seq2see.runs.checkpoint import Trained
from seq2see.text import Tokenizer

MOST_NUMBERS = 2**24  # of attention weights or of log-probabilities that are in memory together

Asked = tuple[Sequence[int], Sequence[int]]
"""Source ids and target ids, both without EOS."""


@dataclass(frozen=True)
class CrossHead:
    """A head of cross attention, or all heads of a layer.

    Args:
        layer: 0-based.
        head: 0-based; None: the mean of all.
    """

    layer: int
    head: int | None = None

    def of(self, cross: NDArray) -> NDArray:
        """Its weights (T, S) out of those of all (layers, H, T, S)."""
        own = cross[self.layer]
        return own.mean(0) if self.head is None else own[self.head]

    def __str__(self) -> str:
        head = "mean of all heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {head}"


def aligning_head(trained: Trained) -> CrossHead:
    """The head that aligned best when the run was evaluated; if nobody knows, the mean over the last layer.

    It was chosen on validation pairs, by the rows that predict a word.
    """
    num_layers, num_heads = len(trained.model.decoder_layers), trained.model.options.num_heads
    assert num_heads
    path = None if trained.run is None else trained.run / "evaluation" / "test.json"
    if path is None or not path.is_file():
        return CrossHead(num_layers - 1)
    scores = read_json(path, "write it anew with evaluate.py, or delete it")
    try:
        chosen = scores["alignment"]["predicts"]
        layer, head = int(chosen["layer"]) - 1, int(chosen["head"]) - 1
    except (ValueError, KeyError, TypeError, OverflowError):  # none was chosen: nothing is known of the true alignment
        return CrossHead(num_layers - 1)
    known = 0 <= layer < num_layers and 0 <= head < num_heads
    return CrossHead(layer, head) if known else CrossHead(num_layers - 1)


def looked_at(trained: Trained, asked: Sequence[Asked], head: CrossHead) -> list[tuple[list[float], NDArray]]:
    """How probable each token of the targets is, and what the head looks at to predict it.

    Args:
        trained: the model.
        asked: any number of sources with targets.
        head: whose attention it is.

    Returns:
        for each target its tokens' log-probabilities and that of the EOS behind them, nats, and weights (T, S), both
        with EOS.
    """
    found: list[tuple[list[float], NDArray]] = [([], np.zeros((0, 0)))] * len(asked)
    for indices in _groups(trained, asked):
        sources, targets = [list(asked[index][0]) for index in indices], [list(asked[index][1]) for index in indices]
        places = np.arange(len(indices))
        batch = EncodedPairs(Texts.of(sources), Texts.of(targets), ids=places).batch(places)
        scores = teacher_forced(trained.model, [batch]).log_probs
        cross = capture(trained.model, batch).cross
        for place, index in enumerate(indices):
            weights = head.of(cross[place])[: len(targets[place]) + 1, : len(sources[place]) + 1]
            found[index] = (scores[place].tolist(), weights)
    return found


def _groups(trained: Trained, asked: Sequence[Asked]) -> Iterator[list[int]]:
    """Which pairs go through the model together: of similar lengths, and few of long ones."""
    options = trained.model.options
    assert options.num_heads and options.num_decoder_layers and options.num_encoder_layers
    maps = options.num_heads * max(options.num_decoder_layers, options.num_encoder_layers)
    group: list[int] = []
    widest = 0
    for index in sorted(range(len(asked)), key=lambda index: sum(map(len, asked[index]))):
        length = max(map(len, asked[index])) + 1
        widest = max(widest, length * max(length * maps, trained.target_tokenizer.vocab_size))
        if group and (len(group) + 1) * widest > MOST_NUMBERS:
            yield group
            group, widest = [], length * max(length * maps, trained.target_tokenizer.vocab_size)
        group.append(index)
    if group:
        yield group


def links_of(trained: Trained, source: str, target_ids: Sequence[int], weights: NDArray) -> list[tuple[int, int]]:
    """For each target word the source word that it attends to most: (source word, target word), both from 0.

    Args:
        trained: the model's tokenizers.
        source: the line; it may be longer than what the model has read.
        target_ids: without EOS.
        weights: (T, S), both with EOS, of the row that predicts a token.
    """
    source_words = trained.source_tokenizer.word_numbers(source)[: weights.shape[1] - 1]
    target_words = word_numbers(trained.target_tokenizer, target_ids)
    if not source_words or not target_words:
        return []
    words = word_weights(weights, source_words=source_words, target_words=target_words)
    return [(int(chosen), target) for target, chosen in enumerate(words.argmax(-1))]


def word_numbers(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """For each id the 0-based number of its word, as `Tokenizer.word_numbers` counts, in the text of the ids.

    That method reads a text, whose ids need not be those that a model has written.
    """
    if tokenizer.kind is not TokenizerKind.bpe:
        return list(range(len(ids)))
    numbers, word, inside = [], 0, False
    for number in ids:
        piece = tokenizer.decode([number])
        numbers.append(word + (inside and piece[:1].isspace()))
        for character in piece:
            word += inside and character.isspace()
            inside = not character.isspace()
    last = word if inside else max(word - 1, 0)
    return [min(number, last) for number in numbers]
