"""The encoder-decoder Transformer: `encode`, `decode`, and `forward`, which is both."""

import math

import torch
from torch import Tensor, nn

from seq2see.attention import Dropout, KeyValueCache, PositionTerms, Unpadded
from seq2see.options import ModelOptions, NormOrder, Position
from seq2see.transformer.layers import DecoderLayer, EncoderLayer
from seq2see.transformer.positions import PositionScheme, draw_positions, make_positions


class DecoderCache:
    """The decoder's state between steps: keys and values of each layer."""

    def __init__(self, num_layers: int) -> None:
        self.length = 0  # target tokens seen
        self.layers = [(KeyValueCache(growing=True), KeyValueCache(growing=False)) for _ in range(num_layers)]

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keeps these rows (int64 or bool (B,)) of the batch, in this order.

        With `same_sources` every place keeps its source, and only what was seen of the target moves.
        """
        for of_target, of_source in self.layers:
            of_target.select(rows)
            if not same_sources:
                of_source.select(rows)


class Transformer(nn.Module):
    """An encoder-decoder Transformer over ids.

    Args:
        options: sizes and variants; sizes that are None are those of `model=tiny`, without dropout.
        source_vocab_size: entries of the source vocabulary.
        target_vocab_size: V, entries of the target vocabulary.
        shared_vocabulary: source and target ids mean the same symbols: one embedding serves both.

    Raises:
        ValueError: a shared vocabulary of two sizes.

    Source:
        Vaswani et al. 2017, with the variants that `ModelOptions` names.
    """

    def __init__(
        self,
        options: ModelOptions,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        shared_vocabulary: bool = False,
    ) -> None:
        super().__init__()
        options = options.filled()
        assert options.d_model and options.num_encoder_layers and options.num_decoder_layers
        assert options.dropout is not None
        if shared_vocabulary and source_vocab_size != target_vocab_size:
            raise ValueError(f"a shared vocabulary has one size, not {source_vocab_size} and {target_vocab_size}")
        self.options = options
        self.d_model = options.d_model
        self.source_embedding = nn.Embedding(source_vocab_size, self.d_model)
        shared = shared_vocabulary and options.tie_embeddings
        self.target_embedding = self.source_embedding if shared else nn.Embedding(target_vocab_size, self.d_model)
        self.encoder_positions = make_positions(options.position, options, causal=False)
        self.decoder_positions = make_positions(options.position, options, causal=True)
        self.cross_positions = make_positions(options.cross_position or Position.none, options, causal=False)
        self.encoder_layers = _stack(EncoderLayer, options, options.num_encoder_layers)
        self.decoder_layers = _stack(DecoderLayer, options, options.num_decoder_layers)
        pre_norm = options.norm is NormOrder.pre
        self.encoder_norm = nn.LayerNorm(self.d_model) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(self.d_model) if pre_norm else nn.Identity()
        self.output_proj = nn.Linear(self.d_model, target_vocab_size, bias=False)
        if options.tie_embeddings:
            self.output_proj.weight = self.target_embedding.weight
        self.dropout = Dropout(options.dropout)
        self._initialise()

    def forward(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, tgt_mask: Tensor | None = None) -> Tensor:
        """Scores of each next target token, in training and outside of it.

        Args:
            src: source ids, int64 (B, S).
            src_mask: bool (B, S), True = a real token.
            tgt_in: target ids from BOS on, right-padded, int64 (B, T).
            tgt_mask: bool (B, T), True = a real token. Where it is given, no padding of either side is computed:
                linear maps, normalisation and dropout see the real tokens alone, and only attention pads them.

        Returns:
            logits (B, T, V): row t scores what follows the tokens up to t. With `tgt_mask` those of the real tokens,
            `logits[tgt_mask]` (N, V).
        """
        source, target = (None, None) if tgt_mask is None else (Unpadded(src_mask), Unpadded(tgt_mask))
        memory = self.encode(src, src_mask, source)
        return self.decode(tgt_in, memory, src_mask, source=source, target=target)

    def encode(self, src: Tensor, src_mask: Tensor, source: Unpadded | None = None) -> Tensor:
        """The source (B, S), with True in `src_mask` (B, S) at real tokens, as vectors.

        Returns:
            memory (B, S, D), or of the real tokens alone (N, D) where `source` says where these stand.
        """
        positions = self._positions(src.shape[1], self.encoder_positions, draw=self.training)
        x = self._embed(self.source_embedding, src, self.encoder_positions, positions, source)
        terms = self.encoder_positions.terms(positions, positions, positions, self._position_dtype)
        terms = terms._replace(query_tokens=source, key_tokens=source)
        for layer in self.encoder_layers:
            x = layer(x, src_mask, terms)
        return self.encoder_norm(x)

    def decode(
        self,
        tgt_in: Tensor,
        memory: Tensor,
        src_mask: Tensor,
        cache: DecoderCache | None = None,
        *,
        source: Unpadded | None = None,
        target: Unpadded | None = None,
    ) -> Tensor:
        """Scores of each next target token given the encoded source, logits (B, T, V).

        A cache, `new_cache()` at first, grows with each call; then `tgt_in` are only the targets that it has not seen.
        Where `source` and `target` say where the real tokens stand, memory (N, D) and logits (N, V) are of these alone.
        """
        start = 0 if cache is None else cache.length
        end = start + tgt_in.shape[1]
        draw = self.training and cache is None  # what a cache holds was rotated by positions that must not change
        positions = self._positions(end, self.decoder_positions, draw=draw)
        new = positions[start:]
        x = self._embed(self.target_embedding, tgt_in, self.decoder_positions, new, target)
        terms = self.decoder_positions.terms(new, positions, new, self._position_dtype)
        terms = terms._replace(query_tokens=target, key_tokens=target)
        cross_terms = self._cross_terms(start, end, src_mask.shape[1], draw=draw)
        cross_terms = cross_terms._replace(query_tokens=target, key_tokens=source)
        for depth, layer in enumerate(self.decoder_layers):
            caches = (None, None) if cache is None else cache.layers[depth]
            x = layer(x, memory, src_mask, terms, cross_terms, *caches)
        if cache is not None:
            cache.length = end
        return self.output_proj(self.decoder_norm(x))

    def new_cache(self) -> DecoderCache:
        """An empty state for `decode`."""
        return DecoderCache(len(self.decoder_layers))

    def _cross_terms(self, start: int, end: int, num_keys: int, *, draw: bool) -> PositionTerms:
        """Both sides count along one draw: token 5 of the source and of the target share a position."""
        if self.options.cross_position is Position.none:
            return PositionTerms()
        positions = self._positions(max(end, num_keys), self.cross_positions, draw=draw)
        key = positions[:num_keys]
        return self.cross_positions.terms(positions[start:end], key, key, self._position_dtype)

    @property
    def _position_dtype(self) -> torch.dtype:
        return torch.promote_types(self.target_embedding.weight.dtype, torch.float32)

    def _embed(
        self, embedding: nn.Embedding, ids: Tensor, scheme: PositionScheme, positions: Tensor, tokens: Unpadded | None
    ) -> Tensor:
        x = embedding(ids) * math.sqrt(self.d_model)
        vectors = scheme.embed(positions, self._position_dtype)
        x = x if vectors is None else x + vectors.to(x.dtype)
        return self.dropout(x if tokens is None else tokens.pack(x))

    def _positions(self, length: int, scheme: PositionScheme, *, draw: bool) -> Tensor:
        """Positions of `length` tokens, int64: 0, 1, 2, ..., or with `draw` random ones, if options ask for them."""
        if scheme.max_length is not None and length > scheme.max_length:
            raise ValueError(
                f"learned positions end at model.max_positions ({scheme.max_length}) tokens, but a sequence has "
                f"{length}: shorten it, or train with a larger model.max_positions or another model.position"
            )
        reach, device = self.options.randomize_positions, self.target_embedding.weight.device
        if reach is None or not draw:
            return torch.arange(length, device=device)
        if length > reach:
            raise ValueError(
                f"model.randomize_positions ({reach}) must be at least the length of every training sequence, but one "
                f"has {length} tokens: raise it, or lower data.max_length"
            )
        return draw_positions(length, reach, device)

    @torch.no_grad()
    def _initialise(self) -> None:
        """Xavier matrices, residual branches that shrink with depth, and an output that starts almost silent.

        Shrinking branches keep their sum of the order of the embeddings at any depth. The output matrix, which may be
        an embedding too, is small, so that the logits are near 0 and the first loss is about log V; it grows at once.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.d_model**-0.5)
        nn.init.normal_(self.output_proj.weight, std=0.25 * self.d_model**-0.5)
        depth = max(len(self.encoder_layers), len(self.decoder_layers))
        for name, parameter in self.named_parameters():
            if name.endswith("out_proj.weight"):
                parameter.mul_((2 * depth) ** -0.5)


def _stack(layer: type[EncoderLayer] | type[DecoderLayer], options: ModelOptions, depth: int) -> nn.ModuleList:
    """`depth` layers, or one layer `depth` times if they share their weights."""
    if options.share_layers:
        return nn.ModuleList([layer(options)] * depth)
    return nn.ModuleList(layer(options) for _ in range(depth))
