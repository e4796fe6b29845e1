"""The tokenizers of a run, from its training pairs; torch-free."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from seq2see.options import TokenizerKind, TrainOptions, tag_separator
from seq2see.tasks import Pair
from seq2see.text import Tokenizer, tagged

BPE_LEARNS_FROM = 250_000  # pairs at most, evenly over all: more hardly change the merges, and no text is unknown


Tokenizers = tuple[Tokenizer, Tokenizer]
"""Those of sources and targets, with the same ids if the vocabulary is shared."""


def fit_tokenizers(pairs: Sequence[Pair], options: TrainOptions, known: Tokenizers | None = None) -> Tokenizers:
    """The tokenizers of these pairs.

    Args:
        pairs: the training pairs.
        options: with nothing left open.
        known: those to go on with, and to add new symbols to; None: new ones.

    Raises:
        ValueError: `tokenizer.vocab_size` leaves no room for a symbol.
    """
    chosen = options.tokenizer
    separator = tag_separator(options.task)

    def fitted(kind: TokenizerKind, sides: tuple[str, ...], tag_separator: str | None) -> Tokenizer:
        before = None if known is None else known[sides[0] == "target"]
        tag_separator = tag_separator or (before and before.tag_separator)
        step = -(-len(pairs) // BPE_LEARNS_FROM) if kind is TokenizerKind.bpe and pairs else 1
        lines = chain.from_iterable(islice(_lines(pairs, side, tag_separator), 0, None, step) for side in sides)
        size, normalize = chosen.vocab_size, chosen.normalize
        if before is not None:
            return before.grown(lines, vocab_size=size, tag_separator=tag_separator)
        return Tokenizer.fit(kind, lines, vocab_size=size, normalize=normalize, tag_separator=tag_separator)

    assert chosen.source is not None and chosen.target is not None
    if chosen.shared:
        both = fitted(chosen.source, ("source", "target"), separator)
        return both, both.without_tags()
    return fitted(chosen.source, ("source",), separator), fitted(chosen.target, ("target",), None)


def _lines(pairs: Sequence[Pair], side: str, tag_separator: str | None) -> Iterable[str]:
    """What a tokenizer reads: a target has no tags, and a tab in it is text."""
    texts = _texts(pairs, side)
    return texts if tag_separator is None or side == "source" else (tagged([], text, tag_separator) for text in texts)


def _texts(pairs: Sequence[Pair], side: str) -> Iterable[str]:
    texts = getattr(pairs, "texts", None)  # of a table, without the pairs
    return (getattr(pair, side) for pair in pairs) if texts is None else texts(side)
