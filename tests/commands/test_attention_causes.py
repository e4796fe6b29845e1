"""`attention.py causes=`: what each source word does, in the page and as a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from seq2see.commands import attention as command
from seq2see.commands.attention import attention
from seq2see.decoding import load
from seq2see.maps.causes import word_effects
from seq2see.options import AttentionFormat, AttentionOptions


@pytest.fixture
def files(small_run: Path, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "in.txt").write_text("a b c\n\nd\n", encoding="utf-8")
    (tmp_path / "out.txt").write_text("c a\n\nd\n", encoding="utf-8")
    texts = {"input": str(tmp_path / "in.txt"), "target": str(tmp_path / "out.txt")}
    return {"ckpt": str(small_run), "accelerator": "cpu", **texts}


def causes_of(path: Path | None) -> list[dict[str, Any]] | None:
    assert path is not None
    return json.loads(path.read_text(encoding="utf-8").split('id="log">')[1].split("</script>")[0])["causes"]


def test_a_page_of_few_lines_has_them_and_of_more_if_asked(
    files: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**options: Any) -> list[dict[str, Any]] | None:
        return causes_of(attention(AttentionOptions(**files, output=str(tmp_path / "maps.html"), **options)))

    whole = found()
    assert whole is not None and [len(own["words"]) for own in whole] == [3, 1]
    assert found(causes=False) is None
    monkeypatch.setattr(command, "MOST_CAUSED", 10)
    assert found() is None and found(causes=True) == whole


def test_the_table_has_every_token_word_and_way(files: dict[str, Any], tmp_path: Path, small_run: Path) -> None:
    options = AttentionOptions(**files, causes=True, format=AttentionFormat.csv, output=str(tmp_path / "causes.csv"))
    path = attention(options)
    assert path is not None
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    trained = load(str(small_run))
    source, target = trained.source_tokenizer.encode("a b c"), trained.target_tokenizer.encode("c a")
    effects = word_effects(trained.model, source, target, trained.source_tokenizer.word_numbers("a b c"))
    assert effects.blocked is not None
    layers, heads = effects.blocked.shape[:2]
    assert len([row for row in rows if row["line"] == "1"]) == 3 * 3 * (2 + layers + layers * heads)
    (chosen,) = (
        row
        for row in rows
        if (row["line"], row["query_token"], row["source_tokens"], row["layer"], row["head"])
        == ("1", "a", "c", "2", "3")
    )
    assert chosen["way"] == "blocked" and float(chosen["change"]) == pytest.approx(
        effects.blocked[1, 2, 1, 2], abs=1e-5
    )
    (chosen,) = (row for row in rows if row["line"] == "3" and row["query"] == "2" and row["way"] == "left_out")
    assert (chosen["query_token"], chosen["word"]) == ("<eos>", "1")


def test_a_figure_has_no_place_for_them(files: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="causes=true is for format=html and csv, not svg"):
        attention(AttentionOptions(**files, causes=True, format=AttentionFormat.svg))
    with pytest.raises(ValueError, match="causes= is for ckpt=, and run= is set"):
        attention(AttentionOptions(run=files["ckpt"], causes=True))
