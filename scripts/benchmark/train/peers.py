"""Ours and its peers as modules that turn a padded batch into a loss, and the step around them."""

import math
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmark.apart import Contender
from seq2see.data import Batch
from seq2see.options import ModelOptions
from seq2see.text import PAD
from seq2see.training.objective import objective_of
from seq2see.transformer import Transformer
from seq2see.transformer.positions import SinusoidalPositions

OURS, TORCH, MARIAN = "seq2see", "torch.nn.Transformer", "Hugging Face MarianMTModel"
TEXTBOOK, X_TRANSFORMERS = "textbook modules", "x-transformers"
DROPOUT, SMOOTHING, CLIP, LEARNING_RATE = 0.1, 0.1, 1.0, 1e-3


class Size(NamedTuple):
    """Sizes of a model and of its batches."""

    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int
    vocab_size: int
    batch_size: int
    length: int


SIZES = {"tiny": Size(128, 2, 4, 512, 64, 128, 20), "small": Size(256, 3, 4, 1024, 8_000, 64, 24)}


class Pairs(NamedTuple):
    """A padded batch: source (B, S), target with BOS and EOS (B, T + 1); PAD where a pair is shorter."""

    src: Tensor
    tgt: Tensor


NOTES = {
    OURS: "no padding outside attention; fused AdamW; keeps freed memory",
    TEXTBOOK: "explicit weights, one linear map after another, torch's dropout and AdamW",
    TORCH: "dropout on attention weights too; AdamW as torch chooses it",
    MARIAN: "its dropouts set to act where ours do; sdpa attention; AdamW as above",
    X_TRANSFORMERS: "no label smoothing, gelu; its dropouts, off by default, set to 0.1",
}


def contender(name: str, size: Size, steps: int) -> Contender:
    """One of the modules below, on so many random batches that are the same for all."""
    return Contender(padded_work, (name, size, steps), keeps_memory=name == OURS)


def padded_work(name: str, size: Size, steps: int) -> Callable[[], float]:
    """Training steps of one of the modules, on its batches."""
    torch.manual_seed(0)
    batches = [random_batch(size) for _ in range(steps)]
    return work_of(MODULES[name](size), batches, fused=name == OURS)


def random_batch(size: Size) -> Pairs:
    """Lengths from two thirds of the longest on: as batches of similar lengths have them."""
    shortest = size.length * 2 // 3
    src = torch.randint(4, size.vocab_size, (size.batch_size, size.length))
    tgt = torch.randint(4, size.vocab_size, (size.batch_size, size.length + 1))
    lengths = torch.randint(shortest, size.length + 1, (size.batch_size, 1))
    lengths[0] = size.length
    return Pairs(
        src.masked_fill(torch.arange(size.length) >= lengths, PAD),
        tgt.masked_fill(torch.arange(size.length + 1) > lengths, PAD),
    )


def work_of(module: nn.Module, batches: Sequence[Pairs], *, fused: bool) -> Callable[[], float]:
    """Training steps on all batches; returns the real target tokens."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE, fused=fused or None)
    module.train()

    def work() -> float:
        tokens = 0
        for batch in batches:
            loss = module(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), CLIP)
            optimizer.step()
            tokens += int((batch.tgt[:, 1:] != PAD).sum())
        return tokens

    return work


class Ours(nn.Module):
    """The loss of a batch, as `TrainingModule` computes it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        options = ModelOptions(
            d_model=size.d_model,
            num_heads=size.num_heads,
            num_encoder_layers=size.num_layers,
            num_decoder_layers=size.num_layers,
            d_ff=size.d_ff,
            dropout=DROPOUT,
        )
        self.model = Transformer(options, size.vocab_size, size.vocab_size)

    def forward(self, batch: Pairs) -> Tensor:
        """Mean objective, nats a token."""
        src, tgt = batch
        ours = Batch(torch.arange(len(src)), src, src != PAD, tgt[:, :-1], tgt[:, 1:])
        result = objective_of(self.model, ours, smoothing=SMOOTHING)
        return result.objective / result.tokens


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


class _Torch(nn.Module):
    """`torch.nn.Transformer` between embeddings and a tied projection."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.source = nn.Embedding(size.vocab_size, size.d_model)
        self.target = nn.Embedding(size.vocab_size, size.d_model)
        self.positions = nn.Embedding(size.length, size.d_model)
        layers, heads = size.num_layers, size.num_heads
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="enable_nested_tensor")  # of inference
            self.model = nn.Transformer(
                size.d_model, heads, layers, layers, size.d_ff, DROPOUT, batch_first=True, norm_first=True
            )

    def forward(self, batch: Pairs) -> Tensor:
        tgt_in, hidden = batch.tgt[:, :-1], batch.src == PAD
        places = self.positions.weight[None]
        states = self.model(
            F.dropout(self.source(batch.src) + places, DROPOUT),
            F.dropout(self.target(tgt_in) + places, DROPOUT),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(
                tgt_in.shape[1], device=tgt_in.device, dtype=torch.bool
            ),
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return _loss(states @ self.target.weight.t(), batch.tgt[:, 1:])


class _TextbookAttention(nn.Module):
    """Multi-head attention as tutorials write it: explicit weights, hidden ones at -1e9."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.num_heads = size.num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(size.d_model, size.d_model) for _ in range(4))

    def forward(self, query: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        q, k, v = (
            x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x in (self.query(query), self.key(memory), self.value(memory))
        )
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~visible, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class _TextbookLayer(nn.Module):
    """Attention to each memory in turn, then two linear maps; each with dropout, sum and normalisation."""

    def __init__(self, size: Size, num_attentions: int) -> None:
        super().__init__()
        self.attentions = nn.ModuleList(_TextbookAttention(size) for _ in range(num_attentions))
        self.wide, self.narrow = nn.Linear(size.d_model, size.d_ff), nn.Linear(size.d_ff, size.d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(size.d_model) for _ in range(num_attentions + 1))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, visible: Tensor, memory: Tensor | None = None, seen: Tensor | None = None) -> Tensor:
        x = self.norms[0](x + self.dropout(self.attentions[0](x, x, visible)))
        if memory is not None:
            x = self.norms[1](x + self.dropout(self.attentions[1](x, memory, seen)))
        h = self.dropout(F.relu(self.wide(x)))
        return self.norms[-1](x + self.dropout(self.narrow(h)))


class _Textbook(nn.Module):
    """The modules of tutorials put together, with sinusoidal positions."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.source = nn.Embedding(size.vocab_size, size.d_model)
        self.target = nn.Embedding(size.vocab_size, size.d_model)
        self.positions = SinusoidalPositions(size.d_model)
        self.encoder = nn.ModuleList(_TextbookLayer(size, 1) for _ in range(size.num_layers))
        self.decoder = nn.ModuleList(_TextbookLayer(size, 2) for _ in range(size.num_layers))
        self.project = nn.Linear(size.d_model, size.vocab_size)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, batch: Pairs) -> Tensor:
        tgt_in, seen = batch.tgt[:, :-1], (batch.src != PAD)[:, None, None]
        past = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).tril()
        memory, x = self._embed(self.source, batch.src), self._embed(self.target, tgt_in)
        for layer in self.encoder:
            memory = layer(memory, seen)
        for layer in self.decoder:
            x = layer(x, past, memory, seen)
        return _loss(self.project(x), batch.tgt[:, 1:])

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        places = self.positions.embed(torch.arange(ids.shape[1]), torch.float32)
        return self.dropout(embedding(ids) * math.sqrt(embedding.embedding_dim) + places)


class HuggingFace(nn.Module):
    """`MarianMTModel`; its three dropouts set to act where ours do."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        transformers = import_module("transformers")
        config = transformers.MarianConfig(
            vocab_size=size.vocab_size,
            d_model=size.d_model,
            encoder_layers=size.num_layers,
            decoder_layers=size.num_layers,
            encoder_attention_heads=size.num_heads,
            decoder_attention_heads=size.num_heads,
            encoder_ffn_dim=size.d_ff,
            decoder_ffn_dim=size.d_ff,
            activation_function="relu",
            dropout=DROPOUT,
            activation_dropout=DROPOUT,
            attention_dropout=0.0,
            pad_token_id=PAD,
            decoder_start_token_id=1,
            eos_token_id=2,
            forced_eos_token_id=None,
            use_cache=False,
        )
        self.model = transformers.MarianMTModel(config)

    def forward(self, batch: Pairs) -> Tensor:
        """Mean objective, nats a token."""
        tgt_in = batch.tgt[:, :-1]
        logits = self.model(batch.src, attention_mask=batch.src != PAD, decoder_input_ids=tgt_in).logits
        return _loss(logits, batch.tgt[:, 1:])


class _XTransformers(nn.Module):
    """`XTransformer`, which computes its own loss."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        side = {
            "depth": size.num_layers,
            "heads": size.num_heads,
            "attn_dim_head": size.d_model // size.num_heads,
            "attn_flash": True,
            "ff_mult": size.d_ff // size.d_model,
            "ff_dropout": DROPOUT,
            "emb_dropout": DROPOUT,
        }
        self.model = import_module("x_transformers").XTransformer(
            dim=size.d_model,
            enc_num_tokens=size.vocab_size,
            enc_max_seq_len=size.length,
            dec_num_tokens=size.vocab_size,
            dec_max_seq_len=size.length + 1,
            ignore_index=PAD,
            pad_value=PAD,
            **{f"{name}_{key}": value for name in ("enc", "dec") for key, value in side.items()},
        )

    def forward(self, batch: Pairs) -> Tensor:
        return self.model(batch.src, batch.tgt, mask=batch.src != PAD)


MODULES: dict[str, Callable[[Size], nn.Module]] = {
    OURS: Ours, TEXTBOOK: _Textbook, TORCH: _Torch, MARIAN: HuggingFace, X_TRANSFORMERS: _XTransformers
}  # fmt: skip
