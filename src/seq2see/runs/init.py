"""A run that starts from a trained model: its shape, its tokenizers, and its weights, each row with its symbol."""

from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from seq2see.decoding import Content, find_checkpoint, read_content, require_finite
from seq2see.options import InitTokenizer, TrainOptions
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
    """The keys, as plain values, that a run takes from the checkpoint that it starts from."""
    options, keeps = content.options, init_tokenizer == InitTokenizer.keep.value
    of_model = {f"model.{name}": value for name, value in to_plain(options.model).items()}
    names = (*OF_THE_IDS, "vocab_size") if keeps else OF_THE_IDS
    of_ids = {f"tokenizer.{name}": value for name, value in to_plain(options.tokenizer).items() if name in names}
    return {key: value for key, value in of_model.items() if key not in FREE} | of_ids


def begin(options: Options) -> tuple[Options, Content | None]:
    """The options with the shape of the checkpoint that `init` names where they leave it open; and that checkpoint.

    Raises:
        ValueError: it cannot be used, or a key that is set contradicts its weights or its tokenizers.
    """
    if options.init is None:
        return options, None
    content = read_init(options.init)
    parts = {}
    for part, names in _fixed(options).items():
        here, there = getattr(options, part), getattr(content.options, part)
        for name in names:
            own, its = to_plain(getattr(here, name)), to_plain(getattr(there, name))
            if own is not None and own != its:
                more = ", or set init_tokenizer=new" if part == "tokenizer" and name != "shared" else ""
                raise ValueError(
                    f"{part}.{name} ({own}) is not that of init={options.init} ({its}), whose weights are made for "
                    f"it: leave {part}.{name} out{more}, or leave init out and train from the beginning"
                )
        parts[part] = replace(here, **{name: getattr(there, name) for name in names})
    return replace(options, **parts, init=str(content.file.absolute())), content


def _fixed(options: TrainOptions) -> dict[str, tuple[str, ...]]:
    """The keys that the checkpoint decides."""
    of_model = tuple(field.name for field in fields(options.model) if f"model.{field.name}" not in FREE)
    keeps = options.init_tokenizer is InitTokenizer.keep
    return {"model": of_model, "tokenizer": OF_THE_IDS if keeps else ("shared",)}


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
    ids = {
        "source_embedding.weight": source.ids_in(content.source_tokenizer),
        "target_embedding.weight": target.ids_in(content.target_tokenizer),
        "output_proj.weight": target.ids_in(content.target_tokenizer),
    }
    weights = content.weights
    for name, known in ids.items():
        begin = model.get_parameter(name)
        if begin is model.output_proj.weight:
            begin = weights[name][UNK + 1 :].mean(0).expand_as(begin)
        weights[name] = _by_symbol(begin, weights[name], known)
    model.load_state_dict(weights)


def _by_symbol(begin: Tensor, rows: Tensor, known: list[int | None]) -> Tensor:
    moved = begin.clone()
    here = [number for number, there in enumerate(known) if there is not None]
    moved[here] = rows[[there for there in known if there is not None]]
    return moved


def note_of(content: Content, options: TrainOptions, source: Tokenizer, target: Tokenizer) -> str:
    """What a person should know of the beginning."""
    sides = [("source", source, content.source_tokenizer), ("target", target, content.target_tokenizer)]
    if options.tokenizer.shared:
        sides = [("", source, content.source_tokenizer)]
    news = []
    for side, tokenizer, before in sides:
        new = [number for number, known in enumerate(tokenizer.ids_in(before)) if known is None]
        if new:
            shown = ", ".join(tokenizer.tokens(new[:_SHOWN])) + (", ..." if len(new) > _SHOWN else "")
            news.append(f"{len(new):,} new {side} symbol{'s' * (len(new) > 1)}: {shown}".replace("  ", " "))
    kept = "kept" if options.init_tokenizer is InitTokenizer.keep else "new"
    return f"init: {content.file}, step {content.step:,}, tokenizers {kept}; {'; '.join(news) or 'no new symbols'}"
