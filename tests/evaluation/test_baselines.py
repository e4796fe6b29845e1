from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation import baselines
from seq2see.evaluation.baselines import make_baselines, nearest_sources

IDS = st.lists(st.integers(4, 7), max_size=6)


def similarity(one: list[int], other: list[int]) -> float:
    bags = [Counter([*ids, *zip(ids, ids[1:], strict=False)]) for ids in (one, other)]
    return 2 * (bags[0] & bags[1]).total() / max(bags[0].total() + bags[1].total(), 1)


@given(st.lists(IDS, min_size=1, max_size=5), st.lists(IDS, min_size=1, max_size=8))
def test_any_nearest_source_is_the_first_of_the_most_similar(sources: list[list[int]], among: list[list[int]]) -> None:
    for source, found in zip(sources, nearest_sources(sources, among), strict=True):
        own = [similarity(source, other) for other in among]
        assert found == own.index(max(own))


def test_the_three_baselines() -> None:
    outputs, searched = make_baselines(["x y", "z"], [[5, 6], [7]], [[5, 6, 6], [7], [8]], ["A", "B", "B"])
    assert outputs == {"copy": ["x y", "z"], "nearest": ["A", "B"], "most_frequent": ["B", "B"]} and searched == 3


@pytest.mark.parametrize("limit", ["_MOST_WORK", "_MOST_TOKENS"])
def test_a_search_that_would_take_long_is_among_evenly_spaced_sources(limit: str, monkeypatch) -> None:
    monkeypatch.setattr(baselines, limit, 100)
    outputs, searched = make_baselines(["a"], [[999]], [[n] for n in range(1_000)], [str(n) for n in range(1_000)])
    assert 50 <= searched <= 100 and outputs["nearest"] == ["999"]
