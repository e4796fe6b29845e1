"""Figures as they stand in pages and in files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.runs.figures import Estimate, Panel, Series, as_svg, comparison, curves, save


def two_panels() -> list[Panel]:
    loss = [Series("a", [0, 10, 20], [3.0, 2.0, 1.0]), Series("_$b$ <i>", [0, 10], [3, None], [2, 2], [4, 4])]
    return [Panel("loss", loss), Panel("exact match", [Series("a", [20], [0.5])])]


def test_a_figure_in_a_page_has_the_pages_ink_and_its_text_as_text() -> None:
    svg = as_svg(curves(two_panels()), name="curves")
    assert svg.startswith("<svg") and "currentColor" in svg
    for text in ("loss", "exact match", ">a<", "_$b$ &lt;i&gt;"):
        assert text in svg
    assert "#000000" not in svg and "black" not in svg and "nan" not in svg


def test_figures_in_one_page_share_no_id_and_are_the_same_each_time() -> None:
    first, second = (as_svg(curves(two_panels()), name=name) for name in ("first", "second"))
    ids = [set(re.findall(r'id="(\S+?)"', svg)) for svg in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    assert as_svg(curves(two_panels()), name="first") == first
    assert set(re.findall(r"url\(#(\S+?)\)", first)) <= ids[0]


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_figure_is_kept_in_the_form_that_its_name_says(tmp_path: Path, suffix: str, magic: bytes) -> None:
    estimates = [Estimate("position=rope", 0.9, (0.8, 1.0), [0.8, 1.0]), Estimate("中文", 0.5)]
    save(comparison(estimates, score="exact match"), tmp_path / f"figure{suffix}")
    content = (tmp_path / f"figure{suffix}").read_bytes()
    save(comparison(estimates, score="exact match"), tmp_path / f"figure{suffix}")
    assert content.startswith(magic) and (tmp_path / f"figure{suffix}").read_bytes() == content


def test_drawing_leaves_pyplot_and_its_settings_alone() -> None:
    code = (
        "import sys; from seq2see.runs.figures import *; assert 'matplotlib' not in sys.modules\n"
        "as_svg(bars({'a': 1}, x_label='outputs'), name='bars')\n"
        "import matplotlib; assert matplotlib.rcParams['svg.hashsalt'] is None\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
