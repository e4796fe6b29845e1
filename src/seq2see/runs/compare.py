"""Several runs in one table: each run's scores, and for runs that differ in their seed alone mean and range."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from seq2see.options import CompareOptions, TrainOptions
from seq2see.options.plain import from_plain
from seq2see.options.rules import leaves
from seq2see.runs.expected import fingerprint
from seq2see.runs.folder import read_result
from seq2see.runs.terminal import clock

COLUMNS = {
    "exact_match": ("exact", "{:.3f}"),
    "bleu": ("BLEU", "{:.1f}"),
    "chrf": ("chrF", "{:.1f}"),
    "loss": ("loss", "{:.3f}"),
    "target_log_prob": ("logp", "{:.2f}"),
    "alignment_error_rate": ("AER", "{:.3f}"),
}


@dataclass(frozen=True)
class Row:
    """One run.

    Args:
        name: its folder's.
        task: its task.
        seed: its seed.
        group: the same for runs that differ in nothing that matters but the seed.
        tokenizer: the same for runs that cut targets in the same way.
        result: its `result.json`.
    """

    name: str
    task: str
    seed: int
    group: str
    tokenizer: str
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
    other_tokens = len({row.tokenizer for row in rows}) > 1
    columns = [name for name in COLUMNS if name != ("loss" if other_tokens else "target_log_prob")]
    print(f"{'run':<22}{'task':<12}{'seed':>4}{'time':>7}" + "".join(f"{COLUMNS[name][0]:>7}" for name in columns))
    for group in dict.fromkeys(row.group for row in rows):
        same = [row for row in rows if row.group == group]
        for row in same:
            test = [row.result["test"].get(name) for name in columns]
            print(_line(row.name[-21:], row.task, str(row.seed), row.result["seconds"], columns, test))
        if len(same) > 1:
            for heading, pick in (("mean", fmean), ("lowest", min), ("highest", max)):
                values = [[row.result["test"].get(name) for row in same] for name in columns]
                test = [None if None in own else pick(own) for own in values]
                seconds = pick(row.result["seconds"] for row in same)
                print(_line(f"  {heading} of {len(same)}", "", "", seconds, columns, test))
    if other_tokens:
        print("no loss, for these runs have other target tokens: logp is the log-probability of a whole target")
    return rows


def _line(name: str, task: str, seed: str, seconds: float, columns: Sequence[str], test: Sequence[float | None]) -> str:
    forms = [
        "-" if value is None else COLUMNS[column][1].format(value) for column, value in zip(columns, test, strict=True)
    ]
    return f"{name:<22}{task:<12}{seed:>4}{clock(seconds):>7}" + "".join(f"{form:>7}" for form in forms)


def read_run(folder: Path) -> Row:
    """A finished run's row.

    Raises:
        ValueError: the folder is not a finished run.
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
    tokens = options.tokenizer
    tokenizer = f"{tokens.target} {tokens.vocab_size} {tokens.shared} {tokens.normalize}"
    return Row(folder.name, options.task.kind, options.seed, fingerprint(options), tokenizer, result)
