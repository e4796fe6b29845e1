"""Model options without a meaning are refused, and the reason names both sides."""

import pytest

from seq2see.options import ModelOptions, Position, Score


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(d_model=30, num_heads=4), r"model.d_model \(30\) must be divisible by model.num_heads \(4\)"),
        (dict(num_heads=3), r"model.d_model \(128\) must be divisible by model.num_heads \(3\)"),
        (dict(num_kv_heads=3), r"model.num_heads \(4\) must be divisible by model.num_kv_heads \(3\)"),
        (dict(num_heads=2, num_kv_heads=4), r"model.num_heads \(2\) must be divisible by model.num_kv_heads \(4\)"),
        (dict(num_kv_heads=0), r"model.num_kv_heads \(0\) must be positive"),
        (dict(d_model=12, num_heads=4), r"rope turns pairs of numbers: .*\(12 / 4 = 3\) must be even"),
        (
            dict(d_model=12, num_heads=4, position=Position.none, cross_position=Position.rope),
            r"rope turns pairs of numbers: .*\(12 / 4 = 3\) must be even",
        ),
        (
            dict(d_model=15, num_heads=3, position=Position.sinusoidal),
            "model.position=sinusoidal needs an even model.d_model, not 15",
        ),
        (
            dict(score=Score.additive),
            "model.score=additive has no dot product for model.position=rope to turn: use relative or alibi,",
        ),
        (
            dict(score=Score.additive, position=Position.none, cross_position=Position.rope),
            "model.score=additive has no dot product for model.cross_position=rope to turn: use relative or alibi or",
        ),
        (
            dict(cross_position=Position.sinusoidal),
            "model.cross_position=sinusoidal has no meaning: it is added to the emb",
        ),
        (
            dict(cross_position=Position.learned),
            "model.cross_position=learned has no meaning: it is added to the embedd",
        ),
        (
            dict(position=Position.none, randomize_positions=64),
            r"model.randomize_positions \(64\) has no meaning with model.position=none and model.cross_position=none",
        ),
        (
            dict(position=Position.learned, randomize_positions=64, max_positions=32),
            r"model.randomize_positions \(64\) must not exceed model.max_positions \(32\) with model.position=learned",
        ),
        (dict(dropout=1.0), r"model.dropout \(1.0\) must be at least 0 and less than 1"),
        (dict(attention_dropout=-0.1), r"model.attention_dropout \(-0.1\) must be at least 0 and less than 1"),
        (dict(num_decoder_layers=0), r"model.num_decoder_layers \(0\) must be positive"),
        (dict(window=0), r"model.window \(0\) must be positive"),
    ],
)
def test_a_combination_without_a_meaning_is_refused_with_the_reason(options, message):
    with pytest.raises(ValueError, match=message):
        ModelOptions(**options)


def test_positions_of_cross_attention_alone_may_be_drawn():
    ModelOptions(position=Position.none, cross_position=Position.rope, randomize_positions=64)


def test_sizes_that_are_left_out_are_those_of_tiny_without_dropout():
    filled = ModelOptions(num_heads=8).filled()
    assert (filled.d_model, filled.num_heads, filled.d_ff, filled.dropout) == (128, 8, 512, 0.0)
    assert (filled.num_encoder_layers, filled.num_decoder_layers) == (2, 2)
