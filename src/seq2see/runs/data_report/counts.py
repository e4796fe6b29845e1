"""Lengths and vocabularies, counted as a training run would count them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from seq2see.options import TokenizerKind
from seq2see.options.text import NUM_SPECIAL
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import UNK, Tokenizer, normalize
from seq2see.text.tags import TAB, parted

MAX_ENCODED = 100_000  # pairs of a split that are cut into `bpe` tokens, evenly over all; words and characters: all
NUM_EXAMPLES = 10

Histogram = dict[int, int]  # how many texts have each length
Symbol = str | int
_PAIRS_AT_ONCE = 8_192


def mean(lengths: Histogram) -> float:
    """The mean length; 0 without texts."""
    return sum(length * count for length, count in lengths.items()) / max(sum(lengths.values()), 1)


def longest(lengths: Histogram) -> int:
    """The largest length; 0 without texts."""
    return max(lengths, default=0)


@dataclass(frozen=True)
class Side:
    """The lengths of one side of the pairs.

    Args:
        words: split at white space.
        tokens: EOS included.
    """

    words: Histogram
    tokens: Histogram


@dataclass(frozen=True)
class SplitCounts:
    """The size of a split and the lengths of its texts.

    Args:
        pairs: how many.
        pairs_encoded: of how many the tokens were counted, evenly over all.
        source: lengths of the sources.
        target: lengths of the targets.
        too_long: of the pairs encoded, those with a side of more tokens than `data.max_length`.
    """

    pairs: int
    pairs_encoded: int
    source: Side
    target: Side
    too_long: int


@dataclass(frozen=True)
class Unknown:
    """Symbols of a split that the training pairs do not have.

    Args:
        tokens: how many tokens are unknown.
        of: all tokens, EOS not included.
        examples: the commonest such symbols.
    """

    tokens: int
    of: int
    examples: list[str]


@dataclass(frozen=True)
class Vocabulary:
    """What the texts of one side, or of both, are made of.

    Args:
        side: `source`, `target` or `both`.
        kind: of the tokenizer.
        size: entries, the special ones included.
        tokens: how many were counted in the training pairs, EOS not included.
        frequent: the commonest entries with their counts.
        once: entries that the training pairs have once.
        once_examples: some of them.
        never: entries that they do not have (bytes of `bpe`, and pieces that became parts of others).
        unknown: for each split what is not in the vocabulary.
    """

    side: str
    kind: str
    size: int
    tokens: int
    frequent: list[tuple[str, int]]
    once: int
    once_examples: list[str]
    never: int
    unknown: dict[str, Unknown] = field(default_factory=dict)


class Counted(NamedTuple):
    """A split's counts, and how often it has each symbol."""

    counts: SplitCounts
    source: Counter[Symbol]
    target: Counter[Symbol]


def count_split(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, max_length: int | None) -> Counted:
    """Counts lengths and symbols.

    Args:
        pairs: of the split.
        source: the tokenizer of the sources.
        target: the tokenizer of the targets.
        max_length: tokens a side, EOS included; None: no limit.
    """
    is_slow = TokenizerKind.bpe in (source.kind, target.kind)
    step = -(-len(pairs) // MAX_ENCODED) if is_slow and pairs else 1
    sources, targets = _Side(source), _Side(target)
    too_long, begin, rest = 0, 0, iter(watched(pairs, "counting", total=len(pairs)))
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        encoded = some[-begin % step :: step]
        lengths = (
            sources.count([pair.source for pair in some], [pair.source for pair in encoded]),
            targets.count([pair.target for pair in some], [pair.target for pair in encoded]),
        )
        if max_length is not None:
            too_long += sum(max(both) > max_length for both in zip(*lengths, strict=True))
        begin += len(some)
    counts = SplitCounts(len(pairs), sources.tokens.total(), sources.lengths, targets.lengths, too_long)
    return Counted(counts, sources.symbols, targets.symbols)


class _Side:
    """One side of a split while it is counted."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.words: Counter[int] = Counter()
        self.tokens: Counter[int] = Counter()
        self.symbols: Counter[Symbol] = Counter()

    def count(self, texts: list[str], encoded: list[str]) -> list[int]:
        """Counts the words of all texts and the tokens of some; returns the numbers of these, EOS included."""
        self.words.update(len(text.split()) for text in texts)
        lengths = []
        for symbols in _symbols(encoded, self.tokenizer):
            self.symbols.update(symbols)
            lengths.append(len(symbols) + 1)
        self.tokens.update(lengths)
        return lengths

    @property
    def lengths(self) -> Side:
        return Side(dict(sorted(self.words.items())), dict(sorted(self.tokens.items())))


def _symbols(texts: list[str], tokenizer: Tokenizer) -> Iterator[Sequence[Symbol]]:
    """What each text is cut into: characters, words, or ids of `bpe` tokens; a tag is its text and a tab."""
    if tokenizer.kind is TokenizerKind.bpe:
        yield from tokenizer.encode_batch(texts)
        return
    for text in texts:
        tags = []
        if tokenizer.tag_separator is not None:
            tags, text = parted(text, tokenizer.tag_separator)
            tags = [normalize(tag, tokenizer.normalize) + TAB for tag in tags]
        text = normalize(text, tokenizer.normalize)
        symbols = text.split() if tokenizer.kind is TokenizerKind.word else text
        yield [*tags, *symbols] if tags else symbols


def vocabulary_of(side: str, tokenizer: Tokenizer, symbols: dict[str, Counter[Symbol]]) -> Vocabulary:
    """What a vocabulary holds, and what it lacks.

    Args:
        side: `source`, `target` or `both`.
        tokenizer: of that side.
        symbols: for each split how often it has each symbol; `train` among them.
    """
    known, unknown = Counter[int](), {}
    for split, counter in symbols.items():
        ids = _ids(list(counter), tokenizer)
        missing = [symbol for symbol in counter if ids[symbol] == UNK]
        missing.sort(key=lambda symbol: (-counter[symbol], str(symbol)))
        examples = [_label(symbol) for symbol in missing[:NUM_EXAMPLES]]
        unknown[split] = Unknown(sum(counter[symbol] for symbol in missing), counter.total(), examples)
        if split == "train":
            for symbol, count in counter.items():
                known[ids[symbol]] += count
            del known[UNK]
    order = sorted(known, key=lambda number: (-known[number], number))
    once = [number for number in order if known[number] == 1]
    return Vocabulary(
        side=side,
        kind=tokenizer.kind.value,
        size=tokenizer.vocab_size,
        tokens=symbols["train"].total(),
        frequent=[(tokenizer.tokens([number])[0], known[number]) for number in order[:NUM_EXAMPLES]],
        once=len(once),
        once_examples=tokenizer.tokens(once[:: -(-len(once) // NUM_EXAMPLES) or 1]),
        never=tokenizer.vocab_size - NUM_SPECIAL - len(known),
        unknown=unknown,
    )


def _ids(symbols: list[Symbol], tokenizer: Tokenizer) -> dict[Symbol, int]:
    """The id of each symbol; a `bpe` symbol is an id already."""
    texts = [symbol for symbol in symbols if isinstance(symbol, str)]
    as_lines = texts if tokenizer.tag_separator is None else [t if _is_tag(t) else TAB + t for t in texts]
    ids: dict[Symbol, int] = {symbol: symbol for symbol in symbols if isinstance(symbol, int)}
    return ids | {text: found[0] for text, found in zip(texts, tokenizer.encode_batch(as_lines), strict=True)}


def _is_tag(symbol: str) -> bool:
    return len(symbol) > 1 and symbol.endswith(TAB)


def _label(symbol: Symbol) -> str:
    """An unknown symbol for people: a tag as `Tokenizer.tokens` shows it; `bpe` does not say which one it was."""
    text = symbol if isinstance(symbol, str) else "<unk>"
    return f"[{text.removesuffix(TAB)}]" if _is_tag(text) else text
