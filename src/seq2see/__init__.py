"""seq2see trains small encoder-decoder Transformers and lets people see what they attend to.

The public names are imported when they are first used, so that `import seq2see` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from seq2see._version import __version__ as __version__

if TYPE_CHECKING:
    from seq2see.api import TranslationModel, load, train
    from seq2see.attention import (
        AdditiveAttention,
        AttentionLayer,
        DotProductAttention,
        MultiHeadAttention,
        ScaledDotProductAttention,
        mask_from_additive,
        mask_from_hidden,
        mask_from_ones,
        scaled_dot_product_attention,
    )
    from seq2see.options import ModelOptions
    from seq2see.transformer import Transformer

__all__ = [
    "AdditiveAttention",
    "AttentionLayer",
    "DotProductAttention",
    "ModelOptions",
    "MultiHeadAttention",
    "ScaledDotProductAttention",
    "Transformer",
    "TranslationModel",
    "load",
    "mask_from_additive",
    "mask_from_hidden",
    "mask_from_ones",
    "scaled_dot_product_attention",
    "train",
]

_HOMES = {
    "ModelOptions": "seq2see.options",
    "Transformer": "seq2see.transformer",
    "TranslationModel": "seq2see.api",
    "load": "seq2see.api",
    "train": "seq2see.api",
}  # the other names live in seq2see.attention


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "seq2see.attention")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
