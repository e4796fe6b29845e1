"""Which position scheme learns what: reverse and translation, at the lengths of training and at two to four times them.

All jobs have the same recipe, data and budget; they differ in the scheme and in the seed.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from seq2see.options import LettersOptions, LoggerKind, Position, TrainOptions, TranslationOptions
from seq2see.runs.folder import read_result
from seq2see.runs.studies.job import Job, Report, middle_and_range

MAX_STEPS = 400  # of each run, unless trainer.max_steps is set
NUM_SEEDS = 3
TASKS = {"reverse": LettersOptions(kind="reverse"), "translation": TranslationOptions()}
SCHEMES: dict[str, dict[str, Any]] = {
    **{position.value: {"position": position} for position in Position},
    "rope, self attention only": {"position": Position.rope, "cross_position": Position.none},
    "rope, randomised up to 64": {"position": Position.rope, "randomize_positions": 64},
}


def jobs(options: TrainOptions) -> list[Job]:
    """Every scheme on both tasks with three seeds, the seeds from `seed` on."""
    trainer = options.trainer
    if trainer.max_steps is None and trainer.max_epochs is None and trainer.max_time is None:
        trainer = replace(trainer, max_steps=MAX_STEPS)
    common = replace(
        options,
        trainer=trainer,
        attention_log=replace(options.attention_log, enabled=False),
        logger=LoggerKind.csv,
    )
    return [
        Job(
            _name(task, scheme, seed),
            replace(common, task=TASKS[task], model=replace(options.model, **keys), seed=seed),
        )
        for seed in range(options.seed, options.seed + NUM_SEEDS)
        for task in TASKS
        for scheme, keys in SCHEMES.items()
    ]


def _name(task: str, scheme: str, seed: int) -> str:
    return f"{task}-{scheme.replace(', ', '-').replace(' ', '-')}-{seed}"


def report(done: dict[Job, Path]) -> Report:
    """Exact match of each scheme, and how many tokens of the longer texts are predicted right when forced."""
    results = {job.name: read_result(folder) for job, folder in done.items()}
    names = {job.name: job.options.seed for job in done}
    numbers: dict[str, Any] = {}
    lines = []
    for task in TASKS:
        lines += [
            f"{task}, exact match: median (lowest-highest) of the seeds",
            "",
            f"| {'position':<25} | {'as in training':<17} | {'2-4x as long':<17} | {'tokens':<6} |",
            f"|{'-' * 27}|{'-' * 19}|{'-' * 19}|{'-' * 8}|",
        ]
        for scheme in SCHEMES:
            own = [results[name] for name, seed in names.items() if name == _name(task, scheme, seed)]
            if not own:
                continue
            usual, longer = ([found[split].get("exact_match", 0.0) for found in own] for split in ("test", "ood"))
            tokens = [found["ood"].get("token_accuracy", 0.0) for found in own]
            numbers.setdefault(task, {})[scheme] = {
                "exact_match": usual, "exact_match_longer": longer, "token_accuracy_longer": tokens,
            }  # fmt: skip
            lines.append(
                f"| {scheme:<25} | {middle_and_range(usual):<17} | {middle_and_range(longer):<17} "
                f"| {middle_and_range(tokens)[:5]:<6} |"
            )
        lines.append("")
    lines.append("tokens: share of tokens of the longer texts predicted right, given those before")
    return Report("\n".join(lines) + "\n", numbers)
