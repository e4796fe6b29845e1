"""Alignment files: what is read, what is refused, and figures that can be checked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2see.maps.links import (
    SentenceLinks,
    grow_diag_final_and,
    parse_links,
    read_links,
    score_links,
    turned,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)


def found(text: str) -> frozenset:
    return parse_links(text).possible


def test_a_dash_is_sure_and_a_p_or_a_question_mark_possible():
    links = parse_links("0-0 2p1 3?2")
    assert links.sure == {(0, 0)}
    assert links.possible == {(0, 0), (2, 1), (3, 2)}


def test_counting_from_one_gives_the_same_links():
    assert parse_links("1-1 3p2", index_base=1) == parse_links("0-0 2p1")


@pytest.mark.parametrize("text", ["0:1", "a-b", "1-", "-1-0", "1--2", "1-2,", "1_2", "\u0661-\u0662"])
def test_what_is_no_link_is_named_with_file_line_and_text(text: str, tmp_path: Path):
    file = tmp_path / "gold.txt"
    file.write_text(f"0-0\n\n1-1 {text}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="gold.txt, line 3") as caught:
        read_links(file)
    assert repr(text) in str(caught.value) and "i-j (sure)" in str(caught.value)


def test_a_word_zero_is_refused_where_words_count_from_one():
    with pytest.raises(ValueError, match="'0-1' counts a word from 0, index_base=1 from 1"):
        parse_links("1-1 0-1", index_base=1)


def test_an_empty_line_is_a_sentence_without_links(tmp_path: Path):
    file = tmp_path / "links.txt"
    file.write_bytes(b"\xef\xbb\xbf0-0\r\n\r\n1-0")
    assert [len(sentence.possible) for sentence in read_links(file)] == [1, 0, 1]


def test_a_missing_file_is_one_message(tmp_path: Path):
    with pytest.raises(ValueError, match="none.txt cannot be read .*: name a file of links"):
        read_links(tmp_path / "none.txt")


def test_scores_equal_a_hand_computed_example_with_sure_and_possible_links():
    gold = parse_links("0-0 1-2 2p1 3?1")
    scores = score_links([gold], [found("0-0 2-1 3-3")])
    assert scores.num_links == 3
    assert scores.precision == pytest.approx(2 / 3)  # 0-0 and 2-1 are possible
    assert scores.recall == pytest.approx(1 / 2)  # 1-2 is missing
    assert scores.error_rate == pytest.approx(1 - (1 + 2) / (3 + 2))


def test_the_corpus_figure_comes_from_sums_and_is_not_the_mean_of_sentences():
    gold = [parse_links("0-0"), parse_links("0-0 1-1 2-2")]
    links = [found("0-0"), found("0-1 1-2 2-0")]
    assert score_links(gold, links).error_rate == pytest.approx(1 - 2 / 8)
    each = [score_links([own], [other]).error_rate for own, other in zip(gold, links, strict=True)]
    assert sum(each) / 2 == pytest.approx(0.5)


def test_nothing_found_and_nothing_to_find_have_no_figure():
    scores = score_links([SentenceLinks()], [frozenset()])
    assert math.isnan(scores.precision) and math.isnan(scores.recall) and math.isnan(scores.error_rate)


def test_as_many_sentences_are_needed():
    with pytest.raises(ValueError, match="1 sentences have links, the gold standard has 2"):
        score_links([SentenceLinks()] * 2, [frozenset()])


def test_grow_diag_final_and_equals_an_example_by_hand():
    forward, backward = found("0-0 1-1 2-2 4-5"), found("0-0 1-2 2-2 3-3 5-5")
    # intersection 0-0 2-2; grows to 1-1 (beside 0-0), 1-2 (beside 1-1? both words have links by then: no) and
    # 3-3 (beside 2-2); final: 4-5 of the first direction, after which 5-5 finds its target word taken
    assert grow_diag_final_and(forward, backward) == found("0-0 1-1 2-2 3-3 4-5")


def test_growing_goes_on_from_what_it_has_added():
    forward, backward = found("0-0 1-1 2-2 3-3"), found("0-0")
    assert grow_diag_final_and(forward, backward) == forward


def test_a_link_far_away_with_one_word_taken_is_left_out():
    assert grow_diag_final_and(found("0-0 5-0"), found("0-0")) == found("0-0")


@given(LINKS, LINKS)
def test_any_two_directions_give_something_between_intersection_and_union(forward: frozenset, backward: frozenset):
    both = grow_diag_final_and(forward, backward)
    assert forward & backward <= both <= forward | backward
    assert {target for _, target in both} <= {target for _, target in forward | backward}


@given(LINKS)
def test_any_links_agree_with_themselves_and_turned_twice_are_the_same(links: frozenset):
    assert grow_diag_final_and(links, links) == links == turned(turned(links))


def test_the_best_translation_of_each_line_is_read_from_what_translate_writes(tmp_path: Path):
    table = tmp_path / "out.tsv"
    rows = ["line\trank\tsource\thypothesis\tscore\talignment", "1\t1\ta b\tx\t-1\t0-0 1-0", "1\t2\ta b\ty\t-2\t1-0"]
    table.write_text("\n".join([*rows, "2\t1\t\t\t\t"]) + "\n", encoding="utf-8")
    objects = tmp_path / "out.jsonl"
    entries = [
        {"line": 1, "hypotheses": [{"alignment": "0-0 1-0"}, {"alignment": "1-0"}]},
        {"line": 2, "hypotheses": []},
    ]
    objects.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    for file in (table, objects):
        assert [sorted(sentence.sure) for sentence in read_links(file, index_base=1)] == [[(0, 0), (1, 0)], []]


def test_a_broken_line_of_translates_is_named(tmp_path: Path):
    file = tmp_path / "out.jsonl"
    file.write_text('{"line": 1, "hypotheses": []}\nnothing\n', encoding="utf-8")
    with pytest.raises(ValueError, match="out.jsonl, line 2: 'nothing' is not what translate.py writes"):
        read_links(file)
