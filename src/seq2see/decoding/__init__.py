"""A model and sources in, target ids out; each decoding method is a function of a model. `load` gives a trained one."""

from seq2see.decoding.beam import beam_search
from seq2see.decoding.checkpoint import Content, device_of, find_checkpoint, read_content, require_finite
from seq2see.decoding.constraints import Constraints
from seq2see.decoding.ensemble import Ensemble
from seq2see.decoding.forced import Forced, teacher_forced
from seq2see.decoding.greedy import greedy
from seq2see.decoding.hypothesis import Hypothesis, LengthLimit, bounded, evaluation_mode
from seq2see.decoding.model_folder import write_description, write_weights
from seq2see.decoding.sentences import decode_sentences
from seq2see.decoding.translation_model import TranslatedLine, Translation, TranslationModel, as_one, load

__all__ = [
    "Constraints",
    "Content",
    "Ensemble",
    "Forced",
    "Hypothesis",
    "LengthLimit",
    "TranslatedLine",
    "Translation",
    "TranslationModel",
    "as_one",
    "beam_search",
    "bounded",
    "decode_sentences",
    "device_of",
    "evaluation_mode",
    "find_checkpoint",
    "greedy",
    "load",
    "read_content",
    "require_finite",
    "teacher_forced",
    "write_description",
    "write_weights",
]
