"""The rows of a comparison: runs that differ in their seed alone, their scores, and a test against one of the rows."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2see.options import SCORES, CompareOptions, ScoreKind, TokenizerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.expected import NEUTRAL, NEUTRAL_DATA, NEUTRAL_TRAINER, fingerprint
from seq2see.runs.finished import FinishedRun, finished_runs, read_run

if TYPE_CHECKING:
    from seq2see.evaluation import SentenceCounts

COSTS = {
    "seconds": ScoreKind("seconds", "{:,.0f}"),  # of the whole run
    "tokens_per_second": ScoreKind("tokens/s", "{:,.0f}"),  # target tokens, in training
    "gflop": ScoreKind("GFLOP", "{:,.0f}"),  # of the whole training
}
AER = "alignment_error_rate"
KINDS = {**SCORES, AER: ScoreKind("AER", lower_is_better=True, is_compared=True), **COSTS}  # all that is compared
NEUTRAL_KEYS = {"": NEUTRAL, "trainer.": NEUTRAL_TRAINER, "data.": NEUTRAL_DATA}
OF_TOKENS = [name for name, own in SCORES.items() if own.is_of_tokens]
_SAME_AS_SER = {TokenizerKind.char: "cer", TokenizerKind.word: "wer"}
_NORMAL = 1.959964  # standard deviations on either side that hold 95 %
# the same of Student's t with 1, 2, ... degrees of freedom
_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


class Summary(NamedTuple):
    """What several runs say of one score or cost."""

    mean: float
    interval: tuple[float, float] | None  # 95 %, of the mean; None: of one run
    lowest: float
    highest: float


@dataclass
class Row:
    """Runs of one recipe."""

    runs: list[FinishedRun]  # by their seeds
    settings: dict[str, str]  # in what the recipe differs from the others
    test: dict[str, Any] | None = None  # against the chosen row: `difference`, its `interval`, `p`, `p_holm`
    reason: str = ""  # why there is none
    counts: "SentenceCounts | None" = None  # of the test pairs, mean over the runs, where they are at hand
    sources: list[str] = field(default_factory=list)  # one for each of these

    @property
    def name(self) -> str:
        """What it is called in a table."""
        settings = " ".join(f"{key}={value}" for key, value in self.settings.items())
        return settings or (self.runs[0].name if len(self.runs) == 1 else self.runs[0].options.task.kind)

    def summary(self, name: str) -> Summary | None:
        """Of a score or cost; None if a run has none."""
        values = [own[name] for run in self.runs if name in (own := values_of(run))]
        if len(values) < len(self.runs):
            return None
        return Summary(fmean(values), interval_of_mean(values), min(values), max(values))


@dataclass
class Comparison:
    """A table."""

    rows: list[Row]
    base: Row  # that the others are tested against
    metric: str  # the score that is tested
    scores: list[str]  # that can be compared and that any run has
    notes: list[str]


def values_of(run: FinishedRun) -> dict[str, float]:
    """All scores and costs of a run that are numbers."""
    cost = run.cost()
    values = {**run.result["test"], "seconds": run.result["seconds"]}
    if "tokens_per_second" in cost:
        values["tokens_per_second"] = cost["tokens_per_second"]
    if "step_flops" in cost:
        values["gflop"] = cost["step_flops"] * run.result["steps"] / 1e9
    return {name: value for name, value in values.items() if math.isfinite(value)}


def interval_of_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean that such values are drawn around, as scores of other seeds are; None of one value.

    Source:
        Student 1908, "The Probable Error of a Mean"; beyond 10 degrees of freedom his t follows from the normal
        distribution (Abramowitz and Stegun 1964, 26.7.5).
    """
    free = len(values) - 1
    if free < 1:
        return None
    z = _NORMAL
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    t = _STUDENT[free - 1] if free <= len(_STUDENT) else sum(term / free**k for k, term in enumerate(terms))
    reach = t * stdev(values) / math.sqrt(len(values))
    return fmean(values) - reach, fmean(values) + reach


def compared(options: CompareOptions) -> Comparison:
    """The runs in rows, each tested against the chosen one.

    Raises:
        ValueError: no run is named, a folder is not a finished run, or the score cannot be compared.
    """
    paths = [options.ckpt] if isinstance(options.ckpt, str) else list(options.ckpt or [])
    if not paths:
        raise ValueError("name the runs to compare, as in compare.py outputs/reverse/*")
    runs, notes = finished_runs([*paths, *([options.against] if options.against else [])])
    groups: dict[str, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(fingerprint(run.options), []).append(run)
    recipes = [own[0].options for own in groups.values()]
    rows = [
        Row(sorted(own, key=lambda run: run.options.seed), settings)
        for own, settings in zip(groups.values(), _differing(recipes), strict=True)
    ]
    base = rows[0]
    if options.against:
        chosen = fingerprint(read_run(Path(options.against)).options)
        base = rows[list(groups).index(chosen)]
    scores = [name for name in (*SCORES, AER) if any(name in values_of(run) for run in runs)]
    if len({_target_tokens(recipe) for recipe in recipes}) > 1:
        scores = [name for name in scores if name not in OF_TOKENS]
        notes.append("no loss, for these runs have other target tokens: logp is the log-probability of a whole target")
    metric = options.metric or _choosing(recipes, scores)
    if options.metric and metric not in scores:
        raise ValueError(f"metric={metric}: these runs cannot be compared by it: choose one of {', '.join(scores)}")
    notes += _doubts(rows, [*dict.fromkeys([metric, *scores, *COSTS])])
    return Comparison(rows, base, metric, scores, notes)


def _choosing(recipes: Sequence[TrainOptions], scores: Sequence[str]) -> str:
    """The score that chose the checkpoints, if it is the same and one of outputs; else exact match."""
    first, *others = {recipe.training.select or "exact_match" for recipe in recipes}
    return "exact_match" if others or first not in scores or SCORES[first].is_forced else first


def _target_tokens(options: TrainOptions) -> tuple[Any, ...]:
    """The same for runs that cut targets in the same way."""
    own = options.tokenizer
    return own.target, own.vocab_size, own.shared, own.normalize


def _doubts(rows: Sequence[Row], names: Sequence[str]) -> Iterable[str]:
    """Why some places of the table are empty, or say less than they seem to."""
    if any(len(row.runs) == 1 for row in rows):
        yield "no interval over seeds for a row of one run"
    if any(len({run.options.seed for run in row.runs}) < len(row.runs) for row in rows):
        yield "a row has runs of the same seed: its interval is narrower than one over as many seeds"
    missing = [KINDS[name].label for name in names if any(row.summary(name) is None for row in rows)]
    if missing:
        yield f"no {', '.join(missing)} where a run has none"


def add_tests(comparison: Comparison) -> None:
    """Counts the test pairs of each row, and tests each against the chosen one, with Holm's correction.

    Source:
        See `paired_tests` and `holm` in `evaluation.comparison`.
    """
    from seq2see.evaluation.comparison import holm, paired_tests  # with torch, which a table of one row does without

    rows, base, metric = comparison.rows, comparison.base, comparison.metric
    pairs = [_count(row, metric) for row in rows]
    number, others = rows.index(base) + 1, [row for row in rows if row is not base]
    for row in others:
        row.reason = row.reason or base.reason
        if not row.reason and pairs[rows.index(row)] != pairs[number - 1]:
            row.reason = f"other test pairs than row {number}"
        if row.counts and base.counts and not row.reason:
            row.test = paired_tests(base.counts, row.counts)[metric]
    tests = [row.test for row in others if row.test]
    if tests:
        comparison.notes.append(f"p: paired bootstrap over the test pairs against row {number}, with Holm's correction")
    for test, p_holm in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = p_holm
    for reason in dict.fromkeys(row.reason for row in others or rows if row.reason):
        numbers = [str(rows.index(row) + 1) for row in others if row.reason == reason]
        where = f" of row{'s' * (len(numbers) > 1)} {', '.join(numbers)}" if len(numbers) < len(others) else ""
        comparison.notes.append(f"{'no test' if others else 'no scores by length'}{where}: {reason}")


def _count(row: Row, metric: str) -> list[tuple[str, list[str]]]:
    """Gives the row its counts, or the reason why it has none; returns the sources and targets that they are of."""
    from seq2see.evaluation.scores import Scorer, SentenceCounts

    kind = row.runs[0].options.tokenizer.target
    column = metric if metric != "ser" or kind is None else _SAME_AS_SER.get(kind, "ser")
    if column in ("ser", AER) or SCORES[column].is_forced:
        row.reason = f"{KINDS[metric].label} does not follow from the outputs, which are all that test.tsv has"
    scorer, systems, pairs = None, list[SentenceCounts](), list[tuple[str, list[str]]]()
    for run in row.runs:
        items = run.items()
        own = [(item.source, item.references) for item in items]
        if not items:
            row.reason = row.reason or f"{run.folder} has no evaluation/test.tsv"
        elif own != (pairs or own):
            row.reason = row.reason or f"{run.folder} has other test pairs than the runs beside it"
        if row.reason:
            return []
        scorer, pairs = scorer or Scorer([item.references for item in items]), own
        counts, _ = scorer.counts([item.hypothesis for item in items])
        systems.append(SentenceCounts({metric: counts.columns[column]}))
    row.counts, row.sources = SentenceCounts.mean(systems), [source for source, _ in pairs]
    return pairs


def _differing(recipes: Sequence[TrainOptions]) -> list[dict[str, str]]:
    """For each recipe what all have and not all have alike."""
    settings = [dict(_flat(to_plain(options))) for options in recipes]
    keys = [key for key in settings[0] if all(key in own for own in settings)]
    keys = [key for key in keys if any(own[key] != settings[0][key] for own in settings)]
    short = {key: key.removesuffix(".kind").rpartition(".")[2] for key in keys}  # `task`, as it is typed
    times = Counter(short.values())
    labels = {key: name if times[name] == 1 else key for key, name in short.items()}
    return [{label: "null" if own[key] is None else str(own[key]) for key, label in labels.items()} for own in settings]


def _flat(plain: dict[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """What matters of a run's options, by whole keys."""
    for name, value in plain.items():
        if name in NEUTRAL_KEYS.get(before, ()):
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
