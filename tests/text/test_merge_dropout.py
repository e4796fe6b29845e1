"""BPE dropout: other pieces of the same text, as the paper draws them, from a seed."""

import pickle
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import Normalize, TokenizerKind
from seq2see.text import MergeDropout, Tokenizer
from seq2see.text.vocabulary import BYTES

QUICK = settings(deadline=None, max_examples=50)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TEXTS = ["the old man and the older house", "die alte Straße", "\U0001f600 наука  и жизнь", "aaaa aaaaa aaa"]
TOKENIZER = Tokenizer.fit(TokenizerKind.bpe, TEXTS * 9, normalize=Normalize.none)


def dropout_of(rate, tokenizer=TOKENIZER):
    dropout = tokenizer.merge_dropout(rate)
    assert dropout is not None
    return dropout


@QUICK
@given(any_text | st.sampled_from(TEXTS), st.floats(0.01, 0.99), st.integers())
def test_other_ids_of_any_text_still_spell_it(text, rate, seed):
    anew = dropout_of(rate)(TOKENIZER.encode(text), Random(seed))

    assert TOKENIZER.decode(anew) == text
    assert len(anew) >= len(TOKENIZER.encode(text))


@QUICK
@given(any_text | st.sampled_from(TEXTS))
def test_when_nothing_is_left_out_the_ids_are_the_usual_ones(text):
    hardly_ever = dropout_of(1e-300)

    assert hardly_ever(TOKENIZER.encode(text), Random(0)) == TOKENIZER.encode(text)


def test_the_pieces_are_as_likely_as_the_paper_says():
    symbols = [*"    ", *BYTES, "ab", "abab"]
    dropout = MergeDropout(symbols, [("a", "b"), ("ab", "ab")], rate=0.5, first_text_id=4)
    random, ids = Random(0), [symbols.index("abab")]

    drawn = Counter(" ".join(symbols[number] for number in dropout(ids, random)) for _ in range(20_000))

    # First one of two merges, or none; then the other; then the whole: each kept in half of the cases.
    expected = {"a b a b": 4 / 16, "ab a b": 4 / 16, "a b ab": 2 / 16, "ab ab": 3 / 16, "abab": 3 / 16}
    assert drawn.keys() == expected.keys()
    for pieces, probability in expected.items():
        assert drawn[pieces] / 20_000 == pytest.approx(probability, abs=0.012)


def test_the_same_seed_gives_the_same_pieces_also_in_another_process():
    ids = TOKENIZER.encode(TEXTS[0])
    dropout = dropout_of(0.5)
    first = [dropout(ids, Random(seed)) for seed in range(20)]

    again = pickle.loads(pickle.dumps(dropout_of(0.5)))
    assert [again(ids, Random(seed)) for seed in range(20)] == first
    assert len({tuple(anew) for anew in first}) > 10


def test_tags_and_unknown_symbols_stay_as_they_are():
    tokenizer = Tokenizer.fit(TokenizerKind.bpe, ["V;PST\tthe old"] * 9, tag_separator=";")
    ids = tokenizer.encode("PST;?;V\tthe old")

    anew = dropout_of(0.9, tokenizer)(ids, Random(0))

    assert anew[:3] == ids[:3]
    assert len(anew) > len(ids)
    assert tokenizer.without_tags().decode(anew[3:]) == "the old"


def test_there_is_none_without_merges_or_without_a_rate():
    assert Tokenizer.fit(TokenizerKind.char, TEXTS).merge_dropout(0.1) is None
    assert Tokenizer.fit(TokenizerKind.word, TEXTS).merge_dropout(0.1) is None
    assert TOKENIZER.merge_dropout(0.0) is None
