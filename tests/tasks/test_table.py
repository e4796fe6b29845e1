"""Many pairs behave as a list of them does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.tasks import Pair, table
from seq2see.tasks.table import PairTable

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
links = st.none() | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple)
some_pairs = st.lists(st.builds(Pair, text, text, links), max_size=9)
PAIRS = [Pair(f"s{number}", f"t{number}", ((number, 0),)) for number in range(20_000)]


@settings(max_examples=25)
@given(some_pairs, st.data())
def test_any_pairs_come_back_from_memory_and_from_a_file(tmp_path_factory, pairs, data):
    path = tmp_path_factory.mktemp("table") / "pairs.arrow"
    PairTable.write(path, pairs)
    places = data.draw(st.sets(st.integers(0, max(len(pairs) - 1, 0)), max_size=len(pairs)).map(sorted))
    chosen = [pairs[place] for place in places]

    for found in (PairTable.of(iter(pairs)), PairTable.open(path)):
        assert list(found) == [found[place] for place in range(len(found))] == pairs
        assert list(found.take(np.array(places, dtype=np.int64))) == chosen
        assert list(found.texts("target")) == [pair.target for pair in pairs]


def test_places_and_slices_are_those_of_a_list():
    whole = PairTable.of(PAIRS)
    places = np.arange(5, 20_000, 7)
    some = whole.take(places)

    assert (len(whole), len(some)) == (20_000, len(places))
    assert whole[-1] == PAIRS[-1]
    assert some[3] == PAIRS[26]
    assert whole[8_190:8_195] == PAIRS[8_190:8_195]
    assert whole[::-5_000] == PAIRS[::-5_000]
    assert list(some.take(np.array([0, 2_000]))) == [PAIRS[5], PAIRS[14_005]]
    assert not PairTable.of([])
    with pytest.raises(IndexError):
        whole[20_000]


def test_many_pairs_lie_in_a_temporary_file_that_nobody_sees(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(table, "_IN_MEMORY", 1_000)

    assert list(PairTable.of(PAIRS)) == PAIRS
    assert not list(tmp_path.iterdir())
