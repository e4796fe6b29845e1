"""A model and sources in, target ids out; each decoding method is a function of a model. `load` gives a trained one."""

from seq2see.decoding.beam import beam_search
from seq2see.decoding.checkpoint import (
    Content,
    device_of,
    find_checkpoint,
    load,
    read_checkpoint,
    read_content,
    require_finite,
)
from seq2see.decoding.forced import Forced, teacher_forced
from seq2see.decoding.greedy import greedy
from seq2see.decoding.hypothesis import Hypothesis, evaluation_mode
from seq2see.decoding.limit import LengthLimit, bounded
from seq2see.decoding.sampling import Sampler, kept_probs
from seq2see.decoding.sentences import decode_sentences
from seq2see.decoding.trained import Trained, TranslatedLine, Translation

__all__ = [
    "Content",
    "Forced",
    "Hypothesis",
    "LengthLimit",
    "Sampler",
    "Trained",
    "TranslatedLine",
    "Translation",
    "beam_search",
    "bounded",
    "decode_sentences",
    "device_of",
    "evaluation_mode",
    "find_checkpoint",
    "greedy",
    "kept_probs",
    "load",
    "read_checkpoint",
    "read_content",
    "require_finite",
    "teacher_forced",
]
