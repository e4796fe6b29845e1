"""The pairs of a run: from its task, or from the files that the run kept."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seq2see.options import FilesOptions, HubOptions, Split, TrainOptions
from seq2see.tasks import Pair, Task, make_task
from seq2see.tasks.whole_file import whole_file
from seq2see.text import DataError, normalize


def task_of(options: TrainOptions) -> Task:
    """The task of a run."""
    return make_task(options.task, on_bad_line=options.data.on_bad_line, normalize=options.tokenizer.normalize)


def pairs_of(options: TrainOptions, split: Split, *, run: Path | None) -> Sequence[Pair]:
    """The pairs of a split, as training saw them: the run's own copy of them, or the task's.

    Raises:
        DataError: what they come from is gone.
    """
    kept = None if run is None else run / "data"
    if kept is not None and isinstance(options.task, FilesOptions | HubOptions):
        for path in (kept / f"{split.value}.tsv", kept / f"{split.value}.jsonl"):
            if path.is_file():
                return _read_kept(path, options)
    return task_of(options).pairs(split.value)


def read_pairs(test: object, options: TrainOptions, *, columns: bool = False) -> Sequence[Pair]:
    """The pairs of another file than the run's own.

    Args:
        test: a path, or two of parallel files.
        options: the run's; how lines and columns are read.
        columns: whether the file has the run's columns, rather than source and target alone.
    """
    task = options.task
    if columns and isinstance(task, FilesOptions | HubOptions):
        other = FilesOptions(
            train=test, test=test, source=task.source, target=task.target, features=task.features,
            features_separator=task.features_separator,
        )  # fmt: skip
    else:
        other = FilesOptions(train=test, test=test)
    reader = make_task(other, on_bad_line=options.data.on_bad_line, normalize=options.tokenizer.normalize)
    return reader.pairs("test")


def keep_split_off(folder: Path, task: Task, options: TrainOptions) -> None:
    """Writes `valid.tsv` and `test.tsv` if they were split off a file, or came from a hub, so that these may go.

    Pairs that lines with tabs between cannot hold (a text may have a line end in it) make a `.jsonl` file instead.
    """
    if not isinstance(options.task, FilesOptions | HubOptions):
        return
    given = {"valid": options.task.valid, "test": options.task.test} if isinstance(options.task, FilesOptions) else {}
    for split in ("valid", "test"):
        pairs = task.pairs(split)
        if given.get(split) is not None or not pairs:
            continue
        folder.mkdir(exist_ok=True)
        num_tabs = 0 if options.task.features is None else 1  # tags, tab, source
        as_lines = all(_fits_a_line(pair, num_tabs) for pair in pairs)
        with whole_file(folder / f"{split}.{'tsv' if as_lines else 'jsonl'}") as file:
            for source, target, _ in pairs:
                entry = {"source": source, "target": target}
                file.write(f"{source}\t{target}\n" if as_lines else json.dumps(entry, ensure_ascii=False) + "\n")


def keep_files(folder: Path, task: FilesOptions) -> None:
    """Copies the files of a task, each one of its own name, and lets the task name the copies."""
    folder.mkdir(exist_ok=True)
    for split in ("train", "valid", "test"):
        path = getattr(task, split)
        if path is not None:
            setattr(task, split, str(shutil.copy(path, folder)))


def _fits_a_line(pair: Pair, num_tabs: int) -> bool:
    """Whether the line would be read as this pair; a U+FEFF at the beginning of a file is left out."""
    source, target, _ = pair
    whole = "\n" not in source + target and "\t" not in target and not target.endswith("\r")
    return whole and source.count("\t") == num_tabs and not source.startswith("\ufeff")


def _read_kept(path: Path, options: TrainOptions) -> Sequence[Pair]:
    """What `keep_split_off` has written."""
    task = options.task
    kept = FilesOptions(train=str(path), test=str(path), source=0, target=1)
    if path.suffix == ".jsonl":
        kept = FilesOptions(train=str(path), test=str(path))
    elif task.features is not None:
        kept = replace(kept, source=1, target=2, features=0, features_separator=task.features_separator)
    return make_task(kept, normalize=options.tokenizer.normalize).pairs("test")


def normalized_targets(pairs: Sequence[Pair], options: TrainOptions) -> list[str]:
    """The references, in the Unicode form that the model learns."""
    return [normalize(pair.target, options.tokenizer.normalize) for pair in pairs]


__all__ = ["DataError", "keep_files", "keep_split_off", "normalized_targets", "pairs_of", "read_pairs", "task_of"]
