"""Encoder and decoder layers, built from `AttentionLayer`; their options are filled ones."""

from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.attention import AttentionLayer, Dropout, KeyValueCache, PositionTerms
from seq2see.options import Activation, ModelOptions, NormOrder


class FeedForwardLayer(nn.Module):
    """Two linear maps with a non-linearity between, as a layer: residual sum, dropout and normalisation.

    With `swiglu` there are three: F is the width of the gate and of what is gated.

    Source:
        Vaswani et al. 2017, section 3.3; Shazeer 2020 (swiglu).
    """

    def __init__(self, options: ModelOptions) -> None:
        super().__init__()
        assert options.d_model and options.d_ff and options.dropout is not None
        self.pre_norm = options.norm is NormOrder.pre
        self.activation = options.activation
        self.norm = nn.LayerNorm(options.d_model)
        self.in_proj = nn.Linear(options.d_model, options.d_ff)
        is_gated = options.activation is Activation.swiglu
        self.gate_proj = nn.Linear(options.d_model, options.d_ff) if is_gated else None
        self.out_proj = nn.Linear(options.d_ff, options.d_model)
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) to (B, T, D)."""
        inside = self.norm(x) if self.pre_norm else x
        h = self.in_proj(inside)  # (B, T, F)
        if self.gate_proj is not None:
            h = F.silu(self.gate_proj(inside)) * h
        else:
            h = F.relu(h) if self.activation is Activation.relu else F.gelu(h)
        x = x + self.dropout(self.out_proj(self.dropout(h)))
        return x if self.pre_norm else self.norm(x)


class EncoderLayer(nn.Module):
    """Self attention over the source, then the feed-forward layer."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__()
        self.self_attention = _attention_layer(options, window=options.window)
        self.feed_forward = FeedForwardLayer(options)

    def forward(self, x: Tensor, mask: Tensor | None, positions: PositionTerms) -> Tensor:
        """Vectors to vectors of the same shape, (B, S, D), or (N, D) without padding; mask bool (B, S)."""
        x, _ = self.self_attention(x, mask=mask, positions=positions)
        return self.feed_forward(x)


class DecoderLayer(nn.Module):
    """Causal self attention over the target, attention to the source, then the feed-forward layer."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__()
        self.self_attention = _attention_layer(options, window=options.window)
        self.cross_attention = _attention_layer(options, window=None)
        self.feed_forward = FeedForwardLayer(options)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        positions: PositionTerms,
        cross_positions: PositionTerms,
        self_cache: KeyValueCache | None = None,
        cross_cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Vectors to vectors of the same shape, (B, T, D), or (N, D) without padding; with caches only the new targets.

        The mask, bool (B, S), says what is real in the memory, the encoder's output.
        """
        x, _ = self.self_attention(x, causal=True, positions=positions, cache=self_cache)
        x, _ = self.cross_attention(x, memory, mask=mask, positions=cross_positions, cache=cross_cache)
        return self.feed_forward(x)


def _attention_layer(options: ModelOptions, *, window: int | None) -> AttentionLayer:
    assert options.d_model and options.num_heads and options.dropout is not None
    return AttentionLayer(
        options.d_model,
        options.num_heads,
        num_kv_heads=options.num_kv_heads,
        dropout=options.dropout,
        attention_dropout=options.attention_dropout,
        norm=options.norm,
        score=options.score,
        window=window,
    )
