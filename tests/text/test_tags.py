"""Tags before a text: one id each, never mixed up with text that looks the same."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2see.options import Normalize, TokenizerKind
from seq2see.text import BOS, EOS, PAD, UNK, Tokenizer, parted, split_tags, tagged

KINDS = list(TokenizerKind)
EXACT = [TokenizerKind.char, TokenizerKind.bpe]
QUICK = settings(deadline=None, max_examples=50)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
any_tag = any_text.map(lambda text: "".join("_".join(text.split()).split(";"))).filter(bool)
LINES = ["V;PST;3\tgehen V PST", "N;PL\tHaus", "\tohne", "auch ohne"]


def fitted(kind, lines=LINES, **options):
    return Tokenizer.fit(kind, lines, **{"tag_separator": ";", **options})


@QUICK
@given(st.lists(any_tag, max_size=4), any_text)
@example(["V"], "V")
@example([], "a\tb")
@example([], "\t")
def test_any_tags_and_any_text_are_told_apart_again(tags, text):
    assert parted(tagged(tags, text, ";"), ";") == (tags, text)


def test_a_tag_is_one_word_empty_ones_are_left_out_and_accents_are_composed():
    tokenizer = fitted(TokenizerKind.char, ["\u00e9;\u1ebf\ta"])
    assert UNK not in tokenizer.encode(unicodedata.normalize("NFD", "\u00e9;\u1ebf\ta"))
    assert split_tags("V;;1 SG; ;", ";") == ["V", "1_SG"]
    assert parted("V|PST\tgehen\tgeht", "|") == (["V", "PST"], "gehen\tgeht")
    assert parted("V;PST", ";") == ([], "V;PST")


@QUICK
@given(st.lists(any_tag, max_size=4), any_text, st.booleans())
@example(["V", "PST"], "V PST", False)
@pytest.mark.parametrize("kind", KINDS)
def test_each_tag_is_one_id_of_its_own_and_the_text_has_the_ids_that_it_has_without(kind, tags, text, tags_are_words):
    line = tagged(tags, text, ";")
    tokenizer = fitted(kind, [line, *(tags if tags_are_words else [])], normalize=Normalize.none)

    ids = tokenizer.encode(line)

    of_tags, of_text = ids[: len(tags)], ids[len(tags) :]
    assert of_text == tokenizer.without_tags().encode(text)
    assert len(set(of_tags)) == len(set(tags))
    assert not set(of_tags) & {PAD, BOS, EOS, UNK, *of_text, *tokenizer.encode(" ".join(tags))}


@QUICK
@given(st.lists(any_tag, min_size=1, max_size=4), any_text)
@pytest.mark.parametrize("kind", EXACT)
def test_tags_and_text_come_back_exactly(kind, tags, text):
    line = tagged(tags, text, ";")
    tokenizer = fitted(kind, [line], normalize=Normalize.none)

    assert tokenizer.decode(tokenizer.encode(line)) == line
    assert tokenizer.encode_batch([line, line]) == [tokenizer.encode(line)] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_unseen_tag_is_one_unknown_symbol_and_shown(kind):
    tokenizer = fitted(kind)
    known, unseen = tokenizer.encode("V;PST\tgehen"), tokenizer.encode("FUT;PST\tgehen")

    assert unseen == [UNK, *known[1:]]
    shown = "<unk>" if kind is TokenizerKind.word else "\ufffd"
    assert tokenizer.decode(unseen) == f"{shown};PST\tgehen"
    assert tokenizer.tokens(unseen)[:2] == ["<unk>", "[PST]"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_where_none_belongs_is_shown_as_unknown_and_an_unknown_symbol_is_no_tag(kind):
    tokenizer = fitted(kind)
    tag, *text = tokenizer.encode("V\tgehen")
    shown = " <unk>" if kind is TokenizerKind.word else "\ufffd"
    assert tokenizer.decode([*text, tag]) == tokenizer.without_tags().decode([*text, tag]) == f"gehen{shown}"
    if kind is TokenizerKind.char:
        assert tokenizer.decode(tokenizer.encode("V\t?gehen")) == "V\t\ufffdgehen"


@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_vocabulary_reads_targets_without_tags(kind):
    tokenizer = fitted(kind, ["V\ta b", tagged([], "V\tb", ";")])
    targets = tokenizer.without_tags()

    assert targets.vocab_size == tokenizer.vocab_size
    assert targets.encode("V\tb") == tokenizer.encode("\tV\tb")
    assert targets.encode("V\tb") != tokenizer.encode("V\tb")
    assert targets.without_tags() is targets


def test_tags_are_words_before_those_of_the_text():
    line = "V;PST\tgehen wir"
    assert fitted(TokenizerKind.word).word_numbers(line) == [0, 1, 2, 3]
    bpe = fitted(TokenizerKind.bpe, ["V;PST\tgehen wir"] * 9)
    assert bpe.tokens(bpe.encode(line)) == ["[V]", "[PST]", "gehen", "␣wir"]
    assert bpe.word_numbers(line) == [0, 1, 2, 3]
    assert fitted(TokenizerKind.char).word_numbers("V;PST\tgeh") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_tags_count_in_the_size_of_the_vocabulary_and_none_is_left_out(kind):
    least = 260 if kind is TokenizerKind.bpe else 5
    tokenizer = fitted(kind, LINES * 9, vocab_size=least + 5)

    assert tokenizer.vocab_size == least + 5
    assert UNK not in tokenizer.encode("V;PST;3;N;PL\t")
    with pytest.raises(ValueError, match=rf"tokenizer.vocab_size \({least + 4}\) must be at least {least + 5} for "):
        fitted(kind, LINES * 9, vocab_size=least + 4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tab_is_text_where_no_tags_are_and_does_not_come_back_without_them(kind):
    plain, tokenizer = fitted(kind, ["V\tgehen"], tag_separator=None), fitted(kind, [*LINES, "\ta\tb"])
    assert plain.decode(plain.encode("V\tgehen")).split() == ["V", "gehen"]
    assert plain.tokens(plain.encode("V\tgehen"))[0] == "V"
    assert tokenizer.encode("\tohne") == tokenizer.encode("ohne")
    assert tokenizer.decode(tokenizer.encode("\tohne")) == "ohne"
    if kind in EXACT:
        assert tokenizer.decode(tokenizer.encode("\ta\tb")) == "\ta\tb"


@pytest.mark.parametrize("kind", KINDS)
def test_tags_stand_in_the_state(kind):
    tokenizer = fitted(kind)
    again = Tokenizer.from_state(tokenizer.state())

    assert again.encode("V;PST\tgehen") == tokenizer.encode("V;PST\tgehen")
    states = [tokenizer.state(), tokenizer.without_tags().state(), fitted(kind, tag_separator="|").state()]
    assert again.state() == states[0] and states[0] not in states[1:]


def test_tags_that_a_tokenizer_grows_by_stand_before_the_text():
    before = fitted(TokenizerKind.char, ["V;PST\tab"])
    after = before.grown(["N\tcccb", "V\tab"])
    assert after.tokens(range(4, after.vocab_size)) == ["[PST]", "[V]", "[N]", "a", "b", "c"]
    assert after.ids_in(before) == [0, 1, 2, 3, 4, 5, None, 6, 7, None]
    assert before.grown(["N\tcccb"], vocab_size=7).tokens([6, 7, 8]) == ["[N]", "a", "b"]
    plain = fitted(TokenizerKind.char, ["ab"], tag_separator=None)
    assert plain.grown(["N\tb"], tag_separator=";").tokens([4, 5, 6]) == ["[N]", "a", "b"]
