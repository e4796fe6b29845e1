"""Finished runs as they lie in their folders: what was trained, what came of it, and how it got there; torch-free."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from seq2see.options import TrainOptions
from seq2see.options.plain import from_plain
from seq2see.options.rules import leaves
from seq2see.runs.folder import read_result


class Item(NamedTuple):
    """A test source with its different targets and the model's output, as they were scored."""

    source: str
    references: list[str]
    hypothesis: str


@dataclass(frozen=True)
class FinishedRun:
    """One run that is completed; its files are read when they are asked for."""

    folder: Path
    options: TrainOptions  # nothing left open
    result: dict[str, Any]  # what `result.json` says

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.name

    def metrics(self) -> dict[str, list[float | None]]:
        """The columns of `metrics.csv` by their names, one value a logged step; None where there is none.

        Returns:
            `step`, `epoch`, `lr`, `train/loss`, `val/loss` and so on; nothing at all if the run wrote no such file.

        Raises:
            ValueError: the file is damaged.
        """
        file = self.folder / "metrics.csv"
        if not file.is_file():
            return {}
        try:
            with file.open(encoding="utf-8", newline="") as text:
                rows = list(csv.DictReader(text))
            names = list(rows[0]) if rows else []
            return {name: [_number(row[name]) for row in rows] for name in names}
        except (OSError, ValueError, TypeError, csv.Error) as error:
            raise ValueError(f"{file}: is damaged ({error}): delete it, or restore it") from error

    def seconds(self) -> list[float | None]:
        """Seconds of training, validations included, at each row of `metrics.csv`; None where they are not known.

        The whole follows from the cost of the run, the parts from the speed that was logged, as if all steps had as
        many tokens.
        """
        metrics, cost = self.metrics(), self.cost()
        steps, speeds = metrics.get("step", []), metrics.get("train/tokens_per_second", [])
        if len(steps) != len(speeds) or not cost.keys() >= {"step_flops", "flops_per_second"}:
            return [None] * len(steps)
        speed, elapsed = next((one for one in reversed(speeds) if one), 1.0), list[float]()
        for place in reversed(range(len(steps))):  # a row without a speed belongs to the one after it
            speed = speeds[place] or speed
            elapsed.append(((steps[place] or 0) - ((steps[place - 1] or 0) if place else 0)) / speed)
        so_far = list(accumulate(reversed(elapsed)))
        whole = (steps[-1] or 0) * cost["step_flops"] / (cost["flops_per_second"] or math.inf) if steps else 0.0
        return [whole * part / (so_far[-1] or 1.0) if whole else None for part in so_far]

    def cost(self) -> dict[str, float]:
        """What training took, as `result.json` says, as far as it does: see `runs.cost`."""
        cost = self.result.get("cost")
        named = cost.items() if isinstance(cost, dict) else ()
        return {name: value for name, value in named if isinstance(value, int | float) and math.isfinite(value)}

    def items(self) -> list[Item]:
        """The rows of `evaluation/test.tsv`, by source where sources have several targets; none without such a file.

        Raises:
            ValueError: the file is damaged.
        """
        from seq2see.evaluation.references import of_same_source  # takes torch along, which few need

        file = self.folder / "evaluation" / "test.tsv"
        if not file.is_file():
            return []
        try:
            rows = [line.split("\t") for line in file.read_bytes().decode("utf-8").split("\n")[1:-1]]
            sources, references, hypotheses = ([row[column] for row in rows] for column in range(3))
        except (OSError, ValueError, IndexError) as error:
            remedy = f"write it anew with evaluate.py ckpt={self.folder}"
            raise ValueError(f"{file}: is damaged ({error}): {remedy}") from error
        return [
            Item(sources[group[0]], list(dict.fromkeys(references[place] for place in group)), hypotheses[group[0]])
            for group in of_same_source(sources, references)
        ]


def finished_runs(paths: Sequence[str | Path]) -> tuple[list[FinishedRun], list[str]]:
    """The runs in these folders, each of them a run's own or one around runs, such as a sweep's.

    Returns:
        the runs, those of a sweep in the order of their numbers, each once; and notes on what was left out of a sweep.

    Raises:
        ValueError: a folder is neither, is a run that is not completed, or has none that is.
    """
    runs, notes = dict[Path, FinishedRun](), list[str]()
    for path in map(Path, paths):
        inside = [] if (path / "config.yaml").exists() else _jobs_in(path)
        for folder in inside:
            try:
                runs.setdefault(folder.resolve(), read_run(folder))
            except ValueError as error:
                notes.append(f"left out: {error}")
        if not inside:
            runs.setdefault(path.resolve(), read_run(path))
        elif not any(folder.resolve() in runs for folder in inside):
            raise ValueError(f"{path}: none of the {len(inside)} runs in it is completed; {notes[-1]}")
    return list(runs.values()), notes


def _jobs_in(path: Path) -> list[Path]:
    """Folders of runs in a folder, those with numbers for names first."""
    folders = [file.parent for file in path.glob("*/config.yaml")]
    return sorted(folders, key=lambda one: (not one.name.isdecimal(), len(one.name) * one.name.isdecimal(), one.name))


def read_run(folder: Path) -> FinishedRun:
    """A finished run.

    Raises:
        ValueError: the folder is not one.
    """
    file = folder / "config.yaml"
    if not file.is_file() or not (folder / "result.json").exists():
        raise ValueError(f"{folder}: not a run folder with config.yaml and result.json")
    result = read_result(folder)
    try:
        text = file.read_text(encoding="utf-8")
        plain = yaml.safe_load(text)
        list(leaves(plain, 10 * len(text)))  # aliases may make much of little
        options = from_plain(TrainOptions, plain)
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{file}: is damaged ({reason}): leave the run out, or restore the file") from error
    if result["status"] != "completed":
        raise ValueError(f"{folder}: this run is {result['status']}: leave it out, or train it again")
    return FinishedRun(folder, options, result)


def _number(text: str) -> float | None:
    number = float(text or "nan")
    return number if math.isfinite(number) else None
