"""Which source word each target word attends to, while the model writes what it wrote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2see.atomic_write import read_json
from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslatedLine, TranslationModel, evaluation_mode
from seq2see.decoding.hypothesis import next_log_probs
from seq2see.maps.capture import capture
from seq2see.maps.measures import word_weights
from seq2see.options import TokenizerKind
from seq2see.text import EOS, Tokenizer

MOST_NUMBERS = 2**22  # of attention weights or log-probabilities in memory together: more is slower, not faster

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


def aligning_head(trained: TranslationModel) -> CrossHead:
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


def captured(trained: TranslationModel, asked: Sequence[Asked]) -> Iterator[tuple[int, Tensor, NDArray]]:
    """What the model makes of each source with its target, whatever stands beside it: similar lengths come together.

    Returns:
        the number of the pair in `asked`; the log-probabilities (T, V) of the next token, as decoding has them; and the
        cross attention of all heads (layers, H, T, S); both with EOS.
    """
    for indices in _groups(trained, asked):
        sources, targets = ([list(asked[index][side]) for index in indices] for side in (0, 1))
        places = np.arange(len(indices))
        batch = EncodedPairs(Texts.of(sources), Texts.of(targets), ids=places).batch(places)
        cross, device = capture(trained.model, batch).cross, next(trained.model.parameters()).device
        with evaluation_mode(trained.model):
            logits = trained.model(*(part.to(device) for part in (batch.src, batch.src_mask, batch.tgt_in)))
            log_probs = next_log_probs(logits).cpu()
        for place, index in enumerate(indices):
            length = len(targets[place]) + 1
            yield index, log_probs[place, :length], cross[place, :, :, :length, : len(sources[place]) + 1]


def _groups(trained: TranslationModel, asked: Sequence[Asked]) -> Iterator[list[int]]:
    """Which pairs go through the model together: of similar lengths, and few of long ones."""
    options = trained.model.options
    assert options.num_heads and options.num_decoder_layers and options.num_encoder_layers
    maps = options.num_heads * max(options.num_decoder_layers, options.num_encoder_layers)
    group: list[int] = []
    for index in sorted(range(len(asked)), key=lambda index: max(map(len, asked[index]))):
        length = max(map(len, asked[index])) + 1
        largest = length * max(length * maps, trained.target_tokenizer.vocab_size)
        if group and (len(group) + 1) * largest > MOST_NUMBERS:
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def looked_at(trained: TranslationModel, asked: Sequence[Asked], head: CrossHead) -> list[tuple[list[float], NDArray]]:
    """For each target its tokens' log-probabilities, nats, and what the head looks at (T, S); both with EOS."""
    found: list[tuple[list[float], NDArray]] = [([], np.zeros((0, 0)))] * len(asked)
    for index, log_probs, cross in captured(trained, asked):
        ids = torch.tensor([*asked[index][1], EOS])
        found[index] = log_probs.gather(1, ids[:, None])[:, 0].tolist(), head.of(cross)
    return found


def links_of(
    trained: TranslationModel, source: str, target_ids: Sequence[int], weights: NDArray
) -> list[tuple[int, int]]:
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


def with_details(trained: TranslationModel, lines: Sequence[TranslatedLine], head: CrossHead) -> list[TranslatedLine]:
    """The lines with tokens, log-probabilities and links.

    Args:
        trained: the model.
        lines: as `TranslationModel.translations` gives them.
        head: whose attention the links are read from.
    """
    asked = [(line.ids, found.ids) for line in lines for found in line.translations]
    seen = iter(looked_at(trained, asked, head))
    detailed = []
    for line in lines:
        own = []
        for found in line.translations:
            log_probs, weights = next(seen)
            own.append(
                replace(
                    found,
                    tokens=(*trained.target_tokenizer.tokens(found.ids), *(["<eos>"] if found.ended else [])),
                    log_probs=tuple(log_probs[: len(found.ids) + found.ended]),
                    links=tuple(links_of(trained, line.source, found.ids, weights)),
                )
            )
        detailed.append(replace(line, translations=tuple(own)))
    return detailed
