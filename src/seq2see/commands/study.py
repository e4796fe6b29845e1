"""`hydra/sweeper=optuna`: a study of trainings, kept in a file of the sweep's folder, from which it goes on."""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import optuna
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState

from seq2see.commands.sweep import COMPLETED, FAILED, LOST, GridConf, GridSweeper, Job, require_completed
from seq2see.options import SCORES, TrainOptions
from seq2see.runs.config import explained
from seq2see.runs.overrides import UsageError


@dataclass
class OptunaConf(GridConf):
    """What `hydra.sweeper.` takes."""

    _target_: str = "hydra_plugins.seq2see.OptunaSweeper"
    n_trials: int = 20  # in all, those of the study that goes on included
    n_jobs: int | None = None  # trials done at once; None: as many as joblib's launcher has processes, or 1
    sampler: str = "tpe"  # or random
    seed: int = 0  # of the sampler
    direction: str | None = None  # minimize or maximize; None: as the score that chooses the best checkpoint


class OptunaSweeper(GridSweeper):
    """Values that Optuna proposes by what the best validations of the trials before were.

    A trial whose process was killed is done again, in its own folder.

    Source:
        Akiba et al. 2019 (Optuna); Bergstra et al. 2011 (TPE).
    """

    __module__ = "hydra_plugins.seq2see"

    def __init__(
        self, n_trials: int, n_jobs: int | None, sampler: str, seed: int, direction: str | None, **of_grid: Any
    ):
        super().__init__(**of_grid)
        if sampler not in ("tpe", "random"):
            raise UsageError(f"hydra.sweeper.sampler ({sampler}) must be tpe or random")
        if direction not in (None, "minimize", "maximize"):
            raise UsageError(f"hydra.sweeper.direction ({direction}) must be minimize or maximize")
        for name, number in (("n_trials", n_trials), ("n_jobs", n_jobs)):
            if number is not None and number < 1:
                raise UsageError(f"hydra.sweeper.{name} ({number}) must be positive")
        self.n_trials, self.n_jobs, self.sampler, self.seed, self.direction = n_trials, n_jobs, sampler, seed, direction

    def sweep(self, arguments: list[str]) -> None:
        """Does the trials that are missing.

        Raises:
            ValueError: what is the same for all is wrong, or the folder holds another sweep; nothing is done then.
            RunFailed: some have failed.
        """
        overrides = self.parse(arguments)
        self.space = {part.get_key_element(): distribution(part) for part in overrides if part.is_sweep_override()}
        if not self.space or self.work.command != "train":
            example = "train with a key to vary, as optim.lr='tag(log, interval(1e-4,1e-2))'"
            raise UsageError(f"hydra/sweeper=optuna looks for the best training: it goes with {example}")
        same = [part for part in overrides if not part.is_sweep_override()]
        self.same = [f"{part.get_key_element()}={part.get_value_element_as_str()}" for part in same]
        first = self.plan(0, self.overrides_of({name: lowest(values) for name, values in self.space.items()}))
        with self.begun(overrides, [first]) as sweep:
            if sweep.folder is None:
                raise UsageError("resume: a study goes on with run_dir=FOLDER resume=auto")
            study = self.study(str(sweep.folder.path / "study.journal"), first.options)
            running = [trial for trial in self.trials(study) if trial.state is TrialState.RUNNING]
            jobs = [self.job(trial) for trial in self.trials(study) if trial not in running]
            sweep.tell_complete(jobs)
            try:
                while batch := self.batch(study, running):
                    planned = [self.job(trial) for trial in batch]
                    jobs += planned
                    sweep.write(jobs)
                    self.launch([job for job in planned if job.status != FAILED])
                    for job in (job for job in planned if job.status in (COMPLETED, FAILED)):
                        tell(study, job)
                    if any(job.status == LOST for job in planned):
                        break
                    running = []
            finally:
                sweep.summarise(jobs)
        require_completed(jobs)

    def study(self, file: str, options: TrainOptions) -> optuna.Study:
        """The study in this file; a new one looks for the best value of the score that chooses."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        direction = self.direction
        if direction is None and not os.path.exists(file):
            select = options.training.select
            if select is None:  # follows from the data
                from seq2see.runs.prepare import prepare

                select = prepare(options).options.training.select
            direction = "minimize" if SCORES[select or "loss"].lower_is_better else "maximize"
        storage = JournalStorage(JournalFileBackend(file))
        return optuna.create_study(storage=storage, study_name="sweep", direction=direction, load_if_exists=True)

    def trials(self, study: optuna.Study) -> list[FrozenTrial]:
        """Those whose values are all known: a kill in the middle of the proposal leaves others, which do not count."""
        return [trial for trial in study.trials if set(trial.params) == set(self.space)]

    def batch(self, study: optuna.Study, running: list[FrozenTrial]) -> list[FrozenTrial | Trial]:
        """The trials to do next, those that were left in the middle first."""
        assert self.config is not None
        at_once = self.n_jobs or max(int(self.config.hydra.launcher.get("n_jobs") or 1), 1)
        batch: list[FrozenTrial | Trial] = [*running]
        while len(batch) < at_once and len(self.trials(study)) < self.n_trials:
            seed = self.seed + len(study.trials)  # a study that goes on does not propose the same again
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of constant_liar
                study.sampler = (
                    optuna.samplers.TPESampler(seed=seed, constant_liar=at_once > 1)
                    if self.sampler == "tpe"
                    else optuna.samplers.RandomSampler(seed=seed)
                )
            batch.append(study.ask(self.space))
        return batch

    def overrides_of(self, params: dict[str, Any]) -> list[str]:
        """What a trial is, as overrides."""
        return [*self.same, *(f"{name}={value}" for name, value in params.items())]

    def job(self, trial: FrozenTrial | Trial) -> Job:
        """The job of a trial; a failed one, if its values do not go together."""
        overrides = self.overrides_of(trial.params)
        try:
            job = self.plan(trial.number, overrides)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            reason = error if isinstance(error, ValueError) else explained(self.work.command, error, overrides)
            first = self.overrides_of({name: lowest(values) for name, values in self.space.items()})
            job = self.plan(trial.number, first)
            job.varied, job.status, job.reason = overrides[len(self.same) :], FAILED, str(reason)
        if isinstance(trial, FrozenTrial) and trial.state is TrialState.FAIL:
            job.status, job.reason = FAILED, "as before"
        return job


def distribution(override: Override) -> BaseDistribution:
    """The values that Optuna chooses among.

    Raises:
        UsageError: there are none.
    """
    values: Any = override.value()
    is_log = not isinstance(values, list) and "log" in values.tags
    try:
        if isinstance(values, IntervalSweep):
            kind = IntDistribution if isinstance(values.start, int) else FloatDistribution
            return kind(values.start, values.end, log=is_log)  # pyright: ignore[reportArgumentType]
        if isinstance(values, RangeSweep):
            steps = sorted(values.range())
            step = {} if is_log or len(steps) < 2 else {"step": steps[1] - steps[0]}
            kind = IntDistribution if isinstance(steps[0], int) else FloatDistribution
            return kind(steps[0], steps[-1], log=is_log, **step)
        return CategoricalDistribution(list(override.sweep_string_iterator()))
    except (ValueError, IndexError) as error:
        raise UsageError(f"{override.input_line}: no value can be chosen from this ({error})") from error


def lowest(values: BaseDistribution) -> Any:
    """One of the values."""
    return values.choices[0] if isinstance(values, CategoricalDistribution) else values.low  # pyright: ignore


def tell(study: optuna.Study, job: Job) -> None:
    """Tells the study how a trial ended."""
    if job.status == COMPLETED and job.value is None:
        job.status, job.reason = FAILED, "nothing was validated: there are no pairs for it"
    study.tell(job.number, job.value, state=None if job.status == COMPLETED else TrialState.FAIL)
