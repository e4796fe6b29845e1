"""Text to ids and back: the only owner of PAD, BOS, EOS and UNK."""

from seq2see.text.forms import DataError, normalize
from seq2see.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

__all__ = ["BOS", "EOS", "PAD", "UNK", "DataError", "Tokenizer", "normalize"]
