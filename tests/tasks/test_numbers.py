"""`numbers`: that every number is written right, what its links say, and which numbers are in which split."""

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.options import NumbersOptions
from seq2see.tasks import make_task
from seq2see.tasks.numbers import FORMS

SPLITS = ["train", "valid", "test"]
PAIRS_OF_FORMS = [(source, target) for source in FORMS for target in FORMS if source != target]
SOME_NUMBERS = [*range(2000), *range(2000, 1_000_000, 1997), *range(0, 1_000_000, 1000)]
ANY_NUMBER = st.integers(0, 999_999) | st.builds(
    lambda digits: int("".join(digits)), st.lists(st.sampled_from("0012"), min_size=1, max_size=6)
)


def numbers(**options):
    return make_task(NumbersOptions(**{"train_size": 2000, "valid_size": 100, "test_size": 200, **options}))


def all_pairs(task):
    return [pair for split in SPLITS for pair in task.pairs(split)]


def value(pair):
    return int(pair.source.replace(" ", ""))


def written(form, number):
    return " ".join(word.text for word in FORMS[form](number))


def read_chinese(words):
    """A reader that knows nothing of how the task writes."""
    total = said = digit = 0
    for word in words:
        if word == "万":
            total, said, digit = 10_000 * (said + digit), 0, 0
        elif word in "十百千":
            said, digit = said + (digit or 1) * 10 ** ("十百千".index(word) + 1), 0
        else:
            digit = "零一二三四五六七八九".index(word)
    return total + said + digit


def test_chinese_reads_back_and_says_zero_once_for_zeros_inside():
    for number in set(SOME_NUMBERS) - {0}:
        text = written("zh", number)
        assert read_chinese(text.split(" ")) == number
        assert "零 零" not in text and "零 万" not in text and "零" not in (text[0], text[-1])


def test_english_and_german_are_as_num2words_writes_them_but_apart():
    num2words = pytest.importorskip("num2words").num2words
    for number in SOME_NUMBERS:
        english = num2words(number, lang="en").replace(",", "").replace(" and ", " ").replace("-", " ")
        german = num2words(number, lang="de").replace("einstausend", "eintausend")  # as 101,000 is spoken
        assert written("en", number) == english
        assert written("de", number).replace(" ", "") == german


@pytest.mark.parametrize(
    ("number", "english", "german", "chinese"),
    [
        (0, "zero", "null", "零"),
        (1, "one", "eins", "一"),
        (17, "seventeen", "siebzehn", "十 七"),
        (101, "one hundred one", "ein hundert eins", "一 百 零 一"),
        (111, "one hundred eleven", "ein hundert elf", "一 百 一 十 一"),
        (427, "four hundred twenty seven", "vier hundert sieben und zwanzig", "四 百 二 十 七"),
        (12_000, "twelve thousand", "zwölf tausend", "一 万 二 千"),
        (21_001, "twenty one thousand one", "ein und zwanzig tausend eins", "二 万 一 千 零 一"),
        (90_010, "ninety thousand ten", "neunzig tausend zehn", "九 万 零 一 十"),
        (101_100, "one hundred one thousand one hundred", "ein hundert ein tausend ein hundert", "十 万 一 千 一 百"),
        (300_050, "three hundred thousand fifty", "drei hundert tausend fünfzig", "三 十 万 零 五 十"),
    ],
)
def test_numbers_are_written_as_people_write_them_with_their_parts_apart(number, english, german, chinese):
    assert [written(form, number) for form in FORMS] == [" ".join(str(number)), english, german, chinese]


def links_of(source, target, number):
    """The words of two forms of a number that say something of the same place."""
    read, write = FORMS[source](number), FORMS[target](number)
    return {(i, j) for i, one in enumerate(read) for j, other in enumerate(write) if one.says & other.says}


@pytest.mark.parametrize(("source", "target"), [("digits", "de"), ("de", "digits"), ("zh", "en")])
def test_a_pair_has_both_forms_of_a_number_that_the_seed_decides_and_all_their_links_once(source, target):
    usual, pairs = (all_pairs(numbers(**forms, train_size=50)) for forms in ({}, {"source": source, "target": target}))

    for number, pair in zip(map(value, usual), pairs, strict=True):  # the same numbers in any forms
        assert (pair.source, pair.target) == (written(source, number), written(target, number))
        assert sorted(pair.links) == sorted(links_of(source, target, number))


@given(ANY_NUMBER, st.sampled_from(PAIRS_OF_FORMS))
def test_every_word_has_a_link(number, forms):
    source, target = (written(form, number).split(" ") for form in forms)
    links = links_of(*forms, number)

    assert {i for i, _ in links} == set(range(len(source))) and {j for _, j in links} == set(range(len(target)))


@pytest.mark.parametrize(
    ("number", "source", "target", "links"),
    [
        (0, "digits", "en", "zero[0]"),
        (0, "de", "zh", "零[null]"),
        (17, "digits", "en", "seventeen[1,7]"),
        (27, "digits", "de", "sieben[7] und[2] zwanzig[2]"),
        (27, "de", "digits", "2[und,zwanzig] 7[sieben]"),
        (27, "de", "en", "twenty[und,zwanzig] seven[sieben]"),
        (27, "zh", "en", "twenty[二,十] seven[七]"),
        (300, "en", "digits", "3[three,hundred] 0[hundred] 0[hundred]"),
        (305, "en", "digits", "3[three,hundred] 0[hundred] 5[five]"),
        (305, "digits", "zh", "三[3] 百[3,0] 零[0] 五[5]"),
        (427, "digits", "en", "four[4] hundred[4] twenty[2] seven[7]"),
        (427, "en", "de", "vier[four] hundert[hundred] sieben[seven] und[twenty] zwanzig[twenty]"),
        (5_003, "digits", "en", "five[5] thousand[5,0,0] three[3]"),
        (10_300, "en", "zh", "一[ten] 万[ten,thousand] 零[thousand] 三[three] 百[hundred]"),
        (10_300, "en", "digits", "1[ten] 0[thousand] 3[three,hundred] 0[hundred] 0[hundred]"),
    ],
)  # fmt: skip
def test_each_word_is_linked_to_what_it_is_read_from(number, source, target, links):
    words, found = written(source, number).split(" "), sorted(links_of(source, target, number))
    marked = [
        f"{word}[{','.join(words[i] for i, to in found if to == j)}]"
        for j, word in enumerate(written(target, number).split(" "))
    ]
    assert " ".join(marked) == links


def test_all_lengths_are_about_equally_frequent_while_there_are_any_and_below_twenty_all_are_trained_on():
    lengths = [len(str(value(pair))) for pair in numbers(train_size=3000).pairs("train")]
    assert all(450 < lengths.count(length) < 900 for length in (3, 4, 5, 6))
    assert lengths.count(1) == 10 and lengths.count(2) > 40  # all that are left

    task = numbers(max_number=99, train_size=70, valid_size=10, test_size=20)
    words = {split: {word for pair in task.pairs(split) for word in pair.target.split(" ")} for split in SPLITS}
    assert words["valid"] | words["test"] <= words["train"]
    assert set(range(20)) <= {value(pair) for pair in task.pairs("train")}


def test_ood_has_pairs_of_digits_before_the_last_three_that_no_other_split_has_there():
    task = numbers(train_size=5000)
    usual, ood = [value(pair) for pair in all_pairs(task)], [value(pair) for pair in task.pairs("ood")]
    kept_back = {number // 1000 % 100 for number in ood}

    assert kept_back and not kept_back & {number // 1000 % 100 for number in usual}
    assert len({pair % 10 for pair in kept_back}) == len({pair // 10 for pair in kept_back}) == len(kept_back)
    assert len(ood) == 200 and {len(str(number)) for number in ood} == {5, 6}
    trained = [value(pair) for pair in task.pairs("train")]
    assert kept_back <= {number % 100 for number in trained}  # but elsewhere
    for place in (1000, 10_000):  # and each digit at its place
        assert {number // place % 10 for number in ood} <= {number // place % 10 for number in trained}
    assert all(str(pair) in task.ood for pair in kept_back)

    small = numbers(max_number=19_998)
    assert not small.pairs("ood") and small.ood == ""
    assert any("task.max_number (19998)" in note for note in small.notes)


def fake_num2words(write):
    return SimpleNamespace(CONVERTER_CLASSES={"fr": None}, num2words=lambda number, lang: write(number))


def test_other_languages_come_from_num2words_without_links(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(lambda number: f"le  nombre {number}"))

    pairs = numbers(target="fr").pairs("train")
    assert all(pair.target == f"le nombre {value(pair)}" and pair.links is None for pair in pairs)


@pytest.mark.parametrize(
    ("options", "has_package", "message"),
    [
        ({"target": "fr"}, False, r"task.target \(fr\).* pip install 'seq2see\[numbers\]'"),
        ({"source": "french"}, True, r"task.source \(french\).* choose one of digits, en, de, zh, fr"),
        ({"target": "fr"}, True, r"task.target \(fr\): num2words cannot write \d+ \(KeyError"),
        ({"max_number": 1_000_000}, False, r"task.max_number \(1000000\) must be at most 999999"),
        ({"max_number": 19_999, "ood_size": 1001}, False, r"task.ood_size \(1001\) .* than exist: 1000 pairs"),
    ],
)
def test_what_cannot_be_written_is_named(monkeypatch, options, has_package, message):
    package = fake_num2words(lambda number: {}[number]) if has_package else None
    monkeypatch.setitem(sys.modules, "num2words", package)

    with pytest.raises(ValueError, match=message):
        numbers(**options)


def test_numbers_that_num2words_writes_alike_stay_out_of_a_second_split(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(lambda number: str(number // 2)))
    sizes = {"source": "fr", "target": "digits", "max_number": 99, "valid_size": 10, "test_size": 20}

    sources = [pair.source for pair in all_pairs(numbers(**sizes, train_size=20))]

    assert len(set(sources)) == len(sources) == 50
    with pytest.raises(ValueError, match=r"task.train_size \(21\).* 20 of them"):
        numbers(**sizes, train_size=21)
