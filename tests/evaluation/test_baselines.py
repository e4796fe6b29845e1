from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation import baselines, make_baselines, nearest_sources

IDS = st.lists(st.integers(4, 7), max_size=6)


def similarity(one: list[int], other: list[int]) -> float:
    bags = [Counter([*ids, *zip(ids, ids[1:], strict=False)]) for ids in (one, other)]
    return 2 * (bags[0] & bags[1]).total() / max(bags[0].total() + bags[1].total(), 1)


@given(st.lists(IDS, min_size=1, max_size=5), st.lists(IDS, min_size=1, max_size=8))
def test_any_nearest_source_is_the_most_similar_of_all(sources: list[list[int]], among: list[list[int]]) -> None:
    for source, found in zip(sources, nearest_sources(sources, among), strict=True):
        assert similarity(source, among[found]) == max(similarity(source, other) for other in among)


def test_the_first_of_equally_similar_sources_is_taken() -> None:
    assert nearest_sources([[5, 6], [9]], [[6], [5], [6, 5], [5, 6], [5, 6]]) == [3, 0]


def test_order_matters_beside_the_tokens_themselves() -> None:
    assert nearest_sources([[4, 5, 6, 7]], [[7, 6, 5, 4], [4, 5, 6, 8], [4, 5, 7, 6]]) == [1]


def test_the_three_baselines() -> None:
    made = make_baselines(["x y", "z"], [[5, 6], [7]], [[5, 6, 6], [7], [8]], ["A", "B", "B"])
    assert made.outputs == {"copy": ["x y", "z"], "nearest": ["A", "B"], "most_frequent": ["B", "B"]}
    assert made.searched == 3


def test_a_search_that_would_take_long_is_among_evenly_spaced_sources(monkeypatch) -> None:
    monkeypatch.setattr(baselines, "_MOST_WORK", 100)
    sources = [[number] for number in range(1_000)]
    made = make_baselines(["a"], [[999]], sources, [str(number) for number in range(1_000)])
    assert 50 <= made.searched <= 100 and made.outputs["nearest"] == ["999"]
