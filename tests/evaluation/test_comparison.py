import numpy as np
import pytest

from seq2see.evaluation import Scorer, SentenceCounts, System, compare_systems
from seq2see.evaluation.report import comparison_lines
from seq2see.options import TokenizerKind
from seq2see.text import UNK, Tokenizer

PAIRS = [("x", "a b"), ("y", "c d"), ("z", "e f")]


def system(
    name: str, outputs: list[str], pairs: list[tuple[str, str]] = PAIRS, *, kind=TokenizerKind.word, known="a b c d e f"
) -> System:
    tokenizer = Tokenizer.fit(kind, [known])
    scorer = Scorer([[reference] for _, reference in pairs], tokenizer)
    counts, _ = scorer.counts(outputs)
    ids = [tokenizer.encode(target) for _, target in pairs]
    per_token = np.array([(1.0, len(own) + 1) for own in ids])
    names = {"loss": per_token, "token_accuracy": per_token, "target_log_prob": np.array([(-1.0, 1)] * len(ids))}
    counts = SentenceCounts(names | counts.columns)
    tokens, num_unknown = [tokenizer.tokens(own) for own in ids], sum(own.count(UNK) for own in ids)
    return System(name, pairs, tokens, num_unknown, counts.scores(), scorer.signatures, counts)


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


OUTPUTS = ["a b", "c", "e f"]


def test_scores_of_other_tokens_are_left_out_with_one_line_why() -> None:
    first, same = system("A", OUTPUTS), system("B", OUTPUTS, known="f e d c b a g")
    letters = system("C", OUTPUTS, kind=TokenizerKind.char)
    compared = compare_systems([first, same, letters])
    of_same, of_letters = compared["against_first"]
    assert of_same.keys() - of_letters.keys() == {"loss", "perplexity", "token_accuracy", "ser"}
    assert "target_log_prob" in of_letters and compared["scores"]["loss"][2] == letters.scores["loss"]
    (note,) = compared["notes"]
    assert note.startswith("1 and 3 cut the targets into other tokens, so loss, perplexity, token_accuracy, ser ")
    shown = " ".join(" ".join(comparison_lines(compared)).split())
    assert note in shown


def test_nor_is_a_whole_target_comparable_where_only_one_system_knows_its_words() -> None:
    compared = compare_systems([system("A", OUTPUTS), system("B", OUTPUTS, known="a b c d e")])
    assert "target_log_prob" not in compared["against_first"][0] and "target_log_prob" in compared["notes"][0]
