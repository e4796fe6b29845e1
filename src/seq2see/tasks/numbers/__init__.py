"""`numbers`: from digits to words, from words to digits, or from the words of one language to those of another.

English, German and Chinese are our own (forms.py): all parts of a number are written apart, "vier hundert sieben und
zwanzig", on purpose, so that each word has its true alignment. Other languages come from the optional package num2words
as it writes them, without links.

The test pairs are drawn first, then the validation pairs, then the training pairs, each number once: so
`task.train_size` leaves the other splits as they are, and a smaller training set is the beginning of a larger one. All
lengths come equally often as far as there are enough numbers. Those below 20 are left for training: up to 99 nothing
else has their words.

The split `ood` is about pairs of digits, one for each tens digit, that no number of the other splits has just before
its last three digits: if 27 is such a pair, 27,305 and 427,305 are in `ood` alone, while 27, 4,027 and 26,305 are not.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

from seq2see.options import NumbersOptions
from seq2see.tasks.decks import Deck, draw_evenly
from seq2see.tasks.numbers.external import num2words_form
from seq2see.tasks.numbers.forms import FORMS, MAX_NUMBER, Word
from seq2see.tasks.pairs import Pair

__all__ = ["Numbers"]

# How much of a length may be used up once a split is drawn, as long as there is another choice.
_SHARES = {"test": 0.25, "valid": 0.5, "train": 1.0}
_BELOW_20 = 1  # the group of these numbers
_MANY_WORDS = 500  # different words; far fewer where a language writes the parts of a number apart


class Numbers:
    """Distinct pairs of a number in two forms.

    Args:
        options: the two forms, the largest number, how many pairs, which seed.

    Raises:
        ValueError: more pairs are asked for than exist, `task.max_number` is above 999,999, or a form is neither built
            in nor a language of num2words, or that package is not installed or cannot write a number.
    """

    notes: list[str]
    ood: str

    def __init__(self, options: NumbersOptions) -> None:
        if options.max_number > MAX_NUMBER:
            raise ValueError(f"task.max_number ({options.max_number}) must be at most {MAX_NUMBER}")
        self.notes = []
        self.ood = ""
        self._options = options
        self._read = FORMS.get(options.source) or num2words_form("task.source", options.source)
        self._write = FORMS.get(options.target) or num2words_form("task.target", options.target)
        self._linked = options.source in FORMS and options.target in FORMS
        random = Random(f"numbers {options.seed}")
        kept_back = _kept_back(options.max_number, random)
        groups = _by_length(options.max_number, kept_back, ood=False)
        decks = _decks(groups, random)
        exist = sum(deck.size for deck in decks.values())
        self._sources: set[str] = set()
        self._pairs = {}
        for split, share in _SHARES.items():
            limits = {group: int(share * deck.size) for group, deck in decks.items()}
            if split != "train":
                limits[_BELOW_20] = 0
            self._pairs[split] = self._take(split, _drawn(groups, draw_evenly(decks, limits, random)), exist)
        self._pairs["ood"] = self._draw_ood(kept_back)
        self._note_words()

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links where both forms are built in."""
        return self._pairs[split]

    def _draw_ood(self, kept_back: set[int]) -> list[Pair]:
        options = self._options
        if not options.ood_size:
            return []
        if not kept_back:
            self.notes.append(f"no split ood: it needs task.max_number ({options.max_number}) to be at least 19999")
            return []
        self.ood = f"{', '.join(map(str, sorted(kept_back)))} before the last three digits"
        random = Random(f"numbers ood {options.seed}")
        groups = _by_length(options.max_number, kept_back, ood=True)
        decks = _decks(groups, random)
        sizes = {group: deck.size for group, deck in decks.items()}
        return self._take("ood", _drawn(groups, draw_evenly(decks, sizes, random)), sum(sizes.values()))

    def _take(self, split: str, drawn: Iterator[int], exist: int) -> list[Pair]:
        """The pairs of as many of the drawn numbers as the split asks for."""
        asked = getattr(self._options, f"{split}_size")
        left = exist if split == "ood" else exist - len(self._sources)
        pairs: list[Pair] = []
        while asked <= left and len(pairs) < asked:
            number = next(drawn, None)
            if number is None:  # num2words writes some numbers alike
                left = len(pairs)
            elif (pair := self._pair(number)).source not in self._sources:
                self._sources.add(pair.source)
                pairs.append(pair)
        if asked > left:
            which = "of the split ood" if split == "ood" else "outside the split ood"
            raise ValueError(
                f"task.{split}_size ({asked}) asks for more than exist: {exist} numbers {which} with task.max_number "
                f"({self._options.max_number}), {left} of them for this split; ask for fewer, or for larger numbers"
            )
        return pairs

    def _pair(self, number: int) -> Pair:
        source, target = self._read(number), self._write(number)
        links = None
        if self._linked:
            links = _links(tuple([word.says for word in source]), tuple([word.says for word in target]))
        return Pair(_text(source), _text(target), links)

    def _note_words(self) -> None:
        for side in ("source", "target"):
            form = getattr(self._options, side)
            if form in FORMS:
                continue
            words = {word for pair in self._pairs["train"] for word in getattr(pair, side).split(" ")}
            if len(words) > _MANY_WORDS:
                self.notes.append(
                    f"task.{side}={form} writes {len(words)} different words in the training pairs: "
                    f"tokenizer.{side}=char reads them letter by letter"
                )


def _text(words: list[Word]) -> str:
    return " ".join([word.text for word in words])


@lru_cache(maxsize=4096)  # numbers with zeros at the same places share their links
def _links(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple([(i, j) for j, written in enumerate(target) for i, read in enumerate(source) if read & written])


def _kept_back(max_number: int, random: Random) -> set[int]:
    """The pairs of digits of the split `ood`: one for each tens digit for which ten whole thousands of numbers exist.

    No two have the same ones digit, so that every digit is still seen at its place in training.
    """
    ones = random.sample(range(10), 10)
    return {10 * tens + ones[tens] for tens in range(1, 10) if 10_000 * (tens + 1) <= max_number + 1}


def _by_length(max_number: int, kept_back: set[int], *, ood: bool) -> dict[int, list[range]]:
    """The numbers of the split `ood`, or of the other splits: those below 20, then by how many digits they have.

    Returns:
        The numbers of each group as ranges of a thousand each, of which only the last may be shorter.
    """
    starts = [0, 20, *(10**length for length in range(2, 6))]
    ends = [min(end, max_number + 1) for end in (*starts[1:], MAX_NUMBER + 1)]
    return {
        group: [
            range(first, min(first + 1000, end))
            for first in range(start, end, 1000)
            if (first // 1000 % 100 in kept_back) is ood
        ]
        for group, (start, end) in enumerate(zip(starts, ends, strict=True), start=_BELOW_20)
    }


def _decks(groups: dict[int, list[range]], random: Random) -> dict[int, Deck]:
    return {group: Deck(sum(map(len, thousands)), random) for group, thousands in groups.items()}


def _drawn(groups: dict[int, list[range]], places: Iterator[tuple[int, int]]) -> Iterator[int]:
    """The numbers at these places of these groups."""
    for group, place in places:
        yield groups[group][place // 1000][place % 1000]
