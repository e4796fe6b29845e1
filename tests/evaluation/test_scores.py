import math

import pytest
import sacrebleu
import torch

from seq2see.data import EncodedPairs, make_loader
from seq2see.evaluation import TokenTotals, error_rates, signatures, teacher_forced, text_scores
from seq2see.options import ModelOptions, TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

HYPOTHESES = ["the dog sleeps .", "", "a", "the cat , the cat"]
REFERENCES = ["the dog sleeps .", "the cat sees the dog .", "a b", "the <unk> cat"]


def test_bleu_and_chrf_are_sacrebleus() -> None:
    scores = text_scores(HYPOTHESES, REFERENCES)
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], force=True).score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)


def test_exact_match_and_error_rates_by_hand() -> None:
    scores = text_scores(["a b c", "x"], ["a b d", "x"]) | error_rates(["a b c", "x"], ["a b d", "x"])
    assert scores["exact_match"] == 0.5
    assert scores["wer"] == pytest.approx(1 / 4)
    assert scores["cer"] == pytest.approx(1 / 6)


def test_perfect_output_has_perfect_scores() -> None:
    scores = text_scores(REFERENCES, REFERENCES) | error_rates(REFERENCES, REFERENCES)
    assert (scores["exact_match"], scores["cer"], scores["wer"]) == (1.0, 0.0, 0.0)
    assert scores["bleu"] == pytest.approx(100.0) and scores["chrf"] == pytest.approx(100.0)


def test_all_empty_output_scores_zero() -> None:
    references = ["the dog sleeps .", "a b c d"]
    scores = text_scores(["", ""], references) | error_rates(["", ""], references)
    assert (scores["exact_match"], scores["bleu"], scores["chrf"]) == (0.0, 0.0, 0.0)
    assert (scores["cer"], scores["wer"]) == (1.0, 1.0)


def test_nothing_to_score_gives_no_scores() -> None:
    assert text_scores([], []) == {} and error_rates([], []) == {} and TokenTotals().scores() == {}


def test_signatures_name_the_tokenisation() -> None:
    assert "tok:13a" in signatures()["bleu"]


def test_loss_and_perplexity_do_not_depend_on_the_batches() -> None:
    torch.manual_seed(0)
    pairs = [Pair("a b c d"[: 2 * n - 1], "d c b a"[: 2 * m - 1]) for n in range(1, 5) for m in range(1, 5)]
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b c d"])
    model = Transformer(ModelOptions(d_model=16, num_heads=2), tokenizer.vocab_size, tokenizer.vocab_size).double()
    encoded = EncodedPairs.from_pairs(pairs, tokenizer, tokenizer)
    totals = [
        teacher_forced(model, make_loader(encoded, batch_size=size, shuffle=False, seed=0)) for size in (1, 7, 64)
    ]
    for other in totals:
        assert other.loss == pytest.approx(totals[0].loss, abs=1e-9)
        assert other.tokens == sum(len(pair.target.split()) + 1 for pair in pairs)
    scores = totals[0].scores()
    assert scores["perplexity"] == pytest.approx(math.exp(totals[0].loss / totals[0].tokens))
