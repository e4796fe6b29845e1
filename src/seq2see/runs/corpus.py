"""What training needs of the pairs: read and tokenised once, then kept by content for the next run.

The key of what is kept is a hash of all that it was made from: the bytes of the files, the keys of the task and of the
tokenizers as the user gave them, and this code. So an edited file is another corpus, whatever its time stamp says.
"""

import json
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache as once
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from seq2see._version import __version__
from seq2see.data import EncodedPairs, cache
from seq2see.options import TrainOptions, tag_separator
from seq2see.options.plain import to_plain
from seq2see.runs.choices import Facts, choose
from seq2see.runs.data import task_of, with_whole_paths
from seq2see.runs.pair_digests import PairDigest, Plain, digest_of
from seq2see.runs.tokenizers import Tokenizers, fit_tokenizers
from seq2see.tasks import Pair, Task
from seq2see.tasks.progress import watched
from seq2see.text import DataError, Tokenizer

WORTH_KEEPING = 1.0  # seconds that generated pairs must have cost; given ones are always kept
_OTHER_SPLITS: tuple[str, ...] = ("valid", "test", "ood")
_OUR_CODE = (
    "tasks", "text", "data", "runs/choices.py", "runs/corpus.py", "runs/data.py", "runs/pair_digests.py",
    "runs/tokenizers.py",
)  # fmt: skip
_LIBRARIES = ("tokenizers", "pyarrow", "datasets", "num2words")


@dataclass
class Corpus:
    """The pairs of a run, ready for training."""

    task: Task  # gives the pairs that are not for training, and what people should know
    facts: Facts
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer  # the same object if the vocabulary is shared
    train: EncodedPairs
    digests: dict[str, Plain]  # by split


@runtime_checkable
class _Given(Protocol):
    """A task whose pairs are not generated."""

    def fingerprint(self) -> str | None:
        """Digits for the bytes that the pairs are made from; None if they can be read only once."""
        ...


class KeptTask:
    """A task whose pairs are at hand, but for those of training, which are made again if somebody asks for them."""

    def __init__(self, options: TrainOptions, notes: list[str], ood: str, pairs: dict[str, Sequence[Pair]]) -> None:
        self.notes = notes
        self.ood = ood
        self._options = options
        self._pairs = pairs

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`."""
        if split not in self._pairs:
            self._pairs[split] = task_of(self._options).pairs(split)
        return self._pairs[split]


def corpus_of(options: TrainOptions, tokenizers: Tokenizers | None = None) -> Corpus:
    """The pairs of a run: what an earlier one has kept, or else read, tokenised and kept.

    Args:
        options: as the user left them.
        tokenizers: those to go on with, and to add new symbols to; None: new ones.

    Raises:
        DataError: a file is wrong, or was changed while it was read.
        ValueError: the options ask for what the pairs do not give.
    """
    task = task_of(options)
    key = _key(task, options, tokenizers)
    kept = None if key is None else _load(key, options)
    return kept or _make(task, key, options, tokenizers)


def _make(task: Task, key: str | None, options: TrainOptions, tokenizers: Tokenizers | None) -> Corpus:
    begin = time.monotonic()
    train, *others = (task.pairs(split) for split in ("train", *_OTHER_SPLITS))  # all: reading may add to the notes
    facts = Facts.of(train, has_tags=tag_separator(options.task) is not None)
    filled, _ = choose(options, facts)
    source, target = fit_tokenizers(train, filled, tokenizers)
    max_length = filled.data.max_length
    digests = {split: digest_of(pairs) for split, pairs in zip(_OTHER_SPLITS, others, strict=True)}

    def write(folder: Path) -> None:
        from seq2see.data.encoded import encoded_parts
        from seq2see.data.mapped import MappedPairs
        from seq2see.tasks.table import PairTable

        digest = PairDigest()
        parts = encoded_parts(digest.through(_watched(train)), source, target, max_length=max_length)
        MappedPairs.write(folder / "train.arrow", parts)
        for split, pairs in zip(_OTHER_SPLITS, others, strict=True):
            PairTable.write(folder / f"{split}.arrow", pairs)
        about = {
            "facts": asdict(facts),
            "chosen": _chosen(filled),
            "notes": task.notes,
            "ood": task.ood,
            "source_tokenizer": source.state(),
            "target_tokenizer": None if filled.tokenizer.shared else target.state(),
            "digests": {"train": digest.plain(), **digests},
        }
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
        if _key(task, options, tokenizers) != key:
            name = getattr(options.task, "path", None) or getattr(options.task, "train", None)
            raise DataError(f"{name}: changed while it was read, start again when it is complete")

    if key is not None and (isinstance(task, _Given) or time.monotonic() - begin > WORTH_KEEPING):
        kept = None if cache.keep(key, write) is None else _load(key, options)
        if kept is not None:
            return kept
    digest = PairDigest()
    encoded = EncodedPairs.from_pairs(digest.through(_watched(train)), source, target, max_length=max_length)
    pairs = dict(zip(_OTHER_SPLITS, others, strict=True))
    digests = {"train": digest.plain(), **digests}
    return Corpus(KeptTask(options, task.notes, task.ood, pairs), facts, source, target, encoded, digests)


def _watched(pairs: Sequence[Pair]) -> Iterable[Pair]:
    return watched(pairs, "tokenising", total=len(pairs))


def _load(key: str, options: TrainOptions) -> Corpus | None:
    """What is kept under the key; None if nothing is, or not what these options lead to, or it cannot be read."""
    folder = cache.find(key)
    if folder is None:
        return None
    from pyarrow import ArrowException

    from seq2see.data.mapped import MappedPairs
    from seq2see.tasks.table import PairTable

    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        facts = Facts(**about["facts"])
        if about["chosen"] != _chosen(choose(options, facts)[0]):
            return None
        source = Tokenizer.from_state(about["source_tokenizer"])
        state = about["target_tokenizer"]
        target = source.without_tags() if state is None else Tokenizer.from_state(state)
        train = MappedPairs(folder / "train.arrow")
        others: dict[str, Sequence[Pair]] = {
            split: list(PairTable.open(folder / f"{split}.arrow")) for split in _OTHER_SPLITS
        }
        task = KeptTask(options, about["notes"], about["ood"], others)
        return Corpus(task, facts, source, target, train, about["digests"])
    except (OSError, ValueError, KeyError, TypeError, ArrowException):
        return None


def _chosen(filled: TrainOptions) -> dict[str, Any]:
    """What the ids depend on."""
    return {"tokenizer": to_plain(filled.tokenizer), "max_length": filled.data.max_length}


def _key(task: Task, options: TrainOptions, tokenizers: Tokenizers | None) -> str | None:
    """32 hexadecimal digits for all that the corpus is made from; None if it can be read only once."""
    content = task.fingerprint() if isinstance(task, _Given) else ""
    if content is None:
        return None
    made_from = {
        "content": content,
        "task": to_plain(with_whole_paths(options.task)),
        "tokenizer": to_plain(options.tokenizer),
        "tokenizers": None if tokenizers is None else [tokenizer.state() for tokenizer in tokenizers],
        "max_length": options.data.max_length,
        "text": (options.data.on_bad_line.value, options.data.delimiter, options.data.encoding),
        "code": _code(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "unicode": unicodedata.unidata_version,
    }
    return blake2b(json.dumps(made_from, sort_keys=True, default=str).encode("utf-8"), digest_size=16).hexdigest()


@once
def _code() -> str:
    """32 hexadecimal digits for our own code that decides what the corpus is."""
    digest, package = blake2b(digest_size=16), Path(__file__).parents[1]
    for place in _OUR_CODE:
        for path in sorted([package / place, *(package / place).rglob("*")]):
            if path.suffix in (".py", ".toml"):
                digest.update(path.read_bytes())
    return f"{__version__} {digest.hexdigest()}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
