"""Several runs in one table: each run's scores, and for runs that differ in their seed alone the range."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seq2see.options import CompareOptions, TrainOptions
from seq2see.runs.config import from_plain
from seq2see.runs.expected import fingerprint
from seq2see.runs.terminal import clock

COLUMNS = {
    "exact_match": "{:.3f}",
    "bleu": "{:.1f}",
    "chrf": "{:.1f}",
    "loss": "{:.3f}",
    "alignment_error_rate": "{:.3f}",
}
HEADINGS = ("exact", "BLEU", "chrF", "loss", "AER")


@dataclass(frozen=True)
class Row:
    """One run.

    Args:
        name: its folder's.
        task: its task.
        seed: its seed.
        group: the same for runs that differ in nothing that matters but the seed.
        result: its `result.json`.
    """

    name: str
    task: str
    seed: int
    group: str
    result: dict[str, Any]


def compare(options: CompareOptions) -> list[Row]:
    """What `scripts/compare.py` does: reads the runs and prints the table.

    Raises:
        ValueError: no run is named, or a folder is not a finished run.
    """
    paths = [options.ckpt] if isinstance(options.ckpt, str) else list(options.ckpt or [])
    if not paths:
        raise ValueError("name the runs to compare, as in compare.py outputs/reverse/*")
    rows = sorted((read_run(Path(path)) for path in paths), key=lambda row: (row.group, row.seed))
    print(f"{'run':<22}{'task':<12}{'seed':>4}{'time':>7}" + "".join(f"{name:>7}" for name in HEADINGS))
    for group in dict.fromkeys(row.group for row in rows):
        same = [row for row in rows if row.group == group]
        for row in same:
            print(_line(row.name[-21:], row.task, str(row.seed), row.result["seconds"], row.result["test"]))
        if len(same) > 1:
            for name, pick in (("lowest", min), ("highest", max)):
                test = {
                    column: pick(row.result["test"].get(column, float("nan")) for row in same) for column in COLUMNS
                }
                print(_line(f"  {name} of {len(same)}", "", "", pick(row.result["seconds"] for row in same), test))
    return rows


def _line(name: str, task: str, seed: str, seconds: float, test: dict[str, float]) -> str:
    scores = "".join(f"{form.format(test[column]) if column in test else '-':>7}" for column, form in COLUMNS.items())
    return f"{name:<22}{task:<12}{seed:>4}{clock(seconds):>7}{scores}"


def read_run(folder: Path) -> Row:
    """A finished run's row.

    Raises:
        ValueError: the folder is not a finished run.
    """
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        options = from_plain(TrainOptions, yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder}: not a run folder with config.yaml and result.json ({error})") from error
    if result["status"] != "completed":
        raise ValueError(f"{folder}: this run is {result['status']}: leave it out, or train it again")
    return Row(folder.name, options.task.kind, options.seed, fingerprint(options), result)
