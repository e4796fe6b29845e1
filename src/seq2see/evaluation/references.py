"""What a model is to translate and what it may answer: validation and evaluation score alike."""

from collections.abc import Callable, Sequence

from seq2see.decoding import Hypothesis, LengthLimit, decode_sentences
from seq2see.decoding.ensemble import Predictor
from seq2see.evaluation.scores import Scorer
from seq2see.options import DecodeOptions
from seq2see.tasks.pairs import Pair
from seq2see.text import Tokenizer, normalize


class References:
    """Pairs by their sources: each source is translated once, and scored against all its different targets.

    If no source has two different targets, each pair counts as it stands.

    Args:
        pairs: at least one.
        most: sources that are translated, the first so many; None: all.

    Attributes:
        sources: of all pairs, in the Unicode form that the model gets.
        texts: the targets of all pairs, as the model could write them, in one line each.
        groups: for each source its pairs, by their places; also of those that are not translated.
        firsts: of each translated source its first pair.
        different: of each translated source the pairs with different targets.
        scorer: of the translated sources' outputs.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        most: int | None = None,
    ) -> None:
        self.target_tokenizer = target_tokenizer
        self.sources = [normalize(pair.source, source_tokenizer.normalize) for pair in pairs]
        self.texts = as_scored([pair.target for pair in pairs], target_tokenizer)
        self.groups = of_same_source(self.sources, self.texts)
        self.firsts = [group[0] for group in self.groups[:most]]
        self.different = [
            sorted({self.texts[place]: place for place in reversed(group)}.values()) for group in self.groups[:most]
        ]
        self.scorer = Scorer([[self.texts[place] for place in own] for own in self.different], target_tokenizer)
        self._source_ids = source_tokenizer.encode_batch([pairs[place].source for place in self.firsts])

    def translated(
        self,
        model: Predictor,
        *,
        limit: LengthLimit,
        decode: DecodeOptions,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Hypothesis], list[str]]:
        """The best hypothesis of each source, and its text in one line; `progress` as `decode_sentences` takes it."""
        found = decode_sentences(model, self._source_ids, limit=limit, options=decode, progress=progress)
        hypotheses = [best for best, *_ in found]
        return hypotheses, [one_line(self.target_tokenizer.decode(best.ids)) for best in hypotheses]


def of_same_source(sources: Sequence[str], targets: Sequence[str]) -> list[list[int]]:
    """The pairs of each source, by their places; each pair alone if no source has two different targets."""
    groups: dict[str, list[int]] = {}
    for place, source in enumerate(sources):
        groups.setdefault(source, []).append(place)
    if any(len({targets[place] for place in group}) > 1 for group in groups.values()):
        return list(groups.values())
    return [[place] for place in range(len(sources))]


def as_scored(targets: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Targets as outputs are compared with them: as a model could write them, in one line each."""
    return [one_line(tokenizer.writable(target)) for target in targets]


def one_line(text: str) -> str:
    """A text as one field of a line: tabs and line ends, which a bpe or char model may write, become spaces."""
    return text.replace("\t", " ").replace("\r", " ").replace("\n", " ")
