"""An attention map in the terminal: fits, is in step with its labels, and hides nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from seq2see.maps.drawing import HIDDEN_LEGEND, LEGEND, heat_map

LABELS = st.lists(
    st.text(st.sampled_from("ab数据 é\u0301\u200b\t\n😀W"), min_size=1, max_size=30), min_size=1, max_size=60
)


def test_short_labels_stand_above_their_columns() -> None:
    weights = np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
    assert heat_map(weights, ["der", "Hund"], ["the", "old", "dog"]).split("\n") == [
        "     the old dog",
        " der ███ ··· ···",
        "Hund ··· ▒▒▒ ███",
        LEGEND,
    ]


def test_labels_that_do_not_fit_are_written_downwards() -> None:
    lines = heat_map(np.eye(3), ["a", "b", "c"], ["one", "seven", "xx"], width=12).split("\n")
    assert lines[:-1] == ["    s", "    e", "  o v", "  n e x", "  e n x", "a ██····", "b ··██··", "c ····██"]


def test_marks_stay_on_their_letters_and_wide_characters_keep_the_columns_in_step() -> None:
    lines = heat_map(np.eye(2), ["a", "b"], ["xe\u0301", "yyyyyy"], width=10).split("\n")
    assert lines[4:6] == ["  x y", "  \u00e9 y"]
    lines = heat_map(np.eye(2), ["模型", "a"], ["数据", "x"]).split("\n")
    assert lines[:2] == ["     数据 x", "模型 ████ ··"]
    assert cell_len(lines[1]) == cell_len(lines[2]) == 12


def test_more_columns_than_fit_follow_below() -> None:
    weights = np.zeros((2, 100))
    weights[1, 99] = 1.0
    lines = heat_map(weights, ["a", "b"], [f"word{number}" for number in range(100)]).split("\n")
    numbered = [line.strip() for line in lines if " of " in line]
    assert numbered == ["1-39 of 100", "40-78 of 100", "79-100 of 100"]
    assert lines[-2].endswith("··██")


@settings(max_examples=150)
@given(rows=LABELS, columns=LABELS, width=st.integers(70, 120), seed=st.integers(0, 99))
def test_any_map_with_any_labels_fits_the_width(rows: list[str], columns: list[str], width: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(columns)) / 9, len(rows))
    lines = heat_map(weights, rows, columns, width=width).split("\n")
    assert max(map(cell_len, lines)) <= width
    shades = sum(line.count(mark) for line in lines[:-1] for mark in "·░▒▓█")
    assert shades >= 2 * weights.size
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("weight", "shade"), [(0.0, "·"), (0.049, "·"), (0.05, "░"), (0.2, "▒"), (0.4, "▓"), (0.7, "█"), (np.nan, "?")]
)
def test_a_shade_says_how_much(weight: float, shade: str) -> None:
    assert heat_map(np.array([[weight]]), ["a"], ["b"]).split("\n")[1] == f"a {shade * 2}"


def test_what_a_row_cannot_see_is_blank_and_not_small() -> None:
    lines = heat_map(np.tril(np.eye(3)), ["a", "b", "c"], ["x", "y", "z"], causal=True).split("\n")
    assert lines == ["  x  y  z", "a ██", "b ·· ██", "c ·· ·· ██", HIDDEN_LEGEND]
    assert cell_len(HIDDEN_LEGEND) <= 80
    wide = heat_map(np.tril(np.eye(60)), ["a"] * 60, ["x"] * 60, causal=True).split("\n")
    assert wide[0].strip() == "1-39 of 60" and wide[2] == "a ██", "below it the columns that do not fit"
    assert (wide[64], wide[64 + 39]) == ("a", "a ██")
