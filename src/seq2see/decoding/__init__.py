"""A model and sources in, target ids out; each decoding method is a function of a model."""

from seq2see.decoding.beam import beam_search
from seq2see.decoding.forced import Forced, teacher_forced
from seq2see.decoding.greedy import greedy
from seq2see.decoding.hypothesis import Hypothesis, evaluation_mode
from seq2see.decoding.sampling import Sampler, kept_probs
from seq2see.decoding.sentences import LengthLimit, decode_sentences

__all__ = [
    "Forced",
    "Hypothesis",
    "LengthLimit",
    "Sampler",
    "beam_search",
    "decode_sentences",
    "evaluation_mode",
    "greedy",
    "kept_probs",
    "teacher_forced",
]
