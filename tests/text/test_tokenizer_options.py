"""Tokenizer keys that do not go together are refused before any data is read, or as soon as the data chose a kind."""

import pytest

from seq2see.options import FilesOptions, TokenizerKind, TokenizerOptions, TrainOptions
from seq2see.runs.choices import Facts, choose

BPE, CHAR, WORD = TokenizerKind.bpe, TokenizerKind.char, TokenizerKind.word
SENTENCES = Facts(num_pairs=100, words_a_source=5, words_a_target=5, letters_a_pair=50, short_targets=0)
SYMBOLS = Facts(num_pairs=100, words_a_source=1, words_a_target=1, letters_a_pair=9, short_targets=1)


@pytest.mark.parametrize("kinds", [(BPE, None), (None, BPE), (BPE, CHAR), (BPE, BPE)])
def test_a_vocabulary_that_cannot_hold_every_byte_is_refused_with_bpe(kinds):
    said = (
        r"tokenizer.vocab_size \(259\) must be at least 260 for bpe, which has an entry for each of 256 bytes and 4 "
        "special symbols: raise it, or choose char or word for both sides"
    )
    with pytest.raises(ValueError, match=said):
        TokenizerOptions(*kinds, vocab_size=259)
    TokenizerOptions(*kinds, vocab_size=260)


def test_a_small_vocabulary_is_refused_when_the_data_have_chosen_bpe():
    options = TrainOptions(task=FilesOptions(train="x.tsv"), tokenizer=TokenizerOptions(vocab_size=100))

    assert choose(options, SYMBOLS)[0].tokenizer.vocab_size == 100
    with pytest.raises(ValueError, match=r"tokenizer.vocab_size \(100\) must be at least 260 for bpe"):
        choose(options, SENTENCES)


def test_a_vocabulary_of_special_symbols_alone_is_refused():
    with pytest.raises(ValueError, match=r"tokenizer.vocab_size \(4\) must be more than 4, the special symbols"):
        TokenizerOptions(vocab_size=4)


def test_a_shared_vocabulary_is_one_of_the_same_kind():
    with pytest.raises(ValueError, match="tokenizer.shared needs one kind on both sides, but tokenizer.source is char"):
        TokenizerOptions(source=CHAR, target=WORD, shared=True)
