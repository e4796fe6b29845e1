"""Links: found in maps whose answer is known, read from files, and figures that can be checked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.maps.links import (
    Rows,
    SentenceLinks,
    count_links,
    grow_diag_final_and,
    parse_links,
    read_links,
    score_links,
    word_weights,
)
from seq2see.maps.measures import choose_head

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)
IDENTITY, SINK, UNIFORM = np.eye(5), np.eye(5)[[4] * 5], np.full((5, 5), 0.2)
REVERSAL = np.eye(5)[[3, 2, 1, 0, 4]]
STRAIGHT, CROSSED = [(0, 0), (1, 1), (2, 2), (3, 3)], [(3, 0), (2, 1), (1, 2), (0, 3)]


def found(text: str) -> frozenset:
    return parse_links(text).possible


def error_rate(weights: np.ndarray, links: list[tuple[int, int]], rows: Rows = Rows.predicts) -> np.ndarray:
    return count_links(word_weights(weights, rows=rows), links).error_rate


def test_each_head_is_scored_by_the_largest_weight_of_each_row_eos_left_out() -> None:
    heads = np.stack([[IDENTITY, REVERSAL], [SINK, UNIFORM], [0.4 * IDENTITY + 0.6 * SINK, REVERSAL]])
    rates = error_rate(heads, STRAIGHT)
    np.testing.assert_allclose(rates, [[0, 1], [0.75, 0.75], [0, 1]])  # the first of equals, where only EOS has weight
    np.testing.assert_allclose(error_rate(heads, CROSSED)[0], [1, 0])
    assert choose_head(rates) == (0, 0)
    assert choose_head(np.array([[np.nan, 0.5], [0.2, 0.2]])) == (1, 0)
    assert np.isnan(error_rate(np.ones((2, 3, 1, 1)), [])).all(), "nothing to find and nothing found"


def test_a_map_shifted_by_one_row_is_right_only_where_words_are_read() -> None:
    shifted = np.concatenate([np.eye(5)[[4]], IDENTITY[:-1]])
    assert error_rate(shifted, STRAIGHT, Rows.reads) == 0 and error_rate(shifted, STRAIGHT) == 0.75
    assert error_rate(IDENTITY, STRAIGHT, Rows.reads) == 1


def test_word_weight_is_the_sum_over_source_pieces_and_the_mean_over_target_pieces() -> None:
    weights = np.array([[0.3, 0.3, 0.4, 0.0], [0.1, 0.1, 0.8, 0.0], [0.0, 0.1, 0.4, 0.5], [0.0, 0.0, 0.0, 1.0]])
    grouped = word_weights(weights, source_words=[0, 0, 1], target_words=[0, 1, 1])
    np.testing.assert_allclose(grouped, [[0.6, 0.4], [0.15, 0.6]], atol=1e-6)
    assert grouped.argmax(-1).tolist() == [0, 1]
    assert weights[0].argmax() == 2, "no single piece of the right word would have won"


def test_scores_equal_examples_by_hand_and_a_corpus_is_summed_before_the_one_division() -> None:
    gold, links = parse_links("0-0 1-2 2p1 3?1"), found("0-0 2-1 3-3")
    scores = score_links([gold], [links])
    assert scores.found == 3
    assert scores.precision == pytest.approx(2 / 3)  # 0-0 and 2-1 are possible
    assert scores.recall == pytest.approx(1 / 2)  # 1-2 is missing
    assert scores.error_rate == pytest.approx(1 - (1 + 2) / (3 + 2))
    more = parse_links("0-0 1-1 2-2"), found("0-1 1-2 2-0")
    assert score_links([more[0]], [more[1]]).error_rate == 1
    both = score_links([gold, more[0]], [links, more[1]])
    assert both.error_rate == pytest.approx(1 - 3 / 11) != pytest.approx((0.4 + 1) / 2)
    nothing = score_links([SentenceLinks()], [frozenset()])
    assert np.isnan([nothing.precision, nothing.recall, nothing.error_rate]).all()


def test_a_file_has_a_sentence_a_line_and_may_have_none(tmp_path: Path) -> None:
    file = tmp_path / "links.txt"
    file.write_bytes(b"\xef\xbb\xbf0-0 2p1\r\n\r\n1?0")
    links = read_links(file)
    assert links[1] == SentenceLinks()
    assert links[0] == ({(0, 0)}, {(0, 0), (2, 1)}) and links[2] == (set(), {(1, 0)})
    file.write_bytes(b"")
    assert read_links(file) == []


@pytest.mark.parametrize("text", ["0:1", "a-b", "1-", "-1-0", "1--2", "1-2,", "1_2", "\u0661-\u0662"])
def test_what_is_no_link_is_named_with_file_line_and_text(text: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.txt"
    file.write_text(f"1-1\n\n1-1 {text}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gold.txt, line 3: .*is no link: write i-j \(sure\)") as caught:
        read_links(file)
    assert repr(text) in str(caught.value)


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none.txt cannot be read .*: name a file of links"):
        read_links(tmp_path / "none.txt")


def test_the_best_translation_of_each_line_is_read_from_what_translate_writes(tmp_path: Path) -> None:
    table, objects = tmp_path / "out.tsv", tmp_path / "out.jsonl"
    rows = ["line\trank\tsource\thypothesis\tscore\talignment", "1\t1\ta b\tx\t-1\t0-0 1-0", "1\t2\ta b\ty\t-2\t1-0"]
    table.write_text("\n".join([*rows, "2\t1\t\t\t\t"]) + "\n", encoding="utf-8")
    first = {"line": 1, "hypotheses": [{"alignment": "0-0 1-0"}, {"alignment": "1-0"}]}
    objects.write_text(f'{json.dumps(first)}\n{{"line": 2, "hypotheses": []}}\n', encoding="utf-8")
    for file in (table, objects):
        assert [sorted(sentence.sure) for sentence in read_links(file)] == [[(0, 0), (1, 0)], []]
    objects.write_text('{"line": 1, "hypotheses": []}\nnothing\n', encoding="utf-8")
    with pytest.raises(ValueError, match="out.jsonl, line 2: 'nothing' is not what translate.py writes"):
        read_links(objects)


@pytest.mark.parametrize(
    ("forward", "backward", "both"),
    [
        # intersection 0-0 2-2; grows to 1-1 (beside 0-0), 1-2 (beside 1-1? both words have links by then: no) and
        # 3-3 (beside 2-2); final: 4-5 of the first direction, after which 5-5 finds its target word taken
        ("0-0 1-1 2-2 4-5", "0-0 1-2 2-2 3-3 5-5", "0-0 1-1 2-2 3-3 4-5"),
        ("0-0 1-1 2-2 3-3", "0-0", "0-0 1-1 2-2 3-3"),  # goes on from what it has added
        ("0-0 5-0", "0-0", "0-0"),  # far away, with one word taken
    ],
)
def test_grow_diag_final_and_equals_examples_by_hand(forward: str, backward: str, both: str) -> None:
    assert grow_diag_final_and(found(forward), found(backward)) == found(both)


@given(LINKS, LINKS)
def test_any_two_directions_give_something_between_intersection_and_union(forward: frozenset, backward: frozenset):
    both = grow_diag_final_and(forward, backward)
    assert forward & backward <= both <= forward | backward
    assert {target for _, target in both} <= {target for _, target in forward | backward}
    assert grow_diag_final_and(forward, forward) == forward
