"""`dates`: from many written forms, English, German, Chinese and digits, to ISO 8601.

All forms and months come equally often. `ood` has each form with two months that it never has in the other splits;
other forms of its family write them there, with the same words. No form is ambiguous: digits alone have the day or the
month first only after the 12th.

What stands for something of its own is written apart, "March 3 , 1 9 9 4" to "1 9 9 4 - 0 3 - 0 3", and linked to each
symbol that it stands for: a word or a lone digit to both digits of the month or day, "und" and "zwanzig" to the tens,
a mark or word between two parts to the hyphen between them. Weekdays, articles and endings ("3 rd") have no link.
"""

from calendar import isleap
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import product
from random import Random
from typing import NamedTuple

from seq2see.options import DatesOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.sampling import DistinctSampler, draw_splits

_YEAR_HYPHEN, _MONTH, _DAY_HYPHEN, _DAY = 4, 5, 7, 8  # places
_Places = tuple[int, ...]
_Tokens = list[tuple[str, _Places | None]]  # each with the places that it stands for; None: a hyphen's or none


class Form(NamedTuple):
    """A way to write a date."""

    template: str  # fields in braces and other tokens, separated by spaces
    family: str  # forms of a family write the months with the same words
    first_day: int = 1  # of a month that makes it unambiguous


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


class Dates:
    """Distinct pairs of a written date and the ISO date; more than exist are a ValueError."""

    def __init__(self, options: DatesOptions) -> None:
        years = range(options.first_year, options.last_year + 1)
        leap_years = [year for year in years if isleap(year)]

        def write_number(which: tuple[Form, int], number: int) -> Pair:
            """The date with this number, year by year; the 29ths of February come last."""
            form, month = which
            num_days = _num_days(form, month)
            year, day = divmod(number, num_days)
            if year < len(years):
                return write(form, date(years[year], month, form.first_day + day))
            return write(form, date(leap_years[number - len(years) * num_days], 2, 29))

        random = Random(f"dates {options.seed}")
        kept_back = _kept_back(random)
        usual, ood = {}, {}
        for form, month in product(FORMS, range(1, 13)):
            sizes = ood if (form, month) in kept_back else usual
            sizes[form, month] = len(years) * _num_days(form, month) + (len(leap_years) if month == 2 else 0)
        self.notes: list[str] = []
        self.ood = "forms with months that training has only in other forms" if options.ood_size else ""
        self._pairs = draw_splits(
            options,
            write_number,
            DistinctSampler(usual, random),
            DistinctSampler(ood, Random(f"dates ood {options.seed}")),
            f"for more years than task.first_year ({years[0]}) to task.last_year ({years[-1]})",
        )

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links."""
        return self._pairs[split]


def _num_days(form: Form, month: int) -> int:
    """How many days of the month this form can write, the 29th of February left out."""
    return (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1] - form.first_day + 1


def _kept_back(random: Random) -> set[tuple[Form, int]]:
    """The combinations of the split `ood`: two months of each form, no two forms of a family having the same month."""
    kept_back = set()
    for family in sorted({form.family for form in FORMS}):
        months = iter(random.sample(range(1, 13), 12))
        kept_back |= {(form, next(months)) for form in FORMS if form.family == family for _ in range(2)}
    return kept_back


def write(form: Form, when: date) -> Pair:
    """The date in this form, with the ISO date and their links."""
    tokens: _Tokens = []
    for item in form.template.split(" "):
        tokens += _FIELDS[item](when) if item in _FIELDS else [(item, None)]
    texts, places = zip(*tokens, strict=True)
    return Pair(" ".join(texts), " ".join(when.isoformat()), _links(places))


@lru_cache(maxsize=4096)  # the dates of a form share their links
def _links(places: tuple[_Places | None, ...]) -> tuple[tuple[int, int], ...]:
    links = []
    for number, own in enumerate(places):
        if own is None:  # the hyphen between the parts before and after, if there are both
            before = [other[0] for other in places[:number] if other][-1:]
            after = [other[0] for other in places[number + 1 :] if other][:1]
            hyphen = _YEAR_HYPHEN if min(before + after) < _YEAR_HYPHEN else _DAY_HYPHEN
            own = (hyphen,) if before and after else ()
        links += [(number, place) for place in own]
    return tuple(links)


def _by_day(ordinals: str) -> dict[int, str]:
    return dict(zip((*range(1, 21), 30), ordinals.split(), strict=True))


_MONTHS = "January February March April May June July August September October November December".split()
_MONATE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WOCHENTAGE = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()
_ORDINALS = _by_day(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth thirtieth"
)
_ORDNUNGSZAHLEN = _by_day(
    "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte "
    "fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte zwanzigste dreißigste"
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}  # others: th
_EINER = "null ein zwei drei vier fünf sechs sieben acht neun".split()
_CHINESE_DIGITS = "〇一二三四五六七八九"


def _year(digits: Iterable[str]) -> _Tokens:
    return [(digit, (place,)) for place, digit in enumerate(digits)]


def _word(text: str, first: int) -> _Tokens:
    return [(text, (first, first + 1))]


def _digits(number: int, first: int) -> _Tokens:
    return _padded(number, first) if number >= 10 else _word(str(number), first)


def _padded(number: int, first: int) -> _Tokens:
    tens, ones = f"{number:02}"
    return [(tens, (first,)), (ones, (first + 1,))]


def _chinese(number: int, first: int) -> _Tokens:
    tens, ones = divmod(number, 10)
    if not tens:
        return _word(_CHINESE_DIGITS[ones], first)
    tokens: _Tokens = [(_CHINESE_DIGITS[tens], (first,))] if tens > 1 else []
    if not ones:
        return [*tokens, *_word("十", first)]
    return [*tokens, ("十", (first,)), (_CHINESE_DIGITS[ones], (first + 1,))]


def _ordinal(day: int) -> _Tokens:
    if day in _ORDINALS:
        return _word(_ORDINALS[day], _DAY)
    return [("twenty" if day < 30 else "thirty", (_DAY,)), (_ORDINALS[day % 10], (_DAY + 1,))]


def _ordnungszahl(day: int) -> _Tokens:
    if day in _ORDNUNGSZAHLEN:
        return _word(_ORDNUNGSZAHLEN[day], _DAY)
    return [(_EINER[day % 10], (_DAY + 1,)), ("und", (_DAY,)), (_ORDNUNGSZAHLEN[day - day % 10], (_DAY,))]


_FIELDS: dict[str, Callable[[date], _Tokens]] = {
    "{year}": lambda when: _year(str(when.year)),
    "{nian}": lambda when: _year([_CHINESE_DIGITS[int(digit)] for digit in str(when.year)]),
    "{month}": lambda when: _word(_MONTHS[when.month - 1], _MONTH),
    "{mon}": lambda when: _word(_MONTHS[when.month - 1][:3], _MONTH),
    "{monat}": lambda when: _word(_MONATE[when.month - 1], _MONTH),
    "{yue}": lambda when: _chinese(when.month, _MONTH),
    "{m}": lambda when: _digits(when.month, _MONTH),
    "{mm}": lambda when: _padded(when.month, _MONTH),
    "{day}": lambda when: _digits(when.day, _DAY),
    "{dd}": lambda when: _padded(when.day, _DAY),
    "{ri}": lambda when: _chinese(when.day, _DAY),
    "{ordinal}": lambda when: _ordinal(when.day),
    "{ordnungszahl}": lambda when: _ordnungszahl(when.day),
    "{ending}": lambda when: [(_ENDINGS.get(when.day, "th"), ())],
    "{weekday}": lambda when: [(_WEEKDAYS[when.weekday()], ())],
    "{wkd}": lambda when: [(_WEEKDAYS[when.weekday()][:3], ())],
    "{wochentag}": lambda when: [(_WOCHENTAGE[when.weekday()], ())],
    "{xingqi}": lambda when: [("星期" + "一二三四五六日"[when.weekday()], ())],
}
