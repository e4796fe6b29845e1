"""Ids to logits: positions, encoder and decoder layers, and the Transformer made of them.

Letters: B pairs, S source tokens, T target tokens, D model width, H heads, K width of a head, F feed-forward width,
V vocabulary.
"""

from seq2see.transformer.layers import DecoderLayer, EncoderLayer, FeedForwardLayer
from seq2see.transformer.model import DecoderCache, Transformer
from seq2see.transformer.positions import (
    AlibiPositions,
    LearnedPositions,
    PositionScheme,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
)

__all__ = [
    "AlibiPositions",
    "DecoderCache",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForwardLayer",
    "LearnedPositions",
    "PositionScheme",
    "RelativePositions",
    "RotaryPositions",
    "SinusoidalPositions",
    "Transformer",
]
