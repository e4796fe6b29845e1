"""Teacher-forced scores do not depend on batches, padding or order."""

import math

import pytest
from random_models import random_model

from seq2see.data import EncodedPairs, make_loader
from seq2see.decoding import teacher_forced
from seq2see.evaluation import SentenceCounts
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import Tokenizer


def test_loss_and_perplexity_do_not_depend_on_the_batches_nor_on_the_order() -> None:
    pairs = [Pair("a b c d"[: 2 * n - 1], "d c b a"[: 2 * m - 1]) for n in range(1, 5) for m in range(1, 5)]
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b c d"])
    model = random_model(vocab_size=tokenizer.vocab_size)
    encoded = EncodedPairs.from_pairs(pairs, tokenizer, tokenizer)
    forced, *others = (
        teacher_forced(model, make_loader(encoded, batch_size=size, shuffle=size == 3, seed=3))
        for size in (1, 3, 7, 64)
    )
    for other in others:
        assert other.totals == pytest.approx(forced.totals, abs=1e-9)
        assert [len(own) for own in other.log_probs] == [len(pair.target.split()) + 1 for pair in pairs]
    scores = SentenceCounts(forced.columns([[place] for place in range(len(pairs))])).scores()
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["loss"] * sum(map(len, forced.right)) == pytest.approx(-sum(forced.totals))
    assert scores["target_log_prob"] == pytest.approx(sum(forced.totals) / len(pairs))
    assert 0 <= scores["token_accuracy"] <= 1
