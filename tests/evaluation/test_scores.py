import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.significance import _bootstrap_resample
from torchmetrics.functional.text import char_error_rate, word_error_rate

from seq2see.evaluation.scores import Scorer, SentenceCounts, interval
from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

OUTPUTS = ["the dog sleeps .", "", "a", "the cat , the cat", "a <unk> b"]
REFERENCES = ["the dog sleeps .", "the cat sees the dog .", "a b", "the <unk> cat", "a b"]
WORDS = Tokenizer.fit(TokenizerKind.word, ["the dog sleeps . cat sees , a b c d e"])
PERFECT = {"exact_match": 1.0, "bleu": 100.0, "chrf": 100.0, "cer": 0.0, "wer": 0.0, "ser": 0.0}
NOTHING = {"exact_match": 0.0, "bleu": 0.0, "chrf": 0.0, "cer": 1.0, "wer": 1.0, "ser": 1.0}


def counts_of(outputs: list[str], references: list[str]) -> SentenceCounts:
    return Scorer([[reference] for reference in references], WORDS).counts(outputs)[0]


def scores_of(outputs: list[str], references: list[str], tokenizer: Tokenizer = WORDS) -> dict[str, float]:
    return Scorer([[reference] for reference in references], tokenizer).counts(outputs)[0].scores()


# Scores


def test_bleu_and_chrf_are_sacrebleus_also_of_references_too_short_for_bleu_and_in_chinese() -> None:
    for outputs, references, tokenizer in (
        (OUTPUTS, REFERENCES, "13a"),
        (["a b c", "d"], ["a b c", "d"], "13a"),
        (["我有三只猫"], ["我有两只猫"], "zh"),
    ):
        scores = scores_of(outputs, references)
        assert scores["bleu"] == sacrebleu.corpus_bleu(outputs, [references], tokenize=tokenizer, force=True).score
        assert scores["chrf"] == sacrebleu.corpus_chrf(outputs, [references]).score


@given(st.lists(st.tuples(*[st.text("abc ", max_size=12)] * 2), min_size=1, max_size=8))
def test_any_error_rates_are_torchmetrics(pairs: list[tuple[str, str]]) -> None:
    outputs, references = ([*side, "a"] for side in zip(*pairs, strict=True))  # one length is not zero
    scores = scores_of(outputs, references)
    assert scores["cer"] == pytest.approx(float(char_error_rate(outputs, references)), rel=1e-6)
    assert scores["wer"] == pytest.approx(float(word_error_rate(outputs, references)), rel=1e-6)


def test_scores_by_hand() -> None:
    scores = scores_of(["a b c", "x"], ["a b d", "x"])
    assert (scores["exact_match"], scores["wer"], scores["ser"], scores["cer"]) == (0.5, 1 / 4, 1 / 4, 1 / 6)
    assert scores_of(REFERENCES, REFERENCES) == pytest.approx(PERFECT)
    assert scores_of(["", ""], ["the dog sleeps .", "a b c d"]) == NOTHING


def test_a_symbol_is_a_token_of_the_target_tokenizer() -> None:
    pieces = Tokenizer.fit(TokenizerKind.bpe, ["abab abab abab cd ce"] * 9, vocab_size=270)
    letters, words = Tokenizer.fit(TokenizerKind.char, ["abcde"]), Tokenizer.fit(TokenizerKind.word, ["abab"])
    for tokenizer, length in ((letters, 7), (words, 2), (pieces, len(pieces.encode("abab ce")))):
        assert scores_of(["abab cd"], ["abab ce"], tokenizer)["ser"] == 1 / length


def test_an_unknown_word_is_not_right_because_the_reference_is_unknown_too() -> None:
    scores = scores_of([WORDS.decode(WORDS.encode("a Haus"))], ["a Haus"])
    assert (scores["exact_match"], scores["ser"]) == (0.0, 0.5)


def test_any_of_several_references_is_right_and_errors_are_those_against_the_nearest() -> None:
    counts, nearest = Scorer([["a b c d", "x y"], ["d e"], ["a", "b"]], WORDS).counts(["x z", "d e", "b"])
    scores = counts.scores()
    assert nearest == [1, 0, 1] and scores["exact_match"] == 2 / 3 and scores["wer"] == 1 / 5


def test_several_references_score_as_sacrebleu_scores_them_and_the_signature_says_so() -> None:
    outputs = ["the cat sat there", "a dog sleeps here now"]
    scorer = Scorer([["the cat sat here", "the cat was sitting there"], ["a dog sleeps now"]], WORDS)
    streams = [["the cat sat here", "a dog sleeps now"], ["the cat was sitting there", None]]
    bleu, scores = sacrebleu.BLEU(force=True), scorer.counts(outputs)[0].scores()
    assert scores["bleu"] == bleu.corpus_score(outputs, streams).score  # type: ignore[arg-type]
    assert scores["chrf"] == sacrebleu.CHRF().corpus_score(outputs, streams).score  # type: ignore[arg-type]
    assert scorer.signatures["bleu"] == str(bleu.get_signature()) and "nrefs:var" in scorer.signatures["bleu"]


@pytest.mark.parametrize(
    ("references", "name"),
    [
        (["the cat"], "13a"),
        (["...", "1 2", ""], "13a"),
        (["кошка спит"], "13a"),
        (["고양이가 잔다"], "13a"),
        (["猫在睡觉。", "OK"], "zh"),
        (["猫が寝ている。"], "char"),
        (["東京都知事が新法案を発表した"], "char"),
        (["แมวกำลังนอน"], "char"),
    ],
)
def test_the_tokenizer_of_bleu_follows_the_script_of_most_letters(references: list[str], name: str) -> None:
    scorer = Scorer([references], WORDS)
    assert scorer.bleu_tokenizer["name"] == name and scorer.bleu_tokenizer["reason"]
    assert f"tok:{name}" in scorer.signatures["bleu"]


def test_scores_of_some_sentences_are_those_of_a_set_of_them() -> None:
    some = np.array([0, 3])
    of_some = scores_of([OUTPUTS[place] for place in some], [REFERENCES[place] for place in some])
    assert counts_of(OUTPUTS, REFERENCES).scores(some) == of_some


# How sure they are


def corpus(*, seed: int, size: int = 60) -> tuple[list[str], list[str]]:
    """Outputs, of which about half are right, and references."""
    random = np.random.default_rng(seed)
    references = [" ".join(random.choice(list("abcde"), size=7)) for _ in range(size)]
    return [text if random.random() < 0.5 else text[:6] + "e" + text[7:] for text in references], references


def test_bleu_and_chrf_are_resampled_as_sacrebleu_resamples_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    outputs, references = corpus(seed=0)
    ours = counts_of(outputs, references).resampled()
    for name, metric in (("bleu", sacrebleu.BLEU(force=True)), ("chrf", sacrebleu.CHRF())):
        stats = metric._extract_corpus_statistics(outputs, [references])
        _, theirs = _bootstrap_resample(stats, metric, 1000)
        assert ours[name] == pytest.approx([score.score for score in theirs], rel=1e-4)


def test_an_interval_is_the_middle_95_percent_and_holds_the_score() -> None:
    counts = counts_of(*corpus(seed=1))
    assert interval(np.arange(1001.0)) == [25.0, 975.0]
    assert counts.intervals() == counts.intervals() == {name: interval(of) for name, of in counts.resampled().items()}
    assert all(low <= counts.scores()[name] <= high for name, (low, high) in counts.intervals().items())


def test_the_interval_of_exact_match_is_that_of_a_share_and_shrinks_with_more_sentences() -> None:
    for size in (100, 400):
        counts = counts_of(*corpus(seed=3, size=size))
        share, (low, high) = counts.scores()["exact_match"], counts.intervals()["exact_match"]
        assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(share * (1 - share) / size), rel=0.1)
