"""What a run says before the first step, and at its end."""

import shlex
import textwrap
import time
from pathlib import Path

import torch

from seq2see.evaluation import Evaluation
from seq2see.runs.expected import Expected
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import Prepared, train_loader
from seq2see.runs.resume import ResumeState
from seq2see.runs.terminal import WIDTH, Terminal, about, clock, shortened
from seq2see.training.objective import objective_of

NUM_PROBES = 3  # training steps that are timed to say how long the run will take
SCORES = {
    "exact_match": ("exact match", "{:.3f}"),
    "bleu": ("BLEU", "{:.1f}"),
    "chrf": ("chrF", "{:.1f}"),
    "cer": ("CER", "{:.3f}"),
    "token_accuracy": ("token acc.", "{:.3f}"),
    "loss": ("loss", "{:.3f}"),
}  # shown, in this order


def announce(prepared: Prepared, terminal: Terminal, folder: RunFolder) -> None:
    """What is about to be trained, on what, and how long it will take."""
    options, model = prepared.options, prepared.trained.model
    shape, budget = model.options, prepared.budget
    num_test = len(prepared.task.pairs("test"))
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    batch = f"{options.data.batch_size} pairs" if options.data.batch_size else f"{options.data.batch_tokens:,} tokens"
    lines = [
        (
            "task",
            f"{options.task.kind}: {len(prepared.train):,} pairs, {len(prepared.valid):,} to validate, "
            f"{num_test:,} to test",
        ),
        (
            "vocabulary",
            f"{prepared.source_tokenizer.vocab_size:,} source, {prepared.target_tokenizer.vocab_size:,} target",
        ),
        (
            "model",
            f"{num_parameters:,} parameters: width {shape.d_model}, {shape.num_encoder_layers}+"
            f"{shape.num_decoder_layers} layers, {shape.num_heads} heads, {shape.position.value}",
        ),
        ("device", _device(options.trainer.accelerator)),
        ("training", f"{_length(prepared)} of {batch}, {about(_expected_seconds(prepared))}"),
        ("run", folder.shown),
    ]
    for note in prepared.notes:
        terminal.say(textwrap.fill(note, WIDTH, initial_indent="  ", subsequent_indent="    "))
    for name, text in lines:
        terminal.say(f"  {name:<11} {text}")
    if any(prepared.valid.num_unknown):
        of_source, of_target = prepared.valid.num_unknown
        terminal.say(f"  {of_source:,} source and {of_target:,} target symbols to validate are not in the vocabularies")
    if budget.max_seconds is not None:
        decides = "learning rate, validations and end follow" if budget.max_steps is None else "the end may follow"
        terminal.say(f"  {decides} the clock: such a run is not exactly repeatable")
    terminal.say()


def announce_rest(earlier: ResumeState, changes: list[str], prepared: Prepared, terminal: Terminal) -> None:
    """What a run goes on from, and what is different now."""
    end = "" if prepared.budget.max_steps is None else f" of {prepared.budget.max_steps:,}"
    terminal.say(f"  run         {earlier.folder.shown}")
    terminal.say(
        f"  goes on     from step {earlier.step:,}{end} after {clock(earlier.seconds_trained)}: weights, optimiser,\n"
        "              learning rate, random state, place in the data, scores and logs are as they were"
    )
    for change in changes:
        terminal.say(f"  changed     {change}")
    if earlier.finished and not changes:
        terminal.say("  training    is over: only the test is left")
    terminal.say()


def summarise(
    prepared: Prepared,
    folder: RunFolder,
    terminal: Terminal,
    *,
    seconds: float,
    steps: int,
    evaluations: tuple[Evaluation | None, Evaluation | None],
    expected: Expected | None,
) -> None:
    """Scores beside those to expect, some translations, and where to go from here."""
    terminal.result(f"\nDone in {clock(seconds)}: {steps:,} steps.\n")
    evaluation, unlike = evaluations
    if evaluation is not None:
        terminal.result(f"  {'test':<11} {scores_line(evaluation.scores)}")
        terminal.result(f"  {'':<11} {len(evaluation.pairs):,} pairs, best.ckpt of step {evaluation.details['step']:,}")
        _say_expected(evaluation, expected, terminal)
        if unlike is not None:
            terminal.result(f"  {'ood':<11} {scores_line(unlike.scores)}")
            terminal.result(f"  {'':<11} {len(unlike.pairs):,} pairs unlike training: {prepared.task.ood}")
        _say_alignment(evaluation, terminal)
        terminal.result()
        _say_samples(evaluation, terminal)
    page = [("attention", f"open {folder.relative(folder.page)}")] if folder.page.exists() else []
    script, run = "python scripts/", _quoted(folder)
    for name, text in (
        *page,
        ("translate", f"{script}translate.py ckpt={run} < in.txt > out.txt"),
        ("inspect", f"{script}attention.py ckpt={run} input=in.txt"),
    ):
        terminal.result(f"  {name:<11} {text}")


def scores_line(scores: dict[str, float]) -> str:
    """The scores that fit into one line of 80 columns."""
    shown = [f"{label} {form.format(scores[name])}" for name, (label, form) in SCORES.items() if name in scores]
    line = ""
    for part in shown:
        if len(line) + len(part) > 64:
            break
        line += ("   " if line else "") + part
    return line


def _say_expected(evaluation: Evaluation, expected: Expected | None, terminal: Terminal) -> None:
    if expected is None:
        return
    name, (low, high) = next(iter(expected.scores.items()))
    label, form = SCORES[name]
    verdict = "met" if expected.against(evaluation.scores)["met"] else "not met"
    span = f"{form.format(low)} to {form.format(high)}"
    terminal.result(f"  {'expected':<11} {label} {span} over {expected.num_seeds} seeds: {verdict}")


def _say_alignment(evaluation: Evaluation, terminal: Terminal) -> None:
    found = evaluation.details.get("alignment", {}).get("predicts")
    if found is not None:
        terminal.result(
            f"  {'alignment':<11} error rate {found['alignment_error_rate']:.3f} against the true links "
            f"(layer {found['layer']}, head {found['head']})"
        )


def _say_samples(evaluation: Evaluation, terminal: Terminal, num: int = 2) -> None:
    for pair, reference, text in list(zip(evaluation.pairs, evaluation.references, evaluation.texts, strict=True))[
        :num
    ]:
        terminal.result(shortened(f"  {'source':<11} {pair.source}"))
        terminal.result(shortened(f"  {'output':<11} {text}"))
        if text != reference:
            terminal.result(shortened(f"  {'reference':<11} {reference}"))
        terminal.result()


def _quoted(folder: RunFolder) -> str:
    """The run as a shell takes it; one under `outputs/` is the latest now, and its own name is long."""
    return "latest" if folder.path.is_relative_to(Path.cwd() / "outputs") else shlex.quote(folder.shown)


def _device(accelerator: str) -> str:
    if accelerator == "cpu" or not torch.cuda.is_available():
        return f"cpu, {torch.get_num_threads()} threads"
    return torch.cuda.get_device_name()


def _length(prepared: Prepared) -> str:
    budget = prepared.budget
    limits = []
    if budget.max_steps is not None:
        limits.append(f"{budget.max_steps:,} steps")
    if budget.max_seconds is not None:
        limits.append(f"{clock(budget.max_seconds)}")
    return " or ".join(limits)


def _expected_seconds(prepared: Prepared) -> float:
    """Seconds of training, from a few steps that leave no trace in the weights or the random state."""
    budget, model = prepared.budget, prepared.trained.model
    if budget.max_steps is None:
        return budget.max_seconds or 0.0
    loader = train_loader(prepared.options, prepared.train)
    accumulate = prepared.options.trainer.accumulate_grad_batches
    seconds: list[float] = []
    with torch.random.fork_rng(devices=[]):
        for _, batch in zip(range(NUM_PROBES + 1), loader, strict=False):
            start = time.monotonic()
            objective_of(model, batch, smoothing=prepared.options.optim.label_smoothing or 0.0).objective.backward()
            seconds.append(time.monotonic() - start)
    model.zero_grad(set_to_none=True)
    estimate = sum(seconds[1:]) / max(len(seconds) - 1, 1) * budget.max_steps * accumulate * 1.15  # 1.15: all else
    return min(estimate, budget.max_seconds or estimate)
