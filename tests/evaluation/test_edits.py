import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.text import char_error_rate

from seq2see.evaluation import edit_counts

TEXTS = st.text("abc ", max_size=12)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_any_distances_are_those_of_torchmetrics(pairs: list[tuple[str, str]]) -> None:
    outputs, references = zip(*pairs, strict=True)
    edits = edit_counts(outputs, references)
    for output, reference, total in zip(outputs, references, edits.total, strict=True):
        expected = float(char_error_rate([output], [reference])) * len(reference) if reference else len(output)
        assert total == pytest.approx(expected, abs=1e-3)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_any_insertions_and_omissions_explain_the_lengths(pairs: list[tuple[str, str]]) -> None:
    outputs, references = zip(*pairs, strict=True)
    edits = edit_counts(outputs, references)
    longer = [len(output) - len(reference) for output, reference in pairs]
    assert (edits.insertions - edits.omissions).tolist() == longer
    assert all((operation >= 0).all() for operation in edits)


@pytest.mark.parametrize(
    ("output", "reference", "operations"),
    [
        ("a b c", "a b c", (0, 0, 0)),
        ("a x c", "a b c", (1, 0, 0)),
        ("a c", "a b c", (0, 1, 0)),
        ("a b b c", "a b c", (0, 0, 1)),
        ("", "a b", (0, 2, 0)),
        ("b a", "a b", (2, 0, 0)),  # not one omission and one insertion: substitutions come first
        ("x b c d", "a b c", (1, 0, 1)),
    ],
)
def test_operations_by_hand(output: str, reference: str, operations: tuple[int, int, int]) -> None:
    edits = edit_counts([output.split()], [reference.split()])
    assert tuple(int(column[0]) for column in edits) == operations


def test_long_and_short_pairs_together_are_what_they_are_alone() -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("ab"), size=size)) for size in (0, 3, 900, 40, 1500, 1, 700)]
    pairs = [(one, other) for one in texts for other in texts]
    together = edit_counts([one for one, _ in pairs], [other for _, other in pairs]).total
    alone = [int(edit_counts([one], [other]).total[0]) for one, other in pairs]
    assert together.tolist() == alone


def test_nothing_has_no_edits() -> None:
    assert edit_counts([], []).total.tolist() == []
