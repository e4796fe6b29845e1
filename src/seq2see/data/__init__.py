"""Pairs of ids to batches: lengths, buckets, padding, loaders and the position that they have reached."""

from seq2see.data.buckets import LengthBuckets
from seq2see.data.encoded import Batch, EncodedPairs
from seq2see.data.loader import AnyPairs, Loader, make_loader, scoring_loader
from seq2see.data.resegmented import ResegmentedPairs

__all__ = [
    "AnyPairs",
    "Batch",
    "EncodedPairs",
    "LengthBuckets",
    "Loader",
    "ResegmentedPairs",
    "make_loader",
    "scoring_loader",
]
