"""What a run says before the first step, and at its end."""

import shlex
import textwrap
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import torch

from seq2see.evaluation import Evaluation
from seq2see.options import SCORES
from seq2see.ranks import num_ranks
from seq2see.runs.cost import expected_seconds, expected_test_seconds
from seq2see.runs.expected import Expected
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import TrainingSetup, train_loader
from seq2see.runs.resume import ResumeState
from seq2see.runs.terminal import WIDTH, Terminal, about, clock, command_line, shortened

FEWEST_STEPS = 200  # of a run that a clock ends: with fewer a model has hardly left its beginning
LINE = 64  # columns of scores beside what they are of
NUM_SAMPLES = 2  # translations that are shown at the end


def announce(setup: TrainingSetup, terminal: Terminal, folder: RunFolder) -> float:
    """What is about to be trained, on what, and how long it will take: also returned, in seconds."""
    options, model, budget = setup.options, setup.trained.model, setup.budget
    shape, data = model.options, options.data
    seconds = expected_seconds(
        model,
        train_loader(data, options.seed, setup.train),
        budget,
        smoothing=options.optim.label_smoothing or 0.0,
        accumulate_grad_batches=options.trainer.accumulate_grad_batches,
    )
    tests = [pair for split in ("test", "ood") for pair in setup.task.pairs(split)]
    test = f", then {about(expected_test_seconds(setup.trained, tests))} to test" if tests else ""
    limits = [] if budget.max_steps is None else [f"{budget.max_steps:,} steps"]
    limits += [] if budget.max_seconds is None else [clock(budget.max_seconds)]
    batch = f"{data.batch_size} pairs" if data.batch_size else f"{data.batch_tokens:,} tokens"
    on_gpu = options.trainer.accelerator != "cpu" and torch.cuda.is_available()
    many = "" if num_ranks() == 1 else f"{num_ranks()} processes, each on "
    lines = {
        "task": f"{options.task.kind}: {len(setup.train):,} pairs, {len(setup.valid):,} to validate, "
        f"{len(setup.task.pairs('test')):,} to test",
        "vocabulary": f"{setup.source_tokenizer.vocab_size:,} source, {setup.target_tokenizer.vocab_size:,} target",
        "model": f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters: width {shape.d_model}, "
        f"{shape.num_encoder_layers}+{shape.num_decoder_layers} layers, {shape.num_heads} heads, "
        f"{shape.position.value}",
        "device": f"{many}{torch.cuda.get_device_name()}"
        if on_gpu
        else f"{many}cpu, {torch.get_num_threads()} threads",
        "training": f"{' or '.join(limits)} of {batch}, {about(seconds)}{test}",
        "run": folder.shown,
    }
    for note in setup.notes:
        terminal.say(textwrap.fill(note, WIDTH, initial_indent="  ", subsequent_indent="    "))
    for name, text in lines.items():
        terminal.say(_line(name, text))
    if any(setup.valid.num_unknown):
        of_source, of_target = setup.valid.num_unknown
        terminal.say(f"  {of_source:,} source and {of_target:,} target symbols to validate are not in the vocabularies")
    if budget.max_seconds is not None:
        decides = "learning rate, validations and end follow" if budget.max_steps is None else "the end may follow"
        terminal.say(f"  {decides} the clock: such a run is not exactly repeatable")
    terminal.say()
    return seconds


def announce_rest(earlier: ResumeState, changes: list[str], max_steps: int | None, terminal: Terminal) -> None:
    """What a run goes on from, and what is different now."""
    end = "" if max_steps is None else f" of {max_steps:,}"
    terminal.say(_line("run", earlier.folder.shown))
    terminal.say(
        _line("goes on", f"from step {earlier.step:,}{end} after {clock(earlier.seconds_trained)}, as if it had not")
    )
    terminal.say(_line("", "been stopped: weights, optimiser, random state, place in the data, scores and logs"))
    for change in changes:
        terminal.say(_line("changed", change))
    if earlier.finished and not changes:
        terminal.say(_line("training", "is over: only the test is left"))
    terminal.say()


def too_short(max_time: str | None, steps: int, *, planned: int | None) -> str | None:
    """What to say of a run whose limit of time left its model untrained; None: it had enough steps, or all of them."""
    if max_time is None or steps >= min(FEWEST_STEPS, planned or FEWEST_STEPS):
        return None
    return (
        f"\n  not trained: {steps:,} steps within trainer.max_time={max_time}.\n"
        f"    A model learns little in less than {FEWEST_STEPS}: raise it, or choose smaller batches"
    )


def summarise(
    setup: TrainingSetup,
    folder: RunFolder,
    terminal: Terminal,
    seconds: float,
    steps: int,
    evaluations: dict[str, Evaluation],
    expected: Expected | None,
) -> None:
    """Scores beside those to expect, some translations, and where to go from here."""
    terminal.result(f"\nDone in {clock(seconds)}: {steps:,} steps.\n")
    test, ood = evaluations.get("test"), evaluations.get("ood")
    if test is not None:
        terminal.result(_line("test", scores_line(test.scores, setup.telling_scores)))
        terminal.result(_line("", f"{len(test.pairs):,} pairs, best.ckpt of step {test.details['step']:,}"))
        if expected is not None:
            name, (low, high) = next(iter(expected.scores.items()))
            label, form, *_ = SCORES[name]
            verdict = "met" if expected.against(test.scores)["met"] else "not met"
            span = f"{label} {form.format(low)} to {form.format(high)} over {expected.num_seeds} seeds"
            terminal.result(_line("expected", f"{span}: {verdict}"))
        if ood is not None:
            terminal.result(_line("ood", scores_line(ood.scores, setup.telling_scores)))
            terminal.result(_line("", f"{len(ood.pairs):,} pairs unlike training: {setup.task.ood}"))
        if found := test.details.get("alignment", {}).get("predicts"):
            rate = f"error rate {found['alignment_error_rate']:.3f} against the true links"
            terminal.result(_line("alignment", f"{rate} (layer {found['layer']}, head {found['head']})"))
        terminal.result()
        _show_samples(test, terminal)
    # a run under outputs/ is the latest now, and its own name is long
    run = "latest" if folder.path.is_relative_to(Path.cwd() / "outputs") else shlex.quote(folder.shown)
    terminal.result(_line("report", f"open {folder.relative(folder.report)}"))
    if folder.page.exists():
        terminal.result(_line("attention", f"open {folder.relative(folder.page)}"))
    terminal.result(_line("translate", f"{command_line('translate')} ckpt={run} < in.txt > out.txt"))
    terminal.result(_line("inspect", f"{command_line('attention')} ckpt={run} input=in.txt"))


def scores_line(scores: dict[str, float], telling: Sequence[str]) -> str:
    """As many scores as fit into a line of 80 columns, those that say most of such outputs first."""
    left_out = ("bleu", "ser", "wer", "loss", "perplexity", "target_log_prob")
    names = dict.fromkeys([*telling, *(name for name in SCORES if name not in left_out)])
    line = ""
    for name in (name for name in names if name in scores):
        part = f"{SCORES[name].label} {SCORES[name].form.format(scores[name])}"
        if len(line) + len(part) > LINE:
            break
        line += ("   " if line else "") + part
    return line


def _show_samples(evaluation: Evaluation, terminal: Terminal) -> None:
    samples = zip(evaluation.pairs, evaluation.references, evaluation.texts, strict=True)
    for pair, reference, text in islice(samples, NUM_SAMPLES):
        terminal.result(shortened(_line("source", pair.source)))
        terminal.result(shortened(_line("output", text)))
        if text != reference:
            terminal.result(shortened(_line("reference", reference)))
        terminal.result()


def _line(name: str, text: str) -> str:
    return f"  {name:<11} {text}"
