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
    chosen, separator = options.tokenizer, tag_separator(options.task)

    def fitted(
        kind: TokenizerKind | None, sides: Sequence[str], separator: str | None, before: Tokenizer | None
    ) -> Tokenizer:
        assert kind is not None
        separator = separator or (before.tag_separator if before else None)
        step = -(-len(pairs) // BPE_LEARNS_FROM) if kind is TokenizerKind.bpe and pairs else 1
        lines = chain.from_iterable(islice(_lines(pairs, side, separator), 0, None, step) for side in sides)
        size, least = chosen.vocab_size, chosen.min_count
        if before is not None:
            return before.grown(lines, vocab_size=size, min_count=least, tag_separator=separator)
        return Tokenizer.fit(
            kind, lines, vocab_size=size, min_count=least, normalize=chosen.normalize, tag_separator=separator
        )

    source, target = known or (None, None)
    if chosen.shared:
        both = fitted(chosen.source, ["source", "target"], separator, source)
        return both, both.without_tags()
    return fitted(chosen.source, ["source"], separator, source), fitted(chosen.target, ["target"], None, target)


def _lines(pairs: Sequence[Pair], side: str, tag_separator: str | None) -> Iterable[str]:
    """What a tokenizer reads: a target has no tags, and a tab in it is text."""
    of_table = getattr(pairs, "texts", None)  # gives them without the pairs
    texts = (getattr(pair, side) for pair in pairs) if of_table is None else of_table(side)
    return texts if tag_separator is None or side == "source" else (tagged([], text, tag_separator) for text in texts)
