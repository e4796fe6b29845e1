"""How text becomes ids, and pairs become batches."""

from dataclasses import dataclass

from seq2see.options.enums import Normalize, OnBadLine, TokenizerKind
from seq2see.options.rules import require, require_not_negative, require_positive

NUM_SPECIAL = 4  # entries of a vocabulary that are no text: PAD, BOS, EOS and UNK
LEAST_BPE = NUM_SPECIAL + 256  # an entry for each byte, so that every text can be spelled


@dataclass
class TokenizerOptions:
    """How text becomes ids."""

    source: TokenizerKind | None = None
    target: TokenizerKind | None = None
    vocab_size: int | None = None  # entries at most, special ones included; None: all for word and char, some for bpe
    shared: bool | None = None  # one vocabulary for both sides
    normalize: Normalize = Normalize.nfc

    def __post_init__(self) -> None:
        require_positive(self, "tokenizer", "vocab_size")
        require(
            self.vocab_size is None or self.vocab_size > NUM_SPECIAL,
            f"tokenizer.vocab_size ({self.vocab_size}) must be more than {NUM_SPECIAL}, the special symbols",
        )
        require(
            self.vocab_size is None
            or self.vocab_size >= LEAST_BPE
            or TokenizerKind.bpe not in (self.source, self.target),
            f"tokenizer.vocab_size ({self.vocab_size}) must be at least {LEAST_BPE} for bpe, which has an entry for "
            f"each of 256 bytes and {NUM_SPECIAL} special symbols: raise it, or choose char or word for both sides",
        )
        if self.source is None or self.target is None:
            return  # the rest is checked when they have been chosen from the data
        require(
            not self.shared or self.source == self.target,
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
    delimiter: str | None = None  # between the columns of a text file: a character, or `tab`; None: by the file's name
    encoding: str = "utf-8"  # of text files

    def __post_init__(self) -> None:
        require_text_format(self.delimiter, self.encoding)
        require_positive(self, "data", "batch_size", "batch_tokens", "max_length")
        require_not_negative(self, "data", "num_workers", most=1_000)
        require(
            self.batch_size is None or self.batch_tokens is None,
            f"data.batch_size ({self.batch_size}) and data.batch_tokens ({self.batch_tokens}) exclude each other: "
            "set one",
        )


def require_text_format(delimiter: str | None, encoding: str | None) -> None:
    """A delimiter can stand between columns, and Python knows the encoding; None: not set."""
    require(
        delimiter is None or delimiter == "tab" or (len(delimiter) == 1 and delimiter not in '"\r\n\0'),
        f"data.delimiter ({delimiter}) must be one character, no quote mark and no line end, or tab",
    )
    try:
        text = encoding is None or isinstance("".encode(encoding), bytes)
    except (LookupError, ValueError):
        text = False
    require(text, f"data.encoding ({encoding}) must be an encoding that Python knows, as utf-8, utf-16-le or cp1252")
