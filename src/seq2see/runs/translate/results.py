"""What a model makes of lines: for each its translations, and what is to be said of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from seq2see.decoding import Hypothesis, decode_sentences
from seq2see.options import TokenizerKind
from seq2see.runs.checkpoint import Trained
from seq2see.runs.translate.lines import chunks_of, is_blank
from seq2see.runs.translate.links import CrossHead, aligning_head, links_of, looked_at
from seq2see.text import UNK, Tokenizer, normalize, parted


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Args:
        text: as the model writes it; a `char` or `bpe` model may write line ends.
        score: summed log-probability, nats, before any length penalty.
        ended: whether the end was reached before the length limit.
        ids: target ids without EOS.
        tokens: with details: a label for each id, and `<eos>` if the end was reached.
        log_probs: with details: for each of `tokens` its log-probability, nats; their sum is the score.
        links: with details: for each target word the source word that it attends to most, as (source, target).
    """

    text: str
    score: float
    ended: bool
    ids: list[int]
    tokens: tuple[str, ...] = ()
    log_probs: tuple[float, ...] = ()
    links: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TranslatedLine:
    """A line and its translations.

    Args:
        number: of the line, from 1.
        source: the line.
        translations: the best first; none of a blank line.
        num_tokens: source tokens, EOS included; 0 for a blank line.
        num_read: how many of them the model has read.
        unknown: symbols of the line that the model has never seen.
        ids: the source ids that the model has read, without EOS.
    """

    number: int
    source: str
    translations: tuple[Translation, ...] = ()
    num_tokens: int = 0
    num_read: int = 0
    unknown: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The best translation; of a blank line nothing."""
        return self.translations[0].text if self.translations else ""

    @property
    def is_cut(self) -> bool:
        """Whether the line was longer than the model reads."""
        return self.num_read < self.num_tokens


def translated(trained: Trained, lines: Iterable[str]) -> Iterator[str]:
    """The best translation of each line; a blank one for a blank one."""
    return (line.text for line in translations(trained, lines))


def translations(trained: Trained, lines: Iterable[str], *, details: bool = False) -> Iterator[TranslatedLine]:
    """As many translations of each line as `decode.num_best` says, and what is known of them.

    Args:
        trained: the model; its decoding options hold.
        lines: read as they are needed, at most `lines.MOST` ahead.
        details: whether tokens, their log-probabilities and links are wanted too; they take two more passes.
    """
    for some in translate_chunks(trained, chunks_of(lines), details=details):
        yield from some


def translate_chunks(
    trained: Trained,
    chunks: Iterable[Sequence[str]],
    *,
    details: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Iterator[list[TranslatedLine]]:
    """What `translations` gives, for lines that come some at a time.

    Args:
        trained: the model.
        chunks: lines that are translated together.
        details: see `translations`.
        progress: called with the number of lines done since the last call; blank ones do not count.
    """
    head = aligning_head(trained) if details else None
    first = 1
    for chunk in chunks:
        found = translate_some(trained, chunk, first=first, progress=progress)
        yield found if head is None else with_details(trained, found, head)
        first += len(chunk)


def translate_some(
    trained: Trained, lines: Sequence[str], *, first: int = 1, progress: Callable[[int], None] | None = None
) -> list[TranslatedLine]:
    """Translates lines together.

    Args:
        trained: the model.
        lines: any.
        first: the number of the first one.
        progress: see `translate_chunks`.
    """
    filled = [number for number, line in enumerate(lines, start=first) if not is_blank(line)]
    ids = trained.source_tokenizer.encode_batch([lines[number - first] for number in filled])
    most, _ = source_limit(trained)
    read = [tokens[: most - 1] for tokens in ids]
    found = decode_sentences(
        trained.model,
        read,
        limit=trained.length_limit,
        options=trained.options.decode,
        numbers=filled,
        progress=progress,
    )
    results = [TranslatedLine(number, line) for number, line in enumerate(lines, start=first)]
    for number, tokens, seen, hypotheses in zip(filled, ids, read, found, strict=True):
        results[number - first] = replace(
            results[number - first],
            translations=tuple(_translation(trained, hypothesis) for hypothesis in hypotheses),
            num_tokens=len(tokens) + 1,
            num_read=len(seen) + 1,
            unknown=tuple(unknown_symbols(trained.source_tokenizer, lines[number - first], tokens)),
            ids=tuple(seen),
        )
    return results


def _translation(trained: Trained, hypothesis: Hypothesis) -> Translation:
    text = trained.target_tokenizer.decode(hypothesis.ids)
    return Translation(text, hypothesis.score, hypothesis.ended, hypothesis.ids)


def with_details(trained: Trained, lines: Sequence[TranslatedLine], head: CrossHead) -> list[TranslatedLine]:
    """The lines with tokens, log-probabilities and links.

    Args:
        trained: the model.
        lines: as `translate_some` gives them.
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


def source_limit(trained: Trained) -> tuple[int, str]:
    """Source tokens that the model reads at most, EOS included, and the key that says so."""
    most = trained.options.decode.filled().max_source_length
    positions = trained.model.encoder_positions.max_length
    assert most
    if positions is not None and positions < most:
        return positions, "model.max_positions"
    return most, "decode.max_source_length"


def unknown_symbols(tokenizer: Tokenizer, line: str, ids: Sequence[int]) -> list[str]:
    """The tags, words or characters of a line whose ids are UNK."""
    if UNK not in ids:
        return []
    tags, text = ([], line) if tokenizer.tag_separator is None else parted(line, tokenizer.tag_separator)
    text = normalize(text, tokenizer.normalize)
    symbols = [*tags, *(text.split() if tokenizer.kind is TokenizerKind.word else text)]
    if tokenizer.kind is TokenizerKind.bpe:
        symbols, ids = tags, ids[: len(tags)]
    return [symbol for symbol, number in zip(symbols, ids, strict=True) if number == UNK]
