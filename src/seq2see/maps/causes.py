"""What a source word causes: how probable each target token still is when the word is taken away.

Two ways to take it away, both teacher-forced and in evaluation mode. Left out: its tokens are not in the source at all
(leave-one-out, or erasure: Li, Monroe and Jurafsky 2016, "Understanding Neural Networks through Representation
Erasure"). Blocked: it is there, but cross attention cannot look at it, in one head, in one layer or anywhere (attention
knockout: Geva et al. 2023, "Dissecting Recall of Factual Associations in Auto-Regressive Language Models"); its weight
is 0 and those of the others sum to 1. What the encoder has carried from it to other words still gets through.

A change below 0 says that the word spoke for the token.

Whether attention tells the same is a question, not a premise: `agreement` measures it.
"""

import base64
import csv
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from seq2see.attention import AttentionLayer
from seq2see.decoding import TranslationModel
from seq2see.decoding.hypothesis import evaluation_mode, next_log_probs
from seq2see.maps.arrays import Example
from seq2see.maps.attended import Asked, captured
from seq2see.maps.capture import attention_layers
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer

MOST_NUMBERS = 2**21  # of attention weights or log-probabilities in memory together: more is slower, not faster
MOST_PAIRS, MOST_WORDS = 50, 16  # that agreement is measured on, and words taken away of each, drawn from all
MOST_TOKENS = 200_000  # of targets, scored for that together
SEED = 0
LARGEST = 300.0  # nats; larger changes are shown as this


class WordEffects(NamedTuple):
    """Changes of the log-probability of each target token, EOS last, without each source word, nats, float32."""

    left_out: NDArray  # (T, words)
    blocked_everywhere: NDArray  # in all heads of all layers of cross attention, at all rows (T, words)
    blocked_in_layer: NDArray  # in all heads of one layer (layers, T, words)
    blocked: NDArray | None  # in one head (layers, H, T, words); None: not asked for


def word_effects(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    source_words: Sequence[int],
    *,
    words: Sequence[int] | None = None,
    heads: bool = True,
) -> WordEffects:
    """What each source word does to each target token; the model runs once for each word and way to take it away.

    Args:
        model: on any device.
        source: ids, without EOS.
        target: ids that the decoder is fed, without EOS, such as the model's own output.
        source_words: the word number of each source token, as `Tokenizer.word_numbers` gives it.
        words: numbers of those to take away; None: all.
        heads: also in each head alone, which is most of the work.
    """
    number_of = torch.tensor([*source_words, -1])  # EOS is no word
    words = range(int(number_of.max()) + 1) if words is None else words
    hidden = number_of == torch.tensor(words, dtype=torch.int64)[:, None]  # (words, S)
    ids, tgt_out = torch.tensor([*source, EOS]), torch.tensor([*target, EOS])
    sources = pad_sequence([ids, *(ids[~own] for own in hidden)], batch_first=True, padding_value=PAD)
    ways = _ways(model, heads)  # (ways, layers, H)
    visible = ~(ways[:, None, :, :, None, None] & hidden[:, None, None, None, :])  # (ways, words, layers, H, 1, S)
    with evaluation_mode(model):
        left_out = _log_probs(model, sources, tgt_out)
        blocked = _log_probs(model, ids[None], tgt_out, visible.flatten(0, 1)) - left_out[0]
    changes = blocked.unflatten(0, (-1, len(words))).movedim(1, -1).numpy()  # (ways, T, words)
    depth = ways.shape[1]
    each = changes[1 + depth :].reshape(*ways.shape[1:], *changes.shape[1:]) if heads else None
    return WordEffects((left_out[1:] - left_out[0]).T.numpy(), changes[0], changes[1 : 1 + depth], each)


def _ways(model: Transformer, heads: bool) -> Tensor:
    """Where a word is blocked: everywhere, in each layer, and in each head if asked, bool (ways, layers, H)."""
    depth, width = len(model.decoder_layers), model.options.num_heads or 0
    each = torch.eye(depth * width, dtype=torch.bool).unflatten(1, (depth, width))
    of_layers = each.unflatten(0, (depth, width)).any(1)
    return torch.cat([torch.ones_like(of_layers[:1]), of_layers, *([each] if heads else [])])


def _log_probs(model: Transformer, src: Tensor, tgt_out: Tensor, visible: Tensor | None = None) -> Tensor:
    """Of each token of one target (T,), for each of N sources (N, S), or for one with N masks: (N, T).

    `visible`, bool (N, layers, H, 1, S), says what cross attention sees.
    """
    device, masks = next(model.parameters()).device, visible
    tgt_in, tgt_out = torch.cat([torch.tensor([BOS]), tgt_out[:-1]]).to(device), tgt_out.to(device)
    src = src.to(device)
    memory = model.encode(src, src != PAD)
    number = len(src) if masks is None else len(masks)
    largest = len(tgt_in) * max(src.shape[1] * (model.options.num_heads or 1), model.output_proj.out_features)
    found = []
    for places in torch.arange(number).split(max(1, MOST_NUMBERS // largest)):
        first, last, size = int(places[0]), int(places[-1]) + 1, len(places)
        some = slice(first, last) if masks is None else slice(1)  # or the only one
        with _cross_masked(model, None if masks is None else masks[first:last].to(device)):
            logits = model.decode(tgt_in.expand(size, -1), memory[some].expand(size, -1, -1), (src != PAD)[some])
        found.append(next_log_probs(logits).gather(2, tgt_out.expand(size, -1)[:, :, None])[:, :, 0].cpu())
    return torch.cat(found)


@contextmanager
def _cross_masked(model: Transformer, visible: Tensor | None) -> Iterator[None]:
    """Cross attention sees only this, (N, layers, H, 1, S), in one forward pass."""
    layers: list[AttentionLayer] = [] if visible is None else attention_layers(model, "cross")
    masks = [] if visible is None else list(visible.unbind(1))

    def mask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "mask": masks.pop(0)}  # a shared layer is called once a depth

    handles = [layer.register_forward_pre_hook(mask, with_kwargs=True) for layer in dict.fromkeys(layers)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def rank_correlation(one: NDArray, other: NDArray) -> NDArray:
    """Kendall's tau-b over the last axis (..., words): 1 where both rank alike, -1 the other way round.

    NaN where one has no order at all: a single word, or the same value everywhere.
    """
    first, second = (np.sign(own[..., :, None] - own[..., None, :]) for own in (one, other))
    with np.errstate(invalid="ignore"):
        both = np.sqrt(np.square(first).sum((-2, -1)) * np.square(second).sum((-2, -1)))
        return (first * second).sum((-2, -1)) / both


def cost(trained: TranslationModel, asked: Asked, num_words: int, *, heads: bool = True) -> int:
    """How many target tokens `word_effects` scores for one pair."""
    return (len(asked[1]) + 1) * num_words * (1 + len(_ways(trained.model, heads)))


def agreement(
    trained: TranslationModel, asked: Sequence[Asked], source_words: Sequence[Sequence[int]]
) -> dict[str, Any] | None:
    """How well each head's weights on source words agree with what the words cause, row by row of the cross maps.

    Kendall's tau-b between the weights and the size of the change, whichever its sign, and how often both have the same
    word first; of all rows but that of EOS. None where no source has two words.

    Returns:
        `pairs` of the `of` that were given and their `rows`; for `left_out` and for `blocked` (in that very head) a
        list of layers of heads, each with the mean `tau`, its `deviation` over rows and the share of rows
        `same_first`, which is `chance` by chance; for `between` the same of leaving out against blocking everywhere:
        what agreement one may expect at all; `best`, the head with the highest tau for `left_out`, from 1; and a
        `verdict`.

    Source:
        Jain and Wallace 2019, "Attention is not Explanation", section 4.1, who measure the distance of whole output
        distributions; here it is the change of the output token's log-probability. Wiegreffe and Pinter 2019,
        "Attention is not not Explanation", on what that can and cannot show.
    """
    draw = np.random.default_rng(SEED)
    chosen: dict[int, list[int]] = {}  # by pair the words that are taken away
    tokens = 0
    for number in draw.permutation(len(asked)).tolist():
        num_words = max(source_words[number], default=-1) + 1
        words = np.sort(draw.permutation(num_words)[:MOST_WORDS]).tolist()
        tokens += cost(trained, asked[number], len(words))
        if chosen and (len(chosen) == MOST_PAIRS or tokens > MOST_TOKENS):
            break
        if num_words > 1 and len(asked[number][1]):
            chosen[number] = words
    if not chosen:
        return None
    found: dict[str, list[NDArray]] = {"left_out": [], "blocked": [], "between": []}
    chances: list[float] = []
    numbers = list(chosen)
    for place, _, cross in captured(trained, [asked[number] for number in numbers]):
        (source, target), words = asked[numbers[place]], chosen[numbers[place]]
        of_source = source_words[numbers[place]]
        effects = word_effects(trained.model, source, target, of_source, words=words)
        left_out, blocked, everywhere = (
            np.abs(own[..., :-1, :])
            for own in (effects.left_out, effects.blocked, effects.blocked_everywhere)
            if own is not None
        )
        weights = cross[..., :-1, :-1] @ (np.array(of_source)[:, None] == np.array(words)).astype(np.float32)
        found["left_out"].append(_compared(weights, np.broadcast_to(left_out, weights.shape)))
        found["blocked"].append(_compared(weights, blocked))
        found["between"].append(_compared(everywhere, left_out))
        chances += [1 / len(words)] * len(target)
    rows = {name: np.concatenate(own, axis=-1) for name, own in found.items()}  # (2, layers, H, rows), or (2, rows)
    scores = {name: _summary(own) for name, own in rows.items()}
    layer, head = np.unravel_index(
        np.argmax([[own["tau"] for own in heads] for heads in scores["left_out"]]), rows["left_out"].shape[1:3]
    )
    best = {"layer": int(layer) + 1, "head": int(head) + 1, **scores["left_out"][layer][head]}
    return {
        "pairs": len(chosen),
        "of": len(asked),
        "rows": len(chances),
        "chance": float(np.mean(chances)),
        **scores,
        "best": best,
        "verdict": verdict(best["tau"], scores["between"]["tau"]),
    }


def _compared(one: NDArray, other: NDArray) -> NDArray:
    """Tau and whether both have the same word first (2, ...), over the last axis."""
    same = one.argmax(-1) == other.argmax(-1)
    return np.stack([rank_correlation(one, other), same])


def _summary(rows: NDArray) -> Any:
    """Over the last axis; lists of layers of heads where there are these."""
    if rows.ndim > 2:
        return [_summary(own) for own in rows.swapaxes(0, 1)]
    tau, same = rows
    tau = tau[~np.isnan(tau)]  # of a row of equal values
    return {
        "tau": float(tau.mean()) if len(tau) else 0.0,
        "deviation": float(tau.std()) if len(tau) else 0.0,
        "same_first": float(same.mean()),
    }


def verdict(best: float, between: float) -> str:
    """In words, for tau of the best head and between the two ways of taking words away; the limits are our own."""
    if best >= 0.7:
        return "attention ranks the words much as their effects do"
    if best >= 0.3:
        near = ", about as well as the two ways of taking words away agree" if best >= 0.9 * between else ""
        return f"attention ranks the words in part as their effects do{near}"
    return "attention hardly ranks the words as their effects do"


def for_page(effects: WordEffects, source_words: Sequence[int]) -> dict[str, Any]:
    """What a page shows under a cross map: the words' tokens (first, number), and all changes, hundredths of a nat.

    In the order of `WordEffects`; int16, little-endian, deflated, base64.
    """
    cells = np.concatenate([own.ravel() for own in effects if own is not None])
    rounded = np.rint(100 * np.clip(cells, -LARGEST, LARGEST)).astype("<i2")
    packed = zlib.compress(rounded.tobytes(), 9)
    firsts = np.unique(np.asarray(source_words), return_index=True, return_counts=True)[1:]
    return {"words": np.stack(firsts, 1).tolist(), "cells": base64.b64encode(packed).decode("ascii")}


def causes_table(examples: Sequence[Example], found: Sequence[WordEffects]) -> str:
    """A row for each target token, source word and way to take it away, as CSV; tokens, words, layers, heads from 1."""
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("line", "query", "query_token", "word", "source_tokens", "way", "layer", "head", "change"))
    for example, effects in zip(examples, found, strict=True):
        tokens = ["" for _ in range(effects.left_out.shape[1])]
        for word, token in zip(example.source_words or (), example.source_tokens, strict=False):
            tokens[word] += token
        for (query, word), change in np.ndenumerate(effects.left_out):
            row = (example.id, query + 1, example.target_tokens[query], word + 1, tokens[word])
            table.writerow((*row, "left_out", "", "", f"{change:.6f}"))
            table.writerow((*row, "blocked", "all", "all", f"{effects.blocked_everywhere[query, word]:.6f}"))
            for layer, of_layer in enumerate(effects.blocked_in_layer, start=1):
                table.writerow((*row, "blocked", layer, "all", f"{of_layer[query, word]:.6f}"))
            for layer, heads in enumerate(() if effects.blocked is None else effects.blocked, start=1):
                for head, own in enumerate(heads, start=1):
                    table.writerow((*row, "blocked", layer, head, f"{own[query, word]:.6f}"))
    return file.getvalue()
