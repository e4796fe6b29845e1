"""Text to ids and back: the only owner of PAD, BOS, EOS and UNK."""

from seq2see.text.forms import DataError, normalize, parted, require_whole, split_tags, tagged, untagged
from seq2see.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

__all__ = [
    "BOS",
    "DataError",
    "EOS",
    "PAD",
    "Tokenizer",
    "UNK",
    "normalize",
    "parted",
    "require_whole",
    "split_tags",
    "tagged",
    "untagged",
]
