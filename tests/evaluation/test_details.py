import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.decoding import Hypothesis
from seq2see.evaluation import SentenceCounts
from seq2see.evaluation.details import Kind, by_confidence, by_length, kind_of_error, tokens_in_place

REFERENCE = "the old dog sees a cat near the house ."


def counts_of(right: list[bool]) -> SentenceCounts:
    return SentenceCounts({"exact_match": np.stack([right, np.ones(len(right))], axis=1)})


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_any_sentence_is_in_one_bin_with_all_others_of_its_length(lengths: list[int]) -> None:
    bins = by_length(lengths, counts_of([True] * len(lengths)))
    assert 1 <= len(bins) <= 5 and sum(one["sentences"] for one in bins) == len(lengths)
    assert all(one["from"] <= one["to"] < after["from"] for one, after in zip(bins, bins[1:], strict=False))
    for one in bins:
        assert one["sentences"] == sum(one["from"] <= length <= one["to"] for length in lengths)


def test_each_bin_has_its_own_scores() -> None:
    bins = by_length([1] * 5 + [2] * 5, counts_of([True] * 5 + [False] * 4 + [True]))
    assert [(one["from"], one["to"], one["exact_match"]) for one in bins] == [(1, 1, 1.0), (2, 2, 0.2)]


def test_a_model_that_knows_its_errors_has_them_last() -> None:
    found = by_confidence([-0.1 * place for place in range(10)], [True] * 8 + [False] * 2)
    assert [point["coverage"] for point in found["curve"]] == [tenth / 10 for tenth in range(1, 11)]
    assert [point["exact_match"] for point in found["curve"]] == pytest.approx([1.0] * 8 + [8 / 9, 0.8])
    assert found["coverage_at_95"] == 0.8 and found["log_prob_at_95"] == pytest.approx(-0.7)
    assert found["area"] == pytest.approx((8 + 8 / 9 + 0.8) / 10)
    found = by_confidence([-0.1, -0.2], [False, True])  # where the surest is wrong
    assert found["coverage_at_95"] == 0.0 and found["log_prob_at_95"] is None


@given(st.lists(st.tuples(st.floats(-5, 0), st.booleans()), min_size=1, max_size=40))
def test_any_full_coverage_is_the_exact_match(outputs: list[tuple[float, bool]]) -> None:
    log_probs, right = zip(*outputs, strict=True)
    last = by_confidence(log_probs, right)["curve"][-1]
    assert last == {"coverage": 1.0, "exact_match": np.mean(right), "log_prob": min(log_probs)}


@pytest.mark.parametrize(
    ("ids", "ended", "in_place"),
    [([5, 6, 7], True, 4), ([5, 6, 7], False, 3), ([5, 6], True, 2), ([9, 5, 6, 7], True, 0), ([], True, 0)],
)
def test_free_running_tokens_count_where_they_stand_in_their_place(ids: list[int], ended: bool, in_place: int) -> None:
    assert tokens_in_place(Hypothesis(ids, -1.0, ended), [5, 6, 7]) == in_place


def kind_of(output: str, reference: str = REFERENCE, *, unknown: bool = False, characters: bool = False) -> Kind | None:
    return kind_of_error(output, reference, has_unknown=unknown, characters=characters)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (REFERENCE, None),
        ("the old dog sees", Kind.stopped_early),
        ("", Kind.stopped_early),
        ("the old dog near the house sees a cat .", Kind.swap),
        ("the old old dog sees a cat near the house .", Kind.repetition),
        ("the old dog sees a cat sees a cat near the house .", Kind.repetition),
        ("the old dog sees a cat near near near near near near", Kind.repetition),
        ("the dog sees a cat near the house .", Kind.omission),
        ("old dog sees a cat the house .", Kind.omission),
        ("the old dog sees a big cat near the house .", Kind.insertion),
        ("the old dog sees a cat near the house . and sleeps", Kind.insertion),
        ("the old dog hears a cat near the house .", Kind.substitution),
        ("the old old sees a cat near the house .", Kind.substitution),  # twice, but not one too many
        ("the old the old sees a cat near the house .", Kind.substitution),  # one of the two is no insertion
    ],
)
def test_planted_errors_are_found(output: str, kind: Kind | None) -> None:
    assert kind_of(output) is kind
    assert kind_of(output, unknown=True) is (kind and Kind.unknown_symbol), "whatever else is wrong"


def test_the_main_kind_is_the_most_frequent_of_the_shortest_edits_of_words_or_of_characters() -> None:
    assert kind_of("a x y d", "a b c d e f") is Kind.substitution  # two substitutions, two omissions
    assert kind_of("b c", "a b") is Kind.substitution  # not one omission and one insertion
    assert kind_of("a x e", "a b c d e") is Kind.omission
    assert kind_of("a x y z c", "a b c") is Kind.insertion
    for output, kind in (("gign", Kind.swap), ("ginng", Kind.repetition), ("gang", Kind.substitution)):
        assert kind_of(output, "ging", characters=True) is kind and kind_of(output, "ging") is Kind.substitution
    # texts that differ in white space alone are compared by characters
    assert kind_of("a b", "a  b") is Kind.omission and kind_of("a  b", "a b") is Kind.repetition


@given(*[st.text("ab ", max_size=9)] * 2, st.booleans(), st.booleans())
def test_any_wrong_output_has_a_kind_and_a_right_one_none(output: str, reference: str, unknown: bool, characters: bool):
    kind = kind_of(output, reference, unknown=unknown, characters=characters)
    assert isinstance(kind, Kind) == (output != reference)
