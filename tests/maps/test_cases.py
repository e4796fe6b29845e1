"""Flags of an output's map, what they are worth, and the page that shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.evaluation.report import flag_lines
from seq2see.maps.cases import (
    Case,
    Flags,
    Found,
    Side,
    differences,
    distance,
    eos_mass,
    flags_of,
    predicts,
    render,
    report,
    spread,
    unattended_words,
)


def planted_side(text: str, num_keys: int, wanted: Callable[[int], int]) -> Side:
    """A target whose row t looks at source token `wanted(t)` with 0.7, in the second head of the first layer alone."""
    tokens = (*text.split(), "<eos>")
    cross = np.full((2, 2, len(tokens), num_keys), 1 / num_keys)
    cross[0, 1] = 0.3 / max(num_keys - 1, 1)
    for row in range(len(tokens)):
        cross[0, 1, row, min(wanted(row), num_keys - 1)] = 0.7 if num_keys > 1 else 1.0
    candidates = tuple(((token, 0.6), ("other", 0.3), ("rare", 0.001)) for token in tokens)
    return Side(text, tokens, (0.6,) * len(tokens), candidates, cross)


def planted_cases(*, words: str = "the old dog sleeps") -> list[Case]:
    """Three outputs: a wrong one, a right one, and one in which nothing was written."""
    source = (*words.split(), "<eos>")
    cases = []
    for number, (output, reference) in enumerate(
        [("der alte Hund", words), (words, words), ("", "猫 \u05d7\u05ea\u05d5\u05dc")]
    ):
        cases.append(
            Case(
                line=number + 2,
                source=words,
                source_tokens=source,
                kind=(None if output == reference else "stopped early" if not output else "substitution"),
                ended=number != 2,
                log_prob=-3.0 + number,
                output=planted_side(output, len(source), lambda row: row),
                reference=planted_side(reference, len(source), lambda row: row + 1),
                flags=Flags(0.25 * number, 0.1, 0.02),
                unattended=source[:number],
                hypotheses=(
                    Found(output, -0.7, -0.35, output == reference),
                    Found(reference, -1.5, -0.4, output != reference),
                    Found("", -8.0, -8.0, False, ended=False),
                ),
            )
        )
    return cases


ABOUT = {
    "name": "test",
    "step": 1200,
    "layer": 0,
    "head": 1,
    "beam": 3,
    "penalty": 1.0,
    "wrong": 2,
    "right": 1,
    "causes": None,
    "flags": {
        "attention": "cross attention, layer 1, head 2",
        "outputs": 3,
        "of": 3,
        "wrong": 2,
        "right": 1,
        "beside": 0,
        "flags": report([Flags(0.25 * number, 0.1, 0.02) for number in range(3)], [True, False, True]),
    },
}


def test_a_source_word_with_little_attention_from_all_rows_together_is_never_attended_to():
    weights = np.array([[0.9, 0.05, 0.05, 0.0], [0.8, 0.1, 0.1, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert unattended_words(weights, [0, 1, 2]) == [1, 2]
    assert unattended_words(weights, [0, 1, 1]) == []  # the two tokens are one word, which gets 0.3
    assert unattended_words(weights[:, 3:], []) == []


def test_the_row_that_predicts_eos_may_look_at_eos():
    weights = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    assert eos_mass(weights) == pytest.approx(0.375)
    assert eos_mass(weights[2:]) == 1.0  # nothing was written: there is no other row


def test_distance_is_how_far_attention_would_have_to_be_moved():
    first, last, even = (np.array([row]) for row in ([1.0, 0, 0, 0], [0, 0, 0, 1.0], [0.25] * 4))
    assert distance(spread(first), spread(last)) == pytest.approx(0.75, abs=1e-3)  # three of four tokens along
    assert distance(spread(first), spread(even)) == pytest.approx(0.375, abs=1e-2)
    longer = np.full((7, 12), 1 / 12)
    assert distance(spread(longer), spread(even)) == pytest.approx(0, abs=1e-6)  # whatever the lengths


def test_all_flags_of_a_planted_map():
    usual, sunk = spread(np.eye(4)), np.zeros((4, 4))
    sunk[:, 3] = 1
    assert flags_of(np.eye(4), [0, 1, 2], usual) == pytest.approx((0.0, 0.0, 0.0))
    assert flags_of(sunk, [0, 1, 2], usual) == pytest.approx((1.0, 1.0, 0.375), abs=1e-2)


def test_the_area_is_how_often_a_wrong_output_has_more_ties_counted_half():
    found = predicts([3.0, 1.0, 2.0, 1.0, 0.0], [True, True, False, False, False])
    assert found["area_under_curve"] == pytest.approx((3 + 1.5) / 6)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_any_area_lies_in_its_interval_and_turns_round_with_the_flag(pairs: list[tuple[int, bool]]):
    values, wrong = [float(value) for value, _ in pairs], [each for _, each in pairs]
    found, turned = predicts(values, wrong), predicts([-value for value in values], wrong)
    if len(set(wrong)) == 1:
        missing = "right" if wrong[0] else "wrong"
        assert found == {
            "area_under_curve": None,
            "interval": None,
            "verdict": f"cannot be said: there is no {missing} output",
        }
        return
    low, high = found["interval"]
    assert 0 <= low <= found["area_under_curve"] <= high <= 1
    assert turned["area_under_curve"] == pytest.approx(1 - found["area_under_curve"])


def test_a_flag_with_half_in_its_interval_is_said_not_to_predict():
    random = np.random.default_rng(0)
    noise, wrong = random.normal(size=200), random.random(200) < 0.3
    assert predicts(noise.tolist(), wrong.tolist())["verdict"] == "does not predict wrong outputs"
    assert predicts((noise + 3 * wrong).tolist(), wrong.tolist())["verdict"] == "is much higher for wrong outputs"
    assert "the other way round" in predicts((noise - 3 * wrong).tolist(), wrong.tolist())["verdict"]
    alone = predicts([1.0, *([0.0] * 50)], [True, *([False] * 50)])
    assert alone["area_under_curve"] == 1.0 and alone["verdict"] == "does not predict wrong outputs"


def test_the_interval_is_near_hanley_and_mcneils_where_there_are_many():
    random = np.random.default_rng(1)
    wrong = np.arange(2_000) < 800
    found = predicts((random.normal(size=2_000) + 0.5 * wrong).tolist(), wrong.tolist())
    area = found["area_under_curve"]
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + 799 * (q1 - area**2) + 1_199 * (q2 - area**2)) / (800 * 1_200)
    low, high = area - 1.96 * variance**0.5, area + 1.96 * variance**0.5
    assert found["interval"] == pytest.approx((low, high), abs=0.003)


def test_the_terminal_shows_each_flag_in_80_columns():
    worth = report([Flags(0, 0, 0)] * 2, [True, False])
    found = {
        "outputs": 2,
        "of": 5_000,
        "wrong": 1,
        "right": 1,
        "beside": 0,
        "attention": "layer 2, head 1",
        "flags": worth,
    }
    lines = flag_lines(found)
    assert lines[-1] == "  over 2 of 5,000 outputs: 1 wrong, 1 right; layer 2, head 1"
    assert [line.split()[0] for line in lines[1:-1]] == list(Flags._fields)
    assert max(map(len, lines)) <= 80


def test_differing_words_are_marked():
    parts, others = differences("the old dog sleeps", "the cat sleeps well")
    assert parts == [("the ", False), ("old dog ", True), ("sleeps", False)]
    assert others == [("the ", False), ("cat ", True), ("sleeps ", False), ("well", True)]
    assert differences("猫が好き", "犬が好き")[0] == [
        ("猫", True),
        ("が好き", False),
    ]  # letters where there are no spaces
    assert differences("a  b", "a b")[0] == [("a ", False), (" ", True), ("b", False)]  # where only spaces differ


@given(st.text("ab 猫\n", max_size=12), st.text("ab 猫\n", max_size=12))
def test_any_text_stays_whole_and_differs_nowhere_from_itself(text: str, other: str):
    parts, others = differences(text, other)
    assert "".join(part for part, _ in parts) == text and "".join(part for part, _ in others) == other
    same, same_there = ("".join(part for part, differs in own if not differs) for own in (parts, others))
    assert same.split() == same_there.split()
    assert not any(differs for _, differs in differences(text, text)[0])


def test_the_page_is_one_file_whose_data_cannot_end_its_script():
    cases = planted_cases(words="</script><script>alert(1)</script> b <!--")
    html = render(cases, about=ABOUT, title="</title>&")
    assert html.count("<script") == 2 and "alert(1)</script>" not in html
    assert "&lt;/title&gt;&amp;" in html and "default-src 'none'" in html
    assert not re.search(r"""(?:src|href)=["'](?!#)""", html)
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert data["cases"][0]["sourceTokens"][0] == "</script><script>alert(1)</script>"
