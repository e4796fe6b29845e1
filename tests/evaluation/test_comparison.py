import pytest

from seq2see.evaluation import Scorer, System, compare_systems
from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

PAIRS = [("x", "a b"), ("y", "c d"), ("z", "e f")]


def system(name: str, outputs: list[str], pairs: list[tuple[str, str]] = PAIRS) -> System:
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b c d e f"])
    scorer = Scorer([[reference] for _, reference in pairs], tokenizer)
    counts, _ = scorer.counts(outputs)
    return System(name, pairs, counts.scores(), scorer.signatures, counts)


def test_each_system_is_compared_with_the_first() -> None:
    all_right = [reference for _, reference in PAIRS]
    compared = compare_systems([system("A", ["a b", "c", "e f"]), system("B", all_right), system("C", ["", "", ""])])
    assert compared["checkpoints"] == ["A", "B", "C"]
    assert compared["scores"]["exact_match"] == pytest.approx([2 / 3, 1.0, 0.0])
    differences = [tests["exact_match"]["difference"] for tests in compared["against_first"]]
    assert differences == pytest.approx([1 / 3, -2 / 3])
    assert set(compared["against_first"][0]["bleu"]) == {"difference", "interval", "p"}


def test_other_pairs_are_refused_with_the_first_that_differs() -> None:
    first = system("A", ["a b", "c d", "e f"])
    changed = [PAIRS[0], ("y", "c c"), PAIRS[2]]
    with pytest.raises(
        ValueError, match=r"B would be scored on other pairs than A \(pair 2 is another one\): set task"
    ):
        compare_systems([first, system("B", ["a b", "c d", "e f"], changed)])
    with pytest.raises(ValueError, match="2 pairs instead of 3"):
        compare_systems([first, system("B", ["a b", "c d"], PAIRS[:2])])


def test_other_signatures_are_refused() -> None:
    first = system("A", ["a b", "c d", "e f"])
    other = first._replace(name="B", signatures={**first.signatures, "bleu": "tok:zh"})
    with pytest.raises(ValueError, match="bleu of B has the signature tok:zh, that of A .*cannot be compared"):
        compare_systems([first, other])
