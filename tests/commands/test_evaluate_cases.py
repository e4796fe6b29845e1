"""`evaluate.py` writes a page of outputs with their attention, and says what its flags are worth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2see.commands import evaluate_cases
from seq2see.commands.evaluate import evaluate
from seq2see.commands.evaluate_cases import add_cases
from seq2see.data import EncodedPairs
from seq2see.decoding import TranslationModel, load
from seq2see.evaluation import Evaluation, evaluate_pairs
from seq2see.evaluation.details import Kind
from seq2see.maps.capture import capture
from seq2see.options import DecodeOptions, EvaluateOptions, OtherData
from seq2see.tasks import Pair


@pytest.fixture
def trained(small_run: Path) -> TranslationModel:
    return load(str(small_run))


def data_of(page: str | None) -> dict[str, Any]:
    assert page is not None
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def with_cases(trained: TranslationModel, *pairs: tuple[str, str]) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation of these pairs, and the data of its page."""
    evaluation = evaluate_pairs(trained, [Pair(*pair) for pair in pairs])
    add_cases(trained, evaluation, name="new")
    return evaluation, data_of(evaluation.page)


def text_of(shown: dict[str, Any]) -> str:
    return "".join(part for part, _ in shown["parts"])


def test_the_page_stands_beside_the_scores_and_can_be_left_out(small_run: Path, tmp_path: Path) -> None:
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False)
    evaluation, files = evaluate(options)
    assert [file.name for file in files] == ["test.json", "test.tsv", "test.html"]
    found = json.loads(files[0].read_text(encoding="utf-8"))["attention_flags"]
    assert found["outputs"] == found["of"] == found["wrong"] + found["right"] == 30
    assert found["right"] == round(30 * evaluation.scores["exact_match"])
    assert list(found["flags"]) == ["unattended", "eos_mass", "distance"]
    assert found["attention"].startswith("cross attention, layer ")
    data = data_of(files[2].read_text(encoding="utf-8"))
    assert data["flags"] == found and data["name"] == "test"
    options.report = False
    without, files = evaluate(options)
    assert [file.suffix for file in files] == [".json", ".tsv"] and "attention_flags" not in without.details
    assert without.scores == evaluation.scores and without.texts == evaluation.texts


def test_the_worst_are_those_whose_reference_is_least_probable_and_a_greedy_one_has_no_beam(
    trained: TranslationModel,
) -> None:
    evaluation, data = with_cases(trained, *((text, f"{text} a") for text in ("a", "b c", "d e f", "g h", "i")))
    loss, tokens = evaluation.counts.columns["loss"].T
    assert [case["line"] - 2 for case in data["cases"]] == np.argsort(-loss / tokens).tolist()
    assert all(case["kind"] for case in data["cases"]) and (data["wrong"], data["right"]) == (5, 0)
    assert data["cases"][0]["logProb"] == pytest.approx((-loss / tokens).min(), abs=1e-3)
    assert data["beam"] == 1 and data["cases"][0]["hypotheses"] == []


def test_all_wrong_outputs_are_there_then_some_right_ones_and_flags_are_of_some(
    trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate_cases, "MOST_SCORED", 3)
    sources = [f"{one} {other}" for one in "abcdefg" for other in "hijklmn"]
    written = trained.translate(sources)
    pairs = [(source, own if n % 2 else source) for n, (source, own) in enumerate(zip(sources, written, strict=True))]
    evaluation, data = with_cases(trained, *pairs)
    kinds = [case["kind"] for case in data["cases"]]
    wrong = evaluation.details["errors"]["wrong"]
    assert 20 < wrong == data["wrong"] and data["right"] == 49 - wrong > 20
    assert kinds[wrong:] == [None] * 20 and set(kinds[:wrong]) <= {kind.value for kind in Kind}
    assert len({case["line"] for case in data["cases"]}) == wrong + 20
    assert (data["flags"]["outputs"], data["flags"]["of"]) == (3, 49)
    assert any("over 3 of 49 outputs" in line for line in evaluation.lines())


def test_where_hardly_any_output_is_right_those_of_usual_pairs_are_set_beside(trained: TranslationModel) -> None:
    pairs = [Pair(source, source + " a") for source in "abcdefghij"]
    alone, beside = evaluate_pairs(trained, pairs), evaluate_pairs(trained, pairs)
    add_cases(trained, alone, name="ood")
    assert "there is no right output" in alone.details["attention_flags"]["flags"]["distance"]["verdict"]
    known = [Pair(source, text) for source, text in zip("klmnop", trained.translate(list("klmnop")), strict=True)]
    add_cases(trained, beside, name="ood", usual=lambda: [*known, Pair("q r", "never written")])
    found = beside.details["attention_flags"]
    assert (found["right"], found["beside"]) == (0, 6)
    assert all(flag["area_under_curve"] is not None for flag in found["flags"].values())
    assert any("beside 6 right ones of the test split" in line for line in beside.lines())


def test_maps_and_probabilities_are_those_of_the_very_tokens(trained: TranslationModel) -> None:
    pair = Pair("a b c", "c </script> b")
    ids, target_ids = trained.source_tokenizer.encode(pair.source), trained.target_tokenizer.encode(pair.target)
    (side,) = evaluate_cases._sides(trained, [(ids, target_ids)])
    encoded = EncodedPairs.from_pairs([pair], trained.source_tokenizer, trained.target_tokenizer)
    np.testing.assert_allclose(side.cross, capture(trained.model, encoded.batch([0])).cross[0], atol=1e-6)
    assert sum(np.log(side.probabilities)) == pytest.approx(trained.score([pair[:2]])[0], abs=1e-4)
    for chosen, place in zip(side.probabilities, side.candidates, strict=True):
        shares = [share for _, share in place]
        assert shares == sorted(shares, reverse=True) and len(shares) == 5 and shares[0] >= chosen - 1e-6
    evaluation, data = with_cases(trained, pair[:2])
    (output,) = (case["output"] for case in data["cases"])
    assert sum(np.log(output["probabilities"])) == pytest.approx(evaluation.hypotheses[0].score, abs=0.05)


def test_a_source_with_several_references_is_shown_once_beside_the_nearest(trained: TranslationModel) -> None:
    text = evaluate_pairs(trained, [Pair("a b", "x")]).texts[0]
    (case,) = with_cases(trained, ("a b", "h h h h h h h"), ("a b", text))[1]["cases"]
    assert case["kind"] is None and text_of(case["reference"]) == text


def test_a_beam_shows_all_that_it_held_best_first_with_the_scores_of_those_very_texts(
    trained: TranslationModel,
) -> None:
    trained.decode_as(DecodeOptions(beam_size=4, length_penalty=0.5))
    sources = ("a", "b c", "d e f")
    evaluation, data = with_cases(trained, *((source, source) for source in sources))
    assert (data["beam"], data["penalty"]) == (4, 0.5)
    for case in data["cases"]:
        first, held = case["line"] - 2, case["hypotheses"]
        texts = [text_of(own) for own in held]
        assert len(held) == 4 and texts[0] == evaluation.texts[first]
        assert held[0]["score"] == pytest.approx(evaluation.hypotheses[first].score, abs=1e-3)
        order = [(own["ended"], own["ranked"]) for own in held]
        assert order == sorted(order, reverse=True), "those that were cut come last"
        assert [own["right"] for own in held] == [text == sources[first] for text in texts]
        for own, text in zip(held, texts, strict=True):
            ids = trained.target_tokenizer.encode(text)
            if trained.target_tokenizer.decode(ids) == text and len(ids) + 1 < trained.length_limit.of(2):
                assert own["score"] == pytest.approx(trained.score([(sources[first], text)])[0], abs=1e-3)


def test_other_data_with_any_script_and_one_token_has_a_page(small_run: Path, tmp_path: Path) -> None:
    lines = ["a\ta", "\u05d7\u05ea\u05d5\u05dc b\t猫", "</script>\t</script>"]
    (tmp_path / "new.tsv").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    task = OtherData(str(tmp_path / "new.tsv"))
    _, files = evaluate(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False, task=task))
    page = files[2].read_text(encoding="utf-8")
    assert files[2].name == "new.html" and page.count("<script") == 2
    assert {case["source"] for case in data_of(page)["cases"]} == {line.split("\t")[0] for line in lines}
