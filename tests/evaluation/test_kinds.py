import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation import Kind, error_kinds

REFERENCE = "the old dog sees a cat near the house ."


def kind_of(output: str, reference: str = REFERENCE, *, unknown: bool = False, characters: bool = False) -> Kind | None:
    return error_kinds([output], [reference], unknown=[unknown], characters=characters)[0]


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (REFERENCE, None),
        ("the old dog sees", Kind.stopped_early),
        ("", Kind.stopped_early),
        ("the old dog sees a cat near the house", Kind.stopped_early),
        ("the old cat sees a dog near the house .", Kind.swap),
        ("the old dog near the house sees a cat .", Kind.swap),
        ("the old old dog sees a cat near the house .", Kind.repetition),
        ("the old dog sees a cat sees a cat near the house .", Kind.repetition),
        ("the old dog sees a cat near near near near near near", Kind.repetition),
        ("the dog sees a cat near the house .", Kind.omission),
        ("old dog sees a cat the house .", Kind.omission),
        ("the old dog sees a big cat near the house .", Kind.insertion),
        ("the old dog sees a cat near the house . and sleeps", Kind.insertion),
        ("the old dog hears a cat near the house .", Kind.substitution),
        ("the old old sees a cat near the house .", Kind.substitution),  # twice, but not one too many
        ("the old the old sees a cat near the house .", Kind.substitution),  # one of the two is no insertion
    ],
)
def test_planted_errors_are_found(output: str, kind: Kind | None) -> None:
    assert kind_of(output) is kind


def test_an_unknown_symbol_is_the_main_kind_whatever_else_is_wrong() -> None:
    assert kind_of("the <unk> dog", unknown=True) is Kind.unknown_symbol
    assert kind_of("the old dog <unk> <unk> a cat", unknown=True) is Kind.unknown_symbol


def test_with_several_operations_the_most_frequent_is_the_main_kind() -> None:
    assert kind_of("a x y d", "a b c d e f") is Kind.substitution  # two substitutions, two omissions
    assert kind_of("a x e", "a b c d e") is Kind.omission
    assert kind_of("a x y z c", "a b c") is Kind.insertion


def test_units_may_be_characters() -> None:
    assert kind_of("gign", "ging", characters=True) is Kind.swap
    assert kind_of("ginng", "ging", characters=True) is Kind.repetition
    assert kind_of("gang", "ging", characters=True) is Kind.substitution
    assert kind_of("gign", "ging") is Kind.substitution


def test_texts_that_differ_in_white_space_alone_are_compared_by_characters() -> None:
    assert kind_of("a b", "a  b") is Kind.omission
    assert kind_of("a  b", "a b") is Kind.repetition


@given(st.lists(st.tuples(*[st.text("ab ", max_size=9)] * 2, st.booleans()), max_size=6), st.booleans())
def test_any_wrong_output_has_exactly_one_kind_and_a_right_one_none(
    rows: list[tuple[str, str, bool]], characters: bool
) -> None:
    outputs, references, unknown = ([row[column] for row in rows] for column in range(3))
    kinds = error_kinds(outputs, references, unknown=unknown, characters=characters)  # type: ignore[arg-type]
    for output, reference, kind in zip(outputs, references, kinds, strict=True):
        assert isinstance(kind, Kind) == (output != reference)
