"""A run that starts from a trained model: what the model knew, it still knows; what is new to it, it can learn."""

import json
import random
import shutil
from pathlib import Path

import pytest

import seq2see
from seq2see.commands import shell
from seq2see.runs.train import Result

LETTERS = "abcdefghij"
SHORT = ["attention_log.enabled=false", "logger=none", "trainer.accelerator=cpu"]
TINY = [
    *SHORT, "model.d_model=32", "model.d_ff=64", "model.num_encoder_layers=1", "model.num_decoder_layers=1",
    "model.position=sinusoidal", "model.dropout=0.0", "optim.label_smoothing=0.0", "data.batch_size=64",
]  # fmt: skip
NOTHING = [*SHORT, "trainer.max_steps=1", "optim.lr=1e-12"]
Texts = list[tuple[str, str]]


def words(letters: str, num: int, seed: int, *, weights: list[int] | None = None) -> Texts:
    """Words, and their reverse with an `a` behind it, which is the commonest target letter in all of them."""
    draw = random.Random(seed)
    sources = ["".join(draw.choices(letters, weights, k=draw.randint(2, 4))) for _ in range(num)]
    return [(source, source[::-1] + "a") for source in dict.fromkeys(sources)]


OTHER = words(LETTERS, 300, 1, weights=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])  # other frequencies than those of `begin`
GROWN = [*OTHER, *words("abßé", 20, 4)]


def train(*overrides: str, pairs: Texts, run_dir: Path) -> Result:
    return seq2see.train(f"run_dir={run_dir}", *overrides, pairs=pairs, valid=pairs[:40], test=pairs[40:80])


@pytest.fixture(scope="module")
def begin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ten letters."""
    pairs = words(LETTERS, 1_500, 0, weights=[10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    more = ["trainer.max_steps=300", "optim.lr=1e-2"]
    return train(*TINY, *more, pairs=pairs, run_dir=tmp_path_factory.mktemp("begin")).folder


@pytest.mark.parametrize("tokenizer", ["keep", "new"])
def test_new_letters_get_rows_of_their_own_are_named_and_the_others_keep_theirs(
    begin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: str
) -> None:
    overrides = [*NOTHING, f"init={begin}", f"init_tokenizer={tokenizer}"]
    folder = train(*overrides, pairs=GROWN, run_dir=tmp_path / "run").folder
    said = " ".join(capsys.readouterr().err.split())
    assert "2 new source symbols: é, ß; 2 new target symbols: é, ß" in said
    old, new = seq2see.load(str(begin)), seq2see.load(str(folder))
    assert old.evaluate(OTHER).scores["exact_match"] > 0.5
    assert old.translate([source for source, _ in OTHER]) == new.translate([source for source, _ in OTHER])
    assert new.target_tokenizer.decode(new.target_tokenizer.encode("éß")) == "éß"
    if tokenizer == "keep":
        assert new.target_tokenizer.encode("abc") == old.target_tokenizer.encode("abc")


def test_new_letters_are_learned_sooner_than_all_letters(begin: Path, tmp_path: Path) -> None:
    pairs = words(LETTERS + "ßé", 600, 2, weights=[1] * 10 + [5, 5])
    steps = [*TINY, "trainer.max_steps=60", "optim.lr=5e-3"]
    scratch, started = (
        train(*steps, *more, pairs=pairs, run_dir=tmp_path / str(len(more))).test["token_accuracy"]
        for more in ([], [f"init={begin}"])
    )
    assert started > scratch + 0.2


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param(["tokenizer.source=word", "tokenizer.target=word", "model.tie_embeddings=true"], id="word-tied"),
        pytest.param(["tokenizer.shared=true", "model.tie_embeddings=true"], id="shared-tied"),
        pytest.param(["tokenizer.source=bpe", "tokenizer.target=char", "tokenizer.vocab_size=270"], id="bpe-char"),
        pytest.param(["model.position=learned", "model.max_positions=64", "model.norm=post"], id="learned-post"),
    ],
)
def test_every_kind_of_model_writes_old_pairs_as_before_with_more_symbols(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], overrides: list[str]
) -> None:
    pairs = words("abcd", 60, 0)
    first = train(*TINY, "trainer.max_steps=10", *overrides, pairs=pairs, run_dir=tmp_path / "first").folder
    grown = [*pairs, ("éß", "ßé"), ("ß", "ß")] * 2
    second = train(*NOTHING, f"init={first}", pairs=grown, run_dir=tmp_path / "second").folder
    old, new = seq2see.load(str(first)), seq2see.load(str(second))
    assert new.length_limit.ratio >= old.length_limit.ratio
    new.length_limit = old.length_limit  # hardly trained models write until they are stopped
    assert old.translate([source for source, _ in pairs]) == new.translate([source for source, _ in pairs])
    assert new.target_tokenizer.vocab_size > old.target_tokenizer.vocab_size
    assert new.options.tokenizer == old.options.tokenizer and new.options.model.position == old.options.model.position
    names_words = "source symbols (each is what stands between spaces): ß, éß" in " ".join(
        capsys.readouterr().err.split()
    )
    assert names_words == ("tokenizer.source=word" in overrides)


def test_new_tags_are_added_in_front_of_the_text_and_the_rows_follow(tmp_path: Path) -> None:
    def model(name: str, rows: list[str], *overrides: str) -> seq2see.TranslationModel:
        file = tmp_path / f"{name}.tsv"
        file.write_text("".join(rows), encoding="utf-8")
        columns = ["task=files", f"task.train={file}", "task.features=0", "task.source=1", "task.target=2"]
        return seq2see.load(str(seq2see.train(*columns, f"run_dir={tmp_path / name}", *overrides).folder))

    rows = [f"V;PST\t{source}\t{target}\n" for source, target in words("abcd", 60, 0)]
    more = [f"V;PRS\t{source}\t{target}\n" for source, target in words("abcdé", 60, 1)]
    first = model("first", rows, *TINY, "trainer.max_steps=10")
    second = model("second", [*rows, *more], *NOTHING, f"init={tmp_path / 'first'}")
    assert second.source_tokenizer.tokens(range(4, 7)) == ["[PST]", "[V]", "[PRS]"]
    sources = [row.rpartition("\t")[0] for row in rows]
    assert first.translate(sources) == second.translate(sources)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("model.d_model=64", r"model.d_model \(64\) is not that of init=.* \(32\), .*: leave model.d_model out, or"),
        ("model.position=rope", r"model.position \(rope\) is not that of init=.* \(sinusoidal\)"),
        ("model=small", r"model.d_model \(256\) is not that of"),
        ("tokenizer.source=bpe", r"tokenizer.source \(bpe\) .* \(char\).* out, or set init_tokenizer=new, or"),
        ("tokenizer.shared=true", r"tokenizer.shared \(True\) .* \(False\).* tokenizer.shared out, or leave init"),
        ("init=nowhere", "^init: nowhere does not exist"),
    ],
)
def test_a_key_that_contradicts_the_checkpoint_is_refused_with_both_values(
    begin: Path, tmp_path: Path, key: str, message: str
) -> None:
    init = [] if key.startswith("init=") else [f"init={begin}"]
    with pytest.raises(ValueError, match=message):
        train(*NOTHING, *init, key, pairs=OTHER, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_started_so_goes_on_without_the_checkpoint_and_grows_as_far_as_is_asked_for(
    begin: Path, tmp_path: Path
) -> None:
    shutil.copytree(begin, tmp_path / "begin")
    run, file, init = tmp_path / "run", tmp_path / "pairs.tsv", f"init={tmp_path / 'begin'}"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in GROWN), encoding="utf-8")
    overrides = ["task=files", f"task.train={file}", f"run_dir={run}", init, "tokenizer.vocab_size=15", *NOTHING]
    first = seq2see.load(str(seq2see.train(*overrides).folder))
    assert first.source_tokenizer.vocab_size == 15
    shutil.rmtree(tmp_path / "begin")
    for begun, steps in (([f"resume={run}"], 2), ([f"run_dir={run}", "resume=auto", init], 3)):
        assert seq2see.train(*begun, f"trainer.max_steps={steps}").steps == steps
    last = seq2see.load(str(run / "checkpoints" / "last.ckpt"))
    assert last.source_tokenizer.state() == first.source_tokenizer.state()
    assert last.length_limit == first.length_limit


def test_the_data_report_counts_with_the_tokenizers_that_are_kept(begin: Path, tmp_path: Path) -> None:
    file, output = tmp_path / "pairs.tsv", tmp_path / "report.json"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in GROWN), encoding="utf-8")
    assert shell.run("data", ["task=files", f"task.train={file}", f"init={begin}", f"output={output}"]) == 0
    report = json.loads(output.read_text(encoding="utf-8"))
    assert [vocabulary["size"] for vocabulary in report["vocabularies"]] == [16, 16]
    assert report["options"]["model"]["position"] == "sinusoidal"
