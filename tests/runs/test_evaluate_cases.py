"""`evaluate.py` writes a page of outputs with their attention, and says what its flags are worth."""

import json
from pathlib import Path

import numpy as np
import pytest

from seq2see.data import EncodedPairs
from seq2see.decoding import load
from seq2see.evaluation import evaluate_pairs
from seq2see.maps.capture import capture
from seq2see.options import DecodeOptions, EvaluateOptions, OtherData
from seq2see.runs.evaluate import cases, command, evaluate
from seq2see.runs.evaluate.cases import add_cases
from seq2see.tasks import Pair


def data_of(page: str) -> dict:
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def test_the_page_stands_beside_the_scores_and_both_say_what_flags_are_worth(small_run: Path, tmp_path: Path) -> None:
    evaluation, files = evaluate(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False))
    assert [file.name for file in files] == ["test.json", "test.tsv", "test.html"]
    found = json.loads(files[0].read_text(encoding="utf-8"))["attention_flags"]
    assert found["outputs"] == found["of"] == found["wrong"] + found["right"] == 30
    assert found["right"] == round(30 * evaluation.scores["exact_match"])
    assert list(found["flags"]) == ["unattended", "eos_mass", "distance"]
    assert found["attention"].startswith("cross attention, layer ")
    data = data_of(files[2].read_text(encoding="utf-8"))
    assert data["flags"] == found and data["name"] == "test"


def test_the_worst_are_those_whose_reference_is_least_probable_and_none_is_there_twice(small_run: Path) -> None:
    trained = load(str(small_run))
    pairs = [Pair(source, source) for source in ("a", "b c", "d e f", "g h", "i")]
    evaluation = evaluate_pairs(trained, pairs)
    add_cases(trained, evaluation, name="new")
    assert evaluation.page is not None
    data = data_of(evaluation.page)
    loss, tokens = evaluation.counts.columns["loss"].T
    assert [case["line"] - 2 for case in data["cases"]] == np.argsort(-loss / tokens).tolist()
    assert data["cases"][0]["logProb"] == pytest.approx((-loss / tokens).min(), abs=1e-3)


def test_both_groups_have_twenty_and_no_output_is_in_both(small_run: Path) -> None:
    trained = load(str(small_run))
    evaluation = evaluate_pairs(trained, [Pair(f"{one} {other}", one) for one in "abcdefg" for other in "hijklmn"])
    add_cases(trained, evaluation, name="new")
    assert evaluation.page is not None
    shown = data_of(evaluation.page)["cases"]
    assert [case["group"] for case in shown] == ["worst"] * 20 + ["random"] * 20
    assert len({case["line"] for case in shown}) == 40


def test_maps_and_probabilities_are_those_of_the_very_tokens(small_run: Path) -> None:
    trained = load(str(small_run))
    pair = Pair("a b c", "c </script> b")
    evaluation = evaluate_pairs(trained, [pair])
    ids = trained.source_tokenizer.encode(pair.source)
    (side,) = cases._sides(trained, [(ids, trained.target_tokenizer.encode(pair.target))])
    encoded = EncodedPairs.from_pairs([pair], trained.source_tokenizer, trained.target_tokenizer)
    np.testing.assert_allclose(side.cross, capture(trained.model, encoded.batch([0])).cross[0], atol=1e-6)
    assert sum(np.log(side.probabilities)) == pytest.approx(trained.score([pair[:2]])[0], abs=1e-4)
    for chosen, place in zip(side.probabilities, side.candidates, strict=True):
        shares = [share for _, share in place]
        assert shares == sorted(shares, reverse=True) and len(shares) == 5 and shares[0] >= chosen - 1e-6
    add_cases(trained, evaluation, name="new")
    (output,) = (case["output"] for case in data_of(evaluation.page or "")["cases"])
    assert sum(np.log(output["probabilities"])) == pytest.approx(evaluation.hypotheses[0].score, abs=0.05)


def test_a_source_with_several_references_is_shown_once_beside_the_nearest(small_run: Path) -> None:
    trained = load(str(small_run))
    text = evaluate_pairs(trained, [Pair("a b", "x")]).texts[0]
    evaluation = evaluate_pairs(trained, [Pair("a b", "h h h h h h h"), Pair("a b", text)])
    add_cases(trained, evaluation, name="new")
    (case,) = data_of(evaluation.page or "")["cases"]
    assert case["right"] and "".join(part for part, _ in case["reference"]["parts"]) == text


def test_a_beam_shows_all_that_it_held_best_first_with_the_scores_of_those_very_texts(small_run: Path) -> None:
    trained = load(str(small_run))
    trained.decode_as(DecodeOptions(beam_size=4, length_penalty=0.5))
    pairs = [Pair(source, source) for source in ("a", "b c", "d e f")]
    evaluation = evaluate_pairs(trained, pairs)
    add_cases(trained, evaluation, name="new")
    data = data_of(evaluation.page or "")
    assert (data["beam"], data["penalty"]) == (4, 0.5)
    for case in data["cases"]:
        first = case["line"] - 2
        held = case["hypotheses"]
        texts = ["".join(part for part, _ in own["parts"]) for own in held]
        assert len(held) == 4 and texts[0] == evaluation.texts[first]
        assert held[0]["score"] == pytest.approx(evaluation.hypotheses[first].score, abs=1e-3)
        order = [(own["ended"], own["ranked"]) for own in held]
        assert order == sorted(order, reverse=True), "those that were cut come last"
        assert [own["right"] for own in held] == [text == pairs[first].target for text in texts]
        for own, text in zip(held, texts, strict=True):
            ids = trained.target_tokenizer.encode(text)
            if trained.target_tokenizer.decode(ids) == text and len(ids) + 1 < trained.length_limit.of(2):
                assert own["score"] == pytest.approx(trained.score([(pairs[first].source, text)])[0], abs=1e-3)


def test_with_exact_lengths_so_is_what_the_beam_held(small_run: Path) -> None:
    trained = load(str(small_run))
    trained.decode_as(DecodeOptions(beam_size=3, oracle_length=True))
    evaluation = evaluate_pairs(trained, [Pair("a b c d", "a b c d")])
    add_cases(trained, evaluation, name="new")
    (case,) = data_of(evaluation.page or "")["cases"]
    texts = ["".join(part for part, _ in own["parts"]) for own in case["hypotheses"]]
    assert len(texts) == 3 and {len(text.split()) for text in texts} == {4}


def test_a_greedy_evaluation_has_no_beam_to_show(small_run: Path) -> None:
    trained = load(str(small_run))
    evaluation = evaluate_pairs(trained, [Pair("a", "a")])
    add_cases(trained, evaluation, name="new")
    data = data_of(evaluation.page or "")
    assert data["beam"] == 1 and data["cases"][0]["hypotheses"] == []


def test_many_outputs_are_drawn_from_and_it_says_so(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_SCORED", 3)
    trained = load(str(small_run))
    evaluation = evaluate_pairs(trained, [Pair(letter, letter) for letter in "abcdefg"])
    add_cases(trained, evaluation, name="new")
    found = evaluation.details["attention_flags"]
    assert (found["outputs"], found["of"]) == (3, 7)
    assert any("over 3 of 7 outputs" in line for line in evaluation.lines())


def test_it_can_be_switched_off(small_run: Path, tmp_path: Path) -> None:
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False, report=False)
    evaluation, files = evaluate(options)
    assert [file.suffix for file in files] == [".json", ".tsv"] and "attention_flags" not in evaluation.details


def test_scores_are_the_same_with_and_without_the_page(small_run: Path, tmp_path: Path) -> None:
    both = [
        evaluate(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False, report=report))[0]
        for report in (True, False)
    ]
    assert both[0].scores == both[1].scores and both[0].texts == both[1].texts


def test_other_data_with_any_script_and_one_token_has_a_page(small_run: Path, tmp_path: Path) -> None:
    lines = ["a\ta", "\u05d7\u05ea\u05d5\u05dc b\t猫", "</script>\t</script>"]
    (tmp_path / "new.tsv").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), task=OtherData(str(tmp_path / "new.tsv")))
    options.baselines = False
    _, files = evaluate(options)
    page = files[2].read_text(encoding="utf-8")
    assert files[2].name == "new.html" and page.count("<script") == 2
    assert {case["source"] for case in data_of(page)["cases"]} == {line.split("\t")[0] for line in lines}


def test_the_terminal_names_the_page_and_the_flags_in_80_columns(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), baselines=False))
    lines = capsys.readouterr().out.split("\n")
    assert f"  {tmp_path / 'test.html'}" in lines
    start = next(number for number, line in enumerate(lines) if line.startswith("  attention flag"))
    assert max(map(len, lines[start : start + 5])) <= 80
