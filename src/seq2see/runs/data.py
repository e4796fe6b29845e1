"""The pairs of a run: from its task, or from the files that the run kept."""

from collections.abc import Sequence
from pathlib import Path

from seq2see.options import FilesOptions, Split, TrainOptions
from seq2see.tasks import Pair, Task, make_task
from seq2see.text import DataError, normalize


def task_of(options: TrainOptions) -> Task:
    """The task of a run."""
    return make_task(options.task, on_bad_line=options.data.on_bad_line, normalize=options.tokenizer.normalize)


def pairs_of(options: TrainOptions, split: Split, *, run: Path | None) -> Sequence[Pair]:
    """The pairs of a split, as training saw them: the run's own copy of a split-off file, or the task's.

    Raises:
        DataError: the file that they come from is gone.
    """
    if not isinstance(options.task, FilesOptions):
        return task_of(options).pairs(split.value)
    kept = None if run is None else run / "data" / f"{split.value}.tsv"
    if kept is not None and kept.is_file():
        return read_pairs(str(kept), options)
    return task_of(options).pairs(split.value)


def read_pairs(test: object, options: TrainOptions, *, columns: bool = False) -> Sequence[Pair]:
    """The pairs of another file than the run's own.

    Args:
        test: a path, or two of parallel files.
        options: the run's; how lines and columns are read.
        columns: whether the file has the run's columns, rather than source and target alone.
    """
    task = options.task
    if columns and isinstance(task, FilesOptions):
        other = FilesOptions(
            train=test, test=test, source=task.source, target=task.target, features=task.features,
            features_separator=task.features_separator,
        )  # fmt: skip
    else:
        other = FilesOptions(train=test, test=test)
    reader = make_task(other, on_bad_line=options.data.on_bad_line, normalize=options.tokenizer.normalize)
    return reader.pairs("test")


def keep_split_off(folder: Path, task: Task, options: TrainOptions) -> None:
    """Writes `data/valid.tsv` and `data/test.tsv` if they were split off a file, so that the file may go."""
    if not isinstance(options.task, FilesOptions):
        return
    for split, given in (("valid", options.task.valid), ("test", options.task.test)):
        pairs = task.pairs(split)
        if given is None and pairs:
            folder.mkdir(exist_ok=True)
            with (folder / f"{split}.tsv").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def normalized_targets(pairs: Sequence[Pair], options: TrainOptions) -> list[str]:
    """The references, in the Unicode form that the model learns."""
    return [normalize(pair.target, options.tokenizer.normalize) for pair in pairs]


__all__ = ["DataError", "keep_split_off", "normalized_targets", "pairs_of", "read_pairs", "task_of"]
