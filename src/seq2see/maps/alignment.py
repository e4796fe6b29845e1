"""How well attention matches the true word alignment: the head is chosen on other pairs than those it is scored on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2see.data import EncodedPairs
from seq2see.decoding import TranslationModel
from seq2see.evaluation import Evaluation
from seq2see.maps.capture import capture
from seq2see.maps.index import Example
from seq2see.maps.measures import Rows, alignment_error_rate, choose_head
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair

NUM_PAIRS = 500  # pairs at most that are looked at
ROWS = {Rows.predicts: "predicts", Rows.reads: "reads"}


def add_alignment(trained: TranslationModel, evaluation: Evaluation, valid: Sequence[Pair]) -> None:
    """Adds the alignment error rate of the head that aligns best on `valid`, measured on the pairs of the evaluation.

    `details["alignment"]` says for both row conventions which head that is (1-based) and its rate. Nothing is added if
    the true alignment of either is not known, or is one of words where the tokens are characters.

    Args:
        trained: the model, on the device to use.
        evaluation: of that model.
        valid: other pairs, on which the head is chosen.
    """
    pairs = evaluation.pairs
    if not (_aligned(trained, pairs) and _aligned(trained, valid)):
        return
    on_valid, on_pairs = _error_rates(trained, valid[:NUM_PAIRS]), _error_rates(trained, pairs[:NUM_PAIRS])
    details: dict[str, Any] = {"pairs": min(len(pairs), NUM_PAIRS)}
    for rows, name in ROWS.items():
        layer, head = choose_head(on_valid[rows])
        rate = float(on_pairs[rows][layer, head])
        details[name] = {"layer": layer + 1, "head": head + 1, "alignment_error_rate": rate}
    evaluation.details["alignment"] = details
    evaluation.scores["alignment_error_rate"] = details["predicts"]["alignment_error_rate"]


def _aligned(trained: TranslationModel, pairs: Sequence[Pair]) -> bool:
    characters = TokenizerKind.char in (trained.source_tokenizer.kind, trained.target_tokenizer.kind)
    return not characters and bool(pairs) and all(pair.links is not None for pair in pairs)


def _error_rates(trained: TranslationModel, pairs: Sequence[Pair]) -> dict[Rows, np.ndarray]:
    """For each row convention the rates (layers, heads)."""
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, trained.target_tokenizer)
    cross = []
    for start in range(0, len(pairs), 100):
        numbers = np.arange(start, min(start + 100, len(pairs)))
        maps = capture(trained.model, encoded.batch(numbers)).cross
        lengths = zip(encoded.target_lengths[numbers], encoded.source_lengths[numbers], strict=True)
        cross += [maps[row, :, :, :target, :source] for row, (target, source) in enumerate(lengths)]
    return {
        rows: alignment_error_rate(
            cross,
            [list(pair.links or ()) for pair in pairs],
            rows=rows,
            source_words=[trained.source_tokenizer.word_numbers(pair.source) for pair in pairs],
            target_words=[trained.target_tokenizer.word_numbers(pair.target) for pair in pairs],
        )
        for rows in ROWS
    }


def example_of(number: int, pair: Pair, trained: TranslationModel, *, is_reference: bool = True) -> Example:
    """A pair as the attention log keeps it, with its links between tokens where they are known.

    Args:
        number: what people know it by.
        pair: source and target.
        trained: its tokenizers.
        is_reference: whether the target is what should have been written; otherwise it is the model's own.
    """
    source, target = trained.source_tokenizer, trained.target_tokenizer
    source_words, target_words = source.word_numbers(pair.source), target.word_numbers(pair.target)
    links = None
    if _aligned(trained, [pair]):
        links = tuple(
            (i, j)
            for source_word, target_word in pair.links or ()
            for i in _places(source_words, source_word)
            for j in _places(target_words, target_word)
        )
    return Example(
        id=number,
        source=pair.source,
        reference=pair.target if is_reference else None,
        source_tokens=(*source.tokens(source.encode(pair.source)), "<eos>"),
        target_tokens=(*target.tokens(target.encode(pair.target)), "<eos>"),
        links=links,
        source_words=tuple(source_words),
        target_words=tuple(target_words),
    )


def _places(words: Sequence[int], word: int) -> list[int]:
    return [place for place, number in enumerate(words) if number == word]


def model_dimensions(trained: TranslationModel) -> dict[str, int]:
    """What the attention log says of the model."""
    options = trained.model.options
    names = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers")
    return {name: getattr(options, name) for name in names}
