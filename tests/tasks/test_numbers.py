"""`numbers`: that every number is written right, what its links say, and which numbers are in which split."""

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import NumbersOptions
from seq2see.tasks import make_task
from seq2see.tasks.numbers import FORMS

SPLITS = ["train", "valid", "test"]
PAIRS_OF_FORMS = [(source, target) for source in FORMS for target in FORMS if source != target]
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


# Readers that know nothing of how the task writes.

KNOWN = [*range(20), *range(20, 100, 10)]
ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
GERMAN = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
)
ENGLISH = dict(zip(ENGLISH.split(), KNOWN, strict=True))
GERMAN = dict(zip(GERMAN.split(), KNOWN, strict=True)) | {"eins": 1}
CHINESE = {character: number for number, character in enumerate("零一二三四五六七八九")}
CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}


def read_words(words, values, hundred, thousand):
    """English and German alike: a sum in which hundred and thousand multiply what was said since the last thousand."""
    total = said = 0
    for word in words:
        if word == thousand:
            total, said = 1000 * said, 0
        elif word == hundred:
            said *= 100
        elif word != "und":
            said += values[word]
    return total + said


def read_chinese(words):
    total = said = digit = 0
    for word in words:
        if word == "万":
            total, said, digit = 10_000 * (said + digit), 0, 0
        elif word in CHINESE_UNITS:
            said, digit = said + (digit or 1) * CHINESE_UNITS[word], 0
        else:
            digit = CHINESE[word]
    return total + said + digit


READERS = {
    "digits": lambda words: int("".join(words)),
    "en": lambda words: read_words(words, ENGLISH, "hundred", "thousand"),
    "de": lambda words: read_words(words, GERMAN, "hundert", "tausend"),
    "zh": read_chinese,
}
# The digits that a word names.
NAMED = {word: set(str(number).rstrip("0") or "0") for word, number in (ENGLISH | GERMAN | CHINESE).items()}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_read_back_from_every_form_and_chinese_says_zero_once_for_zeros_inside(form):
    for number in [*range(10_000), *range(10_000, 1_000_000, 997), *range(0, 1_000_000, 1000)]:
        text = written(form, number)
        assert READERS[form](text.split(" ")) == number
        if form == "zh" and number:
            assert "零 零" not in text and "零 万" not in text and "零" not in (text[0], text[-1])


@pytest.mark.parametrize(
    ("number", "english", "german", "chinese"),
    [
        (0, "zero", "null", "零"),
        (1, "one", "eins", "一"),
        (10, "ten", "zehn", "十"),
        (17, "seventeen", "siebzehn", "十 七"),
        (21, "twenty one", "ein und zwanzig", "二 十 一"),
        (101, "one hundred one", "ein hundert eins", "一 百 零 一"),
        (111, "one hundred eleven", "ein hundert elf", "一 百 一 十 一"),
        (427, "four hundred twenty seven", "vier hundert sieben und zwanzig", "四 百 二 十 七"),
        (5003, "five thousand three", "fünf tausend drei", "五 千 零 三"),
        (5030, "five thousand thirty", "fünf tausend dreißig", "五 千 零 三 十"),
        (10_300, "ten thousand three hundred", "zehn tausend drei hundert", "一 万 零 三 百"),
        (12_000, "twelve thousand", "zwölf tausend", "一 万 二 千"),
        (21_001, "twenty one thousand one", "ein und zwanzig tausend eins", "二 万 一 千 零 一"),
        (90_010, "ninety thousand ten", "neunzig tausend zehn", "九 万 零 一 十"),
        (100_000, "one hundred thousand", "ein hundert tausend", "十 万"),
        (101_100, "one hundred one thousand one hundred", "ein hundert ein tausend ein hundert", "十 万 一 千 一 百"),
        (230_000, "two hundred thirty thousand", "zwei hundert dreißig tausend", "二 十 三 万"),
        (300_050, "three hundred thousand fifty", "drei hundert tausend fünfzig", "三 十 万 零 五 十"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them_with_their_parts_apart(number, english, german, chinese):
    assert [written(form, number) for form in FORMS] == [" ".join(str(number)), english, german, chinese]


def test_words_agree_with_num2words_where_it_is_installed():
    num2words = pytest.importorskip("num2words").num2words
    for number in [*range(1200), *range(1200, 1_000_000, 3701)]:
        english = num2words(number, lang="en").replace(",", "").replace(" and ", " ").replace("-", " ")
        german = num2words(number, lang="de").replace("einstausend", "eintausend")  # as 101,000 is spoken
        assert written("en", number) == english
        assert written("de", number).replace(" ", "") == german


def links_of(source, target, number):
    """The words of two forms of a number that say something of the same place."""
    read, write = FORMS[source](number), FORMS[target](number)
    return {(i, j) for i, one in enumerate(read) for j, other in enumerate(write) if one.says & other.says}


@pytest.mark.parametrize(("source", "target"), [("digits", "de"), ("de", "digits"), ("zh", "en")])
def test_a_pair_has_both_forms_of_a_number_that_the_seed_decides_and_all_their_links_once(source, target):
    pairs = all_pairs(numbers(source=source, target=target, train_size=500))
    found = [READERS[source](pair.source.split(" ")) for pair in pairs]

    assert found == [value(pair) for pair in all_pairs(numbers(train_size=500))]  # whatever the forms
    for number, pair in zip(found, pairs, strict=True):
        assert pair.target == written(target, number)
        assert sorted(pair.links) == sorted(links_of(source, target, number))


@given(ANY_NUMBER, st.sampled_from(PAIRS_OF_FORMS))
def test_every_word_has_a_link_and_what_names_a_digit_one_to_what_names_the_same(number, forms):
    source, target = (written(form, number).split(" ") for form in forms)
    links = links_of(forms[0], forms[1], number)

    assert {i for i, _ in links} == set(range(len(source))) and {j for _, j in links} == set(range(len(target)))
    for j, word in enumerate(target):
        linked = [source[i] for i, to in links if to == j]
        for digit in NAMED.get(word, set(word) & set("123456789")) - {"0"}:
            assert any(digit in NAMED.get(other, {"1"} if other == "十" else {other}) for other in linked)


def marked(source, target, number):
    """The target with the source words that each word is linked to: "twenty[2] seven[7]"."""
    words, links = written(source, number).split(" "), sorted(links_of(source, target, number))
    return " ".join(
        f"{word}[{','.join(words[i] for i, to in links if to == j)}]"
        for j, word in enumerate(written(target, number).split(" "))
    )


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
    assert marked(source, target, number) == links


def test_numbers_of_all_lengths_are_about_equally_frequent_while_there_are_any():
    lengths = [len(str(value(pair))) for pair in numbers(train_size=3000).pairs("train")]

    assert all(450 < lengths.count(length) < 900 for length in (3, 4, 5, 6))
    assert lengths.count(1) == 10 and lengths.count(2) > 40  # all that are left


def test_numbers_below_twenty_are_left_for_training_so_that_no_word_is_new_in_the_test():
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


@pytest.mark.parametrize("max_number", [9, 9_999, 19_998])
def test_without_room_for_ood_the_split_is_empty_and_a_note_says_why(max_number):
    task = numbers(max_number=max_number, train_size=8, valid_size=1, test_size=1)

    assert not task.pairs("ood") and task.ood == ""
    assert any("task.max_number" in note and str(max_number) in note for note in task.notes)


@settings(max_examples=40)
@given(st.integers(1, 300), st.data())
def test_every_number_that_exists_can_be_asked_for_and_not_one_more(max_number, data):
    test_size = data.draw(st.integers(0, max_number))
    valid_size = data.draw(st.integers(0, max_number - test_size))
    sizes = {"max_number": max_number, "test_size": test_size, "valid_size": valid_size}
    left = max_number + 1 - test_size - valid_size

    task = numbers(train_size=left, **sizes)

    assert {value(pair) for pair in all_pairs(task)} == set(range(max_number + 1))
    with pytest.raises(ValueError, match=rf"task.train_size \({left + 1}\).*: {max_number + 1} pairs.* {left} of them"):
        numbers(train_size=left + 1, **sizes)


def test_too_many_of_the_split_ood_and_too_large_numbers_are_named():
    with pytest.raises(ValueError, match=r"task.ood_size \(1001\) asks for more than exist: 1000 pairs"):
        numbers(max_number=19_999, ood_size=1001)
    with pytest.raises(ValueError, match=r"task.max_number \(1000000\) must be at most 999999"):
        numbers(max_number=1_000_000)


def fake_num2words(write):
    return SimpleNamespace(CONVERTER_CLASSES={"fr": None}, num2words=lambda number, lang: write(number))


def test_only_other_languages_need_num2words_and_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", None)

    for source, target in PAIRS_OF_FORMS:
        assert numbers(source=source, target=target, train_size=10, test_size=0).pairs("train")
    with pytest.raises(ValueError, match=r"task.target \(fr\).* pip install 'seq2see\[numbers\]'"):
        numbers(target="fr")


def test_other_languages_come_from_num2words_without_links(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(lambda number: f"le  nombre {number % 7} {number}"))

    for pair in numbers(target="fr").pairs("train"):
        assert pair.target == f"le nombre {value(pair) % 7} {value(pair)}" and pair.links is None


@pytest.mark.parametrize(
    ("forms", "message"),
    [
        ({"source": "french"}, r"task.source \(french\).* choose one of digits, en, de, zh, fr"),
        ({"target": "fr"}, r"task.target \(fr\): num2words cannot write \d+ \(KeyError"),
    ],
)
def test_a_language_and_a_number_that_num2words_does_not_know_are_named(monkeypatch, forms, message):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(lambda number: {}[number]))

    with pytest.raises(ValueError, match=message):
        numbers(**forms)


def test_numbers_that_num2words_writes_alike_stay_out_of_a_second_split(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(lambda number: str(number // 2)))
    sizes = {"source": "fr", "target": "digits", "max_number": 99, "valid_size": 10, "test_size": 20}

    sources = [pair.source for pair in all_pairs(numbers(**sizes, train_size=20))]

    assert len(set(sources)) == len(sources) == 50
    with pytest.raises(ValueError, match=r"task.train_size \(21\).* 20 of them"):
        numbers(**sizes, train_size=21)


def test_a_note_says_when_numbers_are_written_in_one_word(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", fake_num2words(str))

    assert any("tokenizer.target=char" in note for note in numbers(target="fr").notes)
    assert not numbers(target="zh").notes
