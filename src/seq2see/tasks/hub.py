"""`hub`: pairs through `datasets`: a data set's name on the hub, or a folder laid out like one or saved to disk.

A folder is loaded anew each time, into a temporary folder: the usual cache of `datasets` goes by names and time stamps,
and gives its old copy of an edited file that has kept them. What is to be kept between runs, the run keeps by content.
"""

import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seq2see.options import DataOptions, HubOptions, Normalize
from seq2see.tasks.bad_lines import BadLines
from seq2see.tasks.columns import Columns, named, pairs_of_objects
from seq2see.tasks.opening import digest_of
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import found_folder
from seq2see.tasks.progress import watched
from seq2see.tasks.splits import Splits
from seq2see.text import DataError

if TYPE_CHECKING:
    from datasets import Dataset

_USUAL = {"train": ("train",), "valid": ("validation", "valid", "val", "dev"), "test": ("test",)}  # names of splits
_ROLES = {"train": "train on", "valid": "validate on", "test": "test on"}
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_PATTERN = re.compile(r"[*?\[\]~]|::|://")  # what `datasets` takes for more than a name


class Hub:
    """Pairs of a data set, which is loaded when its first split is asked for.

    Splits that no key chooses are taken by their usual names (not `eval`, which some mean to validate on and others to
    test on); what is missing is split off training. Doubt is an error: two splits of usual names, or, while no key is
    set, a split that may be the missing one. A split without a use is noted.
    """

    def __init__(self, options: HubOptions, data: DataOptions, normalize: Normalize) -> None:
        self.notes: list[str] = []
        self.ood = ""
        self._name = name = str(options.path)
        self._options = options
        self._columns = Columns.of(options)
        self._on_bad_line = data.on_bad_line
        self._normalize = normalize
        self._wanted = {"train": options.train_split, "valid": options.valid_split, "test": options.test_split}
        is_folder = os.path.exists(name) or not _HUB_NAME.fullmatch(name)
        self._folder = found_folder(name) if is_folder else None

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order of the data set; none of `ood`."""
        return [] if split == "ood" else self._splits.pairs(split)

    def scored(self) -> Sequence[Pair]:
        """All pairs of the test split, or of the only split that there is: what a trained model is scored on."""
        name = self._wanted["test"] or "test"
        if name not in self._all and len(self._all) > 1:
            raise DataError(
                f"{self._name}: no split '{name}' to score, there are: {', '.join(self._all)}; name a folder with a "
                "split of this name, or with one split"
            )
        return self._read(name if name in self._all else next(iter(self._all)))

    def fingerprint(self) -> str | None:
        """32 hexadecimal digits for the bytes of the folder, or of what came from the hub."""
        if self._folder is not None:
            return digest_of(path for path in sorted(self._folder.rglob("*")) if not path.is_dir())
        used = [self._all[name] for name in _chosen(self._name, list(self._all), self._wanted).values()]
        return digest_of(Path(file["filename"]) for dataset in used for file in dataset.cache_files)

    @cached_property
    def _all(self) -> dict[str, "Dataset"]:
        """All that there is, by the names that it has there; errors are for people."""
        import datasets

        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what is wrong, we say
        scratch = tempfile.mkdtemp(prefix="seq2see-")
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        try:
            if self._folder is None:
                return _built(self._name, self._options.name, None, [])
            return _loaded_folder(self._folder, self._options.name, Path(scratch), self.notes)
        except ConnectionError as error:
            raise DataError(
                f"{self._name}: no folder of this name here, and the hub cannot be reached ({error}): check task.path, "
                "or the network"
            ) from None
        except Exception as error:  # whatever fault of the data it meets, with errors of its own and of many libraries
            fault = " ".join(str(error.__cause__ or error).split())
            raise DataError(
                f"{self._name}: `datasets` cannot load it ({type(error).__name__}: {fault}), check task.path and "
                "task.name; a single file is read with task=files task.train=FILE"
            ) from None

    @cached_property
    def _splits(self) -> Splits:
        names = _chosen(self._name, list(self._all), self._wanted)
        used = [f"{name} ({len(self._all[name]):,} rows) to {_ROLES[split]}" for split, name in names.items()]
        unused = [name for name in self._all if name not in names.values()]
        self.notes.append(
            f"{self._name}: {', '.join(used)}{'; not used: ' if unused else ''}{', '.join(unused)} (chosen by usual "
            "names, or by task.train_split, task.valid_split, task.test_split)"
        )
        if self._all[names["train"]].info.builder_name == "csv":
            self.notes.append(
                f"{self._name}: `datasets` reads .csv and .tsv with pandas (`NA` is missing, a quote mark may swallow "
                "lines), task=files reads them exactly"
            )
        titles = {
            split: f"{self._name}, split {names[split]}" if split in names else usual[0]
            for split, usual in _USUAL.items()
        }
        return Splits(
            titles, set(names), lambda split: self._read(names[split]), self._options, self._normalize, self.notes
        )

    def _read(self, name: str) -> list[Pair]:
        """The pairs of a split, by its name there."""
        dataset = self._all[name].with_format(None)
        bad_lines = BadLines(f"{self._name}, split {name}", self._on_bad_line, "row")
        names = [  # a `translation` column is as many as it has languages
            choice
            for name, value in (dataset[0] if len(dataset) else {}).items()
            for choice in (value if name == "translation" and isinstance(value, dict) else [name])
        ]
        columns = named(self._columns, names, bad_lines.name)
        wanted = [name for name in dataset.column_names if name in (*columns[:3], "translation")]
        rows = cast(Iterable[dict[str, object]], dataset.select_columns(wanted))
        pairs = pairs_of_objects(enumerate(rows, start=1), columns, bad_lines)
        read = list(watched(pairs, f"reading {self._name}, {name}", total=len(dataset)))
        if not read:
            raise bad_lines.no_pairs()
        self.notes += bad_lines.notes()
        return read


def _chosen(name: str, there: list[str], wanted: dict[str, str | None]) -> dict[str, str]:
    """The data set's names for our splits, as `Hub` says, from all its splits and those that the user has chosen."""
    listed = f"there are: {', '.join(there)}"
    free = [split for split in there if split not in wanted.values()]
    chosen: dict[str, str] = {}
    for ours, usual in _USUAL.items():
        fit = [split for split in free if split in usual] if wanted[ours] is None else [str(wanted[ours])]
        if not set(fit) <= set(there):
            raise DataError(f"{name}: no split '{fit[0]}' (task.{ours}_split), {listed}")
        if len(fit) > 1:
            raise DataError(f"{name}: {' and '.join(fit)} may both be meant to {_ROLES[ours]}, set task.{ours}_split")
        if fit:
            chosen[ours] = fit[0]
    if "train" not in chosen:
        raise DataError(f"{name}: no split 'train', {listed}; choose with task.train_split, or another task.path")
    missing = [ours for ours in _USUAL if ours not in chosen]
    left = [split for split in free if split not in chosen.values()]
    if left and missing and not any(wanted.values()):
        keys = " and ".join(f"task.{ours}_split" for ours in missing)
        raise DataError(
            f"{name}: no split to {' and to '.join(_ROLES[ours] for ours in missing)} by a usual name, {listed}; "
            f"choose with {keys}, or set task.train_split={chosen['train']} to split off what is missing"
        )
    return chosen


def _loaded_folder(folder: Path, configuration: str | None, scratch: Path, notes: list[str]) -> dict[str, Any]:
    """The data set of a folder: what `save_to_disk` wrote, or several of that side by side, or files as on the hub."""
    from datasets import Dataset, load_from_disk

    whole = folder.resolve()
    if _PATTERN.search(str(whole)):  # in `a[1]`, `datasets` would find no files, or find them twice
        whole = Path(shutil.copytree(whole, scratch / "folder"))
    parts = [place for place in sorted(whole.iterdir()) if (place / "state.json").is_file()]
    is_saved = (whole / "state.json").is_file() or (whole / "dataset_dict.json").is_file()
    if not (is_saved or parts):
        return _built(str(whole), configuration, scratch / "cache", notes)
    if configuration is not None:
        raise ValueError("a saved data set has no configurations")
    if not is_saved:
        return {place.name: load_from_disk(str(place)) for place in parts}
    saved = load_from_disk(str(whole))
    return {"train": saved} if isinstance(saved, Dataset) else {str(split): part for split, part in saved.items()}


def _built(path: str, configuration: str | None, cache: Path | None, notes: list[str]) -> dict[str, Any]:
    """What `datasets` makes of a name (with no `cache`, among the user's other data sets), or of files of a folder."""
    from datasets import load_dataset_builder

    builder = load_dataset_builder(path, configuration, cache_dir=None if cache is None else str(cache))
    if cache is not None and configuration is None:
        notes += _notes_on_files(Path(path), builder.config.data_files or {})
    builder.download_and_prepare()
    loaded = builder.as_dataset()
    assert isinstance(loaded, dict)
    return {str(split): dataset for split, dataset in loaded.items()}


def _notes_on_files(folder: Path, used: Mapping[str, Sequence[str]]) -> list[str]:
    """What `datasets` does not say: it takes `eval` for test, and `devtest` for nothing."""
    names = {split: [Path(file).relative_to(folder).as_posix() for file in files] for split, files in used.items()}
    notes = [f"{file}: read as the split test" for file in names.get("test", ()) if "test" not in file]
    taken = {file for files in names.values() for file in files}
    suffixes = {Path(file).suffix for file in taken}
    like = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.suffix in suffixes)
    return notes + [f"{file}: not read, its name says no split" for file in like if file not in taken]
