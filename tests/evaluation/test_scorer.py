import numpy as np
import pytest
import sacrebleu
from torchmetrics.functional.text import char_error_rate, word_error_rate

from seq2see.evaluation import BleuTokenizer, Scorer
from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

OUTPUTS = ["the dog sleeps .", "", "a", "the cat , the cat", "a <unk> b"]
REFERENCES = ["the dog sleeps .", "the cat sees the dog .", "a b", "the <unk> cat", "a b"]
WORDS = Tokenizer.fit(TokenizerKind.word, ["the dog sleeps . cat sees , a b"])


def scores_of(outputs: list[str], references: list[list[str]], tokenizer: Tokenizer = WORDS) -> dict[str, float]:
    return Scorer(references, tokenizer).counts(outputs)[0].scores()


def one_each(references: list[str]) -> list[list[str]]:
    return [[reference] for reference in references]


def test_bleu_and_chrf_are_sacrebleus() -> None:
    scores = scores_of(OUTPUTS, one_each(REFERENCES))
    assert scores["bleu"] == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES], force=True).score
    assert scores["chrf"] == sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score


def test_error_rates_are_torchmetrics() -> None:
    scores = scores_of(OUTPUTS, one_each(REFERENCES))
    assert scores["cer"] == pytest.approx(float(char_error_rate(OUTPUTS, REFERENCES)), abs=1e-6)
    assert scores["wer"] == pytest.approx(float(word_error_rate(OUTPUTS, REFERENCES)), abs=1e-6)


def test_scores_by_hand() -> None:
    scores = scores_of(["a b c", "x"], [["a b d"], ["x"]])
    assert scores["exact_match"] == 0.5
    assert scores["wer"] == scores["ser"] == pytest.approx(1 / 4)
    assert scores["cer"] == pytest.approx(1 / 6)


def test_perfect_output_has_perfect_scores() -> None:
    scores = scores_of(REFERENCES, one_each(REFERENCES))
    assert [scores[name] for name in ("exact_match", "cer", "wer", "ser")] == [1.0, 0.0, 0.0, 0.0]
    assert scores["bleu"] == pytest.approx(100.0) and scores["chrf"] == pytest.approx(100.0)


def test_all_empty_output_scores_zero() -> None:
    scores = scores_of(["", ""], [["the dog sleeps ."], ["a b c d"]])
    assert [scores[name] for name in ("exact_match", "bleu", "chrf")] == [0.0, 0.0, 0.0]
    assert [scores[name] for name in ("cer", "wer", "ser")] == [1.0, 1.0, 1.0]


def test_references_of_fewer_than_four_tokens_have_the_bleu_that_sacrebleu_gives_them() -> None:
    outputs = references = ["a b c", "d"]
    assert scores_of(outputs, one_each(references))["bleu"] == sacrebleu.corpus_bleu(outputs, [references]).score == 0


def test_a_symbol_is_a_token_of_the_target_tokenizer() -> None:
    outputs, references = ["abab cd"], [["abab ce"]]
    pieces = Tokenizer.fit(TokenizerKind.bpe, ["abab abab abab cd ce"] * 9, vocab_size=270)
    rate = {
        "char": scores_of(outputs, references, Tokenizer.fit(TokenizerKind.char, ["abcde"]))["ser"],
        "word": scores_of(outputs, references, Tokenizer.fit(TokenizerKind.word, ["abab"]))["ser"],
        "bpe": scores_of(outputs, references, pieces)["ser"],
    }
    assert rate["char"] == pytest.approx(1 / 7) and rate["word"] == pytest.approx(1 / 2)
    assert rate["bpe"] == pytest.approx(1 / len(pieces.encode("abab ce")))


def test_an_unknown_word_is_not_right_because_the_reference_is_unknown_too() -> None:
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b"])
    written = tokenizer.decode(tokenizer.encode("a Haus"))
    scores = scores_of([written], [["a Haus"]], tokenizer)
    assert (scores["exact_match"], scores["ser"]) == (0.0, 0.5)


def test_any_of_several_references_is_right_and_errors_are_those_against_the_nearest() -> None:
    counts, nearest = Scorer([["a b c d", "x y"], ["d e"]], WORDS).counts(["x z", "d e"])
    scores = counts.scores()
    assert nearest.tolist() == [1, 0]
    assert scores["exact_match"] == 0.5 and scores["wer"] == pytest.approx(1 / 4)
    assert Scorer([["a", "b"]], WORDS).counts(["b"])[0].scores()["exact_match"] == 1.0


def test_several_references_score_as_sacrebleu_scores_them_and_the_signature_says_so() -> None:
    outputs = ["the cat sat there", "a dog sleeps here now"]
    references = [["the cat sat here", "the cat was sitting there"], ["a dog sleeps now"]]
    scorer = Scorer(references, WORDS)
    scores = scorer.counts(outputs)[0].scores()
    streams = [["the cat sat here", "a dog sleeps now"], ["the cat was sitting there", None]]
    bleu = sacrebleu.BLEU(force=True)
    assert scores["bleu"] == bleu.corpus_score(outputs, streams).score  # type: ignore[arg-type]
    assert scores["chrf"] == sacrebleu.CHRF().corpus_score(outputs, streams).score  # type: ignore[arg-type]
    assert scorer.signatures["bleu"] == str(bleu.get_signature()) and "nrefs:var" in scorer.signatures["bleu"]


@pytest.mark.parametrize(
    ("references", "name"),
    [
        (["the cat"], "13a"),
        (["a b c", "1 2"], "13a"),
        (["...", ""], "13a"),
        (["кошка спит"], "13a"),
        (["고양이가 잔다"], "13a"),
        (["猫在睡觉。", "OK"], "zh"),
        (["猫が寝ている。"], "char"),
        (["東京都知事が新法案を発表した"], "char"),
        (["แมวกำลังนอน"], "char"),
    ],
)
def test_the_tokenizer_of_bleu_follows_the_script_of_most_letters(references: list[str], name: str) -> None:
    scorer = Scorer(one_each(references), Tokenizer.fit(TokenizerKind.char, references))
    assert scorer.bleu_tokenizer.name == name and scorer.bleu_tokenizer.reason
    assert f"tok:{name}" in scorer.signatures["bleu"]
    assert BleuTokenizer.choose(references) == scorer.bleu_tokenizer


def test_chinese_is_scored_character_by_character() -> None:
    outputs, references = ["我有三只猫"], ["我有两只猫"]
    bleu = scores_of(outputs, one_each(references))["bleu"]
    assert bleu == sacrebleu.corpus_bleu(outputs, [references], tokenize="zh").score > 0


def test_scores_of_some_sentences_are_those_of_a_set_of_them() -> None:
    counts, _ = Scorer(one_each(REFERENCES), WORDS).counts(OUTPUTS)
    some = np.array([0, 3])
    of_some = scores_of([OUTPUTS[place] for place in some], one_each([REFERENCES[place] for place in some]))
    assert counts.scores(some) == of_some
