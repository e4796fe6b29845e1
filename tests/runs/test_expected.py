"""The scores to expect belong to the recipes as they are now."""

import pytest
import yaml

from seq2see.runs.choices import Facts, choose
from seq2see.runs.config import compose_options, config_folder
from seq2see.runs.expected import Expected, expected_of, fingerprint

SWEPT = {"positions"}  # by its command, over keys that decide its score
RECIPES = ["default", *sorted({path.stem for path in (config_folder() / "experiment").glob("*.yaml")} - SWEPT)]


def options_of(recipe: str, *more: str):
    overrides = [] if recipe == "default" else [f"experiment={recipe}"]
    return choose(compose_options("train", [*overrides, *more]), Facts(0, 0, 0, 0, 0))[0]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_has_a_range_that_was_measured_with_its_present_options(recipe: str) -> None:
    entry = yaml.safe_load((config_folder() / "expected.yaml").read_text(encoding="utf-8"))[recipe]
    assert entry["fingerprint"] == fingerprint(options_of(recipe)), "measure anew: configs/experiment/README.md"
    assert entry["seeds"] >= 5
    assert all(low <= high for low, high in entry["scores"].values())


def test_another_seed_or_folder_is_still_the_recipe_and_another_width_is_not() -> None:
    assert expected_of(options_of("default", "seed=7", "run_dir=x", "logger=none")) is not None
    assert expected_of(options_of("default", "model.d_model=64")) is None


def test_a_score_below_the_range_is_not_met_and_one_above_is() -> None:
    expected = Expected("any", {"exact_match": [0.9, 0.95]}, 5)
    assert [expected.against({"exact_match": score})["met"] for score in (0.89, 0.9, 0.99)] == [False, True, True]
