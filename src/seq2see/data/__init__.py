"""Pairs of ids to batches: lengths, buckets, padding, loaders and the position that they have reached."""

from seq2see.data.buckets import LengthBuckets
from seq2see.data.encoded import Batch, EncodedPairs
from seq2see.data.loader import Loader, make_loader, scoring_loader

__all__ = [
    "Batch",
    "EncodedPairs",
    "LengthBuckets",
    "Loader",
    "make_loader",
    "scoring_loader",
]
