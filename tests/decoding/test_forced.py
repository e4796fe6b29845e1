import math

import pytest
import torch

from seq2see.data import EncodedPairs, make_loader
from seq2see.decoding import teacher_forced
from seq2see.evaluation import SentenceCounts
from seq2see.options import ModelOptions, TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer


def test_loss_and_perplexity_do_not_depend_on_the_batches() -> None:
    torch.manual_seed(0)
    pairs = [Pair("a b c d"[: 2 * n - 1], "d c b a"[: 2 * m - 1]) for n in range(1, 5) for m in range(1, 5)]
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b c d"])
    model = Transformer(ModelOptions(d_model=16, num_heads=2), tokenizer.vocab_size, tokenizer.vocab_size).double()
    encoded = EncodedPairs.from_pairs(pairs, tokenizer, tokenizer)
    forced = [
        teacher_forced(model, make_loader(encoded, batch_size=size, shuffle=False, seed=0)) for size in (1, 7, 64)
    ]
    for other in forced:
        assert other.totals == pytest.approx(forced[0].totals, abs=1e-9)
        assert [len(own) for own in other.log_probs] == [len(pair.target.split()) + 1 for pair in pairs]
    groups = [[place] for place in range(len(pairs))]
    scores = SentenceCounts(forced[0].columns(groups)).scores()
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["loss"] * sum(map(len, forced[0].right)) == pytest.approx(-sum(forced[0].totals))
    assert scores["target_log_prob"] == pytest.approx(sum(forced[0].totals) / len(pairs))
    assert 0 <= scores["token_accuracy"] <= 1


def test_the_sums_of_each_pair_come_in_the_order_of_the_pairs_however_they_were_shuffled() -> None:
    torch.manual_seed(0)
    pairs = [Pair("a b"[: 2 * n - 1], " ".join("a" * m)) for n in (1, 2) for m in range(1, 6)]
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b"])
    model = Transformer(ModelOptions(d_model=16, num_heads=2), tokenizer.vocab_size, tokenizer.vocab_size).double()
    encoded = EncodedPairs.from_pairs(pairs, tokenizer, tokenizer)
    in_order = teacher_forced(model, make_loader(encoded, batch_size=4, shuffle=False, seed=0))
    shuffled = teacher_forced(model, make_loader(encoded, batch_size=3, shuffle=True, seed=3))
    assert shuffled.totals == pytest.approx(in_order.totals, abs=1e-9)
