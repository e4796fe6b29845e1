"""Attention as a layer: with its residual sum, dropout and normalisation."""

from torch import Tensor, nn

from seq2see.attention.dropout import Dropout
from seq2see.attention.multihead import KeyValueCache, MultiHeadAttention, PositionTerms
from seq2see.attention.rows import Rows
from seq2see.attention.scores import ScoreFunction
from seq2see.options import NormOrder, Score


class AttentionLayer(nn.Module):
    """Multi-head attention, dropout, residual sum and layer normalisation.

    `norm(query + dropout(attention(query, key, value)))` for `post`, and
    `query + dropout(attention(norm(query), key, value))` for `pre`, where self attention (`key` left out) normalises
    its keys and values too.

    Args:
        d_model: D.
        num_heads: H; must divide `d_model`.
        num_kv_heads: see `MultiHeadAttention`.
        kdim: see `MultiHeadAttention`.
        vdim: see `MultiHeadAttention`.
        dropout: probability of dropping a number of the attention's output in training.
        attention_dropout: probability of dropping a weight in training.
        norm: normalise before the attention, or after the residual sum.
        score: see `MultiHeadAttention`.
        window: see `MultiHeadAttention`.

    Raises:
        ValueError: as in `MultiHeadAttention`.

    Source:
        Vaswani et al. 2017, section 3.1 (post); Xiong et al. 2020 (pre).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        norm: NormOrder = NormOrder.post,
        score: Score | ScoreFunction = Score.scaled_dot,
        window: int | None = None,
    ) -> None:
        super().__init__()
        self.pre_norm = norm is NormOrder.pre
        self.attention = MultiHeadAttention(
            d_model,
            num_heads,
            num_kv_heads=num_kv_heads,
            kdim=kdim,
            vdim=vdim,
            dropout=attention_dropout,
            score=score,
            window=window,
        )
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        need_weights: bool = False,
        positions: PositionTerms | None = None,
        cache: KeyValueCache | None = None,
        rows: tuple[Rows, Rows] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The queries (B, T, D) with what they gathered, and the weights (B, H, T, S) or None.

        Args:
            query: (B, T, D).
            key: what is attended to (B, S, kdim), as it is; None: the queries themselves.
            value: what is gathered (B, S, vdim), as it is; None: the keys.
            mask: bool (B, S) or (B, T, S), True = may be attended to.
            causal: see `MultiHeadAttention`.
            need_weights: see there.
            positions: see there.
            cache: see there.
            rows: see there.
        """
        x = self.norm(query) if self.pre_norm else query
        key = x if key is None else key
        context, weights = self.attention(
            x,
            key,
            key if value is None else value,
            mask,
            causal=causal,
            need_weights=need_weights,
            positions=positions,
            cache=cache,
            rows=rows,
        )
        x = query + self.dropout(context)
        return (x if self.pre_norm else self.norm(x)), weights
