"""Studies: questions that several runs answer together, in one table and one chart.

A study is asked for by its recipe (`experiment=positions`). Its folder holds a run folder for each job, and `study.md`,
`study.json` and perhaps `study.svg` over all of them. A job that has its folder already is not trained again: so an
interrupted study goes on, and several processes can share one.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from seq2see.atomic_write import write_text
from seq2see.options import TrainOptions
from seq2see.runs.folder import RunFolder, read_result
from seq2see.runs.studies.job import Job, Report

__all__ = ["Job", "Report", "run_study"]


def run_study(options: TrainOptions, train_run: Callable[[TrainOptions], object]) -> Report:
    """Trains what is missing, and prints and writes the study's report.

    Args:
        options: with `study` set; every other key holds for all jobs, unless the study itself varies it.
        train_run: what trains one of them.

    Raises:
        ValueError: the options are wrong, or `run_dir` is the folder of something else.
    """
    assert options.study is not None
    study = importlib.import_module(f"seq2see.runs.studies.{options.study.value}")
    jobs: list[Job] = study.jobs(replace(options, study=None))
    folder = _claim(options)
    for number, job in enumerate(jobs, 1):
        place = folder / job.name
        try:
            place.mkdir()
        except FileExistsError:
            continue
        print(f"\n[{number} of {len(jobs)}] {job.name}", file=sys.stderr)
        train_run(replace(job.options, run_dir=str(place)))
    done = {job: folder / job.name for job in jobs if _is_complete(folder / job.name)}
    report: Report = study.report(done)
    missing = [job.name for job in jobs if job not in done]
    if missing:
        report.text += (
            f"\nNot complete, and left out: {', '.join(missing)}; remove their folders and ask again to train them\n"
        )
    write_text(folder / "study.md", report.text)
    write_text(folder / "study.json", json.dumps(report.numbers, indent=2) + "\n")
    if report.chart is not None:
        write_text(folder / "study.svg", report.chart)
    print(f"\n{report.text}\n{folder}{os.sep}study.*")
    return report


def _claim(options: TrainOptions) -> Path:
    """The study's folder: a new one, or one that this study was begun in."""
    assert options.study is not None
    mark = f"{options.study.value}\n"
    if options.run_dir is None:
        folder = RunFolder.claim(None, kind=options.study.value).path
    else:
        folder = Path(options.run_dir)
        begun = folder / "study.txt"
        if begun.is_file() and begun.read_text(encoding="utf-8") == mark:
            return folder
        folder = RunFolder.claim(options.run_dir, kind=options.study.value).path
    write_text(folder / "study.txt", mark)
    return folder


def _is_complete(folder: Path) -> bool:
    try:
        return read_result(folder)["status"] == "completed"
    except ValueError:
        return False
