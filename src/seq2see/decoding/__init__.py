"""A model and sources in, target ids out; each decoding method is a function of a model."""

from seq2see.decoding.greedy import Hypothesis, evaluation_mode, greedy
from seq2see.decoding.sentences import LengthLimit, decode_sentences

__all__ = ["Hypothesis", "LengthLimit", "decode_sentences", "evaluation_mode", "greedy"]
