"""Gradients and losses do not depend on how pairs are batched or accumulated."""

from pathlib import Path

import pytest
import torch

from seq2see.data import Batch, EncodedPairs
from seq2see.options import DataOptions, LettersOptions, ModelOptions, OptimOptions, TrainerOptions, TrainOptions
from seq2see.runs.fit import fit
from seq2see.runs.folder import RunFolder
from seq2see.runs.prepare import TrainingSetup, prepare
from seq2see.runs.terminal import Terminal
from seq2see.training.budget import Budget
from seq2see.training.module import TrainingModule


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


def test_one_batch_of_all_pairs_equals_small_batches_accumulated_also_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    whole = weights_after(tmp_path, batch_size=24, accumulate=1)
    for size, accumulate in ((6, 4), (12, 8)):  # Lightning steps at the end of the epoch, here after two of eight
        parts = weights_after(tmp_path, batch_size=size, accumulate=accumulate)
        for name, weight in whole.items():
            torch.testing.assert_close(parts[name], weight, rtol=0, atol=1e-6)
    checkpoints = tmp_path / "24x1" / "checkpoints"  # without validation pairs the last one is the best
    assert {path.name for path in checkpoints.iterdir()} == {"best.ckpt", "last.ckpt"}


def long_and_short(num_pairs: int) -> tuple[TrainingModule, EncodedPairs]:
    """A module in double precision, not attached to a trainer, and pairs of 2 to 40 letters."""
    torch.manual_seed(0)
    prepared = prepare(
        TrainOptions(
            task=LettersOptions("copy", train_size=num_pairs, valid_size=0, test_size=0, min_length=2, max_length=40),
            model=ModelOptions(d_model=16, d_ff=32, num_heads=2),
            optim=OptimOptions(label_smoothing=0.1),
        )
    )
    assert isinstance(prepared.train, EncodedPairs)
    return module_of(prepared), prepared.train


def module_of(prepared: TrainingSetup) -> TrainingModule:
    return TrainingModule(
        prepared.trained.model.double(),
        prepared.options.optim,
        prepared.options.decode,
        accumulate_grad_batches=1,
        budget=Budget(1),
        references=None,
        length_limit=prepared.trained.length_limit,
        about={},
    )


def gradients(module: TrainingModule, batches: list[Batch]) -> list[torch.Tensor]:
    """Of an optimiser step that accumulates these."""
    module.zero_grad()
    module.accumulate_grad_batches = len(batches)
    for number, batch in enumerate(batches):
        (module.training_step(batch, number) / len(batches)).backward()  # as Lightning does
    module.on_before_optimizer_step(torch.optim.SGD(module.parameters(), lr=0.0))
    return [parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None]


def test_gradients_and_loss_are_those_of_small_batches_and_of_fifty_more_columns_of_padding() -> None:
    module, pairs = long_and_short(8)
    batch, more = pairs.batch(range(8)), torch.zeros(8, 50, dtype=torch.int64)  # PAD
    whole, loss = gradients(module, [batch]), module.take_train_loss()
    padded = Batch(batch.ids, *(torch.cat((part, more.to(part.dtype)), 1) for part in batch[1:]))
    for batches in ([pairs.batch(range(begin, begin + 2)) for begin in range(0, 8, 2)], [padded]):
        for part, one in zip(gradients(module, batches), whole, strict=True):
            torch.testing.assert_close(part, one, rtol=0, atol=1e-12)
        assert module.take_train_loss() == pytest.approx(loss, abs=1e-12)


def test_the_loss_of_an_epoch_is_the_same_at_any_batch_size() -> None:
    module, pairs = long_and_short(64)
    losses = []
    for size in (1, 7, 64):
        with torch.no_grad():
            for begin in range(0, 64, size):
                module.training_step(pairs.batch(range(begin, min(begin + size, 64))), 0)
                module.on_before_optimizer_step(torch.optim.SGD(module.parameters()))
        losses.append(module.take_train_loss())
    assert losses[0] > 0 and losses == pytest.approx([losses[0]] * 3, abs=1e-12)


def test_decayed_are_the_matrices_of_the_layers_alone() -> None:
    options = TrainOptions(task=LettersOptions("copy", train_size=24, valid_size=4, test_size=0))
    prepared = prepare(options)
    module = module_of(prepared)
    decayed, others = module.configure_optimizers().param_groups
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    assert decayed["weight_decay"] > 0 and others["weight_decay"] == 0
    assert all(names[id(parameter)].endswith("proj.weight") for parameter in decayed["params"])
    assert {"model.source_embedding.weight"} <= {names[id(parameter)] for parameter in others["params"]}
    assert len(decayed["params"]) + len(others["params"]) == len(names)
