"""Text to ids and back, for one side of the pairs.

The work is done by the `tokenizers` library; what stands here is what it leaves open: which symbols there are and in
what order, special entries that no text can produce, and a state of plain values that lives inside a checkpoint.
"""

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from tokenizers import Encoding

from seq2see.options import Normalize, TokenizerKind
from seq2see.text import vocabulary
from seq2see.text.forms import normalize as normalized

PAD, BOS, EOS, UNK = range(4)

_LABELS = ("<pad>", "<bos>", "<eos>", "<unk>")
_SHOWN_UNKNOWN = {TokenizerKind.char: "\ufffd", TokenizerKind.word: "<unk>", TokenizerKind.bpe: "\ufffd"}
_STATE_VERSION = 1


class Tokenizer:
    """Text to ids and back: `char` and `bpe` give back any (normalised) text exactly, `word` up to its white space.

    Ids 0 to 3 are PAD, BOS, EOS and UNK. `encode` never gives the first three, whatever the text: `<pad>` is text.
    Make one with `Tokenizer.fit`, or from a checkpoint with `Tokenizer.from_state`.
    """

    kind: TokenizerKind
    normalize: Normalize

    def __init__(
        self,
        kind: TokenizerKind,
        symbols: Sequence[str],
        merges: Sequence[vocabulary.Merge] = (),
        *,
        normalize: Normalize,
    ) -> None:
        self.kind = kind
        self.normalize = normalize
        self._symbols = [*vocabulary.SPECIAL_KEYS, *symbols]  # by id
        self._merges = list(merges)
        ids = {symbol: number for number, symbol in enumerate(self._symbols)}
        if kind is TokenizerKind.char:
            self._backend = vocabulary.char_backend(ids)
        elif kind is TokenizerKind.word:
            self._backend = vocabulary.word_backend(ids)
        else:
            self._backend = vocabulary.bpe_backend(ids, self._merges)

    @classmethod
    def fit(
        cls,
        kind: TokenizerKind,
        lines: Iterable[str],
        *,
        vocab_size: int | None = None,
        normalize: Normalize = Normalize.nfc,
    ) -> "Tokenizer":
        """The tokenizer of these lines: the same lines in any order give the same ids.

        Args:
            kind: code points, white-space-separated words, or pieces of words.
            lines: training texts of one side, or of both for a shared vocabulary; read once.
            vocab_size: entries at most, the four special ones included. None: all symbols for `char` and `word`; for
                `bpe` one for each hundred characters of text, at least 512 and at most 8,000.
            normalize: the Unicode form; kept, and applied by `encode` as well.

        Raises:
            ValueError: `vocab_size` leaves no room for a symbol (for `bpe`: for the 256 bytes).
        """
        least = len(vocabulary.SPECIAL_KEYS) + (len(vocabulary.BYTES) if kind is TokenizerKind.bpe else 1)
        if vocab_size is not None and vocab_size < least:
            raise ValueError(f"tokenizer.vocab_size ({vocab_size}) must be at least {least} for {kind.value}")
        room = None if vocab_size is None else vocab_size - len(vocabulary.SPECIAL_KEYS)
        texts = (normalized(line, normalize) for line in lines)
        if kind is TokenizerKind.char:
            return cls(kind, vocabulary.char_symbols(texts, room), normalize=normalize)
        if kind is TokenizerKind.word:
            return cls(kind, vocabulary.word_symbols(texts, room), normalize=normalize)
        merges = vocabulary.bpe_merges(texts, vocab_size)
        return cls(kind, vocabulary.bpe_symbols(merges), merges, normalize=normalize)

    @property
    def vocab_size(self) -> int:
        """Entries, the four special ones included."""
        return len(self._symbols)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS and EOS; the text is normalised first."""
        return self._encoding(text).ids

    def encode_batch(self, lines: Iterable[str]) -> list[list[int]]:
        """The ids of many texts, as `encode` gives them, on all cores."""
        texts = [self._prepared(line) for line in lines]
        words = self.kind is TokenizerKind.word
        batch = self._backend.encode_batch_fast(texts, is_pretokenized=words, add_special_tokens=False)
        return [encoding.ids for encoding in batch]

    def _encoding(self, text: str) -> Encoding:
        words = self.kind is TokenizerKind.word
        return self._backend.encode(self._prepared(text), is_pretokenized=words, add_special_tokens=False)

    def _prepared(self, text: str) -> str | list[str]:
        text = normalized(text, self.normalize)
        return text.split() if self.kind is TokenizerKind.word else text

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids: PAD, BOS and EOS left out, UNK shown (U+FFFD; for words `<unk>`)."""
        unknown = _SHOWN_UNKNOWN[self.kind]
        shown = [self._symbols[number] if number > UNK else unknown for number in ids if number >= UNK]
        if self.kind is TokenizerKind.bpe:
            return self._backend.decoder.decode(shown)
        return (" " if self.kind is TokenizerKind.word else "").join(shown)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One label an id, for people: `<eos>` for EOS, a space as `␣`, what has no shape as an escape."""
        return [_LABELS[number] if number < len(_LABELS) else self._label(self._symbols[number]) for number in ids]

    def _label(self, symbol: str) -> str:
        if self.kind is TokenizerKind.bpe:
            spelled = bytes(vocabulary.BYTE_OF[character] for character in symbol)
            try:
                symbol = spelled.decode("utf-8")
            except UnicodeDecodeError:  # a part of a character
                return "".join(f"<0x{byte:02X}>" for byte in spelled)
        return "".join(map(_visible, symbol))

    def word_numbers(self, text: str) -> list[int]:
        """For each id of `encode(text)`, the 0-based number of the word that it belongs to (`char`: of the character).

        A `bpe` token of white space alone belongs to the word after it; at the end of the text, to the last word.
        """
        encoding = self._encoding(text)
        if self.kind is not TokenizerKind.bpe:
            return list(range(len(encoding.ids)))
        text = normalized(text, self.normalize)
        numbers, last = [0] * len(text), 0
        begin = 0
        for last, word in enumerate(re.finditer(r"\S+", text)):
            numbers[begin : word.end()] = [last] * (word.end() - begin)
            begin = word.end()
        numbers[begin:] = [last] * (len(text) - begin)
        return [numbers[start] for start, _ in encoding.offsets]

    def state(self) -> dict[str, str | int]:
        """Everything that this tokenizer is, as plain values for a checkpoint."""
        return {
            "version": _STATE_VERSION,
            "kind": self.kind.value,
            "normalize": self.normalize.value,
            "symbols": json.dumps(self._symbols[len(vocabulary.SPECIAL_KEYS) :], ensure_ascii=False),
            "merges": json.dumps(self._merges, ensure_ascii=False),
        }

    @classmethod
    def from_state(cls, state: dict[str, str | int]) -> "Tokenizer":
        """The tokenizer whose `state` this is.

        Raises:
            ValueError: the state was written by a later version of seq2see.
        """
        if state["version"] != _STATE_VERSION:
            raise ValueError(
                f"tokenizer state of version {state['version']}, this seq2see reads version {_STATE_VERSION}"
            )
        return cls(
            TokenizerKind(state["kind"]),
            json.loads(str(state["symbols"])),
            [(left, right) for left, right in json.loads(str(state["merges"]))],
            normalize=Normalize(state["normalize"]),
        )

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: equal for tokenizers that give the same ids to every text."""
        return blake2b(json.dumps(self.state(), sort_keys=True).encode("utf-8"), digest_size=16).hexdigest()


def _visible(character: str) -> str:
    if character == " ":
        return "␣"
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
