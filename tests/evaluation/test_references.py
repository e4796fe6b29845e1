from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation import References
from seq2see.evaluation.references import as_scored
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import UNK, Tokenizer

WORDS = Tokenizer.fit(TokenizerKind.word, ["a b c", "x y"])


def test_a_reference_is_what_the_model_could_write_but_an_unknown_word_stays_what_it_is() -> None:
    letters = Tokenizer.fit(TokenizerKind.char, ["a b"])
    assert as_scored([" a  b\u00a0", "a\tb\n", "a Haus"], WORDS) == ["a b", "a b", "a Haus"]
    assert as_scored([" a  b\u00a0", "a\tb", "a\u0308"], letters) == [" a  b\u00a0", "a b", "\u00e4"]


@given(text=st.text(alphabet="ab \t\u00a0\u2028\r", max_size=9), kind=st.sampled_from(TokenizerKind))
def test_it_is_what_the_tokenizer_gives_back(text: str, kind: TokenizerKind) -> None:
    tokenizer = Tokenizer.fit(kind, ["a b ab ba", *" \t\u00a0\u2028\r", "aa bb"])
    if UNK not in tokenizer.encode(text):
        assert tokenizer.writable(text) == tokenizer.decode(tokenizer.encode(text))


def test_each_source_is_there_once_with_its_different_targets_also_beyond_those_translated() -> None:
    pairs = [Pair("a", "x"), Pair("b", "y"), Pair("a", "x y"), Pair("c", "c"), Pair("a", "x "), Pair("b", " y")]
    references = References(pairs, WORDS, WORDS, most=2)
    assert references.groups == [[0, 2, 4], [1, 5], [3]]
    assert references.firsts == [0, 1] and references.different == [[0, 2], [1]]
    assert references.scorer.references == [["x", "x y"], ["y"]]


def test_without_a_second_target_each_pair_counts_as_it_stands() -> None:
    assert References([Pair("a", "x"), Pair("a", " x")], WORDS, WORDS).groups == [[0], [1]]
