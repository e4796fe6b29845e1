"""`attention.py twin=`: which heads carry what one changed word changes."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2see.commands import attention as command
from seq2see.commands.attention import attention
from seq2see.decoding import load
from seq2see.options import AttentionFormat, AttentionOptions
from seq2see.text import EOS


@pytest.fixture
def files(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A model whose outputs lean on the source, lines, and a changed copy of them."""
    trained = load(str(small_run))
    torch.manual_seed(1)
    torch.nn.init.normal_(trained.model.output_proj.weight, std=0.5)
    trained.model.output_proj.weight.data[EOS] *= 0.1
    for layer in trained.model.decoder_layers:
        layer.cross_attention.attention.out_proj.weight.data *= 4
    monkeypatch.setattr(command, "load", lambda path, average=None: trained)
    (tmp_path / "in.txt").write_text("a b <c> d\n\nd c b a\n", encoding="utf-8")
    (tmp_path / "twins.txt").write_text("a b <c> a\n\nb c b a\n", encoding="utf-8")
    return {"ckpt": "RUN", "input": str(tmp_path / "in.txt"), "accelerator": "cpu"}


def test_the_table_has_every_head_layer_and_kind_of_each_line(files: dict[str, Any], tmp_path: Path) -> None:
    twins = str(tmp_path / "twins.txt")
    path = attention(AttentionOptions(**files, twin=twins, format=AttentionFormat.csv, output=f"{tmp_path}/t.csv"))
    assert path is not None
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert {row["line"] for row in rows} == {"1", "3"}
    everything = [row for row in rows if row["layer"] == "all"]
    assert [row["kind"] for row in everything] == ["encoder", "decoder", "cross"] * 2
    assert float(everything[2]["recovered"]) == pytest.approx(1, abs=1e-4)
    assert len(rows) == 2 * 3 * (1 + 2 * (4 + 1))


def test_picture_page_and_terminal_show_the_mean_and_each_pair(
    files: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in (AttentionFormat.svg, AttentionFormat.html, AttentionFormat.terminal):
        output = None if kind is AttentionFormat.terminal else f"{tmp_path}/twins.{kind.value}"
        attention(AttentionOptions(**files, twin="auto", format=kind, output=output))
    said = capsys.readouterr().out
    lines = said.split("\n", 2)[2].splitlines()
    assert f"open {tmp_path}/twins.svg" in said and lines[0] == "mean of 2 pairs" and "1: a b <c> d" in lines
    assert max(map(len, lines)) <= 80 and "  cross attention, all of it 1.00" in lines
    figure = (tmp_path / "twins.svg").read_text(encoding="utf-8")
    texts = [text.text for text in ElementTree.fromstring(figure).iter("{http://www.w3.org/2000/svg}text")]
    assert "1: a b <c> d" in texts and "cross attention: 1.00 in all" in texts and "\u22120.00" not in texts
    page = (tmp_path / "twins.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "<script" not in page and "&lt;c&gt;" in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"layer": 1}, "layer= is for maps, and twin= looks at all"),
        ({"twin": "missing.txt"}, "missing.txt"),
        ({"twin": "short.txt"}, "give one twin for each line"),
        ({"twin": "longer.txt"}, r"twin, line 1: the source has 4 tokens and its twin 5"),
    ],
)
def test_what_cannot_be_patched_is_said(files: dict[str, Any], tmp_path: Path, more: dict, message: str) -> None:
    (tmp_path / "short.txt").write_text("a\n", encoding="utf-8")
    (tmp_path / "longer.txt").write_text("a b <c> d e\n\nb c b a\n", encoding="utf-8")
    more = {"twin": "auto", **more}
    if more["twin"] != "auto":
        more["twin"] = str(tmp_path / more["twin"])
    with pytest.raises(ValueError, match=message):
        attention(AttentionOptions(**files, **more))
