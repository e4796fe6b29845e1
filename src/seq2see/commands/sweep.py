"""Several jobs of one command: all are checked before the first begins, and what is missing can be done later.

A plugin of Hydra's, so that its launchers do the jobs: here, in processes beside this one, or on a cluster.
"""

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobStatus
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext
from omegaconf import DictConfig, open_dict, read_write

from seq2see.atomic_write import write_text
from seq2see.options import SCORES
from seq2see.runs.config import job_of, to_options
from seq2see.runs.folder import RunFailed, RunFolder, alone_in, read_result
from seq2see.runs.overrides import UsageError, quoted
from seq2see.runs.terminal import command_line, shortened

COMPLETED, FAILED, LOST = "completed", "failed", "lost"  # the last: its process has died, or never began
PLACES = ("run_dir", "resume")  # keys that say where a sweep lies and not what it is


@dataclass
class Job:
    """One of the jobs of a sweep."""

    number: int
    overrides: list[str]  # in Hydra's grammar
    varied: list[str]  # those of them that are not the same for all
    options: Any  # the command's
    status: str = "not begun"
    reason: str = ""  # of a failed one
    value: float | None = None  # of its best validation; None: not yet completed, or no training

    @property
    def folder(self) -> RunFolder:
        """Where a training lies."""
        resumed = self.options.resume if self.options.run_dir is None else None
        return RunFolder(Path(str(resumed or self.options.run_dir)).absolute())

    def look(self) -> None:
        """Takes from the folder of a training how it has ended, if that is not known."""
        if self.status in (COMPLETED, FAILED) or not getattr(self.options, "run_dir", None):
            return
        if self.folder.result.is_file():
            result = read_result(self.folder.path)
            self.status, self.value = result["status"], result.get("best", {}).get("value")
        elif self.folder.config.is_file():
            self.status = "interrupted"
        if self.status == COMPLETED:
            self.reason = ""


class Work:
    """What Hydra calls for each job, in this process or, as a copy, in another one.

    Args:
        command: one of `options.COMMANDS`.
        call: does the command with its options.
    """

    def __init__(self, command: str, call: Callable[[str, Any], Any]) -> None:
        self.command, self.call, self.process = command, call, os.getpid()
        self.jobs: list[Job] = []  # those that are launched together; empty: a sweeper that is not ours has planned

    def __call__(self, config: DictConfig) -> float | None:
        """Does the job, and returns the value of a training's best validation.

        Raises:
            RunFailed: it has failed.
        """
        if self.jobs:
            job = self.jobs[HydraConfig.get().job.num]
        else:
            number, options = job_of(self.command, config)
            overrides = list(HydraConfig.get().overrides.task)
            job = Job(number, overrides, overrides, options)
            keep_apart(self.command, options, number)
        print(f"job {job.number}: {' '.join(job.varied)}", file=sys.stderr, flush=True)
        try:
            with ExitStack() as streams:
                if os.getpid() != self.process and self.command == "train":  # its train.log has what it says
                    nowhere = streams.enter_context(open(os.devnull, "w", encoding="utf-8"))
                    streams.enter_context(redirect_stdout(nowhere))
                    streams.enter_context(redirect_stderr(nowhere))
                best = getattr(self.call(self.command, job.options), "best", {})
        except Exception as error:
            reason = str(error)
            if not isinstance(error, ValueError | RunFailed):
                traceback.print_exc()
                reason = f"{type(error).__name__}: {error}"
            print(f"job {job.number} failed: {reason}", file=sys.stderr, flush=True)
            raise RunFailed(reason) from None
        if os.getpid() != self.process:
            print(f"job {job.number} is done", file=sys.stderr, flush=True)
        return best.get("value")


@dataclass
class GridConf:
    """What `hydra.sweeper.` takes, as with Hydra's own sweeper."""

    _target_: str = "hydra_plugins.seq2see.GridSweeper"
    max_batch_size: int | None = None  # jobs that the launcher gets together; None: all
    params: dict[str, str] | None = None  # overrides that a configuration brings


class GridSweeper(Sweeper):
    """Every combination of the values, as Hydra's own sweeper makes them."""

    __module__ = "hydra_plugins.seq2see"  # where Hydra takes plugins from

    def __init__(self, max_batch_size: int | None, params: dict[str, str] | None) -> None:
        self.max_batch_size, self.params = max_batch_size, params or {}
        self.around: str | None = None  # the folder of a sweep that is named by the clock

    def setup(self, *, hydra_context: HydraContext, task_function: Any, config: DictConfig) -> None:
        """Keeps what Hydra gives; a launcher is made when it is known where the sweep lies."""
        self.hydra_context, self.work, self.config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> None:
        """Does all jobs that are not complete.

        Raises:
            ValueError: one of them cannot be done, or the folder holds another sweep; nothing is done then.
            RunFailed: some have failed.
        """
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper  # Hydra's search for plugins makes it anew

        overrides = self.parse(arguments)
        (lists,) = BasicSweeper.split_arguments(overrides, None)
        jobs = [self.plan(number, own) for number, own in enumerate(lists)]
        if not jobs:
            raise UsageError(f"{' '.join(arguments)}: there is no job in this")
        with self.begun(overrides, jobs) as sweep:
            sweep.tell_complete(jobs)
            sweep.write(jobs)
            try:
                self.launch([job for job in jobs if job.status != COMPLETED])
            finally:
                sweep.summarise(jobs)
        require_completed(jobs)

    def parse(self, arguments: list[str]) -> list[Override]:
        """What is varied and what is not, of a configuration's `hydra.sweeper.params` too."""
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*(f"{key}={value}" for key, value in self.params.items()), *arguments])
        self.varied = {part.get_key_element() for part in overrides if part.is_sweep_override()}
        return overrides

    def plan(self, number: int, overrides: Sequence[str]) -> Job:
        """The job with these overrides, in a place of its own.

        Raises:
            ValueError, OmegaConfBaseException, HydraException: an override is wrong.
        """
        assert self.hydra_context is not None and self.config is not None
        config = self.hydra_context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(config):
            config.hydra.job.num = config.hydra.job.id = number
        HydraConfig.instance().set_config(config)
        with open_dict(config):
            del config["hydra"]
        options = to_options(self.work.command, config)
        if self.work.command == "train" and options.run_dir is None:
            options.run_dir = self.around
        keep_apart(self.work.command, options, number)
        varied = [text for text in overrides if text.split("=")[0] in self.varied]
        return Job(number, list(overrides), varied or list(overrides), options)

    def begun(self, overrides: list[Override], jobs: list[Job]) -> "Sweep":
        """The sweep's folder, from where these jobs lie; made, and Hydra's too from now on."""
        assert self.config is not None
        sweep = Sweep.of(self.work.command, overrides, jobs)
        if sweep.folder is not None:
            self.around = str(sweep.folder.path)
            with read_write(self.config), open_dict(self.config):
                self.config.hydra.sweep.dir = self.around
                self.config.hydra.overrides.hydra.append(f"hydra.sweep.dir={quoted(self.around)}")
        return sweep

    def launch(self, jobs: list[Job]) -> None:
        """Has Hydra's launcher do the jobs, and notes how each ended."""
        if not jobs:
            return
        assert self.hydra_context is not None and self.config is not None
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=self.hydra_context, task_function=self.work, config=self.config
        )
        name = self.config.hydra.runtime.choices["hydra/launcher"]
        is_here = name == "basic"
        if not is_here:
            more = "; each says more in its train.log" if self.work.command == "train" else ""
            print(f"{len(jobs)} jobs with hydra/launcher={name}{more}", file=sys.stderr)
        size = 1 if is_here else self.max_batch_size or len(jobs)
        for start in range(0, len(jobs), size):
            batch = self.work.jobs = jobs[start : start + size]
            try:
                ends = launcher.launch([job.overrides for job in batch], initial_job_idx=0)
            except Exception as error:  # of the launcher itself: the jobs' own are in what it returns
                if is_here:
                    raise
                print(" ".join(str(error).split())[:1_000], file=sys.stderr)
                for job in batch:
                    job.look()
                    if job.status != COMPLETED:
                        job.status, job.reason = LOST, f"a worker process has died ({type(error).__name__})"
                continue
            for job, end in zip(batch, ends, strict=True):
                if end.status is JobStatus.COMPLETED:
                    job.status, job.value = COMPLETED, end.return_value
                else:
                    job.status, job.reason = FAILED, str(end._return_value)


def keep_apart(command: str, options: Any, number: int) -> None:
    """Gives a job of several a folder of its own in the one that is named, or puts its number before a file's ending.

    Raises:
        UsageError: none is named, and the jobs would write over each other, or over a run's own scores.
    """
    key = "run_dir" if command == "train" else "output"
    place = getattr(options, key, None)
    if place is not None:
        stem, ending = os.path.splitext(place)
        is_folder = command in ("train", "evaluate")
        setattr(options, key, os.path.join(place, str(number)) if is_folder else f"{stem}-{number}{ending}")
    elif command == "evaluate" or (command == "attention" and options.format.value in ("html", "svg")):
        where = "FOLDER" if command == "evaluate" else "FILE"
        raise UsageError(f"-m: the jobs would write over each other, or over a run's own scores: add output={where}")


class Sweep:
    """The folder of a sweep of trainings with its `sweep.yaml`; while it is entered, no other process does the same.

    Args:
        folder: None: the jobs write no runs, or go on in folders of their own.
        settings: what is varied, and what is the same for all; key and value as they were typed.
    """

    def __init__(self, folder: RunFolder | None, varied: dict[str, str], fixed: dict[str, str]) -> None:
        self.folder, self.varied, self.fixed, self._lock = folder, varied, fixed, ExitStack()
        self.file = None if folder is None else folder.path / "sweep.yaml"
        self.goes_on = self.file is not None and self.file.is_file()

    @classmethod
    def of(cls, command: str, overrides: list[Override], jobs: list[Job]) -> "Sweep":
        """The sweep of these jobs; those that name no folder get one.

        Raises:
            UsageError: the folder holds another sweep, or other things.
        """
        settings: list[dict[str, str]] = [{}, {}]
        for override in overrides:
            settings[override.is_sweep_override()][override.get_key_element()] = override.get_value_string()
        fixed, varied = ({key: value for key, value in part.items() if key not in PLACES} for part in settings)
        if command != "train" or any(job.options.resume not in (None, "auto") for job in jobs):
            return cls(None, varied, fixed)
        around = {Path(job.options.run_dir).absolute().parent for job in jobs if job.options.run_dir is not None}
        path = Path(os.path.commonpath(around)) if around else RunFolder.claim(None, kind="sweep").path
        if len(around) > 1 and Path.cwd().is_relative_to(path):
            raise UsageError(
                "run_dir: the jobs of a sweep lie in one folder: begin it with a name, as run_dir=NAME/..."
            )
        for job in jobs:
            job.options.run_dir = job.options.run_dir or str(path / str(job.number))
        sweep = cls(RunFolder(path), varied, fixed)
        sweep._check(jobs)
        return sweep

    def _check(self, jobs: list[Job]) -> None:
        assert self.folder is not None and self.file is not None
        is_resumed = all(job.options.resume == "auto" for job in jobs)
        if self.goes_on and not is_resumed:
            raise UsageError(
                f"run_dir: {self.folder.shown} holds a sweep already: add resume=auto to do what is missing in it, or "
                "choose a new folder"
            )
        for job in jobs:
            if not is_resumed:
                RunFolder.check(job.options.run_dir)
        if self.goes_on:
            self._require_same()

    def _require_same(self) -> None:
        assert self.folder is not None and self.file is not None
        try:
            saved = yaml.safe_load(self.file.read_text(encoding="utf-8"))
            before = {**saved["varied"], **saved["fixed"]}
        except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())[:200]
            raise UsageError(f"{self.file}: is damaged ({reason}): choose a new folder") from error
        now = self.varied | self.fixed
        for key in (key for key in {**before, **now} if before.get(key) != now.get(key)):
            was, typed = (f"{key}={part[key]}" if key in part else f"no {key}" for part in (before, now))
            raise UsageError(
                f"run_dir: {self.folder.shown} holds a sweep with {was}, and this one has {typed}: repeat it as it "
                "was, or choose a new folder"
            )

    def __enter__(self) -> "Sweep":
        if self.folder is not None:
            try:
                self.folder.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"run_dir: {self.folder.path} cannot be made ({error.strerror})") from error
            self._lock.enter_context(alone_in(self.folder.path))
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def write(self, jobs: list[Job]) -> None:
        """Writes `sweep.yaml`."""
        if self.folder is None or self.file is None:
            return
        listed = [
            {
                "number": job.number,
                "folder": Path(os.path.relpath(job.folder.path, self.folder.path)).as_posix(),
                "overrides": job.varied,
            }
            for job in jobs
        ]
        content = {"varied": self.varied, "fixed": self.fixed, "jobs": listed}
        write_text(self.file, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000))

    def tell_complete(self, jobs: list[Job]) -> None:
        """Says which jobs of a sweep that goes on are complete."""
        for job in jobs:
            if not self.goes_on or job.status == FAILED:
                continue
            job.look()
            if job.status == COMPLETED:
                print(f"job {job.number} is complete: {job.folder.shown}", file=sys.stderr)

    def summarise(self, jobs: list[Job]) -> None:
        """Prints how the trainings ended, and the best one with the command that repeats it."""
        if self.folder is None:
            return
        lines, scores = [], {}
        for job in jobs:
            score, told = "", f": {job.reason}" if job.reason else ""
            if job.status != LOST:
                job.look()
            if job.status == COMPLETED and job.folder.result.is_file():
                if best := read_result(job.folder.path).get("best"):
                    scores[job.number] = best["metric"], best["value"]
                    score = f"{scored(*scores[job.number])}   "
            varied = re.sub(r"(=\d*\.0*\d{3})\d+\b", r"\1", " ".join(job.varied))  # of what Optuna proposes
            lines.append(shortened(f"  {job.number:>3} {job.status:<11} {score}{varied}{told}"))
        completed = sum(job.status == COMPLETED for job in jobs)
        print(f"\nSweep {self.folder.shown}: {completed} of {len(jobs)} jobs completed", *lines, sep="\n")
        if len({metric for metric, _ in scores.values()}) == 1:  # else nothing can be compared
            choose = min if SCORES[next(iter(scores.values()))[0]].lower_is_better else max
            number = choose(scores, key=lambda number: scores[number][1])
            folder = next(job.folder for job in jobs if job.number == number)
            config = shlex.quote(folder.relative(folder.config))
            print(f"\n  best job {number}, {scored(*scores[number])} in validation; again with")
            print(f"  {command_line('train')} config={config}")


def scored(metric: str, value: float) -> str:
    """A score with its label."""
    return f"{SCORES[metric].label} {SCORES[metric].form.format(value)}"


def require_completed(jobs: list[Job]) -> None:
    """Raises RunFailed if a job is not completed."""
    lost, others = (sum(job.status == LOST for job in jobs), sum(job.status != COMPLETED for job in jobs))
    if lost:
        raise RunFailed(f"{lost} of {len(jobs)} jobs were lost: the same command with resume=auto does them")
    if others:
        raise RunFailed(f"{others} of {len(jobs)} jobs failed")
