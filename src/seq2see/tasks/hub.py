"""`hub`: pairs through `datasets.load_dataset`: a data set's name on the hub, or a folder laid out like one.

A folder is loaded anew each time, into a temporary folder: the usual cache of `datasets` goes by names and time stamps,
and gives its old copy of an edited file that has kept them. What is to be kept between runs, the run keeps by content.
"""

import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from seq2see.options import HubOptions, Normalize, OnBadLine
from seq2see.tasks.columns import Columns, named, pairs_of_objects
from seq2see.tasks.digests import digest_of_files, digest_of_folder
from seq2see.tasks.ledger import Ledger
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import found_folder
from seq2see.tasks.progress import watched
from seq2see.tasks.splits import Splits
from seq2see.tasks.table import PairTable
from seq2see.text import DataError

if TYPE_CHECKING:
    from datasets import Dataset

_SPLITS = {"train": ("train",), "valid": ("validation", "valid", "dev"), "test": ("test",)}  # and their names there
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_PATTERN = re.compile(r"[*?\[\]~]|::|://")  # what `datasets` takes for more than a name
_ROWS_AT_ONCE = 8_192


class Hub:
    """Pairs of a data set, which is loaded when its first split is asked for.

    Its splits `train`, `validation` (or `valid`, `dev`) and `test` are used; of those that it lacks, the last two are
    split off `train`.

    Args:
        options: data set, columns and how many training pairs to use.
        on_bad_line: whether a row that cannot be used is an error, or skipped and counted.
        normalize: the Unicode form in which two sources count as equal when a missing split is split off.
    """

    notes: list[str]
    ood: str

    def __init__(self, options: HubOptions, *, on_bad_line: OnBadLine, normalize: Normalize) -> None:
        self.notes = []
        self.ood = ""
        self._name = str(options.path)
        self._configuration = options.name
        self._columns = Columns(options.source, options.target, options.features, options.features_separator)
        self._on_bad_line = on_bad_line
        self._normalize = normalize
        self._train_size = options.train_size
        self._folder = _folder(self._name)

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order of the data set; none of `ood`.

        Raises:
            DataError: the data set cannot be had, has no training split, or a column or row is wrong.
        """
        return [] if split == "ood" else self._splits.pairs(split)

    def fingerprint(self) -> str | None:
        """32 hexadecimal digits for the bytes of the folder, or of what came from the hub.

        Raises:
            DataError: the data set cannot be had.
        """
        if self._folder is not None:
            return digest_of_folder(self._folder)
        files = [file["filename"] for dataset in self._datasets.values() for file in dataset.cache_files]
        return digest_of_files((Path(file), file) for file in files)

    @cached_property
    def _datasets(self) -> dict[str, "Dataset"]:
        """What there is, by our names for the splits.

        Raises:
            DataError: the data set cannot be had, or has no training split.
        """
        if self._folder is None:
            there = _loaded(self._name, self._name, self._configuration, None)
        else:
            scratch = tempfile.mkdtemp(prefix="seq2see-")
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
            there = _loaded_folder(self._folder, self._name, self._configuration, Path(scratch))
        chosen = {split: next((name for name in names if name in there), None) for split, names in _SPLITS.items()}
        if chosen["train"] is None:
            raise DataError(
                f"{self._name}: no split 'train', there are: {', '.join(there)}; choose another task.path or task.name"
            )
        used = [f"{name} ({len(there[name]):,} rows)" for name in chosen.values() if name is not None]
        unused = [name for name in there if name not in chosen.values()]
        self.notes.append(f"{self._name}: {', '.join(used)}{'; not used: ' if unused else ''}{', '.join(unused)}")
        if there[chosen["train"]].info.builder_name == "csv":
            self.notes.append(
                f"{self._name}: `datasets` reads .csv and .tsv with pandas (`NA` is missing, a quote mark may swallow "
                "lines), task=files reads them exactly"
            )
        return {split: there[name] for split, name in chosen.items() if name is not None}

    @cached_property
    def _splits(self) -> Splits:
        return Splits(
            {split: f"{self._name}, split {dataset.split}" for split, dataset in self._datasets.items()},
            {split: names[0] for split, names in _SPLITS.items()},
            self._read,
            normalize=self._normalize,
            has_tags=self._columns.features is not None,
            train_size=self._train_size,
            notes=self.notes,
        )

    def _read(self, split: str) -> PairTable:
        dataset = self._datasets[split]
        ledger = Ledger(f"{self._name}, split {dataset.split}", self._on_bad_line, "row")
        columns = named(self._columns, _choices(dataset), ledger.name)
        wanted = [name for name in dataset.column_names if name in (columns.source, columns.target, columns.features)]
        languages = [name for name in columns[:3] if name is not None and name not in wanted]
        rows = _rows(dataset.select_columns([*wanted, *(["translation"] if languages else [])]))
        pairs = pairs_of_objects(enumerate(rows, start=1), columns, ledger)
        table = PairTable.of(watched(pairs, f"reading {self._name}, {dataset.split}", total=len(dataset)))
        if not table:
            raise ledger.no_pairs()
        self.notes += ledger.notes()
        return table


def _folder(name: str) -> Path | None:
    """The folder that is meant; None for the name of a data set on the hub.

    Raises:
        DataError: it can be neither.
    """
    if Path(name).exists() or not _HUB_NAME.fullmatch(name):
        return found_folder(name)
    return None


def _choices(dataset: "Dataset") -> list[str]:
    """The columns, a `translation` column being as many as it has languages."""
    features, choices = dataset.features, []
    for name in dataset.column_names:
        inner = features[name]
        languages = inner if isinstance(inner, Mapping) else getattr(inner, "languages", None)
        choices += list(languages) if name == "translation" and languages else [name]
    return choices


def _rows(dataset: "Dataset") -> Iterator[dict[str, object]]:
    for batch in dataset.iter(batch_size=_ROWS_AT_ONCE):
        assert isinstance(batch, dict)
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(batch, values, strict=True))


def _loaded_folder(folder: Path, name: str, configuration: str | None, scratch: Path) -> dict[str, "Dataset"]:
    """The data set of a folder.

    Raises:
        DataError: it is none.
    """
    whole = folder.resolve()
    if _PATTERN.search(str(whole)):  # in `a[1]`, `datasets` would find no files, or find them twice
        whole = scratch / "folder"
        shutil.copytree(folder.resolve(), whole, copy_function=_link)
    return _loaded(str(whole), name, configuration, scratch / "cache")


def _link(source: str, target: str) -> None:
    """Another name for a file, or a copy where that cannot be."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copyfile(source, target)


def _loaded(path: str, name: str, configuration: str | None, cache: Path | None) -> dict[str, "Dataset"]:
    """What `datasets` makes of it: its splits by their names.

    Args:
        path: for `datasets`.
        name: for people.
        configuration: one of those that the data set has, or None.
        cache: where to; None: where the user's other data sets are.

    Raises:
        DataError: nothing.
    """
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what is wrong, we say
    try:
        loaded = datasets.load_dataset(path, configuration, cache_dir=None if cache is None else str(cache))
    except ConnectionError as error:
        raise DataError(
            f"{name}: no folder of this name here, and the hub cannot be reached ({error}): check task.path, or the "
            "network"
        ) from None
    except Exception as error:  # whatever fault of the data it meets, with errors of its own and of many libraries
        raise DataError(_say(name, configuration, error)) from None
    return {str(split): dataset for split, dataset in loaded.items()}


def _say(name: str, configuration: str | None, error: Exception) -> str:
    """The message for what `datasets` could not load; only its text tells configurations from other faults."""
    fault = str(error.__cause__ or error).strip() or type(error).__name__
    if "onfig" in fault and isinstance(error, ValueError):
        listed = fault[fault.find("[") :].splitlines()[0] if "[" in fault else ""
        there = ", ".join(re.findall(r"'([^']*)'", listed)) or "none"
        chosen = "" if configuration is None else f" ({configuration})"
        return f"{name}: task.name{chosen} must be a configuration of this data set, there are: {there}"
    return (
        f"{name}: `datasets` cannot load it ({type(error).__name__}: {fault.splitlines()[0]}), check task.path; a "
        "single file is read with task=files task.train=FILE"
    )
