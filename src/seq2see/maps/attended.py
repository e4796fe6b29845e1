"""What a trained model looks at while it is given targets, and how well that matches the true alignment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2see.atomic_write import read_json
from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslatedLine, Translation, TranslationModel
from seq2see.decoding.hypothesis import evaluation_mode, next_log_probs
from seq2see.evaluation import Evaluation
from seq2see.maps.arrays import DIMENSIONS, Example
from seq2see.maps.capture import capture_with_logits
from seq2see.maps.links import Link, LinkCounts, Rows, count_links, word_weights
from seq2see.maps.measures import choose_head
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import EOS, UNK, Tokenizer, normalize, parted

MOST_NUMBERS = 2**22  # of attention weights or log-probabilities in memory together: more is slower, not faster
MOST_PAIRS = 500  # that an alignment error rate is measured on

Asked = tuple[Sequence[int], Sequence[int]]
"""Source ids and target ids, both without EOS."""


@dataclass(frozen=True)
class CrossHead:
    """A head of attention, or all heads of a layer.

    Args:
        layer: 0-based.
        head: 0-based; None: the mean of all.
    """

    layer: int
    head: int | None = None

    def of(self, maps: NDArray) -> NDArray:
        """Its weights (query, key) out of those of all (layers, H, query, key)."""
        own = maps[self.layer]
        return own.mean(0) if self.head is None else own[self.head]

    def __str__(self) -> str:
        head = "mean of all heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {head}"


def aligning_head(trained: TranslationModel) -> CrossHead:
    """The head that aligned best when the run was evaluated; if nobody knows, the mean over the last layer.

    It was chosen on validation pairs, by the rows that predict a word.
    """
    num_layers, num_heads = len(trained.model.decoder_layers), trained.model.options.num_heads or 0
    usual = CrossHead(num_layers - 1)
    path = None if trained.run is None else trained.run / "evaluation" / "test.json"
    if path is None or not path.is_file():
        return usual
    scores = read_json(path, "write it anew with evaluate.py, or delete it")
    try:
        chosen = scores["alignment"]["predicts"]
        layer, head = int(chosen["layer"]) - 1, int(chosen["head"]) - 1
    except (ValueError, KeyError, TypeError, OverflowError):  # none was chosen: nothing is known of the true alignment
        return usual
    return CrossHead(layer, head) if 0 <= layer < num_layers and 0 <= head < num_heads else usual


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
        maps, logits = capture_with_logits(trained.model, batch)
        if trained.ensemble is not None:  # whose first member attends; all of them predict
            with evaluation_mode(trained.ensemble):
                logits = trained.ensemble(*(part.to(logits.device) for part in batch[1:4]))
        log_probs = next_log_probs(logits).cpu()
        for place, index in enumerate(indices):
            length = len(targets[place]) + 1
            yield index, log_probs[place, :length], maps.cross[place, :, :, :length, : len(sources[place]) + 1]


def _groups(trained: TranslationModel, asked: Sequence[Asked]) -> Iterator[list[int]]:
    """Which pairs go through the model together: of similar lengths, and few of long ones."""
    model = dimensions_of(trained)
    maps = model["num_heads"] * max(model["num_decoder_layers"], model["num_encoder_layers"])
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
    found: dict[int, tuple[list[float], NDArray]] = {}
    for index, log_probs, cross in captured(trained, asked):
        ids = torch.tensor([*asked[index][1], EOS])
        found[index] = log_probs.gather(1, ids[:, None])[:, 0].tolist(), head.of(cross)
    return [found[index] for index in range(len(asked))]


def links_of(trained: TranslationModel, source: str, target_ids: Sequence[int], weights: NDArray) -> list[Link]:
    """For each target word the source word that it attends to most: (source word, target word), both from 0.

    `weights` are (T, S), both with EOS, of the rows that predict a token; the source may be longer than what was read.
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
    """The lines, as a model gives them, with tokens, log-probabilities and the links of this head."""
    asked = [(line.ids, found.ids) for line in lines for found in line.translations]
    seen = iter(looked_at(trained, asked, head))

    def detailed(line: TranslatedLine, found: Translation) -> Translation:
        log_probs, weights = next(seen)
        return replace(
            found,
            tokens=labels_of(trained.target_tokenizer, found.ids, ended=found.ended),
            log_probs=tuple(log_probs[: len(found.ids) + found.ended]),
            links=tuple(links_of(trained, line.source, found.ids, weights)),
        )

    return [replace(line, translations=tuple(detailed(line, own) for own in line.translations)) for line in lines]


def require_copies(trained: TranslationModel) -> None:
    """Refuses a model in which no unknown word has a source word beside it.

    Raises:
        ValueError: its target's tokens are no words, or its source's are characters.
    """
    source, target = trained.source_tokenizer.kind, trained.target_tokenizer.kind
    if target is not TokenizerKind.word or source is TokenizerKind.char:
        raise ValueError(
            f"copy_unknown=true copies source words to unknown target words, and this model has "
            f"tokenizer.source={source.value}, tokenizer.target={target.value}: leave it out, or train with "
            "tokenizer.target=word and a source of words or bpe"
        )


def with_copies(trained: TranslationModel, lines: Sequence[TranslatedLine], head: CrossHead) -> list[TranslatedLine]:
    """The lines with each unknown word as the source word that the head looks at most while it is predicted.

    Source:
        Jean et al. 2015, section 3.3, without its dictionary.
    """
    unsure = [(line.ids, found.ids) for line in lines for found in line.translations if UNK in found.ids]
    seen = iter(looked_at(trained, unsure, head))

    def copied(line: TranslatedLine, found: Translation) -> Translation:
        if UNK not in found.ids:
            return found
        _, weights = next(seen)
        tokenizer = trained.source_tokenizer
        tags, text = parted(line.source, tokenizer.tag_separator)
        numbers = tokenizer.word_numbers(line.source)[: weights.shape[1] - 1]
        attended = word_weights(weights, source_words=numbers)[:, len(tags) :]  # a tag is no word to copy
        if not attended.shape[1]:
            return found
        sources, words = normalize(text, tokenizer.normalize).split(), found.text.split(" ")
        places = [place for place, number in enumerate(found.ids) if number == UNK]
        for place in places:
            words[place] = sources[int(attended[place].argmax())]
        return replace(found, text=" ".join(words), copied=tuple(places))

    return [replace(line, translations=tuple(copied(line, own) for own in line.translations)) for line in lines]


def labels_of(tokenizer: Tokenizer, ids: Sequence[int], *, ended: bool = True) -> tuple[str, ...]:
    """A label for each id, and `<eos>` if the end was reached."""
    return *tokenizer.tokens(ids), *["<eos>"] * ended


def add_alignment(trained: TranslationModel, evaluation: Evaluation, valid: Sequence[Pair]) -> None:
    """Adds the alignment error rate of the head that aligns best on `valid`, measured on the pairs of the evaluation.

    `details["alignment"]` says for both row conventions which head that is (1-based) and its rate. Nothing is added if
    the true alignment of either is not known, or is one of words where the tokens are characters.
    """
    if not (_aligned(trained, evaluation.pairs) and _aligned(trained, valid)):
        return
    on_valid, on_pairs = (_error_rates(trained, pairs[:MOST_PAIRS]) for pairs in (valid, evaluation.pairs))
    details: dict[str, Any] = {"pairs": min(len(evaluation.pairs), MOST_PAIRS)}
    for rows in Rows:
        layer, head = choose_head(on_valid[rows])
        rate = float(on_pairs[rows][layer, head])
        details[rows.name] = {"layer": layer + 1, "head": head + 1, "alignment_error_rate": rate}
    evaluation.details["alignment"] = details
    evaluation.scores["alignment_error_rate"] = details["predicts"]["alignment_error_rate"]


def _aligned(trained: TranslationModel, pairs: Sequence[Pair]) -> bool:
    characters = TokenizerKind.char in (trained.source_tokenizer.kind, trained.target_tokenizer.kind)
    return not characters and bool(pairs) and all(pair.links is not None for pair in pairs)


def _error_rates(trained: TranslationModel, pairs: Sequence[Pair]) -> dict[Rows, NDArray]:
    """For each row convention the rates (layers, heads)."""
    source, target = trained.source_tokenizer, trained.target_tokenizer
    sources, targets = source.encode_batch(pair.source for pair in pairs), target.encode_batch(p.target for p in pairs)
    counts = dict.fromkeys(Rows, LinkCounts())
    asked = list(zip(sources, targets, strict=True))
    for index, _, cross in watched(captured(trained, asked), "scoring alignments", total=len(asked)):
        source_words, target_words = source.word_numbers(pairs[index].source), target.word_numbers(pairs[index].target)
        for rows in Rows:
            words = word_weights(cross, rows=rows, source_words=source_words, target_words=target_words)
            counts[rows] += count_links(words, pairs[index].links or ())
    return {rows: own.error_rate for rows, own in counts.items()}


def example_of(number: int, pair: Pair, trained: TranslationModel) -> Example:
    """A pair as the attention log keeps it, with its links between tokens where they are known."""
    example = labelled(trained, number, pair.source, trained.target_tokenizer.encode(pair.target), pair.target)
    if not _aligned(trained, [pair]):
        return example
    assert pair.links is not None and example.source_words is not None and example.target_words is not None
    links = [
        (i, j)
        for source_word, target_word in pair.links
        for i, source in enumerate(example.source_words)
        for j, target in enumerate(example.target_words)
        if (source, target) == (source_word, target_word)
    ]
    return replace(example, links=tuple(links))


def labelled(
    trained: TranslationModel, number: int, source: str, target_ids: Sequence[int], reference: str | None
) -> Example:
    """A source and the ids that the decoder is fed, as the log keeps them; `reference`: their text."""
    source_ids = trained.source_tokenizer.encode(source)
    return Example(
        id=number,
        source=source,
        reference=reference,
        source_tokens=labels_of(trained.source_tokenizer, source_ids),
        target_tokens=labels_of(trained.target_tokenizer, target_ids),
        source_words=tuple(trained.source_tokenizer.word_numbers(source)),
        target_words=tuple(word_numbers(trained.target_tokenizer, target_ids)),
    )


def dimensions_of(trained: TranslationModel) -> dict[str, int]:
    """What the attention log says of the model."""
    return {name: getattr(trained.model.options, name) for name in DIMENSIONS}
