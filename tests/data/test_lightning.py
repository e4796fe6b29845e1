"""The loader under Lightning, which iterates it once an epoch and saves its position in the checkpoint."""

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import Callback

from seq2see.data import EncodedPairs, make_loader
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own, on loggers and workers


class Recorder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch.ids.tolist())
        return self.weight * batch.src.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


class SaveAt(Callback):
    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


def loader(size, num_workers=0):
    words = Tokenizer.fit(TokenizerKind.word, ["a b"])
    pairs = EncodedPairs.from_pairs([Pair("a " * (n % 5 + 1), "b " * (n % 3 + 1)) for n in range(50)], words, words)
    return make_loader(pairs, shuffle=True, seed=0, num_workers=num_workers, **size)


def fit(loader, *, callbacks=(), ckpt_path=None, **options):
    recorder, off = Recorder(), ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    options |= dict.fromkeys(off, False)
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=3, callbacks=list(callbacks), **options)
    trainer.fit(recorder, loader, ckpt_path=ckpt_path, weights_only=None)
    return recorder.seen


@pytest.mark.parametrize("size", [{"batch_size": 8}, {"batch_tokens": 60}])
def test_lightning_sees_the_epochs_that_a_plain_loop_sees(size):
    plain, seen = loader(size), fit(loader(size))
    assert seen == [batch.ids.tolist() for _ in range(3) for batch in plain]
    assert sorted(sum(seen, [])) == sorted([*range(50)] * 3)


def test_epochs_that_lightning_cuts_short_are_still_different_ones():
    plain = loader({"batch_size": 8})
    epochs = [[batch.ids.tolist() for batch in plain] for _ in range(3)]

    assert fit(loader({"batch_size": 8}), limit_train_batches=2) == [batch for epoch in epochs for batch in epoch[:2]]


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("step", [3, 7, 9])
def test_a_run_that_is_resumed_sees_the_batches_that_were_left(tmp_path, step, num_workers):
    path = tmp_path / "x.ckpt"
    whole = fit(loader({"batch_size": 8}), callbacks=[SaveAt(step, path)])
    assert len(whole) == 21
    assert fit(loader({"batch_size": 8}, num_workers), ckpt_path=path) == whole[step:]
