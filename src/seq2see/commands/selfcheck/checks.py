"""Promises of a model, its decoding, loss and files. Each check says how far they are from being kept, 0 at best.

The docstring of a check is what people read if it fails: what that means, and where to look.
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from seq2see.commands.selfcheck.fixture import NUM_PAIRS, Fixture
from seq2see.data import make_loader
from seq2see.decoding import Hypothesis, beam_search, decode_sentences, greedy, load, read_content, teacher_forced
from seq2see.options import DecodeOptions, FilesOptions, LoggerKind, TrainOptions
from seq2see.runs.config import to_yaml
from seq2see.runs.terminal import WIDTH
from seq2see.runs.train import train_run
from seq2see.tasks import Pair
from seq2see.text import BOS, EOS, PAD
from seq2see.training.checkpoints import AtomicCheckpointIO
from seq2see.transformer import Transformer

NUM_COLUMNS = 50  # of padding
BEAM_SIZE = 4
MOST_STEPS = 300  # for a batch to be learned by heart
LEARNED = 0.1  # nats a token: each with a probability of about 0.9
ROUNDING = 1e-9  # in double precision what is the same differs by about 1e-14
_MOST_TOKENS = 16  # of an output: a new model seldom ends one
_NUM_PLACES = 8  # in a target, behind which it is changed
_NUM_LEARNED = 4  # pairs
_WARMUP = 20  # steps
_NUM_STEPS = 16  # of the run that is killed,
_VALIDATE_EVERY = 4  # after the first of these
_CHILD = "from seq2see.commands.shell import main; main('train', None)"
_INDENT = " " * 8


@dataclass(frozen=True)
class Check:
    """A promise that holds for every model."""

    promise: str
    unit: str  # of what is measured
    tolerance: float  # the most that it may be
    measure: Callable[[Fixture], float]  # how far a model is from keeping the promise

    def run(self, fixture: Fixture) -> tuple[bool, list[str]]:
        """Whether the promise holds, and its row of the table; below that what it means if it does not.

        What goes wrong in measuring is a finding, too, and ends nothing.
        """
        try:
            measured, meaning = self.measure(fixture), self.measure.__doc__ or ""
        except Exception as error:
            measured, meaning = math.nan, f"not measured, {type(error).__name__}: {error}"
        passed = measured <= self.tolerance  # not if it is NaN
        mark, number, most = "pass" if passed else "FAIL", f"{measured:.3g}", f"{self.tolerance:.3g}"
        row = f"  {mark}  {self.promise:<40} {number:>8} {self.unit:<8} at most {most}"
        more = textwrap.wrap(" ".join(meaning.split()), WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        return passed, [row] if passed else [row, *more]


def check(promise: str, unit: str, tolerance: float) -> Callable[[Callable[[Fixture], float]], Check]:
    """Makes a `Check` of a function."""
    return lambda measure: Check(promise, unit, tolerance, measure)


@check(f"{NUM_COLUMNS} columns of padding change nothing", "logit", ROUNDING)
def padding(fixture: Fixture) -> float:
    """An output depends on the other texts of its batch.

    Follow src_mask from the Transformer into every attention.
    """
    model, batch, real = fixture.model, fixture.batch, fixture.batch.tgt_out != PAD
    room = (model.encoder_positions.max_length or math.inf) - max(batch.src.shape[1], batch.tgt_in.shape[1])
    shape = (NUM_PAIRS, int(min(NUM_COLUMNS, room)))  # learned positions end
    padded = model(
        torch.cat((batch.src, _random_ids(model.source_embedding.num_embeddings, *shape)), dim=1),
        torch.cat((batch.src_mask, torch.zeros(shape, dtype=torch.bool)), dim=1),
        torch.cat((batch.tgt_in, _random_ids(model.target_embedding.num_embeddings, *shape)), dim=1),
    )
    return _distance([padded[:, : real.shape[1]][real]], [_logits(fixture)[real]])


@check("later targets change no earlier logit", "logit", ROUNDING)
def causality(fixture: Fixture) -> float:
    """The decoder sees what it is to predict: training looks better than it is.

    Look at causal=True in transformer/layers.py, and at attention/masks.py.
    """
    model, batch = fixture.model, fixture.batch
    others = _random_ids(model.target_embedding.num_embeddings, *batch.tgt_in.shape)
    num_targets, worst = batch.tgt_in.shape[1], []
    for place in range(1, num_targets + 1, math.ceil(num_targets / _NUM_PLACES)):
        logits = model(batch.src, batch.src_mask, torch.cat((batch.tgt_in[:, :place], others[:, place:]), dim=1))
        worst.append(_distance([logits[:, :place]], [_logits(fixture)[:, :place]]))
    return float(torch.tensor(worst).max())  # NaN if one is


@check("the batch changes no output", "outputs", 0)
def batches(fixture: Fixture) -> int:
    """What is decoded together changes the result, of greedy decoding or of beam search.

    If padding holds above, look at how decoding/greedy.py and decoding/beam.py let rows go that are done.
    """
    return sum(
        _num_other(_decoded(fixture, beam_size, batch_size), _decoded(fixture, beam_size, 1))
        for beam_size in (1, BEAM_SIZE)
        for batch_size in (3, NUM_PAIRS)
    )


@check("a beam of one = greedy", "outputs", 0)
def beam_of_one(fixture: Fixture) -> int:
    """The two searches disagree where they must not.

    Look at how decoding/beam.py scores and ends hypotheses.
    """
    model, batch, limits = fixture.model, fixture.batch, [_longest(fixture)] * NUM_PAIRS
    found = beam_search(model, batch.src, batch.src_mask, max_lengths=limits, beam_size=1)
    expected = greedy(model, batch.src, batch.src_mask, max_lengths=limits)
    return _num_other([hypotheses[0] for hypotheses in found], expected)


@check("decoding with a cache = without one", "logit", ROUNDING)
def cache(fixture: Fixture) -> float:
    """A step sees other keys, values or positions than the whole pass.

    Look at the cache in attention/multihead.py, and at the positions in Transformer.decode.
    """
    model, batch = fixture.model, fixture.batch
    tgt_in = batch.tgt_in[:, :_MOST_TOKENS]
    memory, state = model.encode(batch.src, batch.src_mask), model.new_cache()
    steps = [model.decode(token, memory, batch.src_mask, state) for token in tgt_in.split(1, dim=1)]
    return _distance([torch.cat(steps, dim=1)], [model.decode(tgt_in, memory, batch.src_mask)])


@check("scores are of the softmax of the loss", "nats", ROUNDING)
def scores(fixture: Fixture) -> float:
    """What a text scores is not what the model gives it in training.

    Look at next_log_probs in decoding/hypothesis.py, at decoding/forced.py, and at tgt_in in data/encoded.py.
    """
    loader = make_loader(fixture.encoded, batch_size=3, shuffle=False, seed=0)
    hypotheses = [*_decoded(fixture, 1, NUM_PAIRS), *_decoded(fixture, BEAM_SIZE, NUM_PAIRS)]
    found = [*teacher_forced(fixture.model, loader).totals, *(hypothesis.score for hypothesis in hypotheses)]
    written = [(ids, True) for ids in fixture.targets] + [(one.ids, one.ended) for one in hypotheses]
    expected = []
    for source, (ids, ended) in zip(3 * fixture.sources, written, strict=True):
        logits, labels = _alone(fixture.model, source, ids)
        num_labels = len(ids) + ended
        expected.append(-F.cross_entropy(logits[:num_labels], labels[:num_labels], reduction="sum"))
    return _distance([torch.tensor(found, dtype=torch.float64)], [torch.stack(expected)])


@check("the loss is the same in any batches", "nats", ROUNDING)
def loss(fixture: Fixture) -> float:
    """Loss or gradient depend on how pairs are batched or accumulated, padding counts, or inputs show the labels.

    Look at training_step in training/module.py, and at tgt_in in data/encoded.py.
    """
    # one optimiser step over all pairs; what is expected is made of each pair alone, from inputs that are written here
    rate = fixture.trained.options.optim.label_smoothing or 0.1
    model = deepcopy(fixture.model).requires_grad_()
    rows = [_alone(model, *ids) for ids in zip(fixture.sources, fixture.targets, strict=True)]
    logits, labels = (torch.cat(parts) for parts in zip(*rows, strict=True))
    F.cross_entropy(logits, labels, label_smoothing=rate).backward()
    expected = [F.cross_entropy(logits.detach(), labels), *_gradients(model)]
    found, counts = [], (1, 4, NUM_PAIRS)
    for num_batches in counts:
        copy = deepcopy(fixture.model).requires_grad_()
        module = fixture.training_module(copy, smoothing=rate, accumulate=num_batches)
        for number, indices in enumerate(torch.arange(NUM_PAIRS).chunk(num_batches)):
            objective = module.training_step(fixture.encoded.batch(indices.tolist()), number)
            (objective / num_batches).backward()  # as Lightning does
        module.on_before_optimizer_step(torch.optim.SGD(module.parameters(), lr=0.0))
        found += [torch.tensor(module.take_train_loss(), dtype=torch.float64), *_gradients(module.model)]
    return _distance(found, len(counts) * expected)


@check(f"a few pairs are learned in {MOST_STEPS} steps", "nats", LEARNED)
def by_heart(fixture: Fixture) -> float:
    """A new model of this shape does not learn four pairs by heart, so it will learn no others.

    A part of it gets no gradient, or none that helps: look at what you changed in the model, and at the loss.
    """
    trained = fixture.trained
    first = {tuple(source): index for index, source in reversed(list(enumerate(fixture.sources)))}
    batch = fixture.encoded.batch(sorted(first.values())[:_NUM_LEARNED])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(
            replace(fixture.model.options, dropout=0.0, attention_dropout=0.0),
            trained.source_tokenizer.vocab_size,
            trained.target_tokenizer.vocab_size,
            shared_vocabulary=bool(trained.options.tokenizer.shared),
        )
        module, nats = fixture.training_module(model), math.nan
        highest = min(0.35 / model.d_model, 8e-3)  # at 3e-3 a post-norm model of width 256 diverges
        optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
        for step in range(MOST_STEPS):
            optimizer.zero_grad()
            module.training_step(batch, step).backward()
            module.on_before_optimizer_step(optimizer)
            nats = module.take_train_loss()
            if nats <= LEARNED:
                break
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.param_groups[0]["lr"] = highest * min((step + 1) / _WARMUP, 1.0)
            optimizer.step()
    return nats


@check("a saved and loaded model is the same", "numbers", 0)
def saved(fixture: Fixture) -> int:
    """A checkpoint does not hold all that the model is.

    Weights outside the state_dict, or options that TranslationModel.describe leaves out, are lost.
    """
    here, batch = fixture.trained, fixture.batch
    module = fixture.training_module(here.model)
    checkpoint = {"state_dict": module.state_dict(), "global_step": here.step}
    module.on_save_checkpoint(checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        AtomicCheckpointIO().save_checkpoint(checkpoint, Path(folder) / "saved.ckpt")
        there = load(str(Path(folder) / "saved.ckpt"))
    with torch.inference_mode():
        expected, found = (one.model(batch.src, batch.src_mask, batch.tgt_in) for one in (here, there))
    sources, targets = [pair.source for pair in fixture.pairs], [pair.target for pair in fixture.pairs]
    wrong = int((expected != found).sum())
    wrong += fixture.sources != there.source_tokenizer.encode_batch(sources)
    wrong += fixture.targets != there.target_tokenizer.encode_batch(targets)
    return wrong + (here.length_limit != there.length_limit) + (here.options != there.options)


@check("killed and resumed = never interrupted", "numbers", 0)
def resumed(fixture: Fixture) -> int:
    """A run that is interrupted ends with another model: something that training depends on is not in last.ckpt.

    Look at training/callbacks.py, and at random numbers that you draw in training.
    """
    # weights, the optimiser's state and logged losses, to the bit; killed as by a power cut
    with _quiet_folder() as folder:
        options = _short_run(fixture.pairs, fixture.trained.options, folder)
        straight, killed = folder / "straight", folder / "killed"
        train_run(replace(options, run_dir=str(straight)))
        _train_and_kill(options, killed)
        train_run(replace(options, run_dir=str(killed), resume="auto"))
        wrong = sum(int((a != b).sum()) for a, b in zip(_tensors(straight), _tensors(killed), strict=True))
        here, there = ([{**row, "train/tokens_per_second": ""} for row in _rows(run)] for run in (straight, killed))
        return wrong + abs(len(here) - len(there)) + sum(a != b for a, b in zip(here, there, strict=False))


CHECKS = [padding, causality, batches, beam_of_one, cache, scores, loss, by_heart, saved, resumed]


def _logits(fixture: Fixture) -> Tensor:
    return fixture.model(fixture.batch.src, fixture.batch.src_mask, fixture.batch.tgt_in)


def _alone(model: Transformer, source: Sequence[int], target: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Logits (T, V) and labels (T,) of one pair, EOS included."""
    src, tgt_in = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
    return model(src, torch.ones_like(src, dtype=torch.bool), tgt_in)[0], torch.tensor([*target, EOS])


def _gradients(model: Transformer) -> list[Tensor]:
    return [torch.zeros_like(own) if own.grad is None else own.grad for own in model.parameters()]


def _decoded(fixture: Fixture, beam_size: int, batch_size: int) -> list[Hypothesis]:
    """The best hypothesis of each source."""
    limit = replace(fixture.trained.length_limit, cap=_longest(fixture))
    options = DecodeOptions(beam_size=beam_size, batch_size=batch_size)
    return [found[0] for found in decode_sentences(fixture.model, fixture.sources, limit=limit, options=options)]


def _longest(fixture: Fixture) -> int:
    return min(_MOST_TOKENS, fixture.trained.length_limit.cap or _MOST_TOKENS)


def _num_other(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> int:
    return sum(
        here.ids != there.ids or here.ended != there.ended or not abs(here.score - there.score) <= ROUNDING
        for here, there in zip(found, expected, strict=True)
    )


def _random_ids(vocab_size: int, *shape: int) -> Tensor:
    """Any ids of a vocabulary, int64; always the same."""
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(0))


def _distance(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The greatest difference between two numbers at the same place; NaN if one is NaN."""
    return float(torch.stack([(a - b).abs().max() for a, b in zip(found, expected, strict=True)]).max())


def _short_run(pairs: Sequence[Pair], own: TrainOptions, folder: Path) -> TrainOptions:
    """These options for a few steps on these pairs."""
    path = folder / "pairs.jsonl"
    lines = (json.dumps({"source": pair.source, "target": pair.target}) for pair in pairs)
    path.write_text("\n".join(lines), encoding="utf-8")
    return replace(
        own,
        init=None,
        task=FilesOptions(train=str(path), valid=str(path), test=str(path)),
        data=replace(own.data, batch_size=NUM_PAIRS // 2 - 1, batch_tokens=None, max_length=100_000),
        trainer=replace(
            own.trainer,
            accelerator="cpu",
            devices=1,
            precision="32-true",
            max_steps=_NUM_STEPS,
            max_epochs=None,
            max_time=None,
            val_check_interval=_VALIDATE_EVERY,
            limit_val_batches=1.0,
            log_every_n_steps=1,
        ),
        training=replace(own.training, patience=None, keep=None),
        attention_log=replace(own.attention_log, enabled=False),
        logger=LoggerKind.csv,
    )


def _train_and_kill(options: TrainOptions, folder: Path) -> None:
    config = folder.with_suffix(".yaml")
    config.write_text(to_yaml(options), encoding="utf-8")
    best, last = folder / "checkpoints" / "best.ckpt", folder / "checkpoints" / "last.ckpt"
    command = [sys.executable, "-c", _CHILD, f"config={config}", f"run_dir={folder}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as process:
        while process.poll() is None and not (best.exists() and last.stat().st_mtime_ns > best.stat().st_mtime_ns):
            time.sleep(0.005)
        ended = process.poll() is not None
        process.kill()
        errors = process.communicate()[1].strip().splitlines()
    if ended:
        raise RuntimeError(errors[-1] if errors else "the run ended before it could be killed")


@contextmanager
def _quiet_folder() -> Iterator[Path]:
    """A folder for a while, in which is kept what is kept for other runs, too; nothing is printed."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        patch.dict(os.environ, SEQ2SEE_CACHE=os.path.join(folder, "cache")),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        yield Path(folder)


def _tensors(run: Path) -> list[Tensor]:
    """The weights, and the optimiser's state."""
    checkpoint = read_content(run / "checkpoints" / "last.ckpt").values
    moments = [own for optimizer in checkpoint["optimizer_states"] for own in optimizer["state"].values()]
    return [*checkpoint["state_dict"].values(), *(value for own in moments for value in own.values())]


def _rows(run: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((run / "metrics.csv").read_text(encoding="utf-8").splitlines()))
