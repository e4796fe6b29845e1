"""Text to ids and back, for one side of the pairs.

The work is done by the `tokenizers` library; what stands here is what it leaves open: which symbols there are and in
what order, special entries that no text can produce, and a state of plain values that lives inside a checkpoint.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from seq2see.options import Normalize, TokenizerKind
from seq2see.options.training import LEAST_BPE, NUM_SPECIAL
from seq2see.text import vocabulary
from seq2see.text.forms import TAB, parted, tagged
from seq2see.text.forms import normalize as normalized

PAD, BOS, EOS, UNK = range(4)

_LABELS = ("<pad>", "<bos>", "<eos>", "<unk>")
_SHOWN_UNKNOWN = {TokenizerKind.char: "\ufffd", TokenizerKind.word: "<unk>", TokenizerKind.bpe: "\ufffd"}
_STATE_VERSION = 1


class Tokenizer:
    """Text to ids and back: `char` and `bpe` give back any (normalised) text exactly, `word` up to its white space.

    Ids 0 to 3 are PAD, BOS, EOS and UNK. `encode` never gives the first three, whatever the text: `<pad>` is text.
    Make one with `Tokenizer.fit`, or from a checkpoint with `Tokenizer.from_state`.

    With a `tag_separator`, a line may begin with tags, as in `V;PST<tab>gehen` (see `text.forms`). Each tag is one id,
    of its own: the word `V` in a text is another one. An unseen tag is UNK.
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
        tags: Sequence[str] = (),
        tag_separator: str | None = None,
    ) -> None:
        self.kind = kind
        self.normalize = normalize
        self.tag_separator = tag_separator
        self._tags = list(tags)
        tag_keys = [vocabulary.TAG_MARK + tag for tag in self._tags]
        self._symbols = [*vocabulary.SPECIAL_KEYS, *tag_keys, *symbols]  # by id
        self._first_text_id = len(self._symbols) - len(symbols)
        self._id_of_tag = {tag: NUM_SPECIAL + place for place, tag in enumerate(self._tags)}
        self._merges = list(merges)
        ids = {symbol: number for number, symbol in enumerate(self._symbols)}
        self._backend = vocabulary.backend_of(kind, ids, self._merges)

    @classmethod
    def fit(
        cls,
        kind: TokenizerKind,
        lines: Iterable[str],
        *,
        vocab_size: int | None = None,
        min_count: int = 1,
        normalize: Normalize = Normalize.nfc,
        tag_separator: str | None = None,
    ) -> "Tokenizer":
        """The tokenizer of these lines: the same lines in any order give the same ids.

        Args:
            kind: code points, white-space-separated words, or pieces of words.
            lines: training texts of one side, or of both for a shared vocabulary; read once.
            vocab_size: entries at most, the four special ones and all tags included. None: all symbols for `char` and
                `word`; for `bpe` one for each hundred characters of text, at least 512 and at most 8,000, and the tags.
            min_count: symbols that stand less often in the lines are unknown, tags apart; pieces for `bpe` are of two
                occurrences at least.
            normalize: the Unicode form; kept, and applied by `encode` as well.
            tag_separator: stands between the tags of a line; None: lines have no tags, and a tab is text.

        Raises:
            ValueError: `vocab_size` leaves no room for a symbol (for `bpe`: the 256 bytes), or `min_count` leaves none.
        """
        counts: Counter[str] = Counter()
        texts = _texts(lines, normalize, tag_separator, counts)
        merges: list[vocabulary.Merge] = []
        if kind is TokenizerKind.bpe:
            merges = vocabulary.bpe_merges(texts, vocab_size, min_count)
            if vocab_size is not None:
                merges = vocabulary.first_merges(merges, vocab_size - len(counts))
            symbols, least = vocabulary.bpe_symbols(merges), LEAST_BPE + len(counts)
        else:
            symbols, least = _symbols_of(kind, texts, min_count), NUM_SPECIAL + len(counts) + 1
        if min_count > 1 and not symbols:
            raise ValueError(f"tokenizer.min_count ({min_count}) leaves no symbol: none is so common, lower it")
        if vocab_size is not None and vocab_size < least:
            tags = f" and {len(counts)} tags" if counts else ""
            raise ValueError(f"tokenizer.vocab_size ({vocab_size}) must be at least {least} for {kind.value}{tags}")
        if vocab_size is not None:
            symbols = symbols[: vocab_size - NUM_SPECIAL - len(counts)]
        tags = vocabulary.commonest(counts)
        return cls(kind, symbols, merges, normalize=normalize, tags=tags, tag_separator=tag_separator)

    def grown(
        self,
        lines: Iterable[str],
        *,
        vocab_size: int | None = None,
        min_count: int = 1,
        tag_separator: str | None = None,
    ) -> "Tokenizer":
        """This tokenizer with new ids for what the lines have and it does not: symbols, and tags, commonest first.

        New symbols of text come last. New tags stand behind the known ones, and so before all text, whose ids rise (see
        `ids_in`). Bytes can spell any text, so that to `bpe` only tags are new. Symbols are added up to `vocab_size`,
        tags always; `min_count` and `tag_separator` are as in `fit`, None its own separator.
        """
        separator = tag_separator or self.tag_separator
        counts: Counter[str] = Counter()
        found = _symbols_of(self.kind, _texts(lines, self.normalize, separator, counts), min_count)
        tags = list(dict.fromkeys([*self._tags, *vocabulary.commonest(counts)]))
        known = self._symbols[self._first_text_id :]
        symbols = known if self.kind is TokenizerKind.bpe else list(dict.fromkeys([*known, *found]))
        if vocab_size is not None:
            symbols = symbols[: max(vocab_size - NUM_SPECIAL - len(tags), len(known))]
        return Tokenizer(self.kind, symbols, self._merges, normalize=self.normalize, tags=tags, tag_separator=separator)

    def ids_in(self, other: "Tokenizer") -> list[int | None]:
        """For each id, in order, the one that another tokenizer gives to the same symbol; None if it has none."""
        ids = {symbol: number for number, symbol in enumerate(other._symbols)}
        return [ids.get(symbol) for symbol in self._symbols]

    @property
    def vocab_size(self) -> int:
        """Entries, the four special ones and the tags included."""
        return len(self._symbols)

    def without_tags(self) -> "Tokenizer":
        """The same ids for lines that have no tags and may hold tabs: the target's side of a shared vocabulary."""
        if self.tag_separator is None:
            return self
        symbols = self._symbols[self._first_text_id :]
        return Tokenizer(self.kind, symbols, self._merges, normalize=self.normalize, tags=self._tags)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS and EOS; the text is normalised first."""
        return self.encode_batch([text])[0]

    def encode_batch(self, lines: Iterable[str]) -> list[list[int]]:
        """The ids of many texts, as `encode` gives them, on all cores."""
        tags, texts = [], []
        for line in lines:
            ids, text = self._parted(line)
            tags.append(ids)
            texts.append(self._prepared(text))
        words = self.kind is TokenizerKind.word
        batch = self._backend.encode_batch_fast(texts, is_pretokenized=words, add_special_tokens=False)
        return [ids + encoding.ids for ids, encoding in zip(tags, batch, strict=True)]

    def _parted(self, line: str) -> tuple[list[int], str]:
        """The ids of the tags, and the text, not yet normalised."""
        tags, text = parted(line, self.tag_separator)
        return [self._id_of_tag.get(normalized(tag, self.normalize), UNK) for tag in tags], text

    def _prepared(self, text: str) -> str | list[str]:
        text = normalized(text, self.normalize)
        return text.split() if self.kind is TokenizerKind.word else text

    def writable(self, text: str) -> str:
        """The text as a model could write it: normalised, and for `word` its words with one space between them.

        Unknown symbols stay what they are, which no model can write.
        """
        prepared = self._prepared(text)
        return prepared if isinstance(prepared, str) else " ".join(prepared)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids: PAD, BOS and EOS left out, UNK shown (U+FFFD; for words `<unk>`).

        Tags at the beginning are given as they were read; where no tag belongs it is shown as UNK is.
        """
        shown = [number for number in ids if number >= UNK]
        num_tags, unknown = 0, _SHOWN_UNKNOWN[self.kind]
        if self.tag_separator is not None:
            num_tags = next((place for place, number in enumerate(shown) if number >= self._first_text_id), len(shown))
            while num_tags and shown[num_tags - 1] == UNK:  # an unknown symbol of the text, unless a known tag follows
                num_tags -= 1
        symbols = [self._symbols[number] if number >= self._first_text_id else unknown for number in shown[num_tags:]]
        if self.kind is TokenizerKind.bpe:
            text = self._backend.decoder.decode(symbols)
        else:
            text = (" " if self.kind is TokenizerKind.word else "").join(symbols)
        if self.tag_separator is None or not (num_tags or TAB in text):
            return text
        tags = [unknown if number == UNK else self._tags[number - NUM_SPECIAL] for number in shown[:num_tags]]
        return tagged(tags, text, self.tag_separator)

    def spellings(self) -> list[bytes]:
        """What each id adds to a text, in UTF-8: nothing for PAD, BOS and EOS; a space ends each word of `word`."""
        end = " " if self.kind is TokenizerKind.word else ""
        unknown = (_SHOWN_UNKNOWN[self.kind] + end).encode()
        special = [b""] * UNK + [unknown] * (self._first_text_id - UNK)
        symbols = self._symbols[self._first_text_id :]
        if self.kind is TokenizerKind.bpe:
            return special + [bytes(vocabulary.BYTE_OF[character] for character in symbol) for symbol in symbols]
        return special + [(symbol + end).encode() for symbol in symbols]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One label an id, for people: `<eos>` for EOS, `[V]` for a tag, `␣` for a space, an escape for no shape."""
        return [self._label(number) for number in ids]

    def _label(self, number: int) -> str:
        if number < len(_LABELS):
            return _LABELS[number]
        if number < self._first_text_id:
            return f"[{''.join(map(_visible, self._tags[number - NUM_SPECIAL]))}]"
        symbol = self._symbols[number]
        if self.kind is TokenizerKind.bpe:
            spelled = bytes(vocabulary.BYTE_OF[character] for character in symbol)
            try:
                symbol = spelled.decode("utf-8")
            except UnicodeDecodeError:  # a part of a character
                return "".join(f"<0x{byte:02X}>" for byte in spelled)
        return "".join(map(_visible, symbol))

    def word_numbers(self, text: str) -> list[int]:
        """For each id of `encode(text)`, the 0-based number of the word that it belongs to (`char`: of the character).

        A tag is a word (a character). A `bpe` token of white space alone belongs to the word after it; at the end of
        the text, to the last word.
        """
        if self.kind is not TokenizerKind.bpe:
            return list(range(len(self.encode(text))))
        tags, text = self._parted(text)
        text = normalized(text, self.normalize)
        numbers, last, begin = [0] * len(text), 0, 0
        for last, word in enumerate(re.finditer(r"\S+", text)):
            numbers[begin : word.end()] = [last] * (word.end() - begin)
            begin = word.end()
        numbers[begin:] = [last] * (len(text) - begin)
        offsets = self._backend.encode(text, add_special_tokens=False).offsets
        return [*range(len(tags)), *(len(tags) + numbers[start] for start, _ in offsets)]

    def state(self) -> dict[str, str | int]:
        """Everything that this tokenizer is, as plain values for a checkpoint."""
        return {
            "version": _STATE_VERSION,
            "kind": self.kind.value,
            "normalize": self.normalize.value,
            "symbols": json.dumps(self._symbols[self._first_text_id :], ensure_ascii=False),
            "merges": json.dumps(self._merges, ensure_ascii=False),
            "tags": json.dumps(self._tags, ensure_ascii=False),
            "tag_separator": self.tag_separator or "",
        }

    @classmethod
    def from_state(cls, state: dict[str, str | int]) -> "Tokenizer":
        """The tokenizer whose `state` this is, unless a later version wrote it (ValueError)."""
        if state["version"] != _STATE_VERSION:
            raise ValueError(
                f"tokenizer state of version {state['version']}, this seq2see reads version {_STATE_VERSION}"
            )
        return cls(
            TokenizerKind(state["kind"]),
            json.loads(str(state["symbols"])),
            [(left, right) for left, right in json.loads(str(state["merges"]))],
            normalize=Normalize(state["normalize"]),
            tags=json.loads(str(state.get("tags", "[]"))),
            tag_separator=str(state.get("tag_separator", "")) or None,
        )

    def library_json(self) -> str:
        """A file of the `tokenizers` library, whose ids and texts are those of this tokenizer, but for tags.

        A tag is an entry of its vocabulary (a tab and the tag) that it finds in no text. It decodes without PAD, BOS
        and EOS, which are to be left out before.
        """
        nfc = self.normalize is Normalize.nfc
        return vocabulary.library_json(self.kind, self._backend, nfc=nfc, shown_unknown=_SHOWN_UNKNOWN[self.kind])

    @classmethod
    def from_library(cls, content: dict, *, kind: str, tag_separator: str) -> "Tokenizer":
        """The tokenizer whose `library_json` has this content; kind and separator are those of its `state`.

        Raises:
            ValueError: its vocabulary does not begin with the special entries and the tags.
        """
        ids: dict[str, int] = content["model"]["vocab"]
        keys = sorted(ids, key=ids.__getitem__)
        if tuple(keys[:NUM_SPECIAL]) != vocabulary.SPECIAL_KEYS or [ids[key] for key in keys] != [*range(len(keys))]:
            raise ValueError(f"a vocabulary whose ids are not those of {', '.join(vocabulary.SPECIAL_KEYS)} and others")
        tags = list(takewhile(lambda key: key.startswith(vocabulary.TAG_MARK) and key[1:], keys[NUM_SPECIAL:]))
        return cls(
            TokenizerKind(kind),
            keys[NUM_SPECIAL + len(tags) :],
            [(left, right) for left, right in content["model"].get("merges", [])],
            normalize=Normalize.nfc if content["normalizer"] else Normalize.none,
            tags=[tag.removeprefix(vocabulary.TAG_MARK) for tag in tags],
            tag_separator=tag_separator or None,
        )


def _texts(
    lines: Iterable[str], normalize: Normalize, tag_separator: str | None, counts: Counter[str]
) -> Iterator[str]:
    """The texts of the lines, while their tags are counted."""
    for line in lines:
        tags, text = parted(line, tag_separator)
        counts.update(normalized(tag, normalize) for tag in tags)
        yield normalized(text, normalize)


def _symbols_of(kind: TokenizerKind, texts: Iterable[str], min_count: int) -> list[str]:
    """The code points of the texts, or their words as `str.split` cuts them, that are so common, commonest first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text if kind is TokenizerKind.char else text.split())
    return vocabulary.commonest(counts, min_count)


def _visible(character: str) -> str:
    if character == " ":
        return "␣"
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
