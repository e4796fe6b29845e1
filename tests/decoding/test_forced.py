import math

import pytest
import torch

from seq2see.data import EncodedPairs, make_loader
from seq2see.decoding import Hypothesis
from seq2see.evaluation import SentenceCounts, teacher_forced, tokens_in_place
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
        assert other.loss == pytest.approx(forced[0].loss, abs=1e-9)
        assert other.tokens.tolist() == [len(pair.target.split()) + 1 for pair in pairs]
    groups = [[place] for place in range(len(pairs))]
    scores = SentenceCounts(forced[0].columns(groups)).scores()
    assert scores["perplexity"] == pytest.approx(math.exp(forced[0].loss.sum() / forced[0].tokens.sum()))
    assert 0 <= scores["token_accuracy"] <= 1


def test_the_sums_of_each_pair_come_in_the_order_of_the_pairs_however_they_were_shuffled() -> None:
    torch.manual_seed(0)
    pairs = [Pair("a b"[: 2 * n - 1], " ".join("a" * m)) for n in (1, 2) for m in range(1, 6)]
    tokenizer = Tokenizer.fit(TokenizerKind.word, ["a b"])
    model = Transformer(ModelOptions(d_model=16, num_heads=2), tokenizer.vocab_size, tokenizer.vocab_size).double()
    encoded = EncodedPairs.from_pairs(pairs, tokenizer, tokenizer)
    in_order = teacher_forced(model, make_loader(encoded, batch_size=4, shuffle=False, seed=0))
    shuffled = teacher_forced(model, make_loader(encoded, batch_size=3, shuffle=True, seed=3))
    assert shuffled.loss == pytest.approx(in_order.loss, abs=1e-9)


@pytest.mark.parametrize(
    ("ids", "ended", "in_place"),
    [([5, 6, 7], True, 4), ([5, 6, 7], False, 3), ([5, 6], True, 2), ([9, 5, 6, 7], True, 0), ([], True, 0)],
)
def test_free_running_tokens_count_where_they_stand_in_their_place(ids: list[int], ended: bool, in_place: int) -> None:
    assert tokens_in_place(Hypothesis(ids, -1.0, ended), [5, 6, 7]) == in_place
