"""What does not fit the model's positions is refused before training."""

from pathlib import Path

import pytest

import seq2see


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
