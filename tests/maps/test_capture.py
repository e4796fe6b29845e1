"""What is captured: the weights that the model computes with, their norms, and those of its own outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from planted_log import small_model

from seq2see.data import Batch
from seq2see.decoding import LengthLimit
from seq2see.maps import AttentionLog, Example, Maps
from seq2see.maps.arrays import KINDS, visible
from seq2see.maps.capture import capture, fed_back, snapshot
from seq2see.options import NormOrder, Position, Score
from seq2see.text import BOS, EOS, PAD

LIMIT = LengthLimit(ratio=1.0, slack=3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": NormOrder.pre},
        {"share_layers": True},
        {"score": Score.additive, "position": Position.none},
        {"score": Score.dot, "position": Position.relative},
        {"position": Position.rope, "cross_position": Position.rope},
        {"position": Position.alibi, "window": 1},
        {"position": Position.learned},
        {"num_kv_heads": 1},
    ],
    ids=str,
)
def test_rows_sum_to_one_and_hidden_cells_are_zero_whatever_the_model(options: dict, batch: Batch) -> None:
    maps, hypotheses = snapshot(small_model(**options), batch, limit=LIMIT)
    log, tokens = log_of(batch), labels(hypotheses)
    log.append(0, maps, hypothesis_tokens=tokens)
    assert set(maps.named()) == set(Maps._fields)
    for name, array in maps.named().items():
        cells = visible(name, log.examples, tokens)
        assert array.shape[:3] == (3, 3 if name.startswith("encoder") else 1, 2)
        assert array.dtype == np.float32
        assert (array[np.broadcast_to(~cells[:, None, None], array.shape)] == 0).all()
        np.testing.assert_allclose(
            array.sum(-1), np.broadcast_to(cells.any(-1)[:, None, None], array.shape[:-1]), atol=1e-5
        )


@pytest.mark.parametrize("num_kv_heads", [2, 1])
def test_a_norm_is_the_length_of_what_a_key_adds_to_the_output(batch: Batch, num_kv_heads: int) -> None:
    model = small_model(num_kv_heads=num_kv_heads).eval()
    attention = model.decoder_layers[0].cross_attention.attention  # pyright: ignore
    torch.nn.init.normal_(attention.v_proj.bias)
    torch.nn.init.normal_(attention.out_proj.bias)
    maps = capture(model, batch, norms=True)
    assert maps.cross_norm is not None
    memory = model.encode(batch.src, batch.src_mask)
    value = attention.v_proj(memory).repeat(1, 1, 2 // num_kv_heads)  # both heads' values side by side
    for pair, head, query in ((0, 0, 1), (1, 1, 4)):
        own = torch.zeros(16)
        own[head * 8 : (head + 1) * 8] = 1
        added = [
            float(maps.cross[pair, 0, head, query, key])
            * (attention.out_proj.weight @ (value[pair, key] * own)).norm().item()
            for key in range(batch.src.shape[1])
        ]
        np.testing.assert_allclose(maps.cross_norm[pair, 0, head, query], np.array(added) / sum(added), atol=1e-5)


def test_norms_are_weights_where_all_keys_give_the_same_and_nothing_where_nothing_is_added(batch) -> None:
    model = small_model()
    value = model.decoder_layers[0].cross_attention.attention.v_proj
    torch.nn.init.zeros_(value.weight)
    torch.nn.init.ones_(value.bias)
    torch.nn.init.zeros_(model.encoder_layers[1].self_attention.attention.out_proj.weight)
    maps = capture(model, batch, norms=True)
    np.testing.assert_allclose(maps.cross_norm, maps.cross, atol=1e-6)
    assert (maps.encoder_norm[:, 1] == 0).all() and maps.encoder_norm[:, 0].any()


def test_own_outputs_are_decoded_and_fed_back_and_nothing_is_left_behind(batch: Batch) -> None:
    model = small_model().train()
    torch.nn.init.normal_(model.output_proj.weight)
    before, weights = torch.get_rng_state(), {name: value.clone() for name, value in model.state_dict().items()}
    maps, hypotheses = snapshot(model, batch, limit=LIMIT)
    assert all(module.training for module in model.modules()) and torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
    own = fed_back(batch, hypotheses)
    for row, said in enumerate(hypotheses):
        written = [*said.ids, *[EOS] * said.ended]
        assert own.tgt_out[row, : len(written)].tolist() == written
        assert own.tgt_in[row, : len(written)].tolist() == [BOS, *written[:-1]]
        assert len(written) <= LIMIT.of(int(batch.src_mask[row].sum()))
    again = capture(model, own)
    for free, name in (("cross_free", "cross"), ("decoder_free", "decoder"), ("encoder", "encoder")):
        np.testing.assert_allclose(maps.named()[free], again.named()[name], atol=1e-6)
    np.testing.assert_array_equal(maps.cross, capture(model, batch).cross)


def test_maps_are_those_of_the_pair_in_any_batch_and_norms_only_if_asked_for(batch: Batch) -> None:
    model = small_model()
    alone, together = capture(model, Batch(*(part[:1] for part in batch)), norms=True), capture(model, batch)
    assert set(together.named()) == set(KINDS)
    for kind in KINDS:
        one, many = alone.named()[kind], together.named()[kind][:1]
        np.testing.assert_allclose(
            one[..., : many.shape[-2], :], many[..., : one.shape[-2], : one.shape[-1]], atol=1e-6
        )


def labels(hypotheses) -> list[list[str]]:
    return [[*map(str, said.ids), *["<eos>"] * said.ended] for said in hypotheses]


def log_of(batch: Batch) -> AttentionLog:
    """An empty log of these pairs."""

    def tokens(ids: torch.Tensor) -> list[str]:
        return [*map(str, ids[ids != PAD].tolist()[:-1]), "<eos>"]

    examples = [
        Example(number, "s", "t", tuple(tokens(src)), tuple(tokens(tgt)))
        for number, (src, tgt) in enumerate(zip(batch.src, batch.tgt_out, strict=True))
    ]
    model = {"d_model": 16, "num_heads": 2, "num_encoder_layers": 3, "num_decoder_layers": 1}
    return AttentionLog.create(None, examples=examples, model=model)
