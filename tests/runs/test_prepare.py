"""What does not fit the model's positions is refused before training, and what is to be written can be."""

from pathlib import Path

import pytest

import seq2see
from seq2see.data import EncodedPairs
from seq2see.options import DecodeOptions
from seq2see.runs.config import compose_options
from seq2see.runs.prepare import prepare

TINY = ["model.d_model=16", "model.d_ff=16", "attention_log.enabled=false", "logger=none", "trainer.max_steps=2"]
PAIRS = [(f"a{n}", f"b{n}") for n in range(40)]
GENERATED = [
    "task=scan task.split=length task.length_cutoff=6 task.train_size=500",
    "task=scan task.split=addprim_jump task.train_size=500",
    "task=copy task.min_length=1 task.train_size=500",
    "task=translation task.train_size=500",
    "task=dates task.train_size=500",
    "task=numbers task.source=de task.target=fr task.train_size=500",
    "task=numbers task.target=fr task.train_size=500",
]


@pytest.mark.parametrize("overrides", GENERATED)
def test_every_reference_of_a_generated_task_can_be_written(overrides: str) -> None:
    setup = prepare(compose_options("train", overrides.split()))
    for split in ("train", "valid", "test", "ood"):
        encoded = EncodedPairs.from_pairs(setup.task.pairs(split), setup.source_tokenizer, setup.target_tokenizer)
        assert not setup.trained.length_limit.too_short_for(encoded.source_lengths, encoded.target_lengths).any()


def test_of_a_users_pairs_those_of_training_and_validation_can_be_written_and_others_are_counted(
    tmp_path: Path,
) -> None:
    long = [("c" * 4, "d" * 80), ("e" * 4, "f" * 90), ("g" * 4, "h" * 99)]
    given = {"pairs": [*PAIRS, long[0]], "valid": [*PAIRS[:20], long[1]], "test": [*PAIRS[:20], long[2]]}
    seq2see.train(*TINY, f"run_dir={tmp_path / 'run'}", **given)
    trained = seq2see.load(str(tmp_path / "run"))
    assert trained.length_limit.of(5) == 91
    evaluation = trained.evaluate([*PAIRS[:5], long[2]])
    assert evaluation.details["references_over_limit"] == {"references": 1, "longest": 100}
    assert any("decode.max_length=100 lets them all be written" in note for note in evaluation.notes)
    trained.decode_as(DecodeOptions(max_length=100))
    assert trained.length_limit.of(5) == 100
    evaluation = trained.evaluate([*PAIRS[:5], long[2]])
    assert evaluation.details["references_over_limit"]["references"] == 0
    cut = evaluation.details["hit_length_limit"]
    assert cut and f"{cut} outputs were cut at the length limit: set a larger decode.max_length" in evaluation.notes


def test_texts_longer_than_a_learned_table_are_named_also_before_training(tmp_path: Path) -> None:
    learned = [*TINY, "model.position=learned", "model.max_positions=12", f"run_dir={tmp_path / 'run'}"]
    long = [("a", "b"), ("aaaa", "b" * 12), ("a" * 20, "b")]
    with pytest.raises(ValueError, match=r"model.max_positions \(12\) is less than the 21 tokens of the longest text"):
        seq2see.train(*learned, pairs=PAIRS, test=long)
    assert not (tmp_path / "run").exists()
    seq2see.train(*learned, pairs=PAIRS)
    trained = seq2see.load(str(tmp_path / "run"))
    assert len(trained.evaluate([("a" * 11, "b" * 11)]).hypotheses) == 1
    with pytest.raises(
        ValueError, match=r"pair 2 \('aaaa'\): 13 tokens, the end included, are more than the 12 .* of 3 pairs 2 are"
    ):
        trained.evaluate(long)
