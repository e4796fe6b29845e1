"""How numbers are written, and which of their places each written word stands for.

A number has places, 0 for ones to 5 for hundred thousands. At each place it says two things: a value (the digit) and,
but for the ones, a unit (ten, hundred, ...). A word is marked with the values and units that it says, one bit each; two
words of two forms are linked where their marks meet. What marks the words of a form:

- A digit says the value and the unit of its place.
- English "four" says a value, "hundred" a unit, "twenty" and "ten" both; "thirteen" also the value of the ones;
  "thousand" says the unit of place 3.
- German is the same word by word; "und" says the unit of the tens that it joins to the ones, as "zwanzig" does too.
- Chinese 四 says a value; 十, 百 and 千 the unit of their place; 万 that of place 4. 十 alone at the beginning says the
  value one too. 零 says the values of the zeros that it stands for.
- A zero that no word says belongs to the word that says its unit ("ten thousand": the second 0 is in "thousand"), else
  to the word of the unit above ("three hundred": both zeros are in "hundred"), and so do units that no word says.

Thus every place belongs to a word in every form, and every word of every form has at least one link.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

MAX_NUMBER = 999_999

_VALUES = [1 << place for place in range(6)]
_UNITS = [0, *(1 << 6 + place for place in range(1, 6))]


class Word(NamedTuple):
    """A written word, and the bits of the values and units that it says."""

    text: str
    says: int


_ENGLISH_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_ENGLISH_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_GERMAN_ONES = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
).split()
_GERMAN_TENS = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_CHINESE_DIGITS = "零一二三四五六七八九"
_CHINESE_UNITS = " 十百千"


def digits(number: int) -> list[Word]:
    """4 2 7."""
    text = str(number)
    places = range(len(text) - 1, -1, -1)
    return [Word(digit, _VALUES[place] | _UNITS[place]) for digit, place in zip(text, places, strict=True)]


def english(number: int) -> list[Word]:
    """Four hundred twenty seven."""
    if number == 0:
        return [Word("zero", _VALUES[0])]
    thousands, rest = divmod(number, 1000)
    words = [*_english_block(thousands, 3)]
    if thousands:
        words.append(Word("thousand", _UNITS[3]))
    words += _english_block(rest, 0)
    return _with_silent_places(words, number)


@cache
def _english_block(block: int, first: int) -> Sequence[Word]:
    """The words of three places, `first` being the lowest."""
    hundreds, rest = divmod(block, 100)
    words = []
    if hundreds:
        words += [Word(_ENGLISH_ONES[hundreds], _VALUES[first + 2]), Word("hundred", _UNITS[first + 2])]
    if rest >= 20:
        words.append(Word(_ENGLISH_TENS[rest // 10], _VALUES[first + 1] | _UNITS[first + 1]))
        rest %= 10
    if rest:
        words.append(Word(_ENGLISH_ONES[rest], _below_twenty(rest, first)))
    return words


def _below_twenty(number: int, first: int) -> int:
    """What the one word of a number from 1 to 19 says."""
    tens = _VALUES[first + 1] | _UNITS[first + 1] if number >= 10 else 0
    return tens | (_VALUES[first] if number % 10 else 0)


def german(number: int) -> list[Word]:
    """Vier hundert sieben und zwanzig, written apart so that each part has its own alignment."""
    if number == 0:
        return [Word("null", _VALUES[0])]
    thousands, rest = divmod(number, 1000)
    words = [*_german_block(thousands, 3)]
    if thousands:
        words.append(Word("tausend", _UNITS[3]))
    words += _german_block(rest, 0)
    if words[-1].text == "ein":  # "ein" only where something follows
        words[-1] = Word("eins", words[-1].says)
    return _with_silent_places(words, number)


@cache
def _german_block(block: int, first: int) -> Sequence[Word]:
    hundreds, rest = divmod(block, 100)
    words = []
    if hundreds:
        words += [Word(_GERMAN_ONES[hundreds], _VALUES[first + 2]), Word("hundert", _UNITS[first + 2])]
    if 0 < rest < 20:
        words.append(Word(_GERMAN_ONES[rest], _below_twenty(rest, first)))
    elif rest:
        tens, ones = divmod(rest, 10)
        if ones:
            words += [Word(_GERMAN_ONES[ones], _VALUES[first]), Word("und", _UNITS[first + 1])]
        words.append(Word(_GERMAN_TENS[tens], _VALUES[first + 1] | _UNITS[first + 1]))
    return words


def chinese(number: int) -> list[Word]:
    """四 百 二 十 七."""
    text = str(number)
    words: list[Word] = []
    zeros = 0  # values of the zeros since the last word
    for place, digit in zip(range(len(text) - 1, -1, -1), map(int, text), strict=True):
        unit = _CHINESE_UNITS[place % 4]
        if digit:
            if zeros:
                words.append(Word("零", zeros))
                zeros = 0
            if digit == 1 and unit == "十" and not words:  # 十 五, but 一 百 一 十 五
                words.append(Word(unit, _VALUES[place] | _UNITS[place]))
            else:
                words.append(Word(_CHINESE_DIGITS[digit], _VALUES[place]))
                if place % 4:
                    words.append(Word(unit, _UNITS[place]))
        else:
            zeros |= _VALUES[place]
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
    for place in range(len(str(number)) - 1, -1, -1):
        unit = _UNITS[place]
        missing = (unit | _VALUES[place]) & ~said
        if unit & said:
            owner = next(index for index, word in enumerate(words) if word.says & unit)
        if missing:
            words[owner] = Word(words[owner].text, words[owner].says | missing)
    return words


FORMS: dict[str, Callable[[int], list[Word]]] = {"digits": digits, "en": english, "de": german, "zh": chinese}
