"""`copy`, `reverse` and `sort`: which pairs there are, and what their links say."""

import pytest

from seq2see.options import LettersOptions
from seq2see.tasks import make_task

SPLITS = ["train", "valid", "test"]


def letters(kind="copy", **options):
    return make_task(LettersOptions(**{"kind": kind, "train_size": 200, "valid_size": 20, "test_size": 30, **options}))


def sources(task, *splits):
    return [pair.source.split(" ") for split in splits for pair in task.pairs(split)]


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ("copy", lambda letters: range(len(letters))),
        ("reverse", lambda letters: reversed(range(len(letters)))),
        ("sort", lambda letters: sorted(range(len(letters)), key=lambda place: (letters[place], place))),  # stable
    ],
)
def test_the_target_is_the_source_copied_reversed_or_sorted_and_the_links_say_what_went_where(kind, order):
    task = letters(kind, vocab_size=3)
    for pair in [pair for split in (*SPLITS, "ood") for pair in task.pairs(split)]:
        source = pair.source.split(" ")
        places = [*order(source)]
        assert pair.target.split(" ") == [source[place] for place in places]
        assert sorted(pair.links) == sorted(zip(places, range(len(source)), strict=True))


def test_lengths_and_letters_stay_within_their_limits_and_lengths_are_about_equally_frequent():
    task = letters(train_size=3000, vocab_size=5, min_length=6, max_length=8, ood_size=300)

    lengths = [len(word) for word in sources(task, *SPLITS)]
    assert {letter for word in sources(task, *SPLITS, "ood") for letter in word} == set("abcde")
    assert all(900 < lengths.count(length) < 1200 for length in (6, 7, 8)) and set(lengths) == {6, 7, 8}
    assert task.ood == "16 to 32 letters" and {len(word) for word in sources(task, "ood")} == set(range(16, 33))


def test_rare_short_sequences_are_left_for_training():
    task = letters(train_size=2000, valid_size=500, test_size=1000, min_length=1, max_length=5)

    short = {split: sum(len(word) == 1 for word in sources(task, split)) for split in SPLITS}

    assert short["train"] >= 13 and short["test"] >= 1
