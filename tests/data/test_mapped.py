"""Pairs in a file give the same batches as pairs in memory."""

import pickle

import numpy as np
import pyarrow
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.data import EncodedPairs, make_loader
from seq2see.data.encoded import encoded_parts
from seq2see.data.mapped import MappedPairs
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import Tokenizer

WORDS = Tokenizer.fit(TokenizerKind.word, ["a b c d e"])
text = st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join)
some_pairs = st.lists(st.builds(Pair, text, text), min_size=1, max_size=9)


def mapped(path, pairs, max_length=None):
    MappedPairs.write(path, encoded_parts(pairs, WORDS, WORDS, max_length=max_length))
    return MappedPairs(path)


def same(first, second):
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


@settings(max_examples=20)
@given(some_pairs, st.none() | st.integers(7, 9))
def test_any_pairs_are_what_they_are_in_memory(tmp_path_factory, pairs, max_length):
    found = mapped(tmp_path_factory.mktemp("mapped") / "pairs.arrow", pairs, max_length)
    expected = EncodedPairs.from_pairs(pairs, WORDS, WORDS, max_length=max_length)

    assert (len(found), found.num_dropped, found.num_unknown) == (len(expected), 0, (0, 0))
    assert same(found.batch(range(len(pairs))), expected.batch(range(len(pairs))))
    assert found.source_lengths.tolist() == expected.source_lengths.tolist()


def test_parts_follow_each_other_and_long_pairs_are_dropped(tmp_path):
    pairs = [Pair("a " * (number % 7), "b") for number in range(9_000)]

    found = mapped(tmp_path / "pairs.arrow", pairs, max_length=5)

    expected = EncodedPairs.from_pairs(pairs, WORDS, WORDS, max_length=5)
    everywhere = np.arange(0, len(expected), 101)
    assert (len(found), found.num_dropped) == (len(expected), expected.num_dropped)
    assert same(found.batch(everywhere), expected.batch(everywhere))
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.arrow"]


def test_a_limit_that_leaves_nothing_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"data.max_length \(2\) leaves none of the 3 pairs"):
        mapped(tmp_path / "pairs.arrow", [Pair("a b", "a")] * 3, max_length=2)
    assert not list(tmp_path.iterdir())


def test_a_worker_gets_the_path_and_maps_the_file_itself(tmp_path):
    found = mapped(tmp_path / "pairs.arrow", [Pair("a b c", "d e")] * 1_000)

    assert len(pickle.dumps(found)) < 500
    assert same(pickle.loads(pickle.dumps(found)).batch([0, 999]), found.batch([0, 999]))
    assert sum(len(batch.ids) for batch in make_loader(found, batch_size=64, shuffle=True, seed=0)) == 1_000


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"x" * 500])
def test_a_file_that_is_something_else_is_refused(tmp_path, content):
    (tmp_path / "pairs.arrow").write_bytes(content)

    with pytest.raises((pyarrow.ArrowException, OSError)):
        MappedPairs(tmp_path / "pairs.arrow")
