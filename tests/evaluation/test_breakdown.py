import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation import SentenceCounts, by_confidence, by_length


def counts_of(right: list[bool]) -> SentenceCounts:
    return SentenceCounts({"exact_match": np.stack([right, np.ones(len(right))], axis=1)})


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_any_sentence_is_in_one_bin_with_all_others_of_its_length(lengths: list[int]) -> None:
    bins = by_length(lengths, counts_of([True] * len(lengths)))
    assert 1 <= len(bins) <= 5
    assert sum(one["sentences"] for one in bins) == len(lengths)
    for one, after in zip(bins, bins[1:], strict=False):
        assert one["from"] <= one["to"] < after["from"]
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


def test_where_the_surest_output_is_wrong_nothing_may_be_right_enough() -> None:
    found = by_confidence([-0.1, -0.2], [False, True])
    assert found["coverage_at_95"] == 0.0 and found["log_prob_at_95"] is None


@given(st.lists(st.tuples(st.floats(-5, 0), st.booleans()), min_size=1, max_size=40))
def test_any_full_coverage_is_the_exact_match(outputs: list[tuple[float, bool]]) -> None:
    log_probs, right = ([row[column] for row in outputs] for column in range(2))
    found = by_confidence(log_probs, right)  # type: ignore[arg-type]
    assert found["curve"][-1] == {"coverage": 1.0, "exact_match": np.mean(right), "log_prob": min(log_probs)}
    assert 0 <= found["area"] <= 1
