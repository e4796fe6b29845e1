import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import _bootstrap_resample

from seq2see.evaluation import Scorer, SentenceCounts, interval, intervals, paired_tests, resampled
from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

WORDS = Tokenizer.fit(TokenizerKind.word, ["a b c d e"])


def corpus(share_right: float, *, seed: int, size: int = 60) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    references = [" ".join(random.choice(list("abcde"), size=7)) for _ in range(size)]
    outputs = [text if random.random() < share_right else text[:6] + "e" + text[7:] for text in references]
    return outputs, references


def counts_of(outputs: list[str], references: list[str]) -> SentenceCounts:
    return Scorer([[reference] for reference in references], WORDS).counts(outputs)[0]


def test_bleu_and_chrf_are_resampled_as_sacrebleu_resamples_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    outputs, references = corpus(0.5, seed=0)
    ours = resampled(counts_of(outputs, references))
    for name, metric in (("bleu", sacrebleu.BLEU(force=True)), ("chrf", sacrebleu.CHRF())):
        stats = metric._extract_corpus_statistics(outputs, [references])
        _, theirs = _bootstrap_resample(stats, metric, 1000)
        assert ours[name] == pytest.approx([score.score for score in theirs], rel=1e-4)


def test_an_interval_holds_the_score_and_the_middle_95_percent() -> None:
    counts = counts_of(*corpus(0.5, seed=1))
    scores = counts.scores()
    for name, (low, high) in intervals(counts).items():
        assert low <= scores[name] <= high
        assert np.mean((resampled(counts)[name] >= low) & (resampled(counts)[name] <= high)) >= 0.95
    assert interval(np.arange(1001.0)) == (25.0, 975.0)


def test_intervals_repeat_themselves_and_shrink_with_more_sentences() -> None:
    few, many = (counts_of(*corpus(0.5, seed=2, size=size)) for size in (40, 400))
    assert intervals(few) == intervals(few)
    (low, high), (lower, higher) = intervals(few)["exact_match"], intervals(many)["exact_match"]
    assert higher - lower < (high - low) / 2


def test_the_interval_of_exact_match_is_that_of_a_share() -> None:
    counts = counts_of(*corpus(0.5, seed=3, size=400))
    share = counts.scores()["exact_match"]
    low, high = intervals(counts)["exact_match"]
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(share * (1 - share) / 400), rel=0.1)


def test_a_system_is_not_better_than_itself() -> None:
    counts = counts_of(*corpus(0.5, seed=4))
    for test in paired_tests(counts, counts).values():
        assert test == (0.0, (0.0, 0.0), 1.0)


def test_a_clearly_better_system_is_found_and_a_chance_difference_is_not() -> None:
    worse, references = corpus(0.3, seed=5)
    better = [reference if place % 2 else worse[place] for place, reference in enumerate(references)]
    other = worse[:]
    other[0], other[1] = references[0], references[1][:6] + "e"
    counts = [counts_of(outputs, references) for outputs in (worse, better, other)]
    test = paired_tests(counts[0], counts[1])["exact_match"]
    assert test.difference > 0.2 and test.interval[0] > 0 and test.p < 0.01
    assert paired_tests(counts[1], counts[0])["exact_match"].difference == -test.difference
    assert paired_tests(counts[0], counts[2])["exact_match"].p > 0.2


def test_p_values_of_equal_systems_are_small_as_seldom_as_they_say() -> None:
    random = np.random.default_rng(6)
    small = 0
    for _ in range(60):
        right = random.random((2, 200)) < 0.5
        counts = [SentenceCounts({"exact_match": np.stack([one, np.ones(200)], axis=1)}) for one in right]
        small += paired_tests(*counts)["exact_match"].p < 0.1
    assert 1 <= small <= 14
