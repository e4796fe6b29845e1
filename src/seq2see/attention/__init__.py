"""How a query looks at keys: one mask convention, three scores, and the modules that are built on them.

A mask is boolean and True means "may be attended to": (B, S) for padding, or (B, T, S) for each query. Causality is a
flag. A query without any visible key gets zeros and zero weights. Other conventions have an adapter, `mask_from_...`.

Letters: B pairs, T queries, S keys, D model width, H heads, K width of a head.
"""

from seq2see.attention.dropout import Dropout
from seq2see.attention.layer import AttentionLayer
from seq2see.attention.masks import Unpadded, mask_from_additive, mask_from_hidden, mask_from_ones
from seq2see.attention.multihead import KeyValueCache, MultiHeadAttention, PositionTerms, repeat_kv
from seq2see.attention.single import (
    AdditiveAttention,
    AdditiveScore,
    DotProductAttention,
    DotScore,
    ScaledDotProductAttention,
    ScoreFunction,
    scaled_dot_product_attention,
)

__all__ = [
    "AdditiveAttention",
    "AdditiveScore",
    "AttentionLayer",
    "DotProductAttention",
    "DotScore",
    "Dropout",
    "KeyValueCache",
    "MultiHeadAttention",
    "PositionTerms",
    "ScaledDotProductAttention",
    "ScoreFunction",
    "Unpadded",
    "mask_from_additive",
    "mask_from_hidden",
    "mask_from_ones",
    "repeat_kv",
    "scaled_dot_product_attention",
]
