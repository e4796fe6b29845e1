"""Which heads carry what one changed word changes: activation patching between a source and its twin.

The two sources have as many tokens and, up to some place, the same output; there the model says one token for the
source and another one for the twin. The model runs on the twin, but what one head gives (its context, at all
positions) is taken from its run on the source: how much of the difference between the two tokens comes back?
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2see.decoding import TranslationModel, greedy
from seq2see.decoding.hypothesis import evaluation_mode
from seq2see.maps.ablation import contexts_changed
from seq2see.maps.arrays import KINDS
from seq2see.maps.capture import attention_layers
from seq2see.options import TokenizerKind
from seq2see.text import BOS, EOS, UNK
from seq2see.transformer import Transformer

NUM_TRIED = 64  # changed words, for a source without a twin
SEED = 0


class Recovered(NamedTuple):
    """By kind of attention the share of the difference that comes back: 0 is the twin's run, 1 the source's.

    Below 0 the twin's token gains still more; shares do not add up, for heads work together and undo each other.
    """

    heads: dict[str, NDArray]  # of each head alone (layers, H)
    layers: dict[str, NDArray]  # of all heads of a layer (layers,)
    kinds: dict[str, float]  # of all heads of all layers; 1 for cross attention, all that the decoder knows of a source
    of_source: float  # log p(own token) - log p(twin's token), nats, given the source
    of_twin: float  # given the twin


def recovered(
    model: Transformer, source: Sequence[int], twin: Sequence[int], prefix: Sequence[int], tokens: tuple[int, int]
) -> Recovered:
    """Patches each head, each layer and each kind of attention, in one batch.

    Args:
        model: on any device.
        source: ids, without EOS.
        twin: ids, as many.
        prefix: target ids that both outputs begin with.
        tokens: what follows them for the source, and what for the twin.

    Raises:
        ValueError: the two have different numbers of tokens, or make no difference between the two tokens.

    Source:
        Vig et al. 2020, "Investigating Gender Bias in Language Models Using Causal Mediation Analysis"; Meng et al.
        2022, "Locating and Editing Factual Associations in GPT"; the share, a normalised difference of logits, as in
        Wang et al. 2022, "Interpretability in the Wild". This direction, from the right run into the other, shows what
        suffices, not what is needed: Heimersheim and Nanda 2024, "How to use and interpret activation patching".
    """
    _require_as_many(source, twin)
    device = next(model.parameters()).device
    places = [(kind, depth) for kind in KINDS for depth in range(len(attention_layers(model, kind)))]
    heads = model.options.num_heads or 0
    eye = torch.eye(len(places), dtype=torch.bool)[:, :, None].expand(-1, -1, heads)  # each layer alone
    each = torch.eye(len(places) * heads, dtype=torch.bool).unflatten(1, (len(places), heads))
    kinds = torch.stack([torch.tensor([kind == own for own, _ in places]) for kind in KINDS])
    chosen = torch.cat([torch.zeros_like(eye[:1]), kinds[:, :, None].expand(-1, -1, heads), eye, each]).to(device)
    kept: dict[tuple[str, int], Tensor] = {}

    def keep(kind: str, depth: int, contexts: Tensor) -> Tensor:
        kept[kind, depth] = contexts
        return contexts

    def put(kind: str, depth: int, contexts: Tensor) -> Tensor:
        patch = chosen[:, places.index((kind, depth)), None, :, None]
        return torch.where(patch, kept[kind, depth], contexts)

    def differences(ids: Sequence[int], number: int, change: Callable[[str, int, Tensor], Tensor]) -> NDArray:
        src, tgt_in = (torch.tensor(own, device=device).expand(number, -1) for own in ([*ids, EOS], [BOS, *prefix]))
        with contexts_changed(model, change):
            logits = model(src, torch.ones_like(src, dtype=torch.bool), tgt_in)[:, -1].double()
        return (logits[:, tokens[0]] - logits[:, tokens[1]]).cpu().numpy()

    with evaluation_mode(model):
        of_source = float(differences(source, 1, keep)[0])
        of_twin, *patched = differences(twin, len(chosen), put).tolist()
    if of_source == of_twin:
        raise ValueError("source and twin make no difference between the two tokens: there is nothing to bring back")
    shares = (np.array(patched) - of_twin) / (of_source - of_twin)
    of_kinds, of_layers, of_heads = np.split(shares, [len(KINDS), len(KINDS) + len(places)])
    mine = {kind: [own == kind for own, _ in places] for kind in KINDS}
    return Recovered(
        {kind: of_heads.reshape(len(places), heads)[own] for kind, own in mine.items()},
        {kind: of_layers[own] for kind, own in mine.items()},
        dict(zip(KINDS, of_kinds.tolist(), strict=True)),
        of_source,
        of_twin,
    )


def _require_as_many(source: Sequence[int], twin: Sequence[int]) -> None:
    if len(source) != len(twin):
        raise ValueError(
            f"the source has {len(source)} tokens and its twin {len(twin)}: what a head gives is put in its place "
            "token by token, so change a word into one of as many tokens"
        )


class Twins(NamedTuple):
    """Two sources of as many tokens, and where the model's greedy outputs part."""

    source: str
    twin: str
    outputs: tuple[str, str]
    place: int  # of the first target token that differs, from 0
    tokens: tuple[str, str]  # labels of the two
    recovered: Recovered


def twins_of(trained: TranslationModel, source: str, twin: str | None = None) -> Twins:
    """A source, its twin, and which heads carry the difference.

    Args:
        trained: the model, which decodes greedily here.
        source: a text.
        twin: the same with a word changed; None: one that changes the output in few places, out of some tried.

    Raises:
        ValueError: the two have different numbers of tokens or the same output, or no change of those tried gave
            another output.
    """
    tokenizer, target = trained.source_tokenizer, trained.target_tokenizer
    ids = tokenizer.encode(source)
    others = _changed(trained, ids) if twin is None else [tokenizer.encode(twin)]
    _require_as_many(ids, others[0])
    (first, _), *said = _greedy(trained, [ids, *others])
    found = [(_distance(first, own), -score, number) for number, (own, score) in enumerate(said) if own != first]
    if not found:
        raise ValueError(
            f"no other output for {NUM_TRIED} changes of a word: give a twin that has one"
            if twin is None
            else "source and twin have the same output: change a word that matters"
        )
    number = min(found)[2]  # the fewest differences, then the output that the model is surest of
    second, other = said[number][0], others[number]
    place = next(n for n, (one, two) in enumerate(zip(first, second, strict=False)) if one != two)
    tokens = first[place], second[place]
    labels = tuple("<eos>" if token == EOS else target.tokens([token])[0] for token in tokens)
    outputs = tuple(target.decode([token for token in own if token != EOS]) for own in (first, second))
    shares = recovered(trained.model, ids, other, first[:place], tokens)
    text = tokenizer.decode(other) if twin is None else twin
    return Twins(source, text, (outputs[0], outputs[1]), place, (labels[0], labels[1]), shares)


def _greedy(trained: TranslationModel, sources: Sequence[Sequence[int]]) -> list[tuple[list[int], float]]:
    """The outputs to sources of one length, each with EOS, also where the length limit cut it; their scores, nats."""
    device = next(trained.model.parameters()).device
    src = torch.tensor([[*own, EOS] for own in sources], device=device)
    limit = trained.length_limit.of(src.shape[1])
    found = greedy(trained.model, src, torch.ones_like(src, dtype=torch.bool), max_lengths=[limit] * len(src))
    return [([*own.ids, EOS], own.score) for own in found]


def _changed(trained: TranslationModel, ids: Sequence[int]) -> list[list[int]]:
    """The source with one token changed for another of the vocabulary, drawn with a fixed seed."""
    draw, tokenizer = np.random.default_rng(SEED), trained.source_tokenizer
    symbols = list(range(UNK + 1, tokenizer.vocab_size))
    if tokenizer.kind is TokenizerKind.bpe:  # words of one token alone
        texts = {number: tokenizer.decode([number]) for number in symbols}
        symbols = [number for number in symbols if texts[number][:1].isspace() and texts[number][1:].isalpha()]
    places = [place for place, number in enumerate(ids) if number in symbols]
    if not places:
        return [list(ids)]
    drawn = zip(draw.choice(places, NUM_TRIED), draw.choice(symbols, NUM_TRIED), strict=True)
    return [[*ids[:place], int(number), *ids[place + 1 :]] for place, number in drawn]


def _distance(one: Sequence[int], other: Sequence[int]) -> int:
    """In how many places two outputs differ."""
    return abs(len(one) - len(other)) + sum(a != b for a, b in zip(one, other, strict=False))
