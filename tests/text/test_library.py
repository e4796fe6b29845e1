"""A tokenizer as a file of the `tokenizers` library is the same tokenizer."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from seq2see.options import Normalize, TokenizerKind
from seq2see.text import UNK, Tokenizer

LINES = [
    "V;PST\tthe dog sleeps",
    "N\tune école, deux e\u0301coles",
    "数据 and\u00a0模型 \U0001f600",
    "N\ta\u2028b\tc <pad>  d",
]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cn"])), st.text("thed \t\x1c\x85\u2028 eé\u0301数<>pa")
)
each = pytest.mark.parametrize("normalize", Normalize)
each_kind = pytest.mark.parametrize("kind", TokenizerKind)


@cache
def both(kind: TokenizerKind, normalize: Normalize, separator: str | None = None) -> tuple[Tokenizer, Library]:
    tokenizer = Tokenizer.fit(kind, LINES, normalize=normalize, tag_separator=separator)
    return tokenizer, Library.from_str(tokenizer.library_json())


@each_kind
@each
@given(text=TEXTS)
def test_it_gives_the_ids_of_any_text_without_tags(kind: TokenizerKind, normalize: Normalize, text: str) -> None:
    tokenizer, library = both(kind, normalize)
    assert library.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)


@each_kind
@given(data=st.data())
def test_it_gives_the_text_of_any_ids(kind: TokenizerKind, data: st.DataObject) -> None:
    tokenizer, library = both(kind, Normalize.nfc, ";")
    target = tokenizer.without_tags()
    ids = data.draw(st.lists(st.integers(UNK, target.vocab_size - 1)))
    assert library.decode(ids, skip_special_tokens=False) == target.decode(ids)


@each_kind
@each
@pytest.mark.parametrize("separator", [None, ";"])
def test_the_tokenizer_comes_back_from_it(kind: TokenizerKind, normalize: Normalize, separator: str | None) -> None:
    tokenizer, library = both(kind, normalize, separator)
    assert library.token_to_id("\tPST") == (tokenizer.encode("PST\t")[0] if separator else None)
    back = Tokenizer.from_library(json.loads(library.to_str()), kind=kind.value, tag_separator=separator or "")
    assert back.state() == tokenizer.state()


def test_a_vocabulary_with_a_gap_or_of_another_program_is_refused() -> None:
    content = json.loads(both(TokenizerKind.word, Normalize.nfc)[0].library_json())
    for change in ({"dog": 99}, {" pad": 2, " eos": 0}):
        other = content | {"model": {"vocab": content["model"]["vocab"] | change}}
        with pytest.raises(ValueError, match="a vocabulary whose ids are not those of  pad,  bos"):
            Tokenizer.from_library(other, kind="word", tag_separator="")
