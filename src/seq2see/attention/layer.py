"""Attention as a layer: with its residual sum, dropout and normalisation."""

from torch import Tensor, nn

from seq2see.attention.dropout import Dropout
from seq2see.attention.multihead import KeyValueCache, MultiHeadAttention, PositionTerms
from seq2see.attention.single import ScoreFunction
from seq2see.options import NormOrder, Score


class AttentionLayer(nn.Module):
    """Multi-head attention, dropout, residual sum and layer normalisation.

    `norm(query + dropout(attention(query, key, value)))` for `post`, and
    `query + dropout(attention(norm(query), key, value))` for `pre`, where self attention (`key` left out) normalises
    its keys and values too.

    `dropout` drops numbers of the attention's output and `attention_dropout` weights; all else is as in
    `MultiHeadAttention`.

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
    ) -> tuple[Tensor, Tensor | None]:
        """The queries with what they gathered, and the weights or None; all as in `MultiHeadAttention`.

        Without a key the queries attend to themselves; without a value the keys are gathered.
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
        )
        x = query + self.dropout(context)
        return (x if self.pre_norm else self.norm(x)), weights
