"""`compare.py` names what runs differ in, and nothing else; says how sure a difference is; and writes four formats."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2see.commands.compare import compare
from seq2see.commands.compare.rows import interval_of_mean
from seq2see.options import CompareOptions

NUM_PAIRS = 60
HEADS, DEPTH = {"num_heads: 4": "num_heads: 2"}, {"num_encoder_layers: 2": "num_encoder_layers: 1"}


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> Callable[..., str]:
    """Makes a run like the small one, but for changes to its configuration, its outputs and its scores."""
    texts = {name: (small_run / name).read_text(encoding="utf-8") for name in ("config.yaml", "metrics.csv")}
    result = json.loads((small_run / "result.json").read_text(encoding="utf-8"))

    def make(folder: str, *, seed: int = 0, wrong=(), change=None, word="w", cost=True, **scores: float) -> str:
        place, texts_of_run = tmp_path / folder, dict(texts)
        for old, new in {**(change or {}), "seed: 0\nrun_dir": f"seed: {seed}\nrun_dir"}.items():
            assert old in texts["config.yaml"]
            texts_of_run["config.yaml"] = texts_of_run["config.yaml"].replace(old, new)
        outputs = [(f"{word} {n}", "x" if n in wrong else f"{word} {n}") for n in range(NUM_PAIRS)]
        rows = [f"{right}\t{right}\t{output}\t-1.0" for right, output in outputs]
        texts_of_run["evaluation/test.tsv"] = "\n".join(["source\treference\thypothesis\tscore", *rows, ""])
        test = result["test"] | {"exact_match": 1 - len(wrong) / NUM_PAIRS} | scores
        own = result | {"test": test, "cost": result["cost"] if cost else {}}
        texts_of_run["result.json"] = json.dumps(own)
        (place / "evaluation").mkdir(parents=True)
        for name, text in texts_of_run.items():
            (place / name).write_text(text, encoding="utf-8")
        return str(place)

    return make


@pytest.fixture
def three_rows(run: Callable[..., str]) -> list[str]:
    """Three recipes with three seeds each: the second is much worse than the first, the third is as good."""
    runs = [run(f"base-{seed}", seed=seed, wrong=range(5 + seed)) for seed in range(3)]
    runs += [run(f"heads-{seed}", seed=seed, wrong=range(20 + seed), change=HEADS) for seed in range(3)]
    return runs + [run(f"depth-{seed}", seed=seed, wrong=range(1, 6 + seed), change=DEPTH) for seed in range(3)]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """What the terminal shows, each line without its spaces."""

    def lines(*runs: str, **options: str) -> list[str]:
        compare(CompareOptions(ckpt=list(runs), **options))
        lines = capsys.readouterr().out.splitlines()
        assert all(len(line) <= 80 or "/" in line for line in lines) and "nan" not in " ".join(lines)
        return [" ".join(line.split()) for line in lines]

    return lines


def test_a_row_is_named_by_the_keys_that_differ_between_recipes_and_a_run_by_its_folder(run, shown) -> None:
    of_no_matter = {"log_every_n_steps: ": "log_every_n_steps: 1"}
    lines = shown(run("a", seed=1), run("b"), run("c", change=HEADS), run("d", seed=2, change=of_no_matter))
    assert lines[1].startswith("1 num_heads=4 3 1.000 1.000 to 1.000 1.000 1.000")
    assert lines[2].startswith("2 num_heads=2 1 1.000 - 1.000 1.000")
    assert [line[:5] for line in lines if re.match(r"\d [abcd] ", line)] == ["1 b 0", "1 a 1", "1 d 2", "2 c 0"]
    assert "no interval over seeds for a row of one run" in lines


def test_runs_of_one_recipe_have_their_lowest_and_highest_scores(run, shown) -> None:
    lines = shown(run("a", bleu=40.0), run("b", seed=1, bleu=50.0))
    assert lines[1].startswith("1 copy 2 1.000")
    column = lines[3].split().index("BLEU") - lines[3].split().index("time")
    means = {line.split()[1]: line.split()[4:] for line in lines if " of 2 " in line}
    assert [means[name][column] for name in ("mean", "lowest", "highest")] == ["45.0", "40.0", "50.0"]


def test_many_differences_go_on_below_and_are_cut(run, shown) -> None:
    change = {"dropout: 0.0": "dropout: 0.1", "position: rope": "position: none", "d_ff: 64": "d_ff: 128"}
    lines = shown(run("a"), run("b", change={**change, "weight_decay: 0.01": "weight_decay: 0.0"}))
    assert lines[1].startswith("1 d_ff=64 dropout=0.0 1 ")
    assert lines[2:4] == ["attention_dropout=0.0", "position=rope ..."]


def test_the_interval_over_seeds_is_students() -> None:
    low, high = interval_of_mean([0.7, 0.8, 0.9]) or (0, 0)
    assert (low, high) == pytest.approx((0.8 - 4.3027 * 0.1 / 3**0.5, 0.8 + 4.3027 * 0.1 / 3**0.5), abs=1e-5)
    for n, t in ((2, 12.706), (5, 2.776), (11, 2.228), (12, 2.201), (21, 2.086), (31, 2.042), (101, 1.984)):
        values = [0.0] * (n - 1) + [1.0]  # standard deviation 1 / sqrt(n)
        low, high = interval_of_mean(values) or (0, 0)
        assert (high - low) / 2 * n == pytest.approx(t, abs=5e-4)
    assert interval_of_mean([0.5]) is None


def test_a_planted_difference_is_found_and_a_planted_equality_is_not(three_rows, shown) -> None:
    lines = shown(*three_rows)
    assert lines[0] == "exact match n mean 95 % interval lowest highest p vs 1"
    first, heads, depth = (next(line for line in lines if line.startswith(f"{number} num")) for number in (1, 2, 3))
    assert first.endswith("0.900 0.859 to 0.941 0.883 0.917 -")  # 54 of 60, and one more or less
    assert heads.split()[-1] == "0.002"  # 1 in 1,001, of two tests
    assert float(depth.split()[-1]) > 0.5
    assert "p: paired bootstrap over the test pairs against row 1, with Holm's correction" in " ".join(lines)


def test_any_row_can_be_the_one_to_compare_with(three_rows, shown) -> None:
    base, others = three_rows[4], [run for run in three_rows if "heads" not in run]
    lines = shown(*others, three_rows[3], against=base)
    assert lines[0].endswith("p vs 3")
    p = [line.split()[-1] for line in lines if re.match(r"\d num", line)]
    assert p == ["0.002", "0.002", "-"]


def test_a_score_that_does_not_follow_from_outputs_is_not_tested_and_it_is_said(three_rows, shown) -> None:
    lines = shown(*three_rows, metric="loss")
    assert lines[0] == "loss n mean 95 % interval lowest highest"
    assert "no test: loss does not follow from the outputs, which are all that test.tsv has" in " ".join(lines)
    assert "p vs 1" in shown(*three_rows, metric="ser")[0]  # words are symbols here


def test_runs_with_other_test_pairs_are_not_tested_and_it_is_said_which(run, three_rows, shown) -> None:
    lines = shown(*three_rows, run("other", word="v", change={"d_ff: 64": "d_ff: 128"}))
    assert "no test of row 4: other test pairs than row 1" in lines
    odd = run("odd", word="v", seed=9, change=HEADS)
    text = " ".join(shown(*three_rows, odd))
    assert f"no test of row 2: {odd} has other test pairs than the runs beside it" in text
    (Path(odd) / "evaluation" / "test.tsv").unlink()
    assert f"{odd} has no evaluation/test.tsv" in " ".join(shown(*three_rows, odd))


def test_runs_with_other_target_tokens_have_no_loss_to_compare(run, three_rows, shown) -> None:
    letters = run("letters", change={"target: word": "target: char", "source: word": "source: char"})
    lines = shown(*three_rows, letters)
    heads = next(line for line in lines if line.startswith("each run"))
    assert "loss" not in heads and "logp" in heads
    with pytest.raises(ValueError, match="metric=loss: these runs cannot be compared by it: choose one of exact_match"):
        shown(*three_rows, letters, metric="loss")


def test_runs_without_test_pairs_are_shown_with_dashes(run, shown, tmp_path: Path) -> None:
    folder = Path(run("a"))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "result.json").write_text(json.dumps(result | {"test": {}}), encoding="utf-8")
    (folder / "evaluation" / "test.tsv").unlink()
    for name in ("x.csv", "x.tex"):
        lines = shown(str(folder), output=str(tmp_path / name))
        assert lines[1] == "1 a 1 - - - -" and "no exact match where a run has none" in lines
    shown(str(folder), output=str(tmp_path / "x.html"))
    assert "no scores by length: " in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_what_a_run_lacks_is_a_dash_with_the_reason(run, shown, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    runs = [run("a", cost=False, bleu=float("nan")), run("b", change=HEADS)]
    (Path(runs[0]) / "metrics.csv").unlink()
    lines = shown(*runs, output=str(tmp_path / "x.html"))
    assert "no BLEU, tokens/s, GFLOP where a run has none" in lines
    assert " - " in next(line for line in lines if line.startswith("1 a"))
    assert "nan" not in re.sub("<svg.*?</svg>", "", (tmp_path / "x.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    with pytest.raises(ValueError, match="empty: not a run folder"):
        shown(str(tmp_path / "empty"))
    with pytest.raises(ValueError, match="name the runs to compare"):
        shown()


def test_a_sweep_is_compared_without_the_jobs_that_failed(run, shown, tmp_path: Path) -> None:
    for number in range(12):
        run(f"sweep/{number}", seed=number % 6, change=HEADS if number < 6 else {})
    alone = shown(*(str(tmp_path / "sweep" / str(number)) for number in range(12)))
    assert shown(str(tmp_path / "sweep")) == alone
    assert [line.split()[1] for line in alone if re.match(r"\d \d", line)] == [str(number) for number in range(12)]
    (tmp_path / "sweep" / "3" / "result.json").unlink()
    lines = shown(str(tmp_path / "sweep"))
    assert lines[1].startswith("1 num_heads=2 5") and "left out: " in " ".join(lines)


def test_the_csv_has_a_line_for_each_row_and_each_run_with_all_digits(three_rows, shown, tmp_path: Path) -> None:
    shown(*three_rows, output=str(tmp_path / "x.csv"))
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["kind"] for line in lines] == ["row", "run", "run", "run"] * 3
    rows, runs = ([line for line in lines if line["kind"] == kind] for kind in ("row", "run"))
    assert [(row["num_heads"], row["num_encoder_layers"], row["n"]) for row in rows] == [
        ("4", "2", "3"),
        ("2", "2", "3"),
        ("4", "1", "3"),
    ]
    assert [line["run"] for line in runs] == three_rows
    assert float(runs[1]["exact_match"]) == 1 - 6 / 60
    assert float(rows[1]["difference"]) == pytest.approx(-15 / 60)
    assert float(rows[1]["p_holm"]) == pytest.approx(2 * float(rows[1]["p"]))
    assert float(rows[1]["exact_match_lowest"]) == 1 - 22 / 60 and float(rows[0]["gflop"]) > 0
    assert rows[0]["p"] == "" and "nan" not in (tmp_path / "x.csv").read_text(encoding="utf-8")


def test_tables_for_papers_and_pages_have_the_same_cells(three_rows, shown, tmp_path: Path) -> None:
    for name in ("x.md", "x.tex"):
        shown(*three_rows, output=str(tmp_path / name))
    lines = (tmp_path / "x.md").read_text(encoding="utf-8").splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    pipes = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    tex = (tmp_path / "x.tex").read_text(encoding="utf-8")
    cells = [
        [
            cell.strip()
            for cell in line.removesuffix(r" \\")
            .replace("\\_", "_")
            .replace("\\%", "%")
            .replace("$-$", "-")
            .split(" & ")
        ]
        for line in tex.splitlines()
        if line.endswith(r"\\")
    ]
    assert cells == [pipes[0], *pipes[2:]]
    assert pipes[2][:6] == ["1 num_heads=4 num_encoder_layers=2", "3", "0.900", "0.859 to 0.941", "0.883", "0.917"]
    columns = re.search(r"\\begin\{tabular\}\{(l r*)\}".replace(" ", ""), tex)
    assert columns and len(columns[1]) == len(cells[0])
    assert r"1 num\_heads=4" in tex and r"95 \% interval" in tex and "& $-$0.250 &" in tex
    rules = [tex.index(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")]
    assert rules == sorted(rules)


def test_another_ending_or_a_place_that_cannot_be_written_is_refused(run, shown, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"output \(x\.pdf\) must end in \.csv, \.md, \.tex or \.html"):
        shown(run("a"), output="x.pdf")
    with pytest.raises(ValueError, match="metric .bleux. must be one of exact_match"):
        shown(run("b"), metric="bleux")
    with pytest.raises(ValueError, match="output: .* cannot be written"):
        shown(run("c"), output=str(tmp_path / "none" / "x.csv"))


def test_a_table_of_one_row_is_there_at_once(run) -> None:
    code = "import sys; from seq2see.commands import shell; shell.run('compare', sys.argv[1:])"
    code += "; print('torch' in sys.modules)"
    runs = [run("a"), run("b", seed=1)]
    ran = subprocess.run([sys.executable, "-c", code, *runs], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("False\n") and "mean of 2" in ran.stdout
