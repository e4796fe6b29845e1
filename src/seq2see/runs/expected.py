"""The scores to expect: for each unchanged recipe the range that several seeds reached."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import yaml

from seq2see.options import TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.config import config_folder

NEUTRAL = (
    "seed",
    "run_dir",
    "init_tokenizer",
    "logger",
    "attention_log",
)  # keys that do not change what a recipe is
NEUTRAL_TRAINER = ("accelerator", "devices", "log_every_n_steps")


@dataclass(frozen=True)
class Expected:
    """What a recipe reached.

    Args:
        recipe: its name; `default` for `train.py` alone.
        scores: for each score its lowest and highest value over the seeds.
        num_seeds: how many.
    """

    recipe: str
    scores: dict[str, list[float]]
    num_seeds: int

    def against(self, test: dict[str, float]) -> dict[str, Any]:
        """The ranges, and whether the first-named score is inside its own or better."""
        name, (low, _) = next(iter(self.scores.items()))
        return {"recipe": self.recipe, "seeds": self.num_seeds, **self.scores, "met": test.get(name, 0.0) >= low}


def fingerprint(options: TrainOptions) -> str:
    """The same for two runs that differ in nothing that matters but the seed; hex."""
    plain = to_plain(options)
    for name in NEUTRAL:
        del plain[name]
    for name in NEUTRAL_TRAINER:
        del plain["trainer"][name]
    del plain["data"]["num_workers"], plain["data"]["encoding"]  # of files: no recipe reads any
    plain["task"].pop("ood_size", None)
    return hashlib.blake2b(json.dumps(_set(plain), sort_keys=True).encode(), digest_size=8).hexdigest()


def _set(plain: Any) -> Any:
    """Without what is left open, so that a new key that nobody sets leaves a recipe the same."""
    if isinstance(plain, dict):
        return {name: _set(value) for name, value in plain.items() if value is not None}
    return plain


def expected_of(options: TrainOptions) -> Expected | None:
    """What to expect of a run with these options, nothing left open; None if no recipe is exactly so."""
    file = config_folder() / "expected.yaml"
    if not file.is_file():
        return None
    own = fingerprint(options)
    for recipe, entry in (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).items():
        if entry["fingerprint"] == own:
            return Expected(recipe, entry["scores"], entry["seeds"])
    return None
