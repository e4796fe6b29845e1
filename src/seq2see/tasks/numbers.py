"""`numbers`: from digits to words, from words to digits, or from the words of one language to those of another.

English, German and Chinese are our own, their parts written apart, "vier hundert sieben und zwanzig", so that each word
has its true alignment. Other languages come from the optional package num2words, without links.

All lengths come equally often as far as there are enough numbers; those below 20 are left for training, as up to 99
nothing else has their words. `ood` is about pairs of digits that no number of the other splits has just before its last
three digits: if 27 is one, 27,305 and 427,305 are in `ood` alone, while 27, 4,027 and 26,305 are not.

A word says values (digits) and, but for the ones, units (ten, hundred, ...) of places, one bit each: "four" a value,
"hundred" a unit, "twenty" both, "thirteen" the value of the ones too, "und" the unit of the tens that it joins, 零 the
values of its zeros. What no word says belongs to the word that says its unit ("ten thousand": the second 0), or else
the unit above ("three hundred": both zeros). Words of two forms are linked where they say the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from random import Random
from typing import NamedTuple

from seq2see.options import NumbersOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.sampling import DistinctSampler, draw_splits

_MAX_NUMBER = 999_999


class Numbers:
    """Distinct pairs of a number in two forms.

    Raises:
        ValueError: there are too few numbers, or a form is neither built in nor a language that num2words can write.
    """

    def __init__(self, options: NumbersOptions) -> None:
        if options.max_number > _MAX_NUMBER:
            raise ValueError(f"task.max_number ({options.max_number}) must be at most {_MAX_NUMBER}")
        self.notes: list[str] = []
        self.ood = ""
        read = FORMS.get(options.source) or _num2words("task.source", options.source)
        write = FORMS.get(options.target) or _num2words("task.target", options.target)
        linked = options.source in FORMS and options.target in FORMS
        random = Random(f"numbers {options.seed}")
        kept_back = _kept_back(options.max_number, random)
        if options.ood_size and kept_back:
            self.ood = f"{', '.join(map(str, sorted(kept_back)))} before the last three digits"
        elif options.ood_size:
            self.notes.append(f"no split ood: it needs task.max_number ({options.max_number}) to be at least 19999")
            options = replace(options, ood_size=0)
        groups = _groups(options.max_number, kept_back)
        sizes = {group: sum(map(len, thousands)) for group, thousands in groups.items()}
        usual, ood = ({group: size for group, size in sizes.items() if group[0] is part} for part in (False, True))

        def write_pair(group: tuple[bool, int], place: int) -> Pair:
            number = groups[group][place // 1000][place % 1000]
            source, source_says = zip(*read(number), strict=True)
            target, target_says = zip(*write(number), strict=True)
            return Pair(" ".join(source), " ".join(target), _links(source_says, target_says) if linked else None)

        self._pairs = draw_splits(
            options,
            write_pair,
            DistinctSampler(usual, random, for_training=[(False, 0)]),
            DistinctSampler(ood, Random(f"numbers ood {options.seed}")),
            f"raise task.max_number ({options.max_number})",
        )

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links where both forms are built in."""
        return self._pairs[split]


def _kept_back(max_number: int, random: Random) -> set[int]:
    """The pairs of digits of the split `ood`: one for each tens digit for which ten whole thousands of numbers exist.

    No two have the same ones digit, so that every digit is still seen at its place in training.
    """
    ones = random.sample(range(10), 10)
    return {10 * tens + ones[tens] for tens in range(1, 10) if 10_000 * (tens + 1) <= max_number + 1}


def _groups(max_number: int, kept_back: set[int]) -> dict[tuple[bool, int], list[range]]:
    """The numbers by whether they are of the split `ood` and by length, in ranges of a thousand but for the last."""
    starts = (0, 20, 100, 1_000, 10_000, 100_000)
    groups: dict[tuple[bool, int], list[range]] = {(ood, start): [] for ood in (False, True) for start in starts}
    for start, end in zip(starts, (*starts[1:], _MAX_NUMBER + 1), strict=True):
        end = min(end, max_number + 1)
        for first in range(start, end, 1000):
            groups[first // 1000 % 100 in kept_back, start].append(range(first, min(first + 1000, end)))
    return groups


@lru_cache(maxsize=4096)  # numbers with zeros at the same places share their links
def _links(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple([(i, j) for j, written in enumerate(target) for i, read in enumerate(source) if read & written])


class Word(NamedTuple):
    """A written word, and the bits of the values and units that it says."""

    text: str
    says: int


_VALUES = [1 << place for place in range(6)]
_UNITS = [0, *(1 << 6 + place for place in range(1, 6))]


def _places(number: int) -> list[tuple[int, str]]:
    """Its digits with their places, from the highest on."""
    return [*enumerate(reversed(str(number)))][::-1]


def _digits(number: int) -> list[Word]:
    """4 2 7."""
    return [Word(digit, _VALUES[place] | _UNITS[place]) for place, digit in _places(number)]


def _by_value(words: str) -> dict[int, str]:
    return dict(zip((*range(20), *range(20, 100, 10), 100, 1000), words.split(), strict=True))


_ENGLISH = _by_value(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
_GERMAN = _by_value(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend"
)


def _spoken(names: dict[int, str], joint: str, number: int) -> list[Word]:
    """Four hundred twenty seven; with a joint, vier hundert sieben und zwanzig."""
    thousands, rest = divmod(number, 1000)
    words = _spoken_block(names, joint, thousands, 3)
    if thousands:
        words.append(Word(names[1000], _UNITS[3]))
    words += _spoken_block(names, joint, rest, 0)
    if not words:
        words = [Word(names[0], _VALUES[0])]
    if words[-1].text == "ein":  # "ein" only where something follows
        words[-1] = Word("eins", words[-1].says)
    return _with_silent_places(words, number)


def _spoken_block(names: dict[int, str], joint: str, block: int, first: int) -> list[Word]:
    """The words of three places, `first` being the lowest."""
    hundreds, rest = divmod(block, 100)
    tens, ones = divmod(rest, 10)
    words = []
    if hundreds:
        words += [Word(names[hundreds], _VALUES[first + 2]), Word(names[100], _UNITS[first + 2])]
    tens_bits = _VALUES[first + 1] | _UNITS[first + 1] if tens else 0
    ones_bits = _VALUES[first] if ones else 0
    if rest and rest in names:
        return [*words, Word(names[rest], tens_bits | ones_bits)]
    if rest and joint:
        return [*words, Word(names[ones], ones_bits), Word(joint, _UNITS[first + 1]), Word(names[10 * tens], tens_bits)]
    if rest:
        words += [Word(names[10 * tens], tens_bits), Word(names[ones], ones_bits)]
    return words


def _chinese(number: int) -> list[Word]:
    """四 百 二 十 七."""
    words: list[Word] = []
    zeros = 0  # values of the zeros since the last word
    for place, digit in _places(number):
        if digit == "0":
            zeros |= _VALUES[place]
        elif digit == "1" and place % 4 == 1 and not words:  # 十 五, but 一 百 一 十 五
            words.append(Word("十", _VALUES[place] | _UNITS[place]))
        else:
            if zeros:
                words.append(Word("零", zeros))
                zeros = 0
            words.append(Word("零一二三四五六七八九"[int(digit)], _VALUES[place]))
            if place % 4:
                words.append(Word(" 十百千"[place % 4], _UNITS[place]))
        if place == 4:
            words.append(Word("万", _UNITS[place]))
            zeros = 0  # zeros that end the block before 万 are not read
    return _with_silent_places(words or [Word("零", zeros)], number)


def _with_silent_places(words: list[Word], number: int) -> list[Word]:
    """The words, with the values and units that none of them says given to the word that implies them."""
    said = 0
    for word in words:
        said |= word.says
    owner = 0  # which word says the unit of this place, or else of the next one above
    for place, _ in _places(number):
        unit = _UNITS[place]
        if unit & said:
            owner = next(index for index, word in enumerate(words) if word.says & unit)
        missing = (unit | _VALUES[place]) & ~said
        words[owner] = Word(words[owner].text, words[owner].says | missing)
    return words


FORMS: dict[str, Callable[[int], list[Word]]] = {
    "digits": _digits,
    "en": partial(_spoken, _ENGLISH, ""),
    "de": partial(_spoken, _GERMAN, "und"),
    "zh": _chinese,
}


def _num2words(key: str, language: str) -> Callable[[int], list[Word]]:
    """Writes numbers as num2words does, words being what white space separates; the key is for messages."""
    built_in = ", ".join(FORMS)
    try:
        package = import_module("num2words")
    except ImportError as error:
        raise ValueError(
            f"{key} ({language}) is not built in and needs the package num2words, which is not installed: "
            f"pip install 'seq2see[numbers]', or choose one of {built_in}"
        ) from error
    if language not in package.CONVERTER_CLASSES:  # it would take "estonian" for "es", Spanish
        others = ", ".join(sorted(set(package.CONVERTER_CLASSES) - set(FORMS)))
        raise ValueError(f"{key} ({language}) is no language of num2words: choose one of {built_in}, {others}")

    def write(number: int) -> list[Word]:
        try:
            return [Word(word, 0) for word in package.num2words(number, lang=language).split()]
        except Exception as error:  # whatever its rules for a language run into
            raise ValueError(
                f"{key} ({language}): num2words cannot write {number} ({error!r}): choose another language"
            ) from error

    return write
