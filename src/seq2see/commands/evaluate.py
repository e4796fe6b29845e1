"""What `evaluate.py` does: one checkpoint's scores in full, or those of several side by side."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2see.atomic_write import write_text
from seq2see.commands.evaluate_cases import add_cases
from seq2see.decoding import TranslationModel, as_one, device_of, load
from seq2see.evaluation import Evaluation, compare_evaluations, evaluate_pairs
from seq2see.evaluation.report import comparison_lines, wrapped
from seq2see.maps.attended import add_alignment
from seq2see.options import EvaluateOptions, FilesOptions, HubOptions, Split, checkpoints_of
from seq2see.runs.data import pairs_of, read_pairs, task_of
from seq2see.runs.folder import write_evaluation
from seq2see.runs.terminal import Terminal
from seq2see.tasks import Pair
from seq2see.tasks.paths import files_of


def command(options: EvaluateOptions) -> None:
    """What `scripts/evaluate.py` does: scores as tables, and where everything was written."""
    if len(checkpoints_of(options)) > 1 and not options.ensemble:
        evaluations, comparison, files = evaluate_several(options)
        lines = [f"{_name(options)}: {len(evaluations[0].pairs):,} pairs", *comparison_lines(comparison), ""]
        lines += [f"  {name}: {signature}" for name, signature in comparison["signatures"].items()]
        lines += [] if files else wrapped("nothing written: output=FOLDER keeps the comparison and all translations")
    else:
        evaluation, files = evaluate(options)
        models = f"checkpoint of step {evaluation.details['step']:,}"
        if options.ensemble:
            models = f"{len(checkpoints_of(options))} models as one"
        lines = [f"{_name(options)}: {len(evaluation.pairs):,} pairs, {models}", "", *evaluation.lines()]
    terminal = Terminal()
    for line in [*lines, *(f"  {file}" for file in files)]:
        terminal.result(line)


def evaluate(options: EvaluateOptions) -> tuple[Evaluation, list[Path]]:
    """Scores a checkpoint, or several as one, on one of its own splits or other data; with the files that were written.

    Raises:
        ValueError: the checkpoint, the split or the file is not to be had.
    """
    trained, pairs, notes = _as_one(options)
    valid: Sequence[Pair] = ()
    if options.task.test is None and not isinstance(trained.options.task, FilesOptions | HubOptions):
        valid = pairs_of(trained.options, Split.valid, run=trained.run)
    train, reason = _if_at_hand(trained, Split.train) if options.baselines else ((), None)
    if reason is not None:
        notes.append(f"no baselines: {reason}")
    if options.task.test is None and options.split is Split.ood:
        notes.append(f"pairs unlike those of training: {task_of(trained.options).ood}")
    evaluation = evaluate_pairs(trained, pairs, train=train, device=device_of(options.accelerator))
    evaluation.notes += notes
    evaluation.keeps_log_probs = options.scores
    add_alignment(trained, evaluation, valid)
    if options.output is not None:
        folder = Path(options.output)
    elif trained.run is not None and trained.ensemble is None:
        folder = trained.run / "evaluation"
    else:
        evaluation.notes += ["nothing written: output=FOLDER keeps scores and translations"] * options.ensemble
        return evaluation, []
    if options.report:
        is_test = options.task.test is None and options.split is Split.test
        usual = tuple if is_test else lambda: _if_at_hand(trained, Split.test)[0]
        add_cases(trained, evaluation, name=_name(options), usual=usual)
    try:
        return evaluation, write_evaluation(evaluation, folder, _name(options))
    except OSError as error:
        if options.output is not None:
            raise _not_written(folder, error) from error
        evaluation.notes.append(f"nothing written: {error.filename} cannot be ({error.strerror}); set output=FOLDER")
        return evaluation, []


def evaluate_several(options: EvaluateOptions) -> tuple[list[Evaluation], dict[str, Any], list[Path]]:
    """Scores checkpoints on the same pairs, and compares them; with the files that were written, if any.

    Raises:
        ValueError: a checkpoint, the split or the file is not to be had, or the pairs are not the same.
    """
    evaluations, said = [], dict[str, None]()
    for path in checkpoints_of(options):
        trained, pairs, notes = _loaded(path, options)
        evaluations.append(evaluate_pairs(trained, pairs, device=device_of(options.accelerator)))
        evaluations[-1].notes += notes
        evaluations[-1].keeps_log_probs = options.scores
        said |= dict.fromkeys(notes)
    comparison = compare_evaluations(checkpoints_of(options), evaluations)
    comparison["notes"] = [*said, *comparison["notes"]]
    if options.output is None:
        return evaluations, comparison, []
    folder, name = Path(options.output), _name(options)
    files = []
    try:
        for number, evaluation in enumerate(evaluations, start=1):
            files += write_evaluation(evaluation, folder / str(number), name)
        files.append(folder / f"{name}.json")
        write_text(files[-1], json.dumps(comparison, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise _not_written(folder, error) from error
    return evaluations, comparison, files


def _not_written(folder: Path, error: OSError) -> ValueError:
    return ValueError(f"output: {folder} cannot be written ({error.strerror}): set output to another folder")


def _as_one(options: EvaluateOptions) -> tuple[TranslationModel, Sequence[Pair], list[str]]:
    """What `_loaded` gives of the checkpoint, or of all of them as one model."""
    paths = checkpoints_of(options)
    (first, pairs, notes), *others = [_loaded(path, options) for path in paths]
    if not others:
        return first, pairs, notes
    trained = as_one([first, *(own for own, _, _ in others)])
    for path, (_, its, _) in zip(paths[1:], others, strict=True):
        if list(its) != list(pairs):
            raise ValueError(
                f"split={options.split.value}: {paths[0]} and {path} have other pairs there, which one may have "
                "been trained on: set task.test to pairs that are new to all"
            )
    notes.append(f"ensemble: the mean of the probabilities of {', '.join(paths)}; attention is that of the first alone")
    return trained, pairs, notes


def _loaded(path: str, options: EvaluateOptions) -> tuple[TranslationModel, Sequence[Pair], list[str]]:
    """A checkpoint, the pairs that it is to translate, and notes on how they were read."""
    trained, notes = load(path, average=options.average), list[str]()
    trained.decode_as(options.decode)
    if options.task.test is not None:
        return trained, read_pairs(options.task, options.data, trained.options, notes), notes
    pairs = pairs_of(trained.options, options.split, run=trained.run, notes=notes)
    if not pairs:
        raise ValueError(
            f"split={options.split.value}: {path} has no such pairs: choose another split, or set task.test"
        )
    return trained, pairs, notes


def _if_at_hand(trained: TranslationModel, split: Split) -> tuple[Sequence[Pair], str | None]:
    """The pairs of a split, or none and why."""
    if isinstance(trained.options.task, HubOptions):
        return (), "they would fetch the training pairs from the hub again"
    try:
        return pairs_of(trained.options, split, run=trained.run), None
    except (ValueError, OSError) as error:
        return (), f"the training pairs are not at hand ({str(error).split(', ')[0]})"


def _name(options: EvaluateOptions) -> str:
    """Of the files: the split's, or that of the file with other data."""
    if options.task.test is None:
        return options.split.value
    name = Path(files_of("test", options.task.test).names[0]).name.split(".")[0]
    return f"other-{name}" if name in {split.value for split in Split} else name  # the run's own scores stay
