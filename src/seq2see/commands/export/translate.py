"""Translates lines with the ONNX graphs beside this file, greedily: python translate.py < in.txt > out.txt.

It needs onnxruntime, numpy and tokenizers, and is meant to be copied from.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

HERE = Path(__file__).parent
PAD, BOS, EOS, UNK = range(4)
about = json.loads((HERE / "config.json").read_text(encoding="utf-8"))
separator, shape, decode = (
    about["source_tokenizer"]["tag_separator"],
    about["config"]["model"],
    about["config"]["decode"],
)
source, target = (Tokenizer.from_file(str(HERE / f"{side}_tokenizer.json")) for side in ("source", "target"))
normalized = source.normalizer.normalize_str if source.normalizer else str
encoder, decoder = (onnxruntime.InferenceSession(HERE / f"{name}.onnx") for name in ("encoder", "decoder"))
state = [one.name for one in decoder.get_inputs()[2:]]  # keys and values of the source, then of the target
positions = shape["max_positions"] if shape["position"] == "learned" else sys.maxsize
most_read = min(decode["max_source_length"] or 1000, positions)


def encode(line: str) -> list[int]:
    """Tags before the first tab, if the model has learned with them; the text; the end."""
    head, tab, text = line.partition("\t") if separator else ("", "", line)
    tags, text = (head.split(separator), text) if tab else ([], line)
    names = [normalized("_".join(tag.split())) for tag in tags if tag.strip()]
    ids = [source.token_to_id("\t" + name) or UNK for name in names]
    return [*ids, *source.encode(text, add_special_tokens=False).ids][: most_read - 1] + [EOS]


def most_written(length: int) -> int:
    """Tokens that a source of this length may get."""
    learned = max(math.ceil(about["length_ratio"] * length) + 8, about["length_floor"])
    return min(decode["max_length"] or learned, positions - 1)


def translate(lines: list[str]) -> list[str]:
    """The most probable token at each step, for all lines together."""
    rows = [encode(line) for line in lines]
    src = np.array([row + [PAD] * (max(map(len, rows)) - len(row)) for row in rows])
    cross = [np.asarray(array) for array in encoder.run(None, {"src": src, "src_mask": src != PAD})]
    past = [array[:, :, :0] for array in cross]
    written = np.full((len(rows), 1), BOS)
    for _ in range(max(most_written(len(row)) for row in rows)):
        inputs = {"ids": written[:, -1:], "src_mask": src != PAD, **dict(zip(state, [*cross, *past], strict=True))}
        logits, *past = map(np.asarray, decoder.run(None, inputs))
        logits[:, [PAD, BOS]] = -np.inf
        written = np.concatenate((written, logits.argmax(-1, keepdims=True)), axis=1)
        if (written == EOS).any(axis=1).all():
            break
    kept = [ids[1 : 1 + most_written(len(row))].tolist() for ids, row in zip(written, rows, strict=True)]
    return [target.decode(ids[: (ids + [EOS]).index(EOS)], skip_special_tokens=False) for ids in kept]


if __name__ == "__main__":
    read = sys.stdin.buffer.read().decode("utf-8-sig")
    lines = read.removesuffix("\n").split("\n") if read else []
    for begin in range(0, len(lines), 64):
        filled = [line.removesuffix("\r") for line in lines[begin : begin + 64] if not line.isspace() and line]
        texts = iter(translate(filled) if filled else [])
        for line in lines[begin : begin + 64]:
            text = next(texts) if line and not line.isspace() else ""
            sys.stdout.buffer.write(text.replace("\n", " ").replace("\r", " ").encode() + b"\n")
