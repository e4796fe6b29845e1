"""`dates`: what is written, that it reads back to one date, what its links say, and which dates are in which split."""

import calendar
import re
from datetime import date, timedelta
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from seq2see.options import DatesOptions
from seq2see.tasks import make_task
from seq2see.tasks.dates import FORMS, write
from seq2see.tasks.numbers import FORMS as NUMBERS

SPLITS = ["train", "valid", "test"]


def dates(**options):
    return make_task(DatesOptions(**{"train_size": 2000, "valid_size": 100, "test_size": 200, **options}))


def all_pairs(task):
    return [pair for split in SPLITS for pair in task.pairs(split)]


@cache
def written(year):
    """Whatever can be written of this year: pair, form, date."""
    days = [date(year, 1, 1) + timedelta(number) for number in range(365 + calendar.isleap(year))]
    return [(write(form, when), form, when) for form in FORMS for when in days if when.day >= form.first_day]


CHINESE = dict(zip("0123456789", "〇一二三四五六七八九", strict=True))
DIGITS = {word: digit for digit, word in CHINESE.items()}
MONATE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
WOCHENTAGE = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()


def filled(template, when):
    """The form as others write its parts, without spaces."""
    year, month, day, weekday = when.year, when.month, when.day, when.weekday()
    parts = {
        "year": year, "month": calendar.month_name[month], "monat": MONATE[month - 1], "m": month, "mm": f"{month:02}",
        "mon": calendar.month_abbr[month], "day": day, "dd": f"{day:02}", "ordinal": num2words(day, to="ordinal"),
        "ordnungszahl": num2words(day, to="ordinal", lang="de"), "ending": num2words(day, to="ordinal_num")[-2:],
        "weekday": calendar.day_name[weekday], "wkd": calendar.day_abbr[weekday], "wochentag": WOCHENTAGE[weekday],
        "xingqi": "星期" + "一二三四五六日"[weekday], "nian": "".join(CHINESE[digit] for digit in str(year)),
        "yue": "".join(word.text for word in NUMBERS["zh"](month)),
        "ri": "".join(word.text for word in NUMBERS["zh"](day)),
    }  # fmt: skip
    return re.sub("[ -]", "", template.format(**parts))


def test_every_date_of_a_leap_year_is_written_as_people_do_in_every_form_and_no_two_are_written_the_same():
    for pair, form, when in written(2024):
        assert re.sub("[ -]", "", pair.source) == filled(form.template, when)
        assert pair.target == " ".join(when.isoformat())

    assert len({pair.source for pair, _, _ in written(2024)}) == len(written(2024))


@given(st.sampled_from(FORMS), st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_every_digit_of_any_date_is_linked_to_itself_where_it_is_written(form, when):
    if when.day < form.first_day:
        return
    pair = write(form, when)
    source, target = pair.source.split(" "), pair.target.split(" ")
    linked = {j: [i for i, to in pair.links if to == j] for j in range(10)}
    parts = [{i for j in places for i in linked[j]} for places in ((0, 1, 2, 3), (5, 6), (8, 9))]
    assert all(linked[j] for j in (0, 1, 2, 3, 5, 6, 8, 9))
    assert sum(map(len, parts)) == len(set.union(*parts))  # nothing is linked to both month and day
    assert [[DIGITS.get(source[i], source[i]) for i in linked[j]] for j in range(4)] == [
        [digit] for digit in target[:4]
    ]
    for i, j in pair.links:
        digit = DIGITS.get(source[i], source[i])
        if digit.isdecimal() and "十" not in source:
            assert digit == target[j] or (target[j] == "0" and (i, j + 1) in pair.links)


@pytest.mark.parametrize(
    ("template", "when", "source", "links"),
    [
        ("{month} {day} {ending} , {year}", date(1994, 3, 3), "March 3 rd ,", "-[,] 0[March] 3[March] -[] 0[3] 3[3]"),
        ("{day} - {mon} - {year}", date(1987, 9, 21), "2 1 - Sep -", "-[-] 0[Sep] 9[Sep] -[-] 2[2] 1[1]"),
        (
            "the {ordinal} of {month} {year}", date(2023, 11, 22),
            "the twenty second of November", "-[] 1[November] 1[November] -[of] 2[twenty] 2[second]",
        ),
        (
            "der {ordnungszahl} {monat} {year}", date(1990, 10, 31),
            "der ein und dreißigste Oktober", "-[] 1[Oktober] 0[Oktober] -[] 3[und,dreißigste] 1[ein]",
        ),
        (
            "{wochentag} , den {day} . {monat} {year}", date(1994, 3, 3),
            "Donnerstag , den 3 . März", "-[] 0[März] 3[März] -[.] 0[3] 3[3]",
        ),
        (
            "{nian} 年 {yue} 月 {ri} 日", date(2010, 12, 20),
            "年 十 二 月 二 十 日", "-[年] 1[十] 2[二] -[月] 2[二,十] 0[十]",
        ),
        (
            "{year} 年 {m} 月 {day} 日 {xingqi}", date(1994, 10, 3),
            "年 1 0 月 3 日 星期一", "-[年] 1[1] 0[0] -[月] 0[3] 3[3]",
        ),
        ("{mm} / {dd} / {year}", date(1994, 3, 13), "0 3 / 1 3 /", "-[/] 0[0] 3[3] -[/] 1[1] 3[3]"),
        ("{wkd} , {day} {mon} {year}", date(1994, 5, 13), "Fri , 1 3 May", "-[] 0[May] 5[May] -[] 1[1] 3[3]"),
    ],
)  # fmt: skip
def test_each_symbol_of_month_and_day_is_linked_to_what_it_is_read_from(template, when, source, links):
    [form] = [form for form in FORMS if form.template == template]
    pair = write(form, when)
    words, symbols = pair.source.split(" "), [*enumerate(pair.target.split(" "))]

    marked = [f"{symbol}[{','.join(words[i] for i, to in pair.links if to == j)}]" for j, symbol in symbols[4:]]

    assert source in (" ".join(words[4:]), " ".join(words[:-4]))  # without the year
    assert " ".join(marked) == links


def test_the_pairs_are_within_the_years_and_all_months_about_equally_frequent():
    task = dates(first_year=1987, last_year=2011, train_size=6600)
    for pair in [*all_pairs(task), *task.pairs("ood")]:
        assert "1 9 8 7" <= pair.target[:7] <= "2 0 1 1"

    months = [pair.target[10:13] for pair in task.pairs("train")]
    assert len(set(months)) == 12 and all(400 < months.count(month) < 700 for month in set(months))


def which(pairs):
    """The forms and months of these pairs of the year 2000."""
    found = {pair.source: (form, when.month) for pair, form, when in written(2000)}
    return {found[pair.source] for pair in pairs}


def test_the_split_ood_has_forms_with_months_that_no_other_split_has_in_them():
    task = dates(first_year=2000, last_year=2000, train_size=4000, ood_size=800)

    usual, ood = which(all_pairs(task)), which(task.pairs("ood"))

    assert usual and not usual & ood
    assert len(usual) + len(ood) == 12 * len(FORMS)
    assert all(sum(form == other for other, _ in ood) == 2 for form in FORMS)
    for form, month in ood:  # both are in training, with the same words: in other forms, with other months
        assert any(form == other for other, _ in usual)
        assert any(form.family == other.family and month == same for other, same in usual)
    words = [{word for pair in task.pairs(split) for word in pair.source.split(" ")} for split in ("ood", "train")]
    assert words[0] <= words[1]
    other_seed = dates(seed=1, first_year=2000, last_year=2000, ood_size=800)
    assert ood != which(other_seed.pairs("ood"))


@pytest.mark.parametrize("year", [2000, 1900])
def test_every_written_date_can_be_asked_for_and_not_one_more(year):
    sizes = {"first_year": year, "last_year": year, "valid_size": 0, "test_size": 10}
    with pytest.raises(ValueError, match=r"task.ood_size \(99999\) asks for more than exist: (\d+) pairs") as error:
        dates(**sizes, ood_size=99_999)
    exist_ood = int(error.value.args[0].split("exist: ")[1].split(" ")[0])
    exist = len(written(year)) - exist_ood

    task = dates(**sizes, train_size=exist - 10, ood_size=exist_ood)

    everything = {pair.source for pair in [*all_pairs(task), *task.pairs("ood")]}
    assert everything == {pair.source for pair, _, _ in written(year)}
    with pytest.raises(ValueError, match=rf"task.train_size \({exist - 9}\).*{exist} pairs .* {exist - 10} of them"):
        dates(**sizes, train_size=exist - 9)
