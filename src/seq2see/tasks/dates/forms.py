"""How dates are written, each token with the places of the ISO date that it stands for.

The ISO date 1 9 9 4 - 0 3 - 0 3 has the places 0 to 9, one for each digit or hyphen. What stands for what:

- A digit of the year stands for that digit.
- What a month or a day is written with stands for its digits: one word ("March", "third") for both; two digits, and the
  parts of "twenty first", "ein und zwanzigste" ("und" with the tens) and 二 十 三, for one each; one digit alone ("3")
  for itself and the zero before it; 十 that ends a number for its zero.
- A mark or word between month and day stands for the second hyphen, one between the year and the rest for the first
  ("of" in "the third of March", the comma in "March 3 , 1994", 年). A hyphen for which nothing is written has no link.
- Weekdays, articles, ordinal endings ("3 rd"), 日 and other tokens at an end stand for nothing: ISO has no such thing.
"""

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from seq2see.tasks.pairs import Pair

_YEAR_HYPHEN, _MONTH, _DAY_HYPHEN, _DAY = 4, 5, 7, 8  # places


class Form(NamedTuple):
    """A way to write a date.

    Attributes:
        template: fields in braces and other tokens, separated by spaces.
        family: forms of a family write the months with the same words.
        first_day: the first day of a month that makes it unambiguous.
    """

    template: str
    family: str
    first_day: int = 1


_LATE = 13  # no month
FORMS = (
    Form("{day} {month} {year}", "English"),
    Form("{month} {day} , {year}", "English"),
    Form("{month} {day} {ending} , {year}", "English"),
    Form("the {ordinal} of {month} {year}", "English"),
    Form("{month} the {ordinal} , {year}", "English"),
    Form("{weekday} , {month} {day} , {year}", "English"),
    # No "Mar 3 , 1994" and "3 Mar 1994": in May they would be the same as the whole words.
    Form("{day} - {mon} - {year}", "English, short"),
    Form("{year} {mon} {day}", "English, short"),
    Form("{wkd} , {mon} {day} , {year}", "English, short"),
    Form("{wkd} , {day} {mon} {year}", "English, short"),
    Form("{day} . {monat} {year}", "German"),
    Form("{wochentag} , {day} . {monat} {year}", "German"),
    Form("{wochentag} , den {day} . {monat} {year}", "German"),
    Form("der {ordnungszahl} {monat} {year}", "German"),
    Form("{year} 年 {m} 月 {day} 日", "Chinese"),
    Form("{year} 年 {m} 月 {day} 日 {xingqi}", "Chinese"),
    Form("{nian} 年 {yue} 月 {ri} 日", "Chinese"),
    Form("{year} / {mm} / {dd}", "digits"),
    Form("{year} . {m} . {day}", "digits"),
    Form("{day} . {m} . {year}", "digits", _LATE),
    Form("{dd} / {mm} / {year}", "digits", _LATE),
    Form("{mm} / {dd} / {year}", "digits", _LATE),
)

_Tokens = list[tuple[str, tuple[int, ...]]]  # each with the places that it stands for

_MONTHS = "January February March April May June July August September October November December".split()
_MONATE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WOCHENTAGE = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()
_XINGQI = [f"星期{day}" for day in "一二三四五六日"]
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_ORDNUNGSZAHLEN = (
    "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte "
    "fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte zwanzigste"
).split()
_EINER = "ein zwei drei vier fünf sechs sieben acht neun".split()
_CHINESE_DIGITS = "〇一二三四五六七八九"


def _year(digits: str) -> _Tokens:
    return [(digit, (place,)) for place, digit in enumerate(digits)]


def _word(text: str, first: int) -> _Tokens:
    return [(text, (first, first + 1))]


def _digits(number: int, first: int) -> _Tokens:
    return _padded(number, first) if number >= 10 else _word(str(number), first)


def _padded(number: int, first: int) -> _Tokens:
    return [(digit, (first + place,)) for place, digit in enumerate(f"{number:02}")]


def _chinese(number: int, first: int) -> _Tokens:
    tens, ones = divmod(number, 10)
    if not tens:
        return _word(_CHINESE_DIGITS[ones], first)
    tokens: _Tokens = [(_CHINESE_DIGITS[tens], (first,))] if tens > 1 else []
    if not ones:
        return [*tokens, *_word("十", first)]
    return [*tokens, ("十", (first,)), (_CHINESE_DIGITS[ones], (first + 1,))]


def _ordinal(day: int) -> _Tokens:
    if day <= 20:
        return _word(_ORDINALS[day - 1], _DAY)
    if day == 30:
        return _word("thirtieth", _DAY)
    return [("twenty" if day < 30 else "thirty", (_DAY,)), (_ORDINALS[day % 10 - 1], (_DAY + 1,))]


def _ordnungszahl(day: int) -> _Tokens:
    if day <= 20:
        return _word(_ORDNUNGSZAHLEN[day - 1], _DAY)
    if day == 30:
        return _word("dreißigste", _DAY)
    tens = "zwanzigste" if day < 30 else "dreißigste"
    return [(_EINER[day % 10 - 1], (_DAY + 1,)), ("und", (_DAY,)), (tens, (_DAY,))]


def _ending(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


# What each field is part of, for the hyphens, and how it is written.
_FIELDS: dict[str, tuple[str, Callable[[date], _Tokens]]] = {
    "{year}": ("year", lambda when: _year(str(when.year))),
    "{nian}": ("year", lambda when: _year("".join([_CHINESE_DIGITS[int(digit)] for digit in str(when.year)]))),
    "{month}": ("month", lambda when: _word(_MONTHS[when.month - 1], _MONTH)),
    "{mon}": ("month", lambda when: _word(_MONTHS[when.month - 1][:3], _MONTH)),
    "{monat}": ("month", lambda when: _word(_MONATE[when.month - 1], _MONTH)),
    "{yue}": ("month", lambda when: _chinese(when.month, _MONTH)),
    "{m}": ("month", lambda when: _digits(when.month, _MONTH)),
    "{mm}": ("month", lambda when: _padded(when.month, _MONTH)),
    "{day}": ("day", lambda when: _digits(when.day, _DAY)),
    "{dd}": ("day", lambda when: _padded(when.day, _DAY)),
    "{ri}": ("day", lambda when: _chinese(when.day, _DAY)),
    "{ordinal}": ("day", lambda when: _ordinal(when.day)),
    "{ordnungszahl}": ("day", lambda when: _ordnungszahl(when.day)),
    "{ending}": ("", lambda when: [(_ending(when.day), ())]),
    "{weekday}": ("", lambda when: [(_WEEKDAYS[when.weekday()], ())]),
    "{wkd}": ("", lambda when: [(_WEEKDAYS[when.weekday()][:3], ())]),
    "{wochentag}": ("", lambda when: [(_WOCHENTAGE[when.weekday()], ())]),
    "{xingqi}": ("", lambda when: [(_XINGQI[when.weekday()], ())]),
}


def _compiled(form: Form) -> list[Callable[[date], _Tokens]]:
    """A writer for each field or other token of the template."""
    items = form.template.split(" ")
    parts = [_FIELDS[item][0] if item in _FIELDS else "" for item in items]
    writers = []
    for number, item in enumerate(items):
        if item in _FIELDS:
            writers.append(_FIELDS[item][1])
            continue
        before = next((part for part in reversed(parts[:number]) if part), None)
        after = next((part for part in parts[number + 1 :] if part), None)
        tokens: _Tokens = [(item, _hyphen(before, after))]
        writers.append(lambda when, tokens=tokens: tokens)
    return writers


def _hyphen(before: str | None, after: str | None) -> tuple[int, ...]:
    """The place of the hyphen that a token between these two parts stands for."""
    if before is None or after is None:
        return ()
    return (_YEAR_HYPHEN,) if "year" in (before, after) else (_DAY_HYPHEN,)


_WRITERS = {form: _compiled(form) for form in FORMS}


def write(form: Form, when: date) -> Pair:
    """The date in this form, with the ISO date and their links."""
    tokens = [token for writer in _WRITERS[form] for token in writer(when)]
    return Pair(
        source=" ".join([text for text, _ in tokens]),
        target=" ".join(when.isoformat()),
        links=tuple([(number, place) for number, (_, places) in enumerate(tokens) for place in places]),
    )
