import pytest

from seq2see.decoding import Hypothesis
from seq2see.evaluation import tokens_in_place


@pytest.mark.parametrize(
    ("ids", "ended", "in_place"),
    [([5, 6, 7], True, 4), ([5, 6, 7], False, 3), ([5, 6], True, 2), ([9, 5, 6, 7], True, 0), ([], True, 0)],
)
def test_free_running_tokens_count_where_they_stand_in_their_place(ids: list[int], ended: bool, in_place: int) -> None:
    assert tokens_in_place(Hypothesis(ids, -1.0, ended), [5, 6, 7]) == in_place
