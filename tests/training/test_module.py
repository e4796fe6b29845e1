"""Gradients and losses do not depend on how pairs are batched or accumulated."""

from pathlib import Path

import torch

from seq2see.options import DataOptions, LettersOptions, ModelOptions, OptimOptions, TrainerOptions, TrainOptions
from seq2see.runs.fit import fit
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import prepare
from seq2see.runs.terminal import Terminal


def weights_after(tmp_path: Path, *, batch_size: int, accumulate: int, steps: int = 3) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    options = TrainOptions(
        run_dir=str(tmp_path / f"{batch_size}x{accumulate}"),
        task=LettersOptions("copy", train_size=24, valid_size=0, test_size=0, min_length=1, max_length=9),
        data=DataOptions(batch_size=batch_size),
        model=ModelOptions(d_model=16, d_ff=32, num_heads=2),
        optim=OptimOptions(lr=1e-2, warmup_steps=0, label_smoothing=0.1),
        trainer=TrainerOptions(
            accelerator="cpu", precision="64-true", max_steps=steps, accumulate_grad_batches=accumulate
        ),
    )
    prepared = prepare(options)
    prepared.trained.model.double()
    fit(prepared, RunFolder.claim(options.run_dir, kind="copy"), Terminal(), None)
    return prepared.trained.model.state_dict()


def test_one_batch_of_all_pairs_equals_small_batches_accumulated(tmp_path: Path) -> None:
    whole = weights_after(tmp_path, batch_size=24, accumulate=1)
    parts = weights_after(tmp_path, batch_size=6, accumulate=4)
    for name, weight in whole.items():
        torch.testing.assert_close(parts[name], weight, rtol=0, atol=1e-6)


def test_the_last_smaller_accumulation_of_an_epoch_is_a_mean_over_its_own_tokens(tmp_path: Path) -> None:
    whole = weights_after(tmp_path, batch_size=24, accumulate=1)
    parts = weights_after(tmp_path, batch_size=12, accumulate=8)  # Lightning steps at the end of the epoch, after two
    for name, weight in whole.items():
        torch.testing.assert_close(parts[name], weight, rtol=0, atol=1e-6)


def test_without_validation_pairs_the_last_checkpoint_is_the_best(tmp_path: Path) -> None:
    weights_after(tmp_path, batch_size=24, accumulate=1)
    checkpoints = tmp_path / "24x1" / "checkpoints"
    assert {path.name for path in checkpoints.iterdir()} == {"best.ckpt", "last.ckpt"}


def test_decayed_are_the_matrices_of_the_layers_alone() -> None:
    from seq2see.training.budget import Budget
    from seq2see.training.module import TrainingModule

    options = TrainOptions(task=LettersOptions("copy", train_size=24, valid_size=4, test_size=0))
    prepared = prepare(options)
    module = TrainingModule(
        prepared.trained.model,
        prepared.options,
        budget=Budget(1),
        source_tokenizer=prepared.source_tokenizer,
        target_tokenizer=prepared.target_tokenizer,
        samples=[],
        length_limit=prepared.trained.length_limit,
        about={},
    )
    decayed, others = module.configure_optimizers().param_groups
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    assert decayed["weight_decay"] > 0 and others["weight_decay"] == 0
    assert all(names[id(parameter)].endswith("proj.weight") for parameter in decayed["params"])
    assert {"model.source_embedding.weight"} <= {names[id(parameter)] for parameter in others["params"]}
    assert len(decayed["params"]) + len(others["params"]) == len(names)
