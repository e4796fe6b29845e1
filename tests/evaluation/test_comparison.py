from dataclasses import replace

import numpy as np
import pytest

from seq2see.evaluation import Evaluation, SentenceCounts, compare_evaluations
from seq2see.evaluation.comparison import holm, paired_tests
from seq2see.evaluation.report import comparison_lines
from seq2see.evaluation.scores import Scorer
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import UNK, Tokenizer

PAIRS = [Pair("x", "a b"), Pair("y", "c d"), Pair("z", "e f")]
RIGHT, ONE_WRONG = ["a b", "c d", "e f"], ["a b", "c", "e f"]


def evaluation(
    outputs: list[str], pairs: list[Pair] = PAIRS, *, kind=TokenizerKind.word, known="a b c d e f"
) -> Evaluation:
    tokenizer = Tokenizer.fit(kind, [known])
    scorer = Scorer([[pair.target] for pair in pairs], tokenizer)
    ids = [tokenizer.encode(pair.target) for pair in pairs]
    per_token = np.array([(1.0, len(own) + 1) for own in ids])
    forced = {"loss": per_token, "token_accuracy": per_token, "target_log_prob": np.array([(-1.0, 1)] * len(ids))}
    counts = SentenceCounts(forced | scorer.counts(outputs)[0].columns)
    details = {"signatures": scorer.signatures, "unknown": {"target": sum(own.count(UNK) for own in ids)}}
    tokens = [tokenizer.tokens(own) for own in ids]
    return Evaluation(counts.scores(), details, pairs, [], RIGHT, tokens, [], outputs, counts, [], [], [])


def test_each_model_is_compared_with_the_first() -> None:
    models = [evaluation(outputs) for outputs in (ONE_WRONG, RIGHT, ["", "", ""])]
    compared = compare_evaluations("ABC", models)
    assert (compared["pairs"], compared["checkpoints"], compared["notes"]) == (3, ["A", "B", "C"], [])
    assert compared["scores"]["exact_match"] == pytest.approx([2 / 3, 1.0, 0.0])
    differences = [tests["exact_match"]["difference"] for tests in compared["against_first"]]
    assert differences == pytest.approx([1 / 3, -2 / 3])
    assert set(compared["against_first"][0]["bleu"]) == {"difference", "interval", "p"}


def test_other_pairs_are_refused_with_the_first_that_differs_and_so_are_other_signatures() -> None:
    first = evaluation(RIGHT)
    signatures = {"signatures": {**first.details["signatures"], "bleu": "tok:zh"}}
    for other, message in (
        (
            evaluation(RIGHT, [PAIRS[0], Pair("y", "c c"), PAIRS[2]]),
            r"B would be scored on other pairs than A \(pair 2 is another one\): set task",
        ),
        (evaluation(RIGHT[:2], PAIRS[:2]), "2 pairs instead of 3"),
        (replace(first, details=signatures), "B have the signatures .*tok:zh.*, those of A .*cannot be compared"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_evaluations("AB", [first, other])


def test_scores_of_other_tokens_are_left_out_with_one_line_why() -> None:
    letters = evaluation(ONE_WRONG, kind=TokenizerKind.char)
    models = [evaluation(ONE_WRONG), evaluation(ONE_WRONG, known="f e d c b a g"), letters]
    compared = compare_evaluations("ABC", models)
    of_same, of_letters = compared["against_first"]
    assert of_same.keys() - of_letters.keys() == {"loss", "perplexity", "token_accuracy", "ser"}
    assert "target_log_prob" in of_letters and compared["scores"]["loss"][2] == letters.scores["loss"]
    (note,) = compared["notes"]
    assert note.startswith("1 and 3 cut the targets into other tokens, so ser, loss, perplexity, token_accuracy ")
    assert note in " ".join(" ".join(comparison_lines(compared)).split())


def test_nor_is_a_whole_target_comparable_where_only_one_model_knows_its_words() -> None:
    compared = compare_evaluations("AB", [evaluation(RIGHT), evaluation(RIGHT, known="a b c d e")])
    assert "target_log_prob" not in compared["against_first"][0] and "target_log_prob" in compared["notes"][0]


def shares(*systems: np.ndarray) -> list[SentenceCounts]:
    return [SentenceCounts({"exact_match": np.stack([right, np.ones(len(right))], axis=1)}) for right in systems]


def test_a_clearly_better_system_is_found_and_a_chance_difference_is_not() -> None:
    right = np.arange(60) % 3 == 0
    better, other = right | (np.arange(60) % 2 == 0), right | (np.arange(60) == 1)
    first, second, third = shares(right, better, other)
    test = paired_tests(first, second)["exact_match"]
    assert test["difference"] > 0.2 and test["interval"][0] > 0 and test["p"] < 0.01
    assert paired_tests(second, first)["exact_match"]["difference"] == -test["difference"]
    assert paired_tests(first, third)["exact_match"]["p"] > 0.2
    assert paired_tests(first, first)["exact_match"] == {"difference": 0.0, "interval": [0.0, 0.0], "p": 1.0}


def test_p_values_of_equal_systems_are_small_as_seldom_as_they_say() -> None:
    random = np.random.default_rng(6)
    tests = [paired_tests(*shares(*(random.random((2, 200)) < 0.5)))["exact_match"] for _ in range(60)]
    assert 1 <= sum(test["p"] < 0.1 for test in tests) <= 14


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9, 0.6]) == [1.0, 1.0, 1.0]
    assert holm([0.02]) == [0.02] and holm([]) == []


def test_the_mean_of_systems_scores_as_all_their_outputs_do() -> None:
    scorer = Scorer([[pair.target] for pair in PAIRS])
    counts = [scorer.counts(outputs)[0] for outputs in (RIGHT, ONE_WRONG, ["", "d", "e f"])]
    every = Scorer([[pair.target] for pair in PAIRS] * 3).counts([*RIGHT, *ONE_WRONG, "", "d", "e f"])[0]
    assert SentenceCounts.mean(counts).scores() == pytest.approx(every.scores())
