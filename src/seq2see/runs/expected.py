"""The scores to expect: for each unchanged recipe the range that several seeds reached."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import yaml

from seq2see.options import TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.config import config_folder

NEUTRAL = ("seed", "run_dir", "init_tokenizer", "logger", "attention_log")  # do not change what a recipe is
NEUTRAL_TRAINER = ("accelerator", "devices", "num_nodes", "strategy", "log_every_n_steps")
NEUTRAL_DATA = ("num_workers", "encoding")  # the latter is of files: no recipe reads any


@dataclass(frozen=True)
class Expected:
    """What a recipe reached."""

    recipe: str  # its name; `default` for `train.py` alone
    scores: dict[str, list[float]]  # for each score its lowest and highest value over the seeds
    num_seeds: int  # how many

    def against(self, test: dict[str, float]) -> dict[str, Any]:
        """The ranges, and whether the first-named score is inside its own or better."""
        name, (low, _) = next(iter(self.scores.items()))
        return {"recipe": self.recipe, "seeds": self.num_seeds, **self.scores, "met": test.get(name, 0.0) >= low}


def fingerprint(options: TrainOptions) -> str:
    """The same for two runs that differ in nothing that matters but the seed; hex.

    What is left open counts as not there, so that a new key that nobody sets leaves a recipe the same.
    """
    plain = to_plain(options)
    for part, names in ((plain, NEUTRAL), (plain["trainer"], NEUTRAL_TRAINER), (plain["data"], NEUTRAL_DATA)):
        for name in names:
            del part[name]
    plain["task"].pop("ood_size", None)
    return hashlib.blake2b(json.dumps(_set(plain), sort_keys=True).encode(), digest_size=8).hexdigest()


def _set(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {name: _set(value) for name, value in plain.items() if value is not None}
    return plain


def expected_of(options: TrainOptions) -> Expected | None:
    """What to expect of a run with these options, nothing left open; None if no recipe is exactly so."""
    own = fingerprint(options)
    recipes = yaml.safe_load((config_folder() / "expected.yaml").read_text(encoding="utf-8"))
    found = (
        Expected(name, recipe["scores"], recipe["seeds"])
        for name, recipe in recipes.items()
        if recipe["fingerprint"] == own
    )
    return next(found, None)
