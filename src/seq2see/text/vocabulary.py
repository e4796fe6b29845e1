"""Which symbols there are: counted in the training lines, in an order that the lines alone decide."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from seq2see.options import TokenizerKind

# Keys of PAD, BOS, EOS and UNK, ids 0 to 3. No text can produce them: a `word` holds no white space, a byte-level token
# spells a space as another character, and a `char` symbol is one code point long. So `<pad>` in a text is text. Keys of
# tags differ from text in the same way, and from these.
SPECIAL_KEYS = (" pad", " bos", " eos", " unk")
UNKNOWN_KEY = SPECIAL_KEYS[3]
TAG_MARK = "\t"  # begins the key of a tag

# Byte-level symbols are spelled in 256 printable characters: a byte that is printable in Latin-1 by itself, the others
# by the characters from U+0100 on (as in GPT-2, whose table `tokenizers` uses and does not show).
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + rank): byte for rank, byte in enumerate(_OTHERS)}
BYTES = sorted(BYTE_OF)

BPE_SIZES = (512, 8_000)  # entries: least and most when no size is asked for
CHARACTERS_AN_ENTRY = 100  # of training text, so that most entries are seen often enough to be learned

WHITE_SPACE = r"[\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+"
NO_TEXT = rf"\A(?:{UNKNOWN_KEY}|{TAG_MARK}.+)\z"  # keys that stand for no text

Merge = tuple[str, str]

_BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)


def commonest(counts: Counter[str], min_count: int = 1) -> list[str]:
    """Those that were counted so often, commonest first, equally common ones by code point."""
    kept = [symbol for symbol, count in counts.items() if count >= min_count]
    return sorted(kept, key=lambda symbol: (-counts[symbol], symbol))


def bpe_merges(lines: Iterable[str], vocab_size: int | None, min_count: int = 1) -> list[Merge]:
    """Byte-level merges, in the order in which they were learned.

    A shorter list of merges is the beginning of a longer one. So when no size is given the longest is learned, and cut
    to one entry for each hundred characters of text, at least 512 and at most 8,000.
    """
    num_characters = 0

    def counted() -> Iterator[str]:
        nonlocal num_characters
        for line in lines:
            num_characters += len(line)
            yield line

    learner = Backend(models.BPE())
    learner.pre_tokenizer = _BYTE_LEVEL
    trainer = trainers.BpeTrainer(
        vocab_size=(vocab_size or BPE_SIZES[1]) - len(SPECIAL_KEYS),
        min_frequency=max(min_count, 2),
        initial_alphabet=BYTES,
        show_progress=False,
    )
    learner.train_from_iterator(counted(), trainer)
    merges = [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]
    wanted = vocab_size or min(max(num_characters // CHARACTERS_AN_ENTRY, BPE_SIZES[0]), BPE_SIZES[1])
    return first_merges(merges, wanted)


def first_merges(merges: Iterable[Merge], vocab_size: int) -> list[Merge]:
    """As many merges as make no more than `vocab_size` entries with the bytes and the special ones."""
    room = vocab_size - len(SPECIAL_KEYS) - len(BYTES)
    first: list[Merge] = []
    merged: set[str] = set()
    for merge in merges:
        merged.add("".join(merge))
        if len(merged) > room:
            break
        first.append(merge)
    return first


def bpe_symbols(merges: list[Merge]) -> list[str]:
    """The bytes, and what the merges make of them (two merges may make the same)."""
    return list(dict.fromkeys([*BYTES, *map("".join, merges)]))


def backend_of(kind: TokenizerKind, ids: dict[str, int], merges: list[Merge]) -> Backend:
    """The library's tokenizer with these ids."""
    if kind is TokenizerKind.char:  # byte-pair encoding without a merge is the library's quickest way to code points
        return Backend(models.BPE(vocab=ids, merges=[], unk_token=UNKNOWN_KEY))
    if kind is TokenizerKind.word:  # the words are cut before, for the library's white space is not Python's
        return Backend(models.WordLevel(vocab=ids, unk_token=UNKNOWN_KEY))
    backend = Backend(models.BPE(vocab=ids, merges=merges))  # of bytes, so that there is no unknown symbol
    backend.pre_tokenizer = _BYTE_LEVEL
    backend.decoder = decoders.ByteLevel()
    return backend


def library_json(kind: TokenizerKind, backend: Backend, *, nfc: bool, shown_unknown: str) -> str:
    """The tokenizer as a file of the library, which does there what `Tokenizer` does around it."""
    whole = Backend.from_str(backend.to_str())
    joined = {
        TokenizerKind.char: decoders.Fuse(),
        TokenizerKind.word: decoders.WordPiece(prefix=TAG_MARK, cleanup=False),  # a space between words
        TokenizerKind.bpe: decoders.ByteLevel(),
    }
    whole.decoder = decoders.Sequence([decoders.Replace(Regex(NO_TEXT), shown_unknown), joined[kind]])
    if kind is TokenizerKind.word:  # as `str.split` cuts
        whole.pre_tokenizer = pre_tokenizers.Split(Regex(WHITE_SPACE), "removed")
    if nfc:
        whole.normalizer = normalizers.NFC()
    return whole.to_str()
