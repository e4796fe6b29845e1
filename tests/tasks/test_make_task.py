"""What all generated tasks promise of their splits."""

import pytest

from seq2see.options import TASKS
from seq2see.tasks import make_task

SPLITS = ["train", "valid", "test", "ood"]
WITH_OOD = [
    ("copy", {}),
    ("reverse", {"min_length": 1, "max_length": 3}),
    ("sort", {"vocab_size": 3}),
    ("numbers", {"source": "zh", "max_number": 29_999}),
    ("numbers", {"target": "de"}),
    ("dates", {"first_year": 2020, "last_year": 2020}),
    ("translation", {}),
]
ALL = [*WITH_OOD, ("scan", {})]


def splits(kind, options, **more):
    """The pairs of all splits of a small task."""
    sizes = {"valid_size": 100} | ({} if kind == "scan" else {"test_size": 200})
    task = make_task(TASKS[kind](**{"kind": kind, "train_size": 2000, **sizes, **options, **more}))
    return {split: list(task.pairs(split)) for split in SPLITS}, task


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_the_seed_decides_the_pairs(kind, options):
    (first, _), (again, _), (other, _) = (splits(kind, options, seed=seed) for seed in (3, 3, 4))

    assert first == again
    assert all(first[split] != other[split] for split in SPLITS if first[split])


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_a_larger_training_set_begins_with_the_smaller_and_leaves_the_other_splits_alone(kind, options):
    (small, _), (large, _) = (splits(kind, options, train_size=size) for size in (100, 2500))

    assert large["train"][:100] == small["train"] and len(large["train"]) == 2500
    assert all(small[split] == large[split] for split in SPLITS[1:])


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_no_source_stands_twice_within_or_across_splits(kind, options):
    sources = [pair.source for pairs in splits(kind, options)[0].values() for pair in pairs]

    assert len(set(sources)) == len(sources) >= 2300


@pytest.mark.parametrize(("kind", "options"), WITH_OOD)
def test_the_split_ood_is_described_leaves_the_others_alone_and_may_be_left_out(kind, options):
    (some, task), (none, without) = (splits(kind, options, ood_size=size) for size in (50, 0))

    assert len(some["ood"]) == 50 and task.ood
    assert list(none["ood"]) == [] and without.ood == ""
    assert all(some[split] == none[split] for split in SPLITS[:3])


@pytest.mark.parametrize(
    ("kind", "options", "exist"),
    [
        ("copy", {"vocab_size": 3, "min_length": 1, "max_length": 3}, 39),
        ("copy", {"vocab_size": 1, "min_length": 1, "max_length": 3}, 3),
        ("numbers", {"max_number": 1}, 2),
        ("numbers", {"max_number": 249}, 250),
    ],
)
def test_every_pair_that_exists_can_be_asked_for_and_not_one_more(kind, options, exist):
    for test_size, valid_size in ((0, 0), (1, 0), (exist // 3, exist // 2), (0, exist - 1)):
        options = {**options, "test_size": test_size, "valid_size": valid_size}
        left = exist - test_size - valid_size
        pairs, _ = splits(kind, options, train_size=left)
        assert len({pair.source for split in SPLITS[:3] for pair in pairs[split]}) == exist
        with pytest.raises(
            ValueError, match=rf"task.train_size \({left + 1}\).*: {exist} pairs .* {left} of them.*raise"
        ):
            splits(kind, options, train_size=left + 1)
