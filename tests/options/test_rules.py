"""Options that do not go together are refused before any data is read, and the reason names both sides."""

import pytest

from seq2see.options import FilesOptions, ModelOptions, Position, Score, TokenizerKind, TokenizerOptions

BPE, CHAR, WORD = TokenizerKind.bpe, TokenizerKind.char, TokenizerKind.word
NONE, LEARNED, ROPE, SINUSOIDAL = Position.none, Position.learned, Position.rope, Position.sinusoidal
TOO_FEW_BYTES = (
    r"tokenizer.vocab_size \(259\) must be at least 260 for bpe, which has an entry for each of 256 bytes and 4 "
    "special symbols: raise it, or choose char or word for both sides"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(d_model=30, num_heads=4), r"model.d_model \(30\) must be divisible by model.num_heads \(4\)"),
        (dict(num_kv_heads=3), r"model.num_heads \(4\) must be divisible by model.num_kv_heads \(3\)"),
        (dict(num_kv_heads=0), r"model.num_kv_heads \(0\) must be positive"),
        (dict(num_decoder_layers=0), r"model.num_decoder_layers \(0\) must be positive"),
        (dict(window=0), r"model.window \(0\) must be positive"),
        (dict(dropout=1.0), r"model.dropout \(1.0\) must be at least 0 and less than 1"),
        (dict(attention_dropout=-0.1), r"model.attention_dropout \(-0.1\) must be at least 0 and less than 1"),
        (dict(d_model=12, num_heads=4), r"rope turns pairs of numbers: .*\(12 / 4 = 3\) must be even"),
        (dict(d_model=12, num_heads=4, position=NONE, cross_position=ROPE), r"rope turns pairs .* must be even"),
        (
            dict(d_model=15, num_heads=3, position=SINUSOIDAL),
            "model.position=sinusoidal needs an even model.d_model, not 15",
        ),
        (
            dict(score=Score.additive),
            "model.score=additive has no dot product for model.position=rope to turn: use relative, alibi or",
        ),
        (
            dict(score=Score.additive, position=NONE, cross_position=ROPE),
            "model.score=additive has no dot product for model.cross_position=rope to turn: use relative, alibi or",
        ),
        (dict(cross_position=SINUSOIDAL), "model.cross_position=sinusoidal has no meaning: it is added to the emb"),
        (dict(cross_position=LEARNED), "model.cross_position=learned has no meaning: it is added to the embedd"),
        (
            dict(position=NONE, randomize_positions=64),
            r"model.randomize_positions \(64\) has no meaning with model.position=none and model.cross_position=none",
        ),
        (
            dict(position=LEARNED, randomize_positions=64, max_positions=32),
            r"model.randomize_positions \(64\) must not exceed model.max_positions \(32\) with model.position=learned",
        ),
    ],
)
def test_a_model_without_a_meaning_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ModelOptions(**options)


def test_positions_of_cross_attention_alone_may_be_drawn():
    ModelOptions(position=NONE, cross_position=ROPE, randomize_positions=64)


def test_sizes_that_are_left_out_are_those_of_tiny_without_dropout():
    filled = ModelOptions(num_heads=8).filled()
    assert (filled.d_model, filled.num_heads, filled.d_ff, filled.dropout) == (128, 8, 512, 0.0)
    assert (filled.num_encoder_layers, filled.num_decoder_layers) == (2, 2)


@pytest.mark.parametrize("kinds", [(BPE, None), (None, BPE), (BPE, CHAR), (BPE, BPE)])
def test_a_vocabulary_that_cannot_hold_every_byte_is_refused_with_bpe(kinds):
    with pytest.raises(ValueError, match=TOO_FEW_BYTES):
        TokenizerOptions(*kinds, vocab_size=259)
    TokenizerOptions(*kinds, vocab_size=260)


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (TokenizerOptions, dict(vocab_size=4), r"tokenizer.vocab_size \(4\) must be more than 4, the special symbols"),
        (
            TokenizerOptions,
            dict(source=CHAR, target=WORD, shared=True),
            "tokenizer.shared needs one kind on both sides, but tokenizer.source is char and tokenizer.target is word",
        ),
        (FilesOptions, dict(train="a", source=1), r"task.source \(1\) and task.target \(None\) go together: set both"),
        (FilesOptions, dict(train="a", features_separator=""), "task.features_separator must not be empty"),
    ],
)
def test_what_is_said_of_texts_and_files_must_fit_together(schema, options, message):
    with pytest.raises(ValueError, match=message):
        schema(**options)
