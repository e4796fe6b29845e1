"""How text becomes ids, and pairs become batches."""

from dataclasses import dataclass

from seq2see.options.enums import Normalize, OnBadLine, TokenizerKind
from seq2see.options.rules import require, require_not_negative, require_positive


@dataclass
class TokenizerOptions:
    """How text becomes ids."""

    source: TokenizerKind | None = None
    target: TokenizerKind | None = None
    vocab_size: int | None = None  # entries at most, special ones included; None: 8,000 for bpe, all for word and char
    shared: bool | None = None  # one vocabulary for both sides
    normalize: Normalize = Normalize.nfc

    def __post_init__(self) -> None:
        require(
            self.vocab_size is None or self.vocab_size > 4,
            f"tokenizer.vocab_size ({self.vocab_size}) must be more than 4, the special symbols",
        )
        if self.shared and self.source is not None and self.target is not None:
            require(
                self.source == self.target,
                f"tokenizer.shared needs one kind on both sides, but tokenizer.source is {self.source.value} and "
                f"tokenizer.target is {self.target.value}",
            )


@dataclass
class DataOptions:
    """How pairs become batches."""

    batch_size: int | None = None  # pairs a batch
    batch_tokens: int | None = None  # padded source and target tokens a batch
    max_length: int | None = None  # tokens a side, EOS included; longer pairs are dropped in training
    num_workers: int = 0  # processes beside the training one
    on_bad_line: OnBadLine = OnBadLine.error

    def __post_init__(self) -> None:
        require_positive(self, "data", "batch_size", "batch_tokens", "max_length")
        require_not_negative(self, "data", "num_workers")
        require(
            self.batch_size is None or self.batch_tokens is None,
            f"data.batch_size ({self.batch_size}) and data.batch_tokens ({self.batch_tokens}) exclude each other: "
            "set one",
        )
