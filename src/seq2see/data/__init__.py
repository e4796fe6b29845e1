"""Pairs of ids to batches: lengths, buckets, padding, loaders and the position that they have reached."""

from seq2see.data.encoded import Batch, EncodedPairs
from seq2see.data.loader import LengthBuckets, Loader, make_loader, scoring_loader

__all__ = [
    "Batch",
    "EncodedPairs",
    "LengthBuckets",
    "Loader",
    "make_loader",
    "scoring_loader",
]
