"""A model as a folder that other tools read: a configuration in JSON, files of the `tokenizers` library, weights.

Together they are what a checkpoint holds, and are read as one.
"""

import json
from pathlib import Path
from typing import Any

import safetensors
from safetensors import torch as tensors
from torch import Tensor

from seq2see.atomic_write import read_json, write_bytes, write_text
from seq2see.text import Tokenizer

WEIGHTS, CONFIG = "model.safetensors", "config.json"
SIDES = ("source", "target")
_OF_VOCABULARY = ("version", "normalize", "symbols", "merges", "tags")  # parts of a tokenizer's state in its own file


def write_description(folder: Path, about: dict[str, Any], tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    """Writes all but the weights: what a checkpoint says beside them, the vocabularies in files of their own."""
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        write_text(folder / f"{side}_tokenizer.json", tokenizer.library_json())
        if (state := about[f"{side}_tokenizer"]) is not None:
            kept = {name: value for name, value in state.items() if name not in _OF_VOCABULARY}
            about = about | {f"{side}_tokenizer": kept}
    write_text(folder / CONFIG, json.dumps(about, ensure_ascii=False, indent=2) + "\n")


def write_weights(folder: Path, weights: dict[str, Tensor]) -> None:
    """Writes the weights by name; those that have several names, once for each."""
    write_bytes(folder / WEIGHTS, tensors.save({name: value.clone() for name, value in weights.items()}))


def read_folder(weights: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What the folder of this file of weights says beside them, as a checkpoint says it, and the weights.

    Raises:
        ValueError: a file is missing or damaged.
    """
    again = "export the model again"
    about = read_json(weights.with_name(CONFIG), again)
    for name in (f"{side}_tokenizer" for side in SIDES):
        if isinstance(kept := about.get(name), dict):
            content = read_json(weights.with_name(f"{name}.json"), again)
            try:
                about[name] = Tokenizer.from_library(content, **kept).state()
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{name}.json is no tokenizer of seq2see: {error}") from error
    try:
        return about, tensors.load_file(weights)
    except safetensors.SafetensorError as error:
        raise ValueError(f"damaged: {error}") from error
