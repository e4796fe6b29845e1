"""What source words cause: against models that were changed by hand, and how attention is compared with it."""

from __future__ import annotations

import base64
import copy
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_log import small_model
from torch import Tensor
from torchmetrics.functional.regression import kendall_rank_corrcoef

from seq2see.decoding import load
from seq2see.evaluation.report import cause_lines
from seq2see.maps import causes
from seq2see.maps.causes import LARGEST, WordEffects, agreement, for_page, rank_correlation, verdict, word_effects
from seq2see.options import NormOrder, Position, Score
from seq2see.text import BOS, EOS
from seq2see.transformer import Transformer

SOURCE, TARGET, WORDS = [5, 6, 7, 8], [6, 5, 9], [0, 1, 1, 2]  # the second word has two tokens


def lively(**options: object) -> Transformer:
    """A model whose outputs lean on the source."""
    model = small_model(**{"num_decoder_layers": 2, **options})
    torch.manual_seed(1)
    torch.nn.init.normal_(model.output_proj.weight, std=0.5)
    for layer in model.decoder_layers:
        layer.cross_attention.attention.out_proj.weight.data *= 4
    return model.eval()


def scores(model: Transformer, src: list[int], seen: list[bool] | None = None) -> Tensor:
    """Of each target token; the encoder sees the whole source, cross attention perhaps less."""
    tgt_in, tgt_out, ids = torch.tensor([[BOS, *TARGET]]), torch.tensor([*TARGET, EOS]), torch.tensor([[*src, EOS]])
    with torch.no_grad():
        memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        logits = model.decode(tgt_in, memory, torch.tensor([seen or [True] * len(ids[0])]))[0]
    return logits.log_softmax(-1).gather(1, tgt_out[:, None])[:, 0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": NormOrder.pre, "position": Position.relative},
        {"num_kv_heads": 1},
        {"score": Score.additive, "position": Position.none},
    ],
    ids=str,
)
def test_a_word_left_out_is_not_in_the_source_and_one_blocked_everywhere_is_masked(options: dict) -> None:
    model = lively(**options)
    effects, whole = word_effects(model, SOURCE, TARGET, WORDS), scores(model, SOURCE)
    assert effects.left_out.shape == effects.blocked_everywhere.shape == (4, 3)
    for word, (rest, seen) in enumerate(
        [([6, 7, 8], [0, 1, 1, 1, 1]), ([5, 8], [1, 0, 0, 1, 1]), ([5, 6, 7], [1, 1, 1, 0, 1])]
    ):
        left_out, blocked = scores(model, rest) - whole, scores(model, SOURCE, list(map(bool, seen))) - whole
        assert effects.left_out[:, word] == pytest.approx(left_out, abs=1e-5)
        assert effects.blocked_everywhere[:, word] == pytest.approx(blocked, abs=1e-5)
        assert left_out.abs().max() > 0.01 and blocked.abs().max() > 0.01, "the test sees something"


def test_blocked_in_a_head_or_layer_is_blocked_there_alone() -> None:
    model = lively()
    attention = model.decoder_layers[0].cross_attention.attention
    with torch.no_grad():  # the second head of the first layer is the only one that says anything
        model.decoder_layers[1].cross_attention.attention.out_proj.weight.zero_()
        attention.out_proj.weight[:, :8] = 0
    effects = word_effects(model, SOURCE, TARGET, WORDS)
    assert effects.blocked is not None and np.abs(effects.blocked_everywhere).max() > 0.01
    assert effects.blocked[0, 1] == pytest.approx(effects.blocked_everywhere, abs=1e-5)
    assert effects.blocked_in_layer[0] == pytest.approx(effects.blocked_everywhere, abs=1e-5)
    assert np.abs(effects.blocked[0, 0]).max() < 1e-5 and np.abs(effects.blocked[1]).max() < 1e-5


def test_a_layer_at_several_depths_is_blocked_at_each_as_if_it_were_several() -> None:
    model = lively(share_layers=True)
    shared = word_effects(model, SOURCE, TARGET, WORDS)
    model.decoder_layers = torch.nn.ModuleList(copy.deepcopy(layer) for layer in model.decoder_layers)
    for one, other in zip(shared, word_effects(model, SOURCE, TARGET, WORDS), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_some_words_in_small_batches_without_heads_have_the_same_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lively().train()
    whole = word_effects(model, SOURCE, TARGET, WORDS)
    monkeypatch.setattr(causes, "MOST_NUMBERS", 1)
    some = word_effects(model, SOURCE, TARGET, WORDS, words=[2, 0], heads=False)
    assert some.blocked is None and model.training
    assert some.left_out == pytest.approx(whole.left_out[:, [2, 0]], abs=1e-5)
    assert some.blocked_in_layer == pytest.approx(whole.blocked_in_layer[..., [2, 0]], abs=1e-5)
    assert all(not module._forward_pre_hooks for module in model.modules())
    assert word_effects(model, SOURCE, [], [0, 0, 0, 0]).left_out.shape == (1, 1)  # nothing but the end on both sides


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_ranks_are_compared_as_torchmetrics_compares_them(pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs, np.float32).T
    tau = rank_correlation(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert np.isnan(tau)
        return
    expected = kendall_rank_corrcoef(torch.tensor(one), torch.tensor(other), variant="b")
    assert tau == pytest.approx(float(expected), abs=1e-5)
    assert rank_correlation(one, one) == pytest.approx(1) and rank_correlation(one, -one) == pytest.approx(-1)


def test_agreement_is_perfect_where_words_cause_what_attention_says(
    small_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = load(str(small_run))
    texts = ["a b c d", "d c b a b", "a"]
    sources = trained.source_tokenizer.encode_batch(texts)
    words = [trained.source_tokenizer.word_numbers(text) for text in texts]
    asked = [(source, source[:3]) for source in sources]
    measured = agreement(trained, asked, words)
    assert measured is not None and measured == agreement(trained, asked, words)  # the draw is fixed
    assert measured["of"] == 3 and measured["pairs"] == sum(len(set(own)) > 1 for own in words)
    assert 0 < measured["chance"] < 1 and -1 <= measured["best"]["tau"] <= 1

    shown = {tuple(source): cross for (source, _), cross in zip(asked, crosses(trained, asked), strict=True)}

    def as_attention(model, source, target, of_source, *, words) -> WordEffects:
        cross = shown[tuple(source)][..., list(words)]  # each token is a word
        return WordEffects(-cross[1, 0], cross[0, 0], cross[:, 0], -cross)

    monkeypatch.setattr(causes, "word_effects", as_attention)
    found = agreement(trained, asked[:2], [list(range(len(source))) for source in sources[:2]])
    assert found is not None
    assert (found["best"]["layer"], found["best"]["head"]) == (2, 1) and found["best"]["tau"] == pytest.approx(1)
    assert all(head["tau"] == pytest.approx(1) for heads in found["blocked"] for head in heads)
    assert all(head["same_first"] == 1 for heads in found["blocked"] for head in heads)
    assert found["left_out"][0][1]["tau"] < 0.99
    assert found["verdict"] == "attention ranks the words much as their effects do"
    assert agreement(trained, asked[:1], [[]]) is None  # no word, no order


def crosses(trained, asked) -> list[np.ndarray]:
    found = {index: cross for index, _, cross in causes.captured(trained, asked)}
    return [found[index] for index in range(len(asked))]


def test_the_verdict_follows_the_best_head_and_fits_80_columns() -> None:
    assert verdict(0.1, 0.9) == "attention hardly ranks the words as their effects do"
    assert verdict(0.5, 0.9) == "attention ranks the words in part as their effects do"
    assert verdict(0.5, 0.5).endswith("about as well as the two ways of taking words away agree")
    best = {"layer": 2, "head": 1, "tau": 0.3456, "same_first": 0.83}
    lines = cause_lines({"best": best, "between": {"tau": 0.44}, "rows": 1845, "verdict": verdict(0.3456, 0.44)})
    assert max(map(len, lines)) <= 80 and "0.35 at best (layer 2," in " ".join(lines)


def test_a_page_gets_all_changes_to_the_digits_that_it_shows() -> None:
    draw = np.random.default_rng(0)
    shapes = (4, 3), (4, 3), (2, 4, 3), (2, 2, 4, 3)
    effects = WordEffects(*(draw.normal(scale=5, size=shape).astype(np.float32) for shape in shapes))
    effects.left_out[0] = 0, -LARGEST, -1000
    sent = for_page(effects, [0, 1, 1, 2])
    assert sent["words"] == [[0, 1], [1, 2], [3, 1]]  # first token and how many
    read = np.frombuffer(zlib.decompress(base64.b64decode(sent["cells"])), "<i2") / 100
    cells = np.concatenate([own.ravel() for own in effects if own is not None])
    assert read[:3] == pytest.approx([0, -LARGEST, -LARGEST])
    assert read[3:] == pytest.approx(cells[3:], abs=0.0051)
