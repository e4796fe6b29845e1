"""What a tokenizer keeps of a text, and what its ids mean."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import unicodedata

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import Normalize, TokenizerKind
from seq2see.text import BOS, EOS, PAD, UNK, Tokenizer

KINDS = list(TokenizerKind)
LINES = ["the old man", "the old house", "die alte Straße", "a <pad> b </s>", "<unk> [UNK] <s>"]
SPECIAL_LOOKING = ["<pad>", "<s>", "</s>", "<unk>", "[UNK]", "[PAD]", "<bos>", "<eos>", " pad", " bos", " eos", " unk"]

QUICK = settings(deadline=None, max_examples=50)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def fitted(kind, lines=LINES, **options):
    return Tokenizer.fit(kind, lines, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_character_is_refused_wherever_a_text_comes_in(kind):
    tokenizer = fitted(kind)
    for read in (tokenizer.encode, tokenizer.word_numbers, lambda text: tokenizer.encode_batch(["the", text])):
        with pytest.raises(ValueError, match=r"'\\udce9' at place 4 is half a character"):
            read("the \udce9")
    with pytest.raises(ValueError, match="half a character"):
        fitted(kind, ["the \ud800"])


BPE_OF_OTHER_TEXT = fitted(TokenizerKind.bpe)


@QUICK
@given(any_text)
def test_char_gives_back_any_text_of_known_symbols_bpe_any_text_and_word_the_words_of_str_split(text):
    char, word = (fitted(kind, [text], normalize=Normalize.none) for kind in (TokenizerKind.char, TokenizerKind.word))
    assert char.decode(char.encode(text)) == text
    assert BPE_OF_OTHER_TEXT.decode(BPE_OF_OTHER_TEXT.encode(text)) == unicodedata.normalize("NFC", text)
    assert UNK not in BPE_OF_OTHER_TEXT.encode(text)
    assert word.decode(word.encode(text)).split(" ") == (text.split() or [""])
    assert len(word.encode(text)) == len(text.split())


@QUICK
@given(st.lists(st.sampled_from([*SPECIAL_LOOKING, "old", " ", "\t"]), max_size=8).map("".join))
@pytest.mark.parametrize("kind", KINDS)
def test_what_looks_like_a_special_symbol_is_text(kind, text):
    tokenizer = fitted(kind, [*SPECIAL_LOOKING, text, "".join(SPECIAL_LOOKING)] * 2)

    ids = tokenizer.encode(text)

    assert not {PAD, BOS, EOS, UNK} & set(ids)
    assert tokenizer.decode(ids).split() == text.split()


def test_unknown_symbols_take_one_id_each_and_are_shown_while_pad_bos_and_eos_are_left_out():
    word, char, bpe = fitted(TokenizerKind.word, ["a b"]), fitted(TokenizerKind.char, ["ab"]), BPE_OF_OTHER_TEXT
    assert word.encode("a <pad> b") == [4, UNK, 5] and char.encode("aXYb") == [4, UNK, UNK, 5]
    assert word.decode([BOS, 4, UNK, 5, EOS, PAD]) == "a <unk> b"
    assert char.decode([BOS, 4, UNK, 5, EOS, PAD]) == "a\ufffdb"
    assert bpe.decode([BOS, *bpe.encode("ä"), UNK, EOS]) == "ä\ufffd"
    assert bpe.decode(bpe.encode("€")[:1]) == "\ufffd"  # bytes that are no text


@pytest.mark.parametrize("kind", KINDS)
def test_composed_and_decomposed_accents_give_the_same_ids_under_nfc_alone(kind):
    composed, decomposed = "caf\u00e9 y\u1ebfu", "cafe\u0301 ye\u0302\u0301u"

    nfc = fitted(kind, [composed], normalize=Normalize.nfc)
    assert nfc.encode(composed) == nfc.encode(decomposed)
    assert nfc.encode_batch([decomposed]) == [nfc.encode(composed)]
    none = fitted(kind, [composed, decomposed], normalize=Normalize.none)
    assert none.encode(composed) != none.encode(decomposed)


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_are_ordered_by_frequency_then_by_code_point_whatever_the_order_of_the_lines(kind):
    lines = ["b a a", "c c", "d"]

    forward, backward = fitted(kind, lines), fitted(kind, reversed(lines))

    assert forward.state() == backward.state()
    if kind is TokenizerKind.word:
        assert forward.tokens(range(4, forward.vocab_size)) == ["a", "c", "b", "d"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_survives_its_state_in_a_checkpoint_and_a_pickle(kind, tmp_path):
    tokenizer = fitted(kind, normalize=Normalize.none)
    torch.save({"tokenizer": tokenizer.state()}, tmp_path / "x.ckpt")

    state = torch.load(tmp_path / "x.ckpt", weights_only=True)["tokenizer"]

    assert all(type(value) in (str, int) for value in state.values())
    for again in (Tokenizer.from_state(state), pickle.loads(pickle.dumps(tokenizer))):
        assert again.state() == tokenizer.state()
        assert again.encode("the <pad> Straße e\u0301") == tokenizer.encode("the <pad> Straße e\u0301")
    with pytest.raises(ValueError, match="tokenizer state of version 99"):
        Tokenizer.from_state({**state, "version": 99})


def test_labels_show_specials_spaces_controls_and_halves_of_characters():
    char = fitted(TokenizerKind.char, ["a \n\u200f"])
    assert char.tokens([PAD, BOS, EOS, UNK]) == ["<pad>", "<bos>", "<eos>", "<unk>"]
    assert char.tokens(char.encode("a \n\u200f")) == ["a", "␣", "\\n", "\\u200f"]
    bpe = fitted(TokenizerKind.bpe, ["the the"] * 9)
    assert bpe.tokens(bpe.encode("the the")) == ["the", "␣the"]
    assert bpe.tokens(bpe.encode("é")) == ["<0xC3>", "<0xA9>"]


def test_word_numbers_name_characters_for_char_and_words_otherwise():
    text = "  ab cde  f "
    assert fitted(TokenizerKind.char).word_numbers("a b") == [0, 1, 2]
    assert fitted(TokenizerKind.word).word_numbers(text) == [0, 1, 2]
    bpe = fitted(TokenizerKind.bpe, ["zz"])
    assert bpe.tokens(bpe.encode(text)) == list("␣␣ab␣cde␣␣f␣")
    assert bpe.word_numbers(text) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


def printed_by(code, **more):
    """What another process prints, which warns of nothing."""
    environment = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment | more, capture_output=True, encoding="utf-8", timeout=60
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


def test_a_forked_process_encodes_without_a_warning_or_a_hang():
    code = (
        "import multiprocessing\n"
        "from seq2see.text import Tokenizer\nfrom seq2see.options import TokenizerKind\n"
        "tokenizer = Tokenizer.fit(TokenizerKind.bpe, ['a b c'] * 100)\n"
        "ids = tokenizer.encode_batch(['a b c'] * 1000)\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "    assert pool.apply(tokenizer.encode_batch, (['a b c'] * 1000,)) == ids\n"
    )
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")

    assert printed_by(code) == ""


@QUICK
@pytest.mark.parametrize("kind", KINDS)
@given(old=st.lists(st.text(max_size=8), min_size=1, max_size=5), new=st.lists(st.text(max_size=8), max_size=5))
def test_a_tokenizer_that_grows_keeps_the_ids_that_it_has(kind: TokenizerKind, old: list[str], new: list[str]) -> None:
    before = Tokenizer.fit(kind, old)
    after = before.grown(new)
    assert before.ids_in(after) == list(range(before.vocab_size))
    assert all(before.encode(text) == after.encode(text) for text in old)
    assert all(UNK not in after.encode(text) for text in new)
    assert after.grown([*old, *new]).state() == after.state()
    assert before.grown(old).state() == before.state()


def test_another_process_fits_the_same_tokenizers():
    code = (
        "import sys; sys.stdout.reconfigure(encoding='utf-8')\n"
        "from seq2see.text import Tokenizer; from seq2see.options import TokenizerKind\n"
        f"for kind in TokenizerKind: print(Tokenizer.fit(kind, {LINES * 3!a}).state())"
    )
    printed = printed_by(code, PYTHONHASHSEED="7", RAYON_NUM_THREADS="1")
    assert printed.splitlines() == [str(fitted(kind, LINES * 3).state()) for kind in KINDS]


@pytest.mark.parametrize(("kind", "least"), list(zip(KINDS, (5, 5, 260), strict=True)))
def test_a_vocabulary_has_at_most_the_size_that_is_asked_for_and_room_for_a_symbol(kind, least):
    assert fitted(kind, LINES * 50, vocab_size=least).vocab_size == least
    assert fitted(kind, LINES * 50, vocab_size=least + 3).vocab_size == least + 3
    with pytest.raises(ValueError, match=rf"tokenizer.vocab_size \({least - 1}\) must be at least {least}"):
        fitted(kind, vocab_size=least - 1)


@pytest.mark.parametrize("kind", [TokenizerKind.char, TokenizerKind.word])
def test_symbols_seen_less_often_than_is_asked_for_are_unknown(kind):
    tokenizer = fitted(kind, ["b a", "a c c", "d"], min_count=2)
    known = tokenizer.tokens(range(4, tokenizer.vocab_size))
    assert [symbol for symbol in known if symbol != "␣"] == ["a", "c"]
    assert tokenizer.encode("b")[0] == UNK
    grown = tokenizer.grown(["d d e"], min_count=2)
    assert grown.tokens([grown.vocab_size - 1]) == ["d"]
    with pytest.raises(ValueError, match=r"tokenizer.min_count \(9\) leaves no symbol"):
        fitted(kind, ["b a"], min_count=9)


def test_without_a_size_a_small_text_gets_few_bpe_entries_and_a_smaller_size_the_same_first_merges():
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"] * 2
    default, small = fitted(TokenizerKind.bpe, words), fitted(TokenizerKind.bpe, words, vocab_size=300)
    assert default.vocab_size == 512
    assert json.loads(str(default.state()["merges"]))[: 300 - 260] == json.loads(str(small.state()["merges"]))


@QUICK
@given(any_text)
@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_label_and_one_word_number_for_each_id_and_a_bpe_token_for_each_word(kind, text):
    tokenizer = BPE_OF_OTHER_TEXT if kind is TokenizerKind.bpe else fitted(kind)
    ids, numbers = tokenizer.encode(text), tokenizer.word_numbers(text)

    assert len(tokenizer.tokens(ids)) == len(ids) == len(numbers)
    assert all(label.isprintable() for label in tokenizer.tokens(ids))
    assert numbers == sorted(numbers)
    if kind is TokenizerKind.bpe:
        words = len(unicodedata.normalize("NFC", text).split())
        assert set(numbers) == set(range(words)) or (words == 0 and set(numbers) <= {0})
