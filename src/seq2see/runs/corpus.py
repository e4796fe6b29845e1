"""What training needs of the pairs: read and tokenised once, then kept by content for the next run.

The key of what is kept is a hash of all that it was made from: the bytes of the files, the keys of the task and of the
tokenizers as the user gave them, and our code. So an edited file is another data set, whatever its time stamp says.

`datasets` could keep the ids, too, but takes longer to import than 200,000 pairs take to read.
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

from seq2see.data import EncodedPairs, cache
from seq2see.options import TrainOptions, tag_separator
from seq2see.options.plain import to_plain
from seq2see.runs.choices import Facts, choose
from seq2see.runs.data import task_of, with_whole_paths
from seq2see.runs.pair_digests import Plain, digest_of
from seq2see.runs.tokenizers import Tokenizers, fit_tokenizers
from seq2see.tasks import Pair, Task
from seq2see.tasks.files import Files
from seq2see.tasks.hub import Hub
from seq2see.tasks.progress import watched
from seq2see.text import DataError, Tokenizer

WORTH_KEEPING = 1.0  # seconds that generated pairs must have cost; given ones are always kept
_OTHER_SPLITS: tuple[str, ...] = ("valid", "test", "ood")
_ROOMS = ("options", "text", "tasks", "data", "runs")  # whose code decides what the data set is
_LIBRARIES = ("tokenizers", "pyarrow", "datasets", "num2words")


@dataclass
class EncodedDataset:
    """The pairs of a run, ready for training."""

    task: Task  # gives the pairs that are not for training, and what people should know
    facts: Facts
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer  # the same object if the vocabulary is shared
    train: EncodedPairs
    digests: dict[str, Plain]  # by split


@dataclass
class KeptTask:
    """A task whose pairs are at hand, but for those of training, which are made again if somebody asks for them."""

    options: TrainOptions
    notes: list[str]
    ood: str
    kept: dict[str, Sequence[Pair]]

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`."""
        if split not in self.kept:
            self.kept[split] = task_of(self.options).pairs(split)
        return self.kept[split]


def corpus_of(options: TrainOptions, tokenizers: Tokenizers | None = None) -> EncodedDataset:
    """The pairs of a run: what an earlier one has kept, or else read, tokenised and kept.

    Args:
        options: as the user left them.
        tokenizers: those to go on with, and to add new symbols to; None: new ones.
    """
    task, begin = task_of(options), time.monotonic()
    key = _key(task, options, tokenizers)
    kept = None if key is None else _kept(key, options)
    if kept is not None:
        return kept
    dataset = _made(task, options, tokenizers)
    if key is None or not (isinstance(task, Files | Hub) or time.monotonic() - begin > WORTH_KEEPING):
        return dataset
    if _key(task, options, tokenizers) != key:
        name = getattr(options.task, "path", None) or getattr(options.task, "train", None)
        raise DataError(f"{name}: changed while it was read, start again when it is complete")
    found = cache.keep(key, lambda folder: _write(folder, dataset))
    return (None if found is None else _kept(key, options)) or dataset  # the kept one, as it takes no memory


def _made(task: Task, options: TrainOptions, tokenizers: Tokenizers | None) -> EncodedDataset:
    train, *others = (task.pairs(split) for split in ("train", *_OTHER_SPLITS))  # all: reading may add to the notes
    facts = Facts.of(train, has_tags=tag_separator(options.task) is not None)
    filled, _ = choose(options, facts)
    source, target = fit_tokenizers(train, filled, tokenizers)
    seen: Iterable[Pair] = watched(train, "tokenising", total=len(train))
    encoded = EncodedPairs.from_pairs(seen, source, target, max_length=filled.data.max_length)
    pairs = dict(zip(_OTHER_SPLITS, others, strict=True))
    digests = {split: digest_of(some) for split, some in {"train": train, **pairs}.items()}
    return EncodedDataset(KeptTask(options, task.notes, task.ood, pairs), facts, source, target, encoded, digests)


def _write(folder: Path, dataset: EncodedDataset) -> None:
    dataset.train.save(folder)
    about = {
        "facts": asdict(dataset.facts),
        "notes": dataset.task.notes,
        "ood": dataset.task.ood,
        "pairs": {split: dataset.task.pairs(split) for split in _OTHER_SPLITS},
        "tokenizers": [dataset.source_tokenizer.state(), dataset.target_tokenizer.state()],
        "digests": dataset.digests,
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _kept(key: str, options: TrainOptions) -> EncodedDataset | None:
    """What is kept under the key; None if nothing is, or it is damaged, which removes it."""
    folder = cache.find(key)
    if folder is None:
        return None
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        pairs: dict[str, Sequence[Pair]] = {
            split: [_pair(*fields) for fields in some] for split, some in about["pairs"].items()
        }
        facts = Facts(**about["facts"])
        source, target = map(Tokenizer.from_state, about["tokenizers"])
        return EncodedDataset(
            task=KeptTask(options, about["notes"], about["ood"], pairs),
            facts=facts,
            source_tokenizer=source,
            target_tokenizer=source.without_tags() if choose(options, facts)[0].tokenizer.shared else target,
            train=EncodedPairs.mapped(folder),
            digests=about["digests"],
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        cache.drop(key)
        return None


def _pair(source: str, target: str, links: list[list[int]] | None) -> Pair:
    return Pair(source, target, None if links is None else tuple((i, j) for i, j in links))


def _key(task: Task, options: TrainOptions, tokenizers: Tokenizers | None) -> str | None:
    """32 hexadecimal digits for all that the data set is made from; None if it can be read only once."""
    content = task.fingerprint() if isinstance(task, Files | Hub) else ""
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
        "unicode": unicodedata.unidata_version,
    }
    return blake2b(json.dumps(made_from, sort_keys=True, default=str).encode("utf-8"), digest_size=16).hexdigest()


@once
def _code() -> list[str]:
    """All code that decides what the data set is: ours by its bytes, that of libraries by their versions."""
    digest, package = blake2b(digest_size=16), Path(__file__).parents[1]
    for path in sorted(path for room in _ROOMS for path in (package / room).rglob("*")):
        if path.suffix in (".py", ".toml"):
            digest.update(path.read_bytes())
    versions = []
    for library in _LIBRARIES:
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"no {library}")
    return [digest.hexdigest(), *versions]
