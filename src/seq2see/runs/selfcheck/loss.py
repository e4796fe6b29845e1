"""Promises of training: the loss counts what it should, and inputs do not give away what is to be predicted."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from seq2see.data import Batch, make_loader
from seq2see.decoding import teacher_forced
from seq2see.runs.selfcheck.model import distance, greatest
from seq2see.runs.selfcheck.subject import NUM_PAIRS, Subject
from seq2see.text import BOS, EOS, PAD
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer

MOST_STEPS = 300  # for a batch to be learned by heart
LEARNED = 0.1  # nats a token: each with a probability of about 0.9
_NUM_LEARNED = 4  # pairs
_NUM_PREFIXES = 12  # of a target
_MICRO_BATCHES = 4
_WARMUP = 20  # steps


def accumulation(subject: Subject) -> float:
    """The greatest difference of a gradient between one batch and smaller ones that are accumulated."""
    whole = _gradients(subject, 1)
    parts = _gradients(subject, _MICRO_BATCHES)
    return greatest(distance(part, one) for part, one in zip(parts, whole, strict=True))


def _gradients(subject: Subject, num_batches: int) -> list[Tensor]:
    """What one optimiser step over all pairs sees."""
    options = subject.trained.options
    trainer = replace(options.trainer, accumulate_grad_batches=num_batches)
    module = subject.training_module(replace(options, trainer=trainer))
    size = NUM_PAIRS // num_batches
    for number in range(num_batches):
        batch = subject.encoded.batch(range(number * size, (number + 1) * size))
        (module.training_step(batch, number) / num_batches).backward()  # as Lightning does
    module.on_before_optimizer_step(torch.optim.SGD(module.parameters(), lr=0.0))
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def smoothing(subject: Subject) -> float:
    """The distance, nats a token, of the smoothed objective of a padded batch from its mean over the real tokens."""
    options = subject.trained.options
    rate = options.optim.label_smoothing or 0.1
    module = subject.training_module(replace(options, optim=replace(options.optim, label_smoothing=rate)))
    batch, real = subject.batch, subject.batch.tgt_out != PAD
    more = torch.full((NUM_PAIRS, subject.num_columns), PAD)
    padded = batch._replace(tgt_in=torch.cat((batch.tgt_in, more), 1), tgt_out=torch.cat((batch.tgt_out, more), 1))
    with torch.inference_mode():
        logits = subject.model(batch.src, batch.src_mask, batch.tgt_in)
        expected = F.cross_entropy(logits[real], batch.tgt_out[real], label_smoothing=rate)
        found = module.training_step(padded, 0) / options.trainer.accumulate_grad_batches
    return distance(found, expected)


def batching(subject: Subject) -> float:
    """The greatest difference, nats a token, of the loss that is reported of all pairs in batches of 1, 3 and all."""
    losses = []
    for size in (1, 3, NUM_PAIRS):
        batches = list(make_loader(subject.encoded, batch_size=size, shuffle=False, seed=0))
        losses.append(_training_loss(subject.training_module(), batches))
        forced = teacher_forced(subject.model, batches)
        losses.append(-sum(forced.totals) / sum(map(len, forced.right)))
    return greatest(abs(loss - losses[0]) for loss in losses)


def _training_loss(module: TrainingModule, batches: Sequence[Batch]) -> float:
    with torch.inference_mode():
        for number, batch in enumerate(batches):
            module.training_step(batch, number)
    return module.take_train_loss()


def labels(subject: Subject) -> int:
    """Tokens of training batches that do not stand where they should.

    `tgt_in` is BOS and then `tgt_out` one place later; each text ends in EOS, once; and the pairs that are checked
    here become the ids of their texts.
    """
    wrong = sum(_num_misplaced(batch) for batch in (*subject.training_batches, subject.batch))
    for row, target in zip(subject.batch.tgt_out.tolist(), subject.targets, strict=True):
        wrong += _num_other(row, [*target, EOS])
    for row, source in zip(subject.batch.src.tolist(), subject.sources, strict=True):
        wrong += _num_other(row, [*source, EOS])
    return wrong


def _num_misplaced(batch: Batch) -> int:
    real = batch.tgt_out != PAD
    wrong = int((batch.tgt_in[:, 0] != BOS).sum())
    wrong += int(((batch.tgt_in[:, 1:] != batch.tgt_out[:, :-1]) & real[:, 1:]).sum())
    for ids, mask in ((batch.tgt_out, real), (batch.src, batch.src_mask)):
        last = ids.gather(1, mask.sum(1, keepdim=True) - 1)
        wrong += int((last != EOS).sum()) + int(((ids == EOS) & mask).sum(1).ne(1).sum())
    return wrong


def _num_other(row: Sequence[int], expected: Sequence[int]) -> int:
    return sum(here != there for here, there in zip(row, expected, strict=False))


def only_the_past(subject: Subject) -> float:
    """The greatest distance, nats a token, of the training loss from that of a model that is shown one prefix a time.

    For each token the model gets those before it and nothing else, not even an empty place. So a label that can be
    seen in any way, through the data or through the mask, makes the loss another one.
    """
    differences = []
    for index in range(0, NUM_PAIRS, 3):
        batch = subject.encoded.batch([index])
        target = [*subject.targets[index], EOS][:_NUM_PREFIXES]
        shown = batch._replace(tgt_in=batch.tgt_in[:, :_NUM_PREFIXES], tgt_out=batch.tgt_out[:, :_NUM_PREFIXES])
        loss = _training_loss(subject.training_module(), [shown])
        differences.append(abs(loss - _loss_of_prefixes(subject.model, batch, target)))
    return greatest(differences)


def _loss_of_prefixes(model: Transformer, batch: Batch, target: Sequence[int]) -> float:
    total = 0.0
    with torch.inference_mode():
        memory = model.encode(batch.src, batch.src_mask)
        for place, token in enumerate(target):
            prefix = torch.tensor([[BOS, *target[:place]]])
            logits = model.decode(prefix, memory, batch.src_mask)[0, -1]
            total -= float(logits.log_softmax(-1)[token])
    return total / len(target)


def by_heart(subject: Subject) -> float:
    """The loss, nats a token, of a new model of this shape after training on a few pairs alone; it stops when low."""
    options = subject.trained.options
    optim = replace(options.optim, label_smoothing=0.0)
    trainer = replace(options.trainer, accumulate_grad_batches=1)
    module = subject.training_module(replace(options, optim=optim, trainer=trainer))
    batch = subject.encoded.batch(_distinct(subject))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module.model = _new_model(subject)
        optimizer = torch.optim.AdamW(module.model.parameters(), weight_decay=0.0)
        highest = min(0.35 / module.model.d_model, 8e-3)  # at 3e-3 a post-norm model of width 256 diverges
        for step in range(MOST_STEPS):
            objective = module.training_step(batch, step)
            loss = module.take_train_loss()
            if loss <= LEARNED:
                break
            optimizer.zero_grad()
            objective.backward()
            module.on_before_optimizer_step(optimizer)
            torch.nn.utils.clip_grad_norm_(module.model.parameters(), 1.0)
            optimizer.param_groups[0]["lr"] = highest * min((step + 1) / _WARMUP, 1.0)
            optimizer.step()
    return loss


def _new_model(subject: Subject) -> Transformer:
    """A model of the same shape, without dropout."""
    trained = subject.trained
    return Transformer(
        replace(subject.model.options, dropout=0.0, attention_dropout=0.0),
        trained.source_tokenizer.vocab_size,
        trained.target_tokenizer.vocab_size,
        shared_vocabulary=bool(trained.options.tokenizer.shared),
    )


def _distinct(subject: Subject) -> list[int]:
    """Pairs of different sources, the shortest."""
    first = {tuple(source): index for index, source in reversed(list(enumerate(subject.sources)))}
    return sorted(first.values())[:_NUM_LEARNED]
