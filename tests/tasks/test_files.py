"""How a file becomes training, validation and test pairs."""

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import FilesOptions, Normalize
from seq2see.tasks import Pair, make_task
from seq2see.text import DataError, untagged

SPLITS = ["train", "valid", "test"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def write(path, pairs):
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in pairs).encode("utf-8"))
    return str(path)


def task_of(path, pairs, *, normalize=Normalize.nfc, **options):
    return make_task(FilesOptions(train=write(path, pairs), **options), normalize=normalize)


def split_sizes(task):
    return [len(task.pairs(split)) for split in SPLITS]


def numbered(number):
    return [(f"source {n}", f"target {n}") for n in range(number)]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=150))
def test_splits_share_no_source_lose_no_pair_and_keep_the_order_of_the_file(folder, rows):
    pairs = [Pair(f"s{source}", f"t{target}") for source, target in rows]

    task = task_of(folder / "x.tsv", [(pair.source, pair.target) for pair in pairs])

    splits = {split: list(task.pairs(split)) for split in SPLITS}
    assert sorted(sum(splits.values(), [])) == sorted(pairs)
    sources = [{pair.source for pair in splits[split]} for split in SPLITS]
    assert sum(map(len, sources)) == len(set().union(*sources))
    for split in splits.values():
        kept = set(split)
        assert split == [pair for pair in pairs if pair in kept][: len(split)]
    assert splits["train"]
    assert len(splits["valid"]) <= 6 >= len(splits["test"])


@pytest.mark.parametrize(
    ("number", "held_out"), [(1, 0), (15, 0), (16, 2), (24, 3), (100, 4), (250, 10), (60_000, 2000)]
)
def test_four_percent_are_held_out_twice_at_most_2000_pairs_and_of_small_files_a_few(folder, number, held_out):
    task = task_of(folder / "x.tsv", numbered(number))

    assert split_sizes(task) == [number - 2 * held_out, held_out, held_out]
    assert task.notes == [
        f"task.{split} split off task.train: {held_out:,} of {number:,} pairs" for split in SPLITS[1:]
    ]


def test_the_order_of_the_lines_does_not_matter_and_more_lines_move_few_pairs_and_none_between_held_out_splits(folder):
    pairs = numbered(2000)
    shuffled = random.Random(0).sample(pairs, len(pairs))

    tasks = [task_of(folder / "x.tsv", rows) for rows in (pairs, shuffled, numbered(2100))]

    first, again, grown = ([set(task.pairs(split)) for split in SPLITS[1:]] for task in tasks)
    assert first == again
    assert all(len(before & after) >= 0.9 * len(before) for before, after in zip(first, grown, strict=True))
    assert not first[0] & grown[1] and not first[1] & grown[0]


def test_sources_that_are_equal_once_normalised_stay_together(folder):
    composed = [(f"caf\u00e9 {n}", "x") for n in range(200)]
    pairs = composed + [(unicodedata.normalize("NFD", source), target) for source, target in composed]

    task = task_of(folder / "x.tsv", pairs)

    sources = [{unicodedata.normalize("NFC", pair.source) for pair in task.pairs(split)} for split in SPLITS]
    assert sum(map(len, sources)) == 200
    assert split_sizes(task_of(folder / "x.tsv", pairs, normalize=Normalize.none)) == [368, 16, 16]


def test_a_fixed_file_without_tags_is_divided_as_ever(folder):
    task = task_of(folder / "x.tsv", [(f"word{n % 90} {n % 7}", f"t{n}") for n in range(200)])

    held_out = {split: [int(pair.target[1:]) for pair in task.pairs(split)] for split in SPLITS[1:]}
    assert held_out == {
        "valid": [75, 94, 116, 123, 128, 132, 133, 156],
        "test": [8, 13, 14, 27, 30, 127, 136, 147],
    }


def test_tags_do_not_count_all_pairs_of_a_source_stay_together_whatever_stands_before_it(folder):
    forms = [(f"lemma {n}", f"form {n} {tag}", tag) for n in range(60) for tag in ("V;PST", "V;PRS", "", "N")]
    (folder / "tags.tsv").write_text("".join("\t".join(row) + "\n" for row in forms), encoding="utf-8")
    bare = task_of(folder / "x.tsv", [row[:2] for row in forms])
    options = {"train": str(folder / "tags.tsv"), "features": 2}

    task = make_task(FilesOptions(**options))

    assert split_sizes(task) == split_sizes(bare) == [224, 8, 8]
    for split in SPLITS:
        assert [untagged(pair.source) for pair in task.pairs(split)] == [pair.source for pair in bare.pairs(split)]
    given = make_task(
        FilesOptions(**options, test=write(folder / "test.tsv", [("lemma 1", "x\tADJ"), ("new", "x\tN")]))
    )
    assert given.pairs("train") and given.notes[-1] == (
        "task.test: 1 of 2 pairs have a source (without its tags) that is also in training (kept)"
    )


def test_a_source_with_more_pairs_than_there_is_room_for_stays_in_training_and_a_note_says_so(folder):
    pairs = [(f"source {n % 10}", f"target {n}") for n in range(100)]
    task = task_of(folder / "x.tsv", pairs)
    assert split_sizes(task) == [100, 0, 0]
    assert task.notes[1] == "task.test split off task.train: 0 of 100 pairs"
    task = task_of(folder / "x.tsv", pairs[:90] + [(f"rare {n}", "x") for n in range(10)])
    assert split_sizes(task) == [92, 4, 4]
    assert all(pair.source.startswith("rare") for split in SPLITS[1:] for pair in task.pairs(split))


def test_a_given_split_is_kept_whole_and_only_the_missing_one_is_split_off_without_its_sources(folder):
    pairs = numbered(100)
    task = task_of(folder / "x.tsv", pairs, valid=write(folder / "valid.tsv", [("a", "b"), ("a", "b")]))
    assert split_sizes(task) == [96, 2, 4]
    assert list(task.pairs("valid")) == [Pair("a", "b")] * 2
    test = {pair.source for pair in task.pairs("test")}
    valid = write(folder / "valid.tsv", [pair for pair in pairs if pair[0] in test])
    other = task_of(folder / "x.tsv", pairs, valid=valid).pairs("test")
    assert len(other) == 4 and not test & {pair.source for pair in other}


def test_what_given_splits_share_with_training_is_kept_and_counted_and_a_given_test_needs_no_training_file(folder):
    valid = write(folder / "valid.tsv", [("source 1", "x"), ("source 2", "y"), ("new", "z")])
    test = write(folder / "test.tsv", [("new", "z")])
    task = task_of(folder / "x.tsv", numbered(20), valid=valid, test=test)
    assert split_sizes(task) == [20, 3, 1]
    assert task.notes == ["task.valid: 2 of 3 pairs have a source that is also in training (kept)"]

    task = make_task(FilesOptions(train=str(folder / "gone.tsv"), test=test))
    assert list(task.pairs("test")) == [Pair("new", "z")]
    with pytest.raises(DataError, match=r"gone.tsv: no such file"):
        task.pairs("valid")


def test_train_size_cuts_training_pairs_alone_and_smaller_sets_are_parts_of_larger_ones(folder):
    tasks = [task_of(folder / "x.tsv", numbered(300), train_size=size) for size in (50, 100, None)]

    trains = [list(task.pairs("train")) for task in tasks]
    assert [len(train) for train in trains] == [50, 100, 276]
    assert set(trains[0]) < set(trains[1]) < set(trains[2])
    assert trains[1] == [pair for pair in trains[2] if pair in set(trains[1])]
    assert any(Pair(*row) in trains[0] for row in numbered(300)[150:]), "from everywhere in the file"
    assert all(tasks[0].pairs(split) == tasks[2].pairs(split) for split in SPLITS[1:])
    beyond = task_of(folder / "x.tsv", numbered(10), train_size=5000)
    assert len(beyond.pairs("train")) == 10
    assert beyond.notes[-1] == "task.train_size (5,000) is more than the 10 training pairs: all are used"


@pytest.mark.parametrize("value", [7, ["a", 3], [], {"source": "a"}, {"source": "a", "target": ["b"]}])
def test_files_are_a_name_several_or_two_sides(value):
    with pytest.raises(ValueError, match=r"task.valid \(.* must be a path, a glob or several .* or two parallel files"):
        FilesOptions(train="x.tsv", valid=value)
