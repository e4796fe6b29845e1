"""A run that starts from a trained model: what the model knew, it still knows; what is new to it, it can learn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import seq2see
from seq2see.runs.checkpoint import load
from seq2see.runs.train import Result

LETTERS = "abcdefghij"
TINY = [
    "model.d_model=32", "model.d_ff=64", "model.num_encoder_layers=1", "model.num_decoder_layers=1",
    "model.position=sinusoidal", "model.dropout=0.0", "optim.label_smoothing=0.0", "data.batch_size=64",
    "attention_log.enabled=false", "logger=none", "trainer.accelerator=cpu",
]  # fmt: skip
NOTHING = ["trainer.max_steps=1", "optim.lr=1e-12", "attention_log.enabled=false", "logger=none"]
Texts = list[tuple[str, str]]


def words(letters: str, num: int, seed: int, *, weights: list[int] | None = None) -> Texts:
    """Words and their reverse."""
    draw = random.Random(seed)
    sources = ["".join(draw.choices(letters, weights, k=draw.randint(2, 4))) for _ in range(num)]
    return [(source, source[::-1]) for source in dict.fromkeys(sources)]


def train(*overrides: str, pairs: Texts, run_dir: Path) -> Result:
    return seq2see.train(f"run_dir={run_dir}", *overrides, pairs=pairs, valid=pairs[:40], test=pairs[40:80])


@pytest.fixture(scope="module")
def begin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ten letters."""
    pairs = words(LETTERS, 1_500, 0, weights=[10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    return train(
        *TINY, "trainer.max_steps=500", "optim.lr=1e-2", pairs=pairs, run_dir=tmp_path_factory.mktemp("begin")
    ).folder


OTHER = words(LETTERS, 300, 1, weights=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
GROWN = [*OTHER, ("ßab", "baß"), ("éa", "aé"), ("ßé", "éß")]


def scores(folder: Path, pairs: Texts) -> dict[str, float]:
    return load(str(folder)).evaluate(pairs).scores


def test_other_frequencies_of_the_same_letters_leave_the_scores_as_they_were(begin: Path, tmp_path: Path) -> None:
    before = scores(begin, OTHER)
    result = train(*NOTHING, f"init={begin}", pairs=OTHER, run_dir=tmp_path / "run")
    assert before["exact_match"] > 0.8
    assert scores(result.folder, OTHER) == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("tokenizer", ["keep", "new"])
def test_new_letters_get_rows_of_their_own_and_the_others_keep_theirs(
    begin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: str
) -> None:
    overrides = [*NOTHING, f"init={begin}", f"init_tokenizer={tokenizer}"]
    folder = train(*overrides, pairs=GROWN, run_dir=tmp_path / "run").folder
    said = capsys.readouterr().err
    assert "2 new source symbols: ß, é; 2 new target symbols: ß, é" in " ".join(said.split())
    assert load(str(begin)).translate([source for source, _ in OTHER]) == load(str(folder)).translate(
        [source for source, _ in OTHER]
    )
    old, new = load(str(begin)), load(str(folder))
    assert new.target_tokenizer.decode(new.target_tokenizer.encode("éß")) == "éß"
    if tokenizer == "keep":
        assert new.target_tokenizer.encode("abc") == old.target_tokenizer.encode("abc")


def test_new_letters_are_learned(begin: Path, tmp_path: Path) -> None:
    pairs = words(LETTERS + "ßé", 1_500, 2)
    new = [pair for pair in words("abßé", 300, 3) if set(pair[0]) & set("ßé")]
    start = ["trainer.max_steps=150", "optim.lr=3e-3", "model.dropout=0.0", "optim.label_smoothing=0.0"]
    folder = train(*start, f"init={begin}", "data.batch_size=64", pairs=pairs, run_dir=tmp_path / "run").folder
    assert scores(folder, new)["exact_match"] > 0.8
