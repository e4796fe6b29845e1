"""Lines between words, and the pair's texts shaded by the chosen row, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from planted_log import planted_log, softmax
from tabs import go, needs_browser, press, settle, tabs_of

from seq2see.maps import AttentionLog, Example, Maps, page

pytestmark = needs_browser

ALIGNED = "#kind=cross&pair=1&layer=2&head=3&step=1200&row=2&column=5"
# What is seen without one of the three kinds of cones: Machado et al. 2009, on linear RGB.
DEFICIENCIES = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)


@pytest.fixture(scope="module")
def log() -> AttentionLog:
    return planted_log(steps=(0, 100, 1200), variants=True)


@pytest.fixture(scope="module")
def shared(browser, log: AttentionLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    with tabs_of(browser, tmp_path_factory.mktemp("lines")) as open_page:
        yield open_page(page.render(log))


@pytest.fixture
def view(shared) -> Callable:
    def at(address: str):
        shared.mouse.move(1, 1)
        go(shared, address)
        return shared

    return at


def point_at(tab, label: str) -> None:
    box = tab.locator(f"#plate .labels [{label}]").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def strokes(tab, part: str) -> set[str]:
    return set(
        tab.eval_on_selector_all(f"#plate {part} path[data-line]", "all => all.map(one => one.getAttribute('stroke'))")
    )


def shades(tab, place: str) -> dict[str, float]:
    """What each shaded word of a text says when it is pointed at."""
    words = tab.eval_on_selector_all(f"{place} .shaded", "all => all.map(one => [one.textContent, one.title])")
    return {word: float(weight) for word, weight in words}


def test_pointing_at_a_word_isolates_its_lines_and_says_what_they_weigh(view, log):
    tab = view(f"{ALIGNED}&drawing=lines")
    whole = tab.locator("#plate .joins path[data-line]").count()
    assert tab.locator(".overlay.alone").count() == 0 and tab.locator(".chosen-join").count() == 1
    point_at(tab, 'data-row="3"')
    rows = tab.eval_on_selector_all(".cursor path[data-line]", "all => all.map(one => one.dataset.line)")
    assert set(rows) == {"3"} and 0 < len(rows) < whole
    weights = log.maps(1200).cross[0, 1, 2, 3]
    said = [float(text) for text in tab.locator(".join-figure").all_text_contents()]
    assert said[0] == pytest.approx(weights.max(), abs=0.01) and min(said) >= 0.05
    opacity = "getComputedStyle(document.querySelector('#plate .joins')).opacity"
    assert float(tab.evaluate(opacity)) < 0.2, "the others step back"
    assert tab.locator(".cursor .true-join").count() == 1, "with its own true link"
    point_at(tab, 'data-column="0"')
    ends = tab.eval_on_selector_all(
        ".cursor path[data-line]", "all => all.map(one => one.getAttribute('d').split(/[MC ]/)[1])"
    )
    assert len(set(ends)) == 1 and len(ends) > 1, "all lines of a word above start at it"
    tab.mouse.move(1, 1)
    assert float(tab.evaluate(opacity)) == 1 and tab.locator(".join-figure").count() == 0
    assert tab.locator(".chosen-join").count() == 1
    tab.focus("#drawing [data-value=heads]")
    press(tab, "Tab", "ArrowDown")
    rows = tab.eval_on_selector_all(".cursor path[data-line]", "all => all.map(one => one.dataset.line)")
    assert "row=3" in tab.url and set(rows) == {"2"}, "the keyboard isolates the chosen row"
    press(tab, "Tab")
    assert tab.locator(".cursor path[data-line]").count() == 0


def test_several_heads_are_drawn_each_in_its_colour_and_the_address_holds_them(view, log):
    tab = view(f"{ALIGNED}&drawing=lines")
    one = strokes(tab, ".joins")
    tab.click(".line-head >> text=H1")
    tab.click(".line-head >> text=H4")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 2, heads 1, 3, 4"
    assert "heads=1-3-4" in tab.url and "head=3" in tab.url
    colours = strokes(tab, ".joins")
    assert len(colours) == 3 and not colours & one
    keys = tab.eval_on_selector_all(
        ".line-head[aria-pressed=true] .head-colour", "all => all.map(one => one.style.backgroundColor)"
    )
    assert len(set(keys)) == 3
    tab.click(".line-head >> text=H3")  # the chosen one goes, another takes its place
    settle(tab)
    assert "heads=1-4" in tab.url and "&head=1&" in tab.url
    tab.click(".line-head >> text=one")
    settle(tab)
    assert "heads" not in tab.url and len(tab.locator(".line-head[aria-pressed=true]").all()) == 1
    tab.click(".line-head >> text=all")
    settle(tab)
    assert len(strokes(tab, ".joins")) == 4
    point_at(tab, 'data-row="1"')
    assert strokes(tab, ".cursor") <= strokes(tab, ".joins"), "isolated lines keep their colours"
    go(tab, f"{ALIGNED}&drawing=lines&heads=2-3&with=0.2.3&shows=difference")
    assert tab.locator(".line-head").count() == 0 and "minus" in tab.inner_text("#plate-title")


def test_a_finger_isolates_a_word_until_it_touches_elsewhere(browser, log, tmp_path: Path):
    (tmp_path / "page.html").write_text(page.render(log), encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.goto(f"{(tmp_path / 'page.html').as_uri()}{ALIGNED}&drawing=lines")
    settle(tab)
    tab.locator('#plate [data-row="3"]').tap(force=True)
    settle(tab)
    rows = tab.eval_on_selector_all(".cursor path[data-line]", "all => all.map(one => one.dataset.line)")
    assert set(rows) == {"3"} and "row=4" in tab.url
    tab.locator("#plate-title").tap()
    assert tab.locator(".cursor path[data-line]").count() == 0
    context.close()


def test_lines_leave_the_slider_in_sight_on_a_laptop(open_html, log):
    tab = open_html(page.render(log), address=f"{ALIGNED}&drawing=lines&heads=1-3", width=1366, height=650)
    settle(tab)
    box = tab.locator("#step").bounding_box()
    assert box["y"] + box["height"] <= 650


@pytest.mark.parametrize(("theme", "paper"), [("light", "#fbfcfd"), ("dark", "#0d1220")])
def test_heads_colours_differ_for_every_eye_and_stand_out_from_the_paper(theme: str, paper: str):
    script = (Path(page.__file__).parent / "lines.js").read_text(encoding="utf-8")
    colours = re.findall(r"#[0-9a-f]{6}", re.search(rf"{theme}: \[(.*?)\]", script)[1])
    linear = np.array([_linear(colour) for colour in colours])
    luminances, ground = linear @ (0.2126, 0.7152, 0.0722), _linear(paper) @ (0.2126, 0.7152, 0.0722)
    contrast = (np.maximum(luminances, ground) + 0.05) / (np.minimum(luminances, ground) + 0.05)
    assert len(colours) == 8 and contrast.min() >= 3
    for deficiency in DEFICIENCIES:
        seen = _oklab(np.clip(linear @ np.array(deficiency).T, 0, 1))
        assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 0.14


def _linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _oklab(linear: np.ndarray) -> np.ndarray:
    cones = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    lab = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    return np.cbrt(linear @ np.array(cones).T) @ np.array(lab).T


def test_a_head_of_72_tokens_has_its_lines_and_true_links_and_says_how_many_are_left_out(open_html):
    size = 73
    tokens = (*(f"t{i}" for i in range(size - 1)), "<eos>")
    links = tuple((i, size - 2 - i) for i in range(size - 1))
    example = Example(0, " ".join(tokens[:-1]), " ".join(tokens[:-1]), tokens, tokens, links=links)
    model = {"d_model": 8, "num_heads": 9, "num_encoder_layers": 1, "num_decoder_layers": 1}
    noise = 2 * np.random.default_rng(0).normal(size=(1, 1, 9, size, size))
    even = softmax(noise, np.ones_like(noise, bool))
    even[:, :, 0] = 1 / size
    straight = np.broadcast_to(np.eye(size, dtype=np.float32), noise.shape)
    log = AttentionLog.of_maps(Maps(straight, straight, even), examples=[example], model=model)
    tab = open_html(
        page.render(log), address="#kind=cross&pair=1&layer=1&head=2&step=0&drawing=lines&heads=2-3-4-5-6-7-8-9"
    )
    settle(tab)
    assert tab.locator(".joins .true-join").count() == size - 1
    assert "the strongest 1\u202f500 of " in tab.inner_text("#legend")
    assert tab.locator(".line-head:disabled").all_inner_texts() == ["H1"], "there are eight colours"
    assert tab.locator(".line-head >> text=all").count() == 0
    go(tab, "#kind=cross&pair=1&layer=1&head=1&step=0&drawing=lines")
    assert tab.locator(".joins path[data-line]").count() == 0, "1/73 each is too faint for the whole picture"
    point_at(tab, 'data-row="3"')
    assert tab.locator(".cursor path[data-line]").count() == size, "but not for one word alone"


def test_the_source_is_shaded_by_the_chosen_row_and_its_word_underlined(view, log):
    tab = view(ALIGNED)
    weights = log.maps(1200).cross[0, 1, 2, 1]
    shaded = shades(tab, "#texts div:nth-child(1)")
    assert list(shaded) == [*log.examples[0].source_tokens]
    np.testing.assert_allclose(list(shaded.values()), weights[:9], atol=0.01)
    assert tab.locator("#texts .own-word").all_inner_texts() == ["sieht"]
    assert tab.locator("#texts div:nth-child(2) .shaded").count() == 0
    go(tab, ALIGNED.replace("kind=cross", "kind=decoder"))
    assert list(shades(tab, "#texts div:nth-child(2)")) == ["<bos>", "heute"], "later words cannot be seen"
    assert tab.locator("#texts .own-word").all_inner_texts() == ["sieht"]
    go(tab, ALIGNED.replace("kind=cross", "kind=encoder"))
    assert tab.locator("#texts .own-word").all_inner_texts() == ["the"]
    tab.focus("#plate")
    press(tab, "Escape")
    assert tab.locator("#texts .shaded").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_shade_can_be_read(open_html, log, scheme: str):
    tab = open_html(page.render(log), address=ALIGNED.replace("1200", "100"), scheme=scheme)
    for row in range(1, 9):
        go(tab, f"{ALIGNED.replace('row=2', f'row={row}')}&scale=sqrt")
        colours = tab.eval_on_selector_all(
            "#texts .shaded", "all => all.map(getComputedStyle).map(own => [own.color, own.backgroundColor])"
        )
        for pair in colours:
            ink, ground = ([int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in pair)
            one, other = (_linear("#" + bytes(each).hex()) @ (0.2126, 0.7152, 0.0722) for each in (ink, ground))
            assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5


def test_subwords_shade_their_part_of_the_text_and_a_text_that_reads_otherwise_gives_way_to_its_tokens(open_html):
    examples = [
        Example(0, "the doghouse", "a", ("\u2581the", "\u2581dog", "house", "</s>"), ("a", "</s>")),
        Example(1, "The Dog", "a", ("the", "dog", "</s>"), ("a", "</s>")),
    ]
    model = {"d_model": 8, "num_heads": 1, "num_encoder_layers": 1, "num_decoder_layers": 1}
    maps = Maps(*(np.full((2, 1, 1, *shape), 1 / shape[1], np.float32) for shape in ((4, 4), (2, 2), (2, 4))))
    log = AttentionLog.of_maps(maps, examples=examples, model=model)
    tab = open_html(page.render(log), address="#kind=cross&pair=1&layer=1&head=1&step=0&row=1&column=1")
    settle(tab)
    assert tab.inner_text("#texts div:nth-child(1) dd").split() == ["the", "doghouse", "</s>"]
    assert list(shades(tab, "#texts")) == ["the", "dog", "house", "</s>"]
    go(tab, "#kind=cross&pair=2&layer=1&head=1&step=0&row=1&column=1")
    assert list(shades(tab, "#texts")) == ["the", "dog", "</s>"]
