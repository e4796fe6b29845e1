"""Which version this is, for files that say who wrote them."""

__version__ = "0.1.0"
