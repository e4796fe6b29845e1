"""The playground's page in a browser: a model of random weights, which are as good as any to be played with."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest
import torch
from tabs import go, needs_browser, press, settle, until

from seq2see.decoding import LengthLimit, TranslationModel
from seq2see.maps.playground import Sentence, Stage, render
from seq2see.options import ModelOptions, TokenizerKind
from seq2see.runs.config import compose_options
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

pytestmark = needs_browser

SOURCES = ["the old dog sees a cat", "a cat sleeps", "the bird sees the old cat", "dog and bird"]
TARGETS = ["der alte Hund sieht eine Katze", "eine Katze schläft", "der Vogel", "Hund und Vogel"]
SMALL = ModelOptions(d_model=24, num_heads=4, num_encoder_layers=1, num_decoder_layers=2, d_ff=40)


SOURCE, TARGET = (Tokenizer.fit(TokenizerKind.word, lines) for lines in (SOURCES, TARGETS))


def model_of(seed: int, noise: float) -> Transformer:
    torch.manual_seed(seed)
    model = Transformer(SMALL.filled(), SOURCE.vocab_size, TARGET.vocab_size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += noise * torch.randn(parameter.shape)
    return model


def planted_run() -> TranslationModel:
    options = compose_options("train", ["decode.beam_size=1"])
    limit = LengthLimit(ratio=1.0, slack=2)
    return TranslationModel(options, SOURCE, TARGET, limit, model_of(4, 0.2), longest_source=13, step=500)


def planted_page(planted: TranslationModel) -> str:
    """Two examples are as the model writes them, two are not; three stages."""
    right = planted.translate(SOURCES[:2])
    lines = [Sentence(*pair) for pair in zip(SOURCES, [*right, *TARGETS[2:]], strict=True)]
    stages = [Stage("untrained", 0, {}, model_of(1, 0.0)), Stage("half-trained", 40, {}, model_of(2, 0.1))]
    return render(planted, lines=lines, title="small run", stages=stages)[0]


@pytest.fixture(scope="module")
def planted() -> TranslationModel:
    return planted_run()


@pytest.fixture(scope="module")
def html(planted: TranslationModel) -> str:
    return planted_page(planted)


@pytest.fixture
def show(open_html: Callable, html: str) -> Callable:
    def open_page(address: str = "", *, page: str = html, **how: object):
        tab = open_html(page, address=address, **how)
        settle(tab)
        return tab

    return open_page


def click(tab, name: str) -> None:
    """The button of that value, or the element of that id; then what it changes is drawn."""
    tab.click(f'[data-value="{name}"], [id="{name}"]')
    settle(tab)


def output(tab) -> list[str]:
    return tab.locator("#tokens span").all_inner_texts()


def address(tab) -> str:
    return tab.evaluate("location.hash")


def cells(tab) -> str:
    return tab.evaluate("document.querySelector('#cells').toDataURL()")


def changes(tab) -> list[str]:
    return tab.locator("#changes li:not(.nothing) span").all_inner_texts()


def plain(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "")


def test_what_is_typed_is_translated_as_python_does_it_with_probabilities_and_candidates(show, planted):
    tab = show()
    assert tab.input_value("#text") == SOURCES[0]
    assert "as the reference" in tab.inner_text("#others")
    tab.fill("#text", "old cat and bird unheard")
    until(tab, "location.hash.includes('unheard')")
    settle(tab)
    expected = planted.translate(["old cat and bird unheard"])[0]
    assert " ".join(word for word in output(tab) if word != "<eos>") == expected
    assert tab.locator("#words .unknown").all_inner_texts() == ["unheard"]
    click(tab, "token 1")
    rows = tab.locator("#candidates tr").all_inner_texts()
    assert len(rows) == 5 and rows[0].split("\t")[0] == output(tab)[1]
    shares = [float(row.split()[-1].strip("<>")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert "row" not in address(tab) and "cell=2." in address(tab)  # its row is chosen in the map


def test_tokens_appear_one_after_the_other(show):
    tab = show()
    counts = tab.evaluate("""async () => {
      const seen = new Set();
      const watcher = new MutationObserver(() => seen.add(document.querySelector('#tokens').children.length));
      watcher.observe(document.querySelector('#tokens'), { childList: true });
      document.querySelector('#again').click();
      await new Promise((resolve) => setTimeout(resolve, 1200));
      return [...seen];
    }""")
    assert counts == list(range(len(output(tab)) + 1))


def test_every_head_can_be_looked_at_and_switched_off_and_on_again(show):
    tab = show()
    assert tab.locator("#thumbs .head-cell").count() == 4 * (1 + 2 + 2)
    before, pictures = output(tab), set()
    for name in ("encoder.0.1", "decoder.1.2", "cross.0.3"):
        click(tab, f"look {name}")
        pictures.add(cells(tab))
    assert len(pictures) == 3 and "Cross-attention, layer 1, head 4" in tab.inner_text("#plate-title")
    click(tab, "layer cross.0")
    click(tab, "switch cross.1.0")
    assert changes(tab) == ["Cross-attention, layer 1 off", "Cross-attention, layer 2, head 1 off"]
    assert output(tab) != before and tab.locator("#tokens .differs").count()
    assert " ".join(word for word in before if word != "<eos>") in tab.inner_text("#others")
    click(tab, "undo 1")
    assert changes(tab) == ["Cross-attention, layer 1 off"]
    click(tab, "reset")
    assert output(tab) == before and changes(tab) == []
    assert tab.locator("#thumbs [aria-checked=false]").count() == 0


def test_a_row_is_made_to_look_elsewhere_by_drag_button_and_key(show):
    tab = show("#kind=cross&layer=1&head=1&cell=1.1")
    box, shape = tab.locator("#cells").bounding_box(), (len(output(tab)), 7)
    place = lambda row, column: (  # noqa: E731
        box["x"] + (column + 0.5) * box["width"] / shape[1],
        box["y"] + (row + 0.5) * box["height"] / shape[0],
    )
    tab.mouse.move(*place(2, 1))
    tab.mouse.down()
    tab.mouse.move(*place(2, 5))
    tab.mouse.up()
    settle(tab)
    assert len(changes(tab)) == 1 and "looks at \u201ccat\u201d" in plain(changes(tab)[0])
    assert "1.00 of the attention goes to \u201ccat\u201d" in plain(tab.inner_text("#said"))
    assert "look=cross.1.1.3.6" in address(tab)
    tab.focus("#plate")
    press(tab, "ArrowUp", "Enter")
    assert len(changes(tab)) == 2
    press(tab, "ArrowLeft")
    click(tab, "look")  # the same row as before: that change is replaced
    assert len(changes(tab)) == 2 and tab.locator("#overlay .hit, .overlay .hit").count() == 2
    click(tab, "reset")
    assert changes(tab) == [] and "1.00 of" not in tab.inner_text("#said")


def test_a_word_that_is_left_out_is_not_seen_or_is_removed(show, planted):
    tab = show("#kind=cross&layer=1&head=2&text=the+old+dog+sees+a+cat&cell=1.3")
    click(tab, "word 2")
    assert [plain(change) for change in changes(tab)] == ["\u201cdog\u201d unseen"]
    assert "0.00 of the attention goes to \u201cdog\u201d" in plain(tab.inner_text("#said"))
    click(tab, "removed")
    assert " ".join(word for word in output(tab) if word != "<eos>") == planted.translate(["the old sees a cat"])[0]
    assert "without=3" in address(tab) and "words=removed" in address(tab)
    click(tab, "word 2")
    assert changes(tab) == [] and "as the reference" in tab.inner_text("#others")


def test_one_slider_goes_back_in_training(show):
    tab = show()
    after = output(tab)
    tab.focus("#stage")
    press(tab, "Home")
    assert tab.inner_text("#stage-name") == "untrained, step 0" and output(tab) != after
    assert "trained" in tab.inner_text("#others") and changes(tab) == ["As it was at untrained, step 0"]
    press(tab, "ArrowRight")
    assert "half-trained, step 40" in tab.inner_text("#stage-name")
    press(tab, "End")
    assert output(tab) == after


def test_a_beam_shows_what_else_it_held(show):
    tab = show()
    tab.select_option("#beam", "4")
    settle(tab)
    assert tab.locator("#hypotheses li").count() > 1
    first = output(tab)
    click(tab, "rank 1")
    assert output(tab) != first and "rank=2" in address(tab)


def test_the_difference_to_the_unchanged_map_can_be_seen(show):
    tab = show("#kind=encoder&layer=1&head=1&cell=1.1&off=cross.2.1")
    assert tab.is_visible("#shows")
    click(tab, "difference")
    assert "0.00 less of the attention" in tab.inner_text("#said")  # the encoder does not depend on that head


def test_the_address_brings_the_whole_view_back(show):
    tab = show()
    for name in ("look decoder.0.1", "switch decoder.0.1", "switch cross.1.3", "word 1", "token 0", "reads"):
        click(tab, name)
    tab.focus("#plate")
    press(tab, "Home", "Enter")
    tab.focus("#stage")
    press(tab, "ArrowLeft")
    click(tab, "language")
    seen = (output(tab), cells(tab), changes(tab), tab.inner_text("#said"), tab.inner_text("#candidates"))
    again = show(address(tab))
    assert again.evaluate("document.documentElement.lang") == "zh-Hans"
    assert seen == (
        output(again),
        cells(again),
        changes(again),
        again.inner_text("#said"),
        again.inner_text("#candidates"),
    )
    assert len(seen[2]) == 5
    go(
        again,
        "#text=dog&kind=nothing&layer=99&off=cross.9.9+x&look=cross.1.1.99.99&without=77&cell=9.9&token=99&beam=x",
    )
    assert again.is_hidden("#failure") and again.input_value("#text") == "dog"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tour_has_five_stops_that_are_true_of_this_model(show, planted, language: str):
    tab = show(f"#language={language}")
    click(tab, "tour-start")
    texts = []
    for stop in range(5):
        assert f"tour={stop + 1}" in address(tab)
        assert tab.evaluate("document.activeElement.id") == "tour-title"
        texts.append(plain(tab.inner_text("#tour-text")))
        if stop == 0:
            assert tab.input_value("#stage") == "0" and planted.translate(SOURCES[:1])[0] in texts[0]
        if stop == 1:
            assert output(tab)[int(address(tab).split("token=")[1][0]) - 1] in texts[1]
        if stop == 2:
            assert len(changes(tab)) == 1 and tab.locator("#tokens .differs").count()
        if stop == 3:
            assert tab.input_value("#text") == SOURCES[2] and TARGETS[2] in texts[3]
        if stop == 4:
            assert tab.locator("#words button").count() == 16  # the first sum over 13 tokens: 6 + 3 + 6, and the end
            assert ("longest in training had 13" in texts[4]) == (language == "en")
        if stop < 4:
            click(tab, "tour-next")
    assert len(set(texts)) == 5
    assert all(("\u7684" in text) == (language == "zh") for text in texts)
    click(tab, "language")
    assert ("输入" in tab.text_content("#plate .axis-title >> nth=0")) == (language == "en")
    assert plain(tab.inner_text("#tour-text")) != texts[4] and "tour=5" in address(tab)
    click(tab, "tour-leave")
    assert tab.is_hidden("#tour") and "tour" not in address(tab)


def test_a_stop_without_an_example_says_so(show, planted):
    right = [Sentence(source, text) for source, text in zip(SOURCES, planted.translate(SOURCES), strict=True)]
    tab = show("#tour=4&language=en", page=render(planted, lines=right, title="right")[0])
    assert "All 4 examples that the page tried come out right." in tab.inner_text("#tour-text")
    go(tab, "#tour=1&language=en")
    assert "there is no before to show" in tab.inner_text("#tour-text") and tab.is_hidden("#stages")
    tab = show("#tour=4&language=en", page=render(planted, lines=[Sentence("dog")], title="none")[0])
    assert "cannot tell which outputs are wrong" in tab.inner_text("#tour-text")


def test_loss_of_quality_is_stated(show):
    text = show().inner_text("#quality")
    assert "no score (logit) of a next token moves by more than 0.000" in text and "over 4 sentences" in text


def test_text_of_any_script_is_only_text_and_too_long_a_source_is_refused_in_words(show, planted):
    words = "</script><img/src=x/onerror=alert(1)> \u05d7\u05ea\u05d5\u05dc \u732b"
    page = render(planted, lines=[Sentence(words, words)], title=words)[0]
    tab = show(page=page, width=390, height=844, scheme="dark")
    assert tab.locator("img").count() == 0 and words in tab.inner_text("#others")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.fill("#text", "dog " * 1000)
    until(tab, "!document.querySelector('#failure').hidden")
    assert "has 1001 tokens with its end, and the model reads at most 1000" in tab.inner_text("#failure")


@pytest.mark.parametrize("view", ["", "#tour=3"])
def test_the_first_view_of_a_laptop_holds_source_output_and_map(show, view: str):
    tab = show(view, width=1366, height=650)
    for name in ("text", "tokens", "cells", "stage", "said"):
        box = tab.locator(f"#{name}").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 650, name
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1366


def test_everything_is_reached_with_the_keyboard(show):
    tab = show("#off=cross.1.1&beam=4&token=1")
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.closest('[id]')?.id"))
    expected = (
        "tour-start language theme text example words tokens beam again stage thumbs plate changes reset hypotheses"
    )
    assert set(expected.split()) <= reached
    tab.focus('[data-value="word 0"]')
    press(tab, "ArrowRight", "Enter")
    assert "without=2" in address(tab)
    tab.focus('.thumb[aria-pressed="true"]')
    press(tab, "ArrowLeft", "Tab", "Enter")
    assert tab.locator('.thumb[aria-pressed="true"] + [aria-checked="false"]').count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_nothing_to_say(show, scheme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = show("#tour=3&token=1&beam=4", scheme=scheme)
    found = axe.Axe().run(tab).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_speaks_one_language(show, language: str):
    seen = []
    views = (
        "",
        "tour=3&token=1&beam=4",
        "tour=4",
        "kind=decoder&layer=1&head=1&cell=1.5&look=decoder.1.1.3.2&without=1",
    )
    for view in (*views, "kind=encoder&shows=difference&off=cross.1.1&step=0", "text=" + "dog+" * 1100):
        tab = show(f"#language={language}&{view}")
        if "cell" in view:
            assert tab.inner_text(".readout") == {"en": "hidden", "zh": "看不到"}[language]
        seen += tab.evaluate("""() => {
          const texts = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            if (!walker.currentNode.parentElement.closest('script, noscript, h1')) texts.push(walker.currentNode.data);
          }
          for (const node of document.querySelectorAll('body *')) {
            for (const name of ['aria-label', 'title', 'aria-valuetext']) texts.push(node.getAttribute(name) || '');
          }
          return texts;
        }""")
    words = {word for text in seen for word in re.findall(r"[^\W\d_]+", plain(text))}
    if language == "en":
        assert {word for word in words if re.search(r"[\u3400-\u9fff]", word)} == {"中文"}
    else:
        data = " ".join([*SOURCES, *TARGETS, "small run eos bos unk seq see English Tab Esc logit L H"])
        latin = {part for word in words for part in re.findall(r"[a-zA-Zäöüß]+", word)}
        assert latin - set(data.split()) == set()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_figure_in_the_corner_stands_beside_the_title_of_short_rows(show, language: str):
    tab = show(f"#language={language}&text=dog+dog&kind=encoder&cell=1.1")
    title, figure = tab.evaluate("""() => {
      const figure = document.createRange();
      figure.selectNodeContents(document.querySelector('#plate .readout'));
      const title = document.querySelectorAll('#plate .axis-title')[1];
      return [title, figure].map((own) => own.getBoundingClientRect().toJSON());
    }""")
    assert title["right"] <= figure["left"]


def test_a_long_map_stays_inside_its_place_and_can_be_enlarged(show):
    tab = show("#kind=encoder&layer=1&head=1&text=" + "dog+cat+" * 40, width=1366, height=650)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1366
    size = lambda: tab.locator("#cells").bounding_box()["width"]  # noqa: E731
    fitted = size()
    assert fitted <= tab.locator("#stage-box").bounding_box()["width"]
    for _ in range(3):
        tab.click("#zoom [value='1.25']")
    assert size() == pytest.approx(1.25**3 * fitted, rel=0.3) and size() > fitted
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1366
    tab.click("#zoom [value='fit']")
    assert size() == fitted


def test_without_known_lengths_the_tour_takes_the_longest_example(show, planted):
    planted = dataclasses.replace(planted, longest_source=0)
    page = render(planted, lines=[Sentence(line) for line in SOURCES], title="old")[0]
    assert "the longest example of this file has 7" in show("#tour=5&language=en", page=page).inner_text("#tour-text")


def test_what_is_pressed_is_24_pixels_large(show):
    tab = show("#tour=3&token=1&beam=4&off=cross.1.1&without=1")
    small = tab.evaluate("""() => [...document.querySelectorAll('button, select, input, a[href]')].filter((one) => {
      const { width, height } = one.getBoundingClientRect();
      return width && !one.matches('.skip') && (width < 24 || height < 24);
    }).map((one) => one.outerHTML)""")
    assert small == []
