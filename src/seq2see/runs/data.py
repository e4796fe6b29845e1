"""The pairs of a run: from its task, or from the files that the run kept."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seq2see.atomic_write import whole_file
from seq2see.options import FilesOptions, HubOptions, Normalize, OtherData, OtherText, Split, TrainOptions
from seq2see.tasks import Pair, Task, make_task
from seq2see.tasks.paths import absolute, absolute_files, files_of


def task_of(options: TrainOptions) -> Task:
    """The task of a run."""
    return make_task(options.task, options.data, normalize=options.tokenizer.normalize)


def with_whole_paths(task: Any) -> Any:
    """A run's task for a process in another folder: the paths of its data are absolute."""
    if isinstance(task, FilesOptions):
        return replace(task, **{split: absolute_files(getattr(task, split)) for split in ("train", "valid", "test")})
    if isinstance(task, HubOptions) and os.path.exists(absolute(str(task.path))):
        return replace(task, path=absolute(str(task.path)))
    return task


def pairs_of(
    options: TrainOptions, split: Split, *, run: Path | None, notes: list[str] | None = None
) -> Sequence[Pair]:
    """The pairs of a split, as training saw them: the run's own copy of them, if the folder is at hand, or the task's.

    `notes` takes what people should know of how they were read.

    Raises:
        DataError: what they come from is gone.
    """
    if run is not None and isinstance(options.task, FilesOptions | HubOptions):
        for path in (run / "data" / f"{split.value}.tsv", run / "data" / f"{split.value}.jsonl"):
            if path.is_file():
                return _read_kept(path, options.task, options.tokenizer.normalize)
    task = task_of(options)
    pairs = task.pairs(split.value)
    if notes is not None:
        notes += task.notes
    return pairs


def read_pairs(other: OtherData, text: OtherText, options: TrainOptions, notes: list[str]) -> Sequence[Pair]:
    """The pairs of other files, or for a run of `task=hub` of a folder like that of its data set.

    They are read as those of training were, but for what `other` and `text` say; columns that the run has chosen are
    left out for parallel files, which have none. `notes` takes what people should know of how they were read.

    Raises:
        DataError: a file is wrong.
        ValueError: tags that the model knows cannot be had from the files, or it knows none.
    """
    run = options.task if isinstance(options.task, FilesOptions | HubOptions) else FilesOptions(train="")
    if other.features is not None and run.features is None:
        raise ValueError(f"task.features ({other.features}): the model was trained without tags: leave it out")
    given = {name: value for name, value in vars(other).items() if value is not None and name != "test"}
    if isinstance(run, HubOptions) and isinstance(other.test, str) and Path(other.test).expanduser().is_dir():
        from seq2see.tasks.hub import Hub

        folder = replace(run, path=str(Path(other.test).expanduser()), **given)
        task = Hub(folder, options.data, options.tokenizer.normalize)
        pairs = task.scored()
    else:
        columns = {name: getattr(run, name) for name in ("source", "target", "features", "features_separator")} | given
        if files_of("test", other.test).are_parallel:
            if run.features is not None:
                raise ValueError(
                    f"task.test ({other.test}): the model reads tags (task.features={run.features}), and parallel "
                    "files have no columns: name a file that holds pairs and tags"
                )
            columns = given
        data = replace(options.data, **{name: value for name, value in vars(text).items() if value is not None})
        files = FilesOptions(train=other.test, test=other.test, **columns)
        task = make_task(files, data, normalize=options.tokenizer.normalize)
        pairs = task.pairs("test")
    notes += task.notes
    return pairs


def keep_split_off(folder: Path, task: Task, options: Any) -> None:
    """Writes `valid.tsv` and `test.tsv` if they were split off a file, or came from a hub, so that these may go.

    Pairs that lines with tabs between cannot hold (a text may have a line end in it) make a `.jsonl` file instead.
    """
    if not isinstance(options, FilesOptions | HubOptions):
        return
    for split in ("valid", "test"):
        pairs = task.pairs(split)
        if (isinstance(options, FilesOptions) and getattr(options, split) is not None) or not pairs:
            continue
        folder.mkdir(exist_ok=True)
        num_tabs = 0 if options.features is None else 1  # tags, tab, source
        as_lines = all(_fits_a_line(pair, num_tabs) for pair in pairs)
        with whole_file(folder / f"{split}.{'tsv' if as_lines else 'jsonl'}") as file:
            for source, target, _ in pairs:
                entry = {"source": source, "target": target}
                file.write(f"{source}\t{target}\n" if as_lines else json.dumps(entry, ensure_ascii=False) + "\n")


def _fits_a_line(pair: Pair, num_tabs: int) -> bool:
    """Whether the line would be read as this pair; a U+FEFF at the beginning of a file is left out."""
    source, target, _ = pair
    whole = "\n" not in source + target and "\t" not in target and not target.endswith("\r")
    return whole and source.count("\t") == num_tabs and not source.startswith("\ufeff")


def _read_kept(path: Path, task: FilesOptions | HubOptions, normalize: Normalize) -> Sequence[Pair]:
    """What `keep_split_off` has written."""
    kept = FilesOptions(train=str(path), test=str(path))
    if path.suffix == ".tsv" and task.features is None:
        kept = replace(kept, source=0, target=1)
    elif path.suffix == ".tsv":
        kept = replace(kept, source=1, target=2, features=0, features_separator=task.features_separator)
    return make_task(kept, normalize=normalize).pairs("test")


def keep_files(folder: Path, task: FilesOptions) -> None:
    """Copies the files of a task, each one of its own name, and lets the task name the copies."""
    folder.mkdir(exist_ok=True)
    for split in ("train", "valid", "test"):
        path = getattr(task, split)
        if path is not None:
            setattr(task, split, str(shutil.copy(path, folder)))
