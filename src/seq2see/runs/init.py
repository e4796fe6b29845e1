"""A run that starts from a trained model: its shape, its tokenizers, and its weights, each row with its symbol."""

from dataclasses import replace
from typing import Any, TypeVar

import torch

from seq2see.decoding import Content, find_checkpoint, read_content, require_finite
from seq2see.options import InitTokenizer, TokenizerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.text import UNK, Tokenizer
from seq2see.transformer import Transformer

Options = TypeVar("Options", bound=TrainOptions)
FREE = ("model.dropout", "model.attention_dropout", "model.randomize_positions")  # say how to train alone
OF_THE_IDS = ("source", "target", "shared", "normalize")
_SHOWN = 12  # new symbols that are named


def read_init(init: str) -> Content:
    """The checkpoint that `init` names.

    Raises:
        ValueError: there is none, or it cannot be used.
    """
    try:
        content = read_content(find_checkpoint(init))
        require_finite(content.file, content.weights)
    except ValueError as error:
        raise ValueError(str(error).replace("ckpt:", "init:", 1)) from error
    return content


def keys_of(content: Content, init_tokenizer: str) -> dict[str, Any]:
    """The keys, as plain values, that a run takes from the checkpoint that it starts from, unless they are typed."""
    of_model, of_ids = to_plain(content.options.model), to_plain(content.options.tokenizer)
    names = (*OF_THE_IDS, "vocab_size") if init_tokenizer == InitTokenizer.keep.value else OF_THE_IDS
    keys = {f"model.{name}": value for name, value in of_model.items()}
    keys |= {f"tokenizer.{name}": of_ids[name] for name in names}
    return {key: value for key, value in keys.items() if key not in FREE}


def begin(options: Options) -> tuple[Options, Content | None]:
    """The options, and the checkpoint that `init` names, whose shape composing them has put where nothing was typed.

    Raises:
        ValueError: it cannot be used, or a key that is set contradicts its weights or its tokenizers.
    """
    if options.init is None:
        return options, None
    content = read_init(options.init)
    of_ids = OF_THE_IDS if options.init_tokenizer is InitTokenizer.keep else ("shared",)
    for key in keys_of(content, options.init_tokenizer.value):
        part, name = key.split(".")
        if part == "tokenizer" and name not in of_ids:
            continue
        own, its = (to_plain(getattr(getattr(of, part), name)) for of in (options, content.options))
        if own != its:
            more = ", or set init_tokenizer=new" if part == "tokenizer" and name != "shared" else ""
            raise ValueError(
                f"{key} ({own}) is not that of init={options.init} ({its}), whose weights are made for "
                f"it: leave {key} out{more}, or leave init out and train from the beginning"
            )
    return replace(options, init=str(content.file.absolute())), content


@torch.no_grad()
def take_weights(model: Transformer, content: Content, source: Tokenizer, target: Tokenizer) -> None:
    """Gives a new model the weights of a checkpoint; a row for a symbol goes to that symbol, whatever its id is.

    A symbol that the checkpoint does not know begins in the output matrix with the mean of the rows of the known ones:
    its score is then the mean of theirs and never the highest, so that outputs stay as they were until it has been
    learned (a random row may outdo rows that training has driven far below 0). Where nothing but inputs depends on its
    row, it is random as in any new model, so that new symbols differ.

    Source:
        The mean: Hewitt 2021, "Initializing New Word Embeddings for Pretrained Language Models".
    """
    source_ids, target_ids = source.ids_in(content.source_tokenizer), target.ids_in(content.target_tokenizer)
    weights = content.weights
    for name, there in (
        ("source_embedding.weight", source_ids),
        ("target_embedding.weight", target_ids),
        ("output_proj.weight", target_ids),
    ):
        rows = model.get_parameter(name)
        if rows is model.output_proj.weight:
            rows = weights[name][UNK + 1 :].mean(0).expand_as(rows)
        rows = rows.clone()
        known = [number for number, other in enumerate(there) if other is not None]
        rows[known] = weights[name][[other for other in there if other is not None]]
        weights[name] = rows
    model.load_state_dict(weights)


def note_of(
    content: Content, init_tokenizer: InitTokenizer, source: Tokenizer, target: Tokenizer, *, shared: bool
) -> str:
    """What a person should know of the beginning."""
    sides = {"source ": (source, content.source_tokenizer), "target ": (target, content.target_tokenizer)}
    if shared:
        sides = {"": sides["source "]}
    news = []
    for side, (tokenizer, before) in sides.items():
        new = [number for number, known in enumerate(tokenizer.ids_in(before)) if known is None]
        if new:
            shown = ", ".join(tokenizer.tokens(new[:_SHOWN])) + (", ..." if len(new) > _SHOWN else "")
            what = "symbols" if len(new) > 1 else "symbol"
            if tokenizer.kind is TokenizerKind.word:
                what += " (each is what stands between spaces)"
            news.append(f"{len(new):,} new {side}{what}: {shown}")
    kept = "kept" if init_tokenizer is InitTokenizer.keep else "new"
    return f"init: {content.file}, step {content.step:,}, tokenizers {kept}; {'; '.join(news) or 'no new symbols'}"
