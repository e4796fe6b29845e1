"""`copy`, `reverse` and `sort`: which pairs there are, and what their links say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import LettersOptions
from seq2see.tasks import make_task

KINDS = ["copy", "reverse", "sort"]
SPLITS = ["train", "valid", "test"]


def letters(kind="copy", **options):
    return make_task(LettersOptions(**{"kind": kind, "train_size": 200, "valid_size": 20, "test_size": 30, **options}))


def all_pairs(task):
    return [pair for split in SPLITS for pair in task.pairs(split)]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("copy", lambda symbols: symbols), ("reverse", lambda symbols: symbols[::-1]), ("sort", sorted)],
)
def test_the_target_is_the_source_copied_reversed_or_sorted(kind, wanted):
    for pair in all_pairs(letters(kind)):
        assert pair.target.split(" ") == wanted(pair.source.split(" "))


@pytest.mark.parametrize("kind", KINDS)
def test_following_the_links_writes_the_target_and_uses_every_letter_once(kind):
    for pair in all_pairs(letters(kind, vocab_size=3)):
        source, target = pair.source.split(" "), pair.target.split(" ")
        assert pair.links is not None
        assert [source[i] for i, _ in sorted(pair.links, key=lambda link: link[1])] == target
        assert sorted(i for i, _ in pair.links) == sorted(j for _, j in pair.links) == list(range(len(source)))


def test_equal_letters_keep_their_order_when_sorted():
    for pair in all_pairs(letters("sort", vocab_size=2, min_length=9, max_length=9)):
        assert pair.links is not None
        places = [i for i, _ in sorted(pair.links, key=lambda link: link[1])]
        target = pair.target.split(" ")
        assert all(a < b for a, b, x, y in zip(places, places[1:], target, target[1:], strict=False) if x == y)


def test_no_source_stands_twice_within_or_across_splits():
    sources = [pair.source for pair in all_pairs(letters(train_size=5000, min_length=1, max_length=4))]

    assert len(set(sources)) == len(sources) == 5050


def test_lengths_and_letters_stay_within_their_limits_and_use_them_all():
    task = letters(train_size=3000, vocab_size=5, min_length=3, max_length=7)

    words = [pair.source.split(" ") for pair in all_pairs(task)]

    assert {len(word) for word in words} == {3, 4, 5, 6, 7}
    assert {letter for word in words for letter in word} == set("abcde")


def test_all_lengths_are_about_equally_frequent():
    lengths = [len(pair.source.split(" ")) for pair in letters(train_size=9000).pairs("train")]

    assert all(800 < lengths.count(length) < 1200 for length in range(4, 13))


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_pairs(kind):
    assert all_pairs(letters(kind, seed=3)) == all_pairs(letters(kind, seed=3))
    assert all_pairs(letters(kind, seed=3)) != all_pairs(letters(kind, seed=4))


def test_a_larger_training_set_begins_with_the_smaller_and_leaves_the_other_splits_alone():
    small, large = letters(train_size=100), letters(train_size=1000)

    assert list(large.pairs("train"))[:100] == list(small.pairs("train"))
    assert small.pairs("valid") == large.pairs("valid")
    assert small.pairs("test") == large.pairs("test")


def test_rare_short_sequences_are_left_for_training():
    task = letters(train_size=2000, valid_size=500, test_size=1000, min_length=1, max_length=5)

    short = {split: sum(len(pair.source) == 1 for pair in task.pairs(split)) for split in SPLITS}

    assert short["train"] >= 13
    assert short["test"] >= 1


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_every_sequence_that_exists_can_be_asked_for_and_not_one_more(vocab_size, max_length, data):
    exist = sum(vocab_size**length for length in range(1, max_length + 1))
    test_size = data.draw(st.integers(0, exist - 1))
    valid_size = data.draw(st.integers(0, exist - 1 - test_size))
    sizes = {"vocab_size": vocab_size, "min_length": 1, "max_length": max_length}
    sizes |= {"test_size": test_size, "valid_size": valid_size}
    left = exist - test_size - valid_size

    everything = all_pairs(letters(train_size=left, **sizes))

    assert len({pair.source for pair in everything}) == exist
    with pytest.raises(ValueError, match=rf"task.train_size \({left + 1}\).*{exist} pairs .* {left} of them"):
        letters(train_size=left + 1, **sizes)


def test_too_large_a_test_set_is_named_by_its_own_key():
    with pytest.raises(ValueError, match=r"task.test_size \(99\) asks for more than exist: 2 pairs"):
        letters(vocab_size=2, min_length=1, max_length=1, test_size=99)


def test_long_sequences_of_many_letters_are_no_trouble():
    assert len(letters(min_length=200, max_length=200).pairs("train")) == 200


def test_the_ood_split_is_twice_to_four_times_as_long_and_says_so():
    task = letters("reverse", min_length=2, max_length=5, ood_size=300)
    lengths = {len(pair.source.split(" ")) for pair in task.pairs("ood")}
    assert task.ood == "10 to 20 letters" and lengths == set(range(10, 21))
    assert len({pair.source for pair in task.pairs("ood")}) == 300
    for pair in task.pairs("ood"):
        assert pair.target == " ".join(reversed(pair.source.split(" ")))
        assert len(pair.links) == len(pair.target.split(" "))


def test_the_ood_split_leaves_the_others_alone_and_may_be_left_out():
    some, none = letters(ood_size=5), letters(ood_size=0)
    assert all_pairs(some) == all_pairs(none)
    assert none.pairs("ood") == [] and none.ood == ""
