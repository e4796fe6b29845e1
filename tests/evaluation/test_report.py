import pytest

from seq2see.evaluation.report import comparison_lines, score_lines, shown, wrapped


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bleu", 99.0803, "99.08"),
        ("exact_match", 0.979, "0.9790"),
        ("perplexity", 982.7285, "982.73"),
        ("perplexity", 54321.9, "54,322"),
        ("perplexity", 1e300, "1.0e+300"),
        ("exact_match", None, "-"),
    ],
)
def test_a_score_has_the_digits_that_it_deserves(name: str, value: float | None, text: str) -> None:
    assert shown(name, value) == text


def test_tables_keep_to_80_columns_whatever_the_scores() -> None:
    worst = {"perplexity": 1e300, "bleu": 100.0, "wer": 12345.678, "loss": -0.0001}
    intervals = {name: [value, value] for name, value in worst.items()}
    lines = score_lines(worst, {"intervals": intervals, "baselines": dict.fromkeys(("copy", "nearest"), worst)})
    tests = {name: {"difference": -value, "interval": [-value, value], "p": 1.0} for name, value in worst.items()}
    lines += comparison_lines(
        {
            "checkpoints": ["A" * 76, "B"],
            "scores": {name: [value, None] for name, value in worst.items()},
            "against_first": [tests],
            "notes": ["why"],
        }
    )
    assert all(len(line) <= 80 for line in lines)


def test_a_note_is_wrapped_but_a_path_in_it_stays_whole() -> None:
    lines = wrapped("nothing written: " + "long/" * 30 + "file cannot be")
    assert "long/" * 30 + "file" in [line.strip() for line in lines]
    assert all(line.startswith("  ") for line in lines)
