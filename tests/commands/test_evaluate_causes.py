"""`evaluate.py` says whether attention explains the outputs, and its page shows what each source word causes."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2see.commands import evaluate_cases
from seq2see.decoding import TranslationModel, load
from seq2see.evaluation import Evaluation, evaluate_pairs
from seq2see.options import DecodeOptions
from seq2see.tasks import Pair
from seq2see.text import EOS


@pytest.fixture
def trained(small_run: Path) -> TranslationModel:
    """A barely trained model that always writes three tokens."""
    model = load(str(small_run))
    model.decode_as(DecodeOptions(max_length=3))
    bias = torch.zeros(model.target_tokenizer.vocab_size)
    bias[EOS] = -100
    model.model.output_proj.register_forward_hook(lambda module, args, logits: logits + bias)
    return model


def evaluated(trained: TranslationModel) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation of a few pairs, and the data of its page."""
    evaluation = evaluate_pairs(trained, [Pair(text, text) for text in ("a b c", "b c", "d e f a", "c")])
    evaluate_cases.add_cases(trained, evaluation, name="new")
    return evaluation, json.loads((evaluation.page or "").split('id="data">')[1].split("</script>")[0])


def test_the_scores_say_how_attention_agrees_with_causes_and_the_page_shows_them(
    trained: TranslationModel, tmp_path: Path
) -> None:
    evaluation, data = evaluated(trained)
    evaluation.write(tmp_path, "new")
    found = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))["attention_causes"]
    assert (found["of"], found["pairs"], found["rows"]) == (4, 3, 9)  # a single word has no order
    assert any(line.startswith("  attention and causes: attention ") for line in evaluation.lines())
    assert data["causes"] == found
    for case in data["cases"]:
        first, number = case["causes"]["words"][-1]
        assert first + number == len(case["sourceTokens"]) - 1


def test_long_outputs_go_without_heads_and_from_a_limit_on_without_causes(
    trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def num_cells(data: dict[str, Any]) -> list[int]:
        return [len(zlib.decompress(base64.b64decode(case["causes"]["cells"]))) // 2 for case in data["cases"]]

    of_words = [4 * len(case["causes"]["words"]) for case in evaluated(trained)[1]["cases"]]  # one way, three rows, EOS
    layers, heads = len(trained.model.decoder_layers), trained.model.options.num_heads or 0
    assert num_cells(evaluated(trained)[1]) == [(2 + layers + layers * heads) * own for own in of_words]
    monkeypatch.setattr(evaluate_cases, "MOST_OF_ONE", 0)
    assert num_cells(evaluated(trained)[1]) == [(2 + layers) * own for own in of_words]
    monkeypatch.setattr(evaluate_cases, "MOST_TOKENS", 0)
    assert all(case["causes"] is None for case in evaluated(trained)[1]["cases"])
