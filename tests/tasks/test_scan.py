"""`scan`: the commands of Lake and Baroni 2018, their alignment, and the published splits."""

from collections import Counter
from hashlib import sha256

import pytest

from seq2see.options import ScanOptions, ScanSplit
from seq2see.tasks import make_task
from seq2see.tasks.scan import commands

# Split, lines in training and in test, and the digests of these lines in the files that the authors publish.
PUBLISHED = [
    ({"split": "length"}, 16_990, "b449c787a4c2e816", 3_920, "e9bd0b06cb972a4a"),
    ({"split": "addprim_jump"}, 14_670, "e60be8fa7fd88b42", 7_706, "af971a314cdeda91"),
    ({"split": "addprim_turn_left"}, 21_890, "7a87330ea22b31b5", 1_208, "871b1eb91236d07b"),
    ({"split": "template_right"}, 15_225, "26625d4787e54df2", 4_476, "f7559991d2f94613"),
    ({"split": "template_opposite_right"}, 15_225, "91791f93dda8fe40", 4_476, "4403926c0eacc812"),
    ({"split": "template_jump_around_right"}, 18_528, "68c243923cfe25bc", 1_173, "1dc10f0027f064f4"),
    ({"split": "template_around_right"}, 15_225, "5d47ce1eb8a7f896", 4_476, "b64b5b28fc48416b"),
    ({"split": "filler"}, 15_225, "5d47ce1eb8a7f896", 1_173, "1dc10f0027f064f4"),
    ({"split": "filler", "num_fillers": 1}, 16_290, "83610a2afbd8fd10", 1_173, "1dc10f0027f064f4"),
    ({"split": "filler", "num_fillers": 2}, 17_391, "246567d75def2598", 1_173, "1dc10f0027f064f4"),
    ({"split": "filler", "num_fillers": 3}, 18_528, "68c243923cfe25bc", 1_173, "1dc10f0027f064f4"),
]


def scan(split="simple", **options):
    return make_task(ScanOptions(**{"split": ScanSplit(split), "valid_size": 0, **options}))


def sources(pairs):
    return [pair.source for pair in pairs]


def digest(pairs):
    lines = sorted(f"{pair.source}\t{pair.target}" for pair in pairs)
    return sha256("\n".join(lines).encode("utf-8")).hexdigest()[:16]


BY_SOURCE = {pair.source: pair for pair in commands()}


def test_the_20910_commands_and_their_actions_are_the_published_ones():
    assert len(commands()) == len(BY_SOURCE) == 20_910
    assert digest(commands()) == "b3e98e121df6eabe"


@pytest.mark.parametrize(
    ("command", "actions", "places"),
    [
        ("jump", "JUMP", [0]),
        ("turn left thrice", "LEFT LEFT LEFT", [1, 1, 1]),
        ("jump opposite right", "RIGHT RIGHT JUMP", [2, 2, 0]),
        ("jump around left", "LEFT JUMP LEFT JUMP LEFT JUMP LEFT JUMP", [2, 0, 2, 0, 2, 0, 2, 0]),
        ("walk left and walk left", "LEFT WALK LEFT WALK", [1, 0, 4, 3]),
        ("look right twice after run", "RUN RIGHT LOOK RIGHT LOOK", [4, 1, 0, 1, 0]),
    ],
)
def test_a_command_asks_for_the_actions_of_the_paper_each_linked_to_the_word_that_names_it(command, actions, places):
    pair = BY_SOURCE[command]

    assert pair.target.replace("I_", "").replace("TURN_", "") == actions
    assert pair.links == tuple((place, action) for action, place in enumerate(places))


def test_each_action_of_any_command_has_one_link_and_those_of_joined_commands_are_those_of_each_alone():
    for pair in commands():
        words, places = pair.source.split(" "), [place for place, _ in pair.links]
        assert [action for _, action in pair.links] == list(range(len(pair.target.split(" "))))
        assert [words[place].upper() for place in places] == [
            action.split("_")[-1] for action in pair.target.split(" ")
        ]
        for joint in {"and", "after"} & set(words):
            first, second = (BY_SOURCE[part].links for part in pair.source.split(f" {joint} "))
            first, second = [i for i, _ in first], [i + words.index(joint) + 1 for i, _ in second]
            assert places == (first + second if joint == "and" else second + first)


@pytest.mark.parametrize("cutoff", [1, 24, 26, 40])
def test_the_length_cutoff_is_the_most_actions_in_training_and_test_has_all_others(cutoff):
    task = scan("length", length_cutoff=cutoff)

    assert max(len(pair.target.split(" ")) for pair in task.pairs("train")) == cutoff
    assert min(len(pair.target.split(" ")) for pair in task.pairs("test")) > cutoff
    assert len(task.pairs("train")) + len(task.pairs("test")) == 20_910


@pytest.mark.parametrize(
    ("num_composed", "times", "num_train", "num_test"),
    [
        (0, 1467, 14_670, 7_706), (1, 734, 14_671, 7_705), (2, 489, 14_670, 7_704), (4, 293, 14_668, 7_702),
        (8, 163, 14_670, 7_698), (16, 86, 14_665, 7_690), (32, 44, 14_655, 7_674), (3000, 1, 16_204, 4_706),
    ],
)  # fmt: skip
def test_composed_jump_commands_share_the_lines_of_jump_equally_and_leave_the_test(
    num_composed, times, num_train, num_test
):
    task, more = (scan("addprim_jump", num_composed=num_composed + some, valid_size=500) for some in (0, 1))

    train, test = Counter(sources(task.pairs("train"))), sources(task.pairs("test"))
    with_jump = {source for source in train if "jump" in source}
    assert train.total() + len(task.pairs("valid")) == num_train
    assert len(test) == len(set(test)) == num_test
    assert "jump" in with_jump and len(with_jump) == num_composed + 1 and not with_jump & set(test)
    assert {train[source] for source in with_jump} == {times}
    assert with_jump < set(sources(more.pairs("train")))  # more of them keep the fewer


@pytest.mark.parametrize(
    ("fraction", "num_train"),
    [(None, 16_728), (0.01, 209), (0.02, 418), (0.04, 836), (0.08, 1672), (0.16, 3345), (0.32, 6691), (0.64, 13_382),
     (0.7, 14_637)],
)  # fmt: skip
def test_the_simple_split_trains_on_a_fraction_that_a_larger_one_holds_and_tests_on_all_the_rest(fraction, num_train):
    task = scan(train_fraction=fraction)

    train, test = sources(task.pairs("train")), sources(task.pairs("test"))
    assert len(train) == num_train
    assert sorted(train + test) == sorted(BY_SOURCE)
    assert set(train) < set(sources(scan(train_fraction=0.9).pairs("train")))


@pytest.mark.parametrize(("options", "num_train", "train", "num_test", "test"), PUBLISHED)
def test_a_split_has_exactly_the_published_lines_of_which_validation_is_drawn_from_training(
    options, num_train, train, num_test, test
):
    task = scan(**options, valid_size=11_000)
    splits = [task.pairs(split) for split in ("train", "valid", "test")]

    assert [len(pairs) for pairs in splits] == [num_train - 11_000, 11_000, num_test]
    assert (digest([*splits[0], *splits[1]]), digest(splits[2])) == (train, test)
    in_train, in_valid, in_test = (set(sources(pairs)) for pairs in splits)
    assert not in_train & in_valid and not in_test & (in_train | in_valid)


@pytest.mark.parametrize("split", ["simple", "few_shot", "addprim_jump"])
def test_the_seed_decides_what_is_drawn_and_the_order_and_there_is_no_split_ood(split):
    first, again, other = (scan(split, seed=seed, valid_size=50) for seed in (3, 3, 4))

    for part in ("train", "valid", "test"):
        assert first.pairs(part) == again.pairs(part) != other.pairs(part)
    assert first.ood == "" and not first.pairs("ood")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_size": 16_229, "valid_size": 500}, r"task.train_size \(16229\).* 16,228 .*task.split=simple .* 500"),
        ({"valid_size": 209, "train_fraction": 0.01}, r"task.valid_size \(209\) .* 209 .*task.split=simple"),
        ({"split": "addprim_jump", "valid_size": 13_203}, r"task.valid_size \(13203\) .* 13,203 .*addprim_jump"),
        (
            {"split": "addprim_jump", "num_composed": 7706},
            r"task.num_composed \(7706\) leaves none of the 20,910 commands to test",
        ),
        ({"split": "length", "length_cutoff": 48}, r"task.length_cutoff \(48\) leaves none .* to test on"),
        ({"split": "few_shot", "num_shots": 1066}, r"task.num_shots \(1066\) .* 1,065 commands .* choose 1 to 1065"),
        ({"train_fraction": 0.00001}, r"task.train_fraction \(1e-05\) leaves none .* to train on"),
    ],
)
def test_what_does_not_exist_cannot_be_asked_for(options, message):
    with pytest.raises(ValueError, match=message):
        scan(**options)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"train_fraction": 0.01}, "split=simple: 189 train, 20 valid, 20,701 test"),
        ({"split": "length", "train_size": 1000}, "split=length: 1,000 of 16,490 train, 500 valid, 3,920 test"),
        (
            {"split": "addprim_jump", "num_composed": 7705},
            'split=addprim_jump: 20,409 train ("jump" and 7,705 composed 1 times each), 500 valid, 1 test',
        ),
        ({"split": "few_shot"}, 'split=few_shot: 14,726 train (1 with "look around right"), 500 valid, 1,173 test'),
    ],
)
def test_one_line_tells_the_sizes_and_validation_is_500_commands_but_at_most_a_tenth(options, note):
    assert scan(**{"valid_size": None, **options}).notes == [note]


def test_the_repeated_command_and_the_shots_stay_in_training_and_are_spread_over_it():
    train = sources(scan("addprim_turn_left", valid_size=500).pairs("train"))
    assert train.count("turn left") == 2189
    assert 50 < train[:1000].count("turn left") < 200

    none, one = (set(scan("filler", num_fillers=number).pairs("train")) for number in (0, 1))
    shots = [set(scan("few_shot", num_shots=number, valid_size=500).pairs("train")) - none for number in (1, 8, 1065)]
    assert [len(some) for some in shots] == [1, 8, 1065]
    assert shots[0] < shots[1] < shots[2] == one - none
