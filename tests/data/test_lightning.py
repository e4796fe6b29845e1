"""The loader under Lightning, which iterates it once an epoch and may leave it early."""

import lightning
import pytest
import torch

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


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("size", [{"batch_size": 8}, {"batch_tokens": 60}])
def test_lightning_sees_the_epochs_that_a_plain_loop_sees_also_where_it_cuts_them_short(size, most):
    words = Tokenizer.fit(TokenizerKind.word, ["a b"])
    pairs = EncodedPairs.from_pairs([Pair("a " * (n % 5 + 1), "b " * (n % 3 + 1)) for n in range(50)], words, words)
    plain, its = (make_loader(pairs, shuffle=True, seed=0, **size) for _ in range(2))
    recorder, off = Recorder(), ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    options = {"accelerator": "cpu", "max_epochs": 3, "limit_train_batches": most, **dict.fromkeys(off, False)}
    lightning.Trainer(**options).fit(recorder, its)
    epochs = [[batch.ids.tolist() for batch in plain] for _ in range(3)]
    assert recorder.seen == [batch for epoch in epochs for batch in epoch[:most]]
    assert all(sorted(sum(epoch, [])) == [*range(50)] for epoch in epochs)
