"""What does not fit the model's positions is refused before training, and what is to be written can be."""

from pathlib import Path

import pytest

import seq2see
from seq2see.data import EncodedPairs
from seq2see.options import DecodeOptions, ScanSplit
from seq2see.runs.config import compose_options
from seq2see.runs.prepare import prepare

GENERATED = [
    *([f"task=scan task.split={split.value}" for split in ScanSplit]),
    "task=scan task.split=length task.length_cutoff=6",
    "task=copy task.min_length=1",
    "task=translation task.train_size=2_000",
    "task=dates task.train_size=2_000",
    "task=numbers task.train_size=500",
    "task=numbers task.source=de task.target=fr task.train_size=500",
    "task=numbers task.target=fr task.train_size=500",
]


@pytest.mark.parametrize("overrides", GENERATED)
def test_every_reference_of_a_generated_task_can_be_written(overrides: str) -> None:
    prepared = prepare(compose_options("train", overrides.split()))
    for split in ("train", "valid", "test", "ood"):
        pairs = prepared.task.pairs(split)
        encoded = EncodedPairs.from_pairs(pairs, prepared.source_tokenizer, prepared.target_tokenizer)
        limit = prepared.trained.length_limit
        assert not limit.too_short_for(encoded.source_lengths, encoded.target_lengths).any()


def test_of_a_users_pairs_those_of_training_and_validation_can_be_written_and_others_are_counted(
    tmp_path: Path,
) -> None:
    usual = [(f"a{n}" * 3, f"b{n}" * 3) for n in range(100)]
    long = [("c" * 4, "d" * 80), ("e" * 4, "f" * 90), ("g" * 4, "h" * 99)]
    run = tmp_path / "run"
    result = seq2see.train(
        "model.d_model=16",
        "model.d_ff=16",
        "trainer.max_steps=2",
        f"run_dir={run}",
        pairs=[*usual, long[0]],
        valid=[*usual[:20], long[1]],
        test=[*usual[:20], long[2]],
    )
    trained = seq2see.load(str(run))
    assert trained.length_limit.of(5) == 91
    evaluation = trained.evaluate([*usual[:5], long[2]])
    assert evaluation.details["references_over_limit"] == {"references": 1, "longest": 100}
    assert any("decode.max_length=100 lets them all be written" in note for note in evaluation.notes)
    trained.decode_as(DecodeOptions(max_length=100))
    assert trained.length_limit.of(5) == 100
    evaluation = trained.evaluate([*usual[:5], long[2]])
    assert evaluation.details["references_over_limit"]["references"] == 0
    cut = evaluation.details["hit_length_limit"]
    assert cut and f"{cut} outputs were cut at the length limit: set a larger decode.max_length" in evaluation.notes
    assert result is not None


def test_a_text_longer_than_a_learned_table_is_named_by_its_pair(tmp_path: Path) -> None:
    run = tmp_path / "run"
    seq2see.train(
        "model.position=learned",
        "model.max_positions=12",
        "model.d_model=16",
        "trainer.max_steps=2",
        f"run_dir={run}",
        pairs=[(f"a{n}", f"b{n}") for n in range(40)],
    )
    trained = seq2see.load(str(run))
    assert len(trained.evaluate([("a" * 11, "b" * 11)]).hypotheses) == 1
    with pytest.raises(
        ValueError, match=r"pair 2 \('aaaa'\): 13 tokens, the end included, are more than the 12 .* of 3 pairs 2 are"
    ):
        trained.evaluate([("a", "b"), ("aaaa", "b" * 12), ("a" * 20, "b")])


def test_a_test_text_longer_than_a_learned_table_is_refused_before_training(tmp_path: Path) -> None:
    pairs = [(f"a{n}", f"b{n}") for n in range(40)]
    with pytest.raises(ValueError, match=r"model.max_positions \(8\) is less than the 21 tokens of the longest text"):
        seq2see.train(
            "model.position=learned",
            "model.max_positions=8",
            "model.d_model=32",
            "trainer.max_steps=2",
            f"run_dir={tmp_path / 'run'}",
            pairs=pairs,
            test=[("a" * 20, "b")],
        )
    assert not (tmp_path / "run").exists()
