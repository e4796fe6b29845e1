"""What a batch holds."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.data import EncodedPairs
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import BOS, EOS, PAD, UNK, Tokenizer

WORDS = Tokenizer.fit(TokenizerKind.word, ["a b c d e"])
A = 4
some_pairs = st.lists(
    st.builds(Pair, *(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join) for _ in range(2))),
    min_size=1,
    max_size=9,
)


def encode(pairs, **options):
    return EncodedPairs.from_pairs(pairs, WORDS, WORDS, **options)


@settings(max_examples=20)
@given(some_pairs, st.data())
def test_a_batch_holds_exactly_its_pairs_padded_on_the_right_and_shifted_by_one(pairs, data):
    indices = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=12))
    encoded = encode(pairs)

    batch = encoded.batch(indices)

    assert [tensor.dtype for tensor in batch] == [torch.int64, torch.int64, torch.bool, torch.int64, torch.int64]
    assert batch.ids.tolist() == indices
    for row, index in enumerate(indices):
        source, target = WORDS.encode(pairs[index].source), WORDS.encode(pairs[index].target)
        padding = batch.tgt_out.shape[1] - len(target) - 1
        assert batch.src[row][batch.src_mask[row]].tolist() == [*source, EOS]
        assert (batch.src[row][~batch.src_mask[row]] == PAD).all()
        assert batch.tgt_out[row].tolist() == [*target, EOS] + [PAD] * padding
        assert batch.tgt_in[row].tolist() == [BOS, *target] + [PAD] * padding
    assert batch.src.shape[1] == encoded.source_lengths[indices].max()
    assert batch.tgt_out.shape[1] == encoded.target_lengths[indices].max()


def test_pairs_with_a_side_that_is_too_long_are_dropped_and_counted_and_ids_still_name_the_given_pairs():
    encoded = encode([Pair("a b c", "a"), Pair("a", "b"), Pair("a", "a b c"), Pair("a b", "c")], max_length=3)
    assert (len(encoded), encoded.num_dropped) == (2, 2)
    assert encoded.batch([0, 1]).ids.tolist() == [1, 3]
    assert encode([Pair("a " * 5000, "b")]).num_dropped == 0
    assert len(encode([])) == encode([], max_length=3).num_dropped == 0
    with pytest.raises(ValueError, match=r"data.max_length \(2\) leaves none of the 3 pairs"):
        encode([Pair("a b", "a")] * 3, max_length=2)


def test_each_side_has_its_own_tokenizer_and_unknown_symbols_are_counted():
    pairs = EncodedPairs.from_pairs([Pair("a ?", "xzx")], WORDS, Tokenizer.fit(TokenizerKind.char, ["xy"]))
    batch = pairs.batch([0])
    assert batch.src.tolist() == [[A, UNK, EOS]] and batch.tgt_out.tolist() == [[4, UNK, 4, EOS]]
    assert pairs.num_unknown == (1, 1)
    assert encode([Pair("a ? !", "b"), Pair("?", "c ?")]).num_unknown == (3, 1)


def test_any_number_of_pairs_keeps_its_order_and_comes_back_from_files(tmp_path):
    pairs = [Pair("a " * (number % 7), "b") for number in range(20_000)]  # more than are tokenised at once
    encoded = encode(iter(pairs), max_length=5)
    encoded.save(tmp_path)
    found = EncodedPairs.mapped(tmp_path)
    some = np.arange(0, len(encoded), 101)
    kept = [number for number in range(20_000) if number % 7 < 5]

    assert len(found) == len(encoded) == len(kept)
    assert found.num_dropped == encoded.num_dropped == 20_000 - len(kept)
    assert found.source_lengths.tolist() == [number % 7 + 1 for number in kept]
    assert found.batch(some).ids.tolist() == kept[::101]
    assert all(torch.equal(one, other) for one, other in zip(found.batch(some), encoded.batch(some), strict=True))
