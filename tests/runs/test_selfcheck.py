"""The promises hold on any model, and a model that breaks one is found out."""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from seq2see.attention import AttentionLayer, MultiHeadAttention
from seq2see.data import Batch, encoded
from seq2see.decoding import Trained
from seq2see.evaluation import References
from seq2see.options import FilesOptions, Position
from seq2see.runs import selfcheck as package
from seq2see.runs import shell
from seq2see.runs.config import compose_options, config_folder
from seq2see.runs.overrides import UsageError, read_overrides
from seq2see.runs.selfcheck import PROMISES, Finding, Promise, kept, loss, model, outputs, selfcheck
from seq2see.runs.selfcheck.subject import Subject, valid_pairs_of
from seq2see.text import BOS, EOS, PAD
from seq2see.training import module as training
from seq2see.training.callbacks import pace
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer
from seq2see.transformer.model import DecoderCache

SCRIPT = Path(__file__).parents[2] / "scripts" / "selfcheck.py"
TINY = [
    "task=copy", "task.train_size=60", "task.valid_size=20", "task.test_size=0", "task.max_length=5",
    "model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.num_encoder_layers=1",
    "decode.max_length=8",
]  # fmt: skip
Measure = Callable[[Subject], float]
QUICK = [
    promise.measure for promise in PROMISES if promise.measure not in (kept.chosen, kept.resumed)
]  # which train runs


def subject_of(*more: str) -> Subject:
    return Subject.of(compose_options("selfcheck", read_overrides("selfcheck", [*TINY, *more], config_folder())))


def broken(subject: Subject, among: Collection[Measure] = QUICK) -> set[Measure]:
    """Those of the promises that do not hold."""
    return {promise.measure for promise in PROMISES if promise.measure in among and not promise.check(subject).passed}


@pytest.mark.parametrize("position", list(Position))
def test_a_new_model_of_any_position_scheme_keeps_every_promise(position: Position) -> None:
    without_training = [measure for measure in QUICK if measure is not loss.by_heart]
    assert broken(subject_of(f"model.position={position.value}"), without_training) == set()


@pytest.mark.slow
@pytest.mark.parametrize("position", list(Position))
def test_that_takes_training_too(position: Position) -> None:
    assert broken(subject_of(f"model.position={position.value}"), [loss.by_heart, kept.chosen, kept.resumed]) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ["model.score=additive", "model.position=relative", "model.norm=post"],
        ["model.share_layers=true", "model.window=2", "model.tie_embeddings=true"],
        ["model.randomize_positions=30", "model.dropout=0.3", "model.attention_dropout=0.3"],
        ["model.position=learned", "model.max_positions=16"],  # 50 columns of padding have no positions
        ["task.valid_size=0", "trainer.accumulate_grad_batches=3", "optim.label_smoothing=0.2", "data.num_workers=1"],
        ["tokenizer.source=bpe", "tokenizer.target=bpe", "tokenizer.shared=false"],
    ],
    ids=lambda more: more[0],
)
def test_so_does_one_of_other_options(more: list[str]) -> None:
    assert broken(subject_of(*more)) == set()


def leaking_mask(patch: pytest.MonkeyPatch) -> None:
    whole = AttentionLayer.forward
    patch.setattr(AttentionLayer, "forward", lambda *args, **keys: whole(*args, **{**keys, "causal": False}))


def dropped_padding_mask(patch: pytest.MonkeyPatch) -> None:
    encode, decode_states = Transformer.encode, Transformer.decode_states

    def encode_all(self: Transformer, src, src_mask, *more):
        return encode(self, src, torch.ones_like(src_mask), *more)

    def decode_all(self: Transformer, tgt_in, memory, src_mask, *more, **tokens):
        return decode_states(self, tgt_in, memory, torch.ones_like(src_mask), *more, **tokens)

    patch.setattr(Transformer, "encode", encode_all)
    patch.setattr(Transformer, "decode_states", decode_all)


def data_that_show_the_label(patch: pytest.MonkeyPatch) -> None:
    shifted = encoded.shifted

    def not_shifted(*args) -> Batch:
        batch = shifted(*args)
        return batch._replace(tgt_in=batch.tgt_out)

    patch.setattr(encoded, "shifted", not_shifted)


def training_that_shows_the_label(patch: pytest.MonkeyPatch) -> None:
    step = TrainingModule.training_step
    patch.setattr(
        TrainingModule,
        "training_step",
        lambda self, batch, number: step(self, batch._replace(tgt_in=batch.tgt_out), number),
    )


def weights_that_are_no_shares(patch: pytest.MonkeyPatch) -> None:
    forward = MultiHeadAttention.forward

    def half(*args, **keys):
        output, weights = forward(*args, **keys)
        return output, None if weights is None else weights / 2

    patch.setattr(MultiHeadAttention, "forward", half)


def nothing_divided_by_nothing(patch: pytest.MonkeyPatch) -> None:
    encode = Transformer.encode

    def mean_of_tokens(self: Transformer, src, src_mask, *more):
        return encode(self, src, src_mask, *more) * (src_mask.sum(1) / src_mask.sum(1))[:, None, None]

    patch.setattr(Transformer, "encode", mean_of_tokens)


def positions_that_start_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DecoderCache, "length", property(lambda self: 0, lambda self, length: None), raising=False)


def scores_of_fewer_symbols(patch: pytest.MonkeyPatch) -> None:
    def of_those_that_can_be_produced(logits: torch.Tensor) -> torch.Tensor:
        logits[..., [PAD, BOS]] = float("-inf")
        return logits.log_softmax(-1)

    for search in ("greedy", "beam"):
        patch.setattr(sys.modules[f"seq2see.decoding.{search}"], "next_log_probs", of_those_that_can_be_produced)


def another_beam(patch: pytest.MonkeyPatch) -> None:
    search = outputs.beam_search
    patch.setattr(outputs, "beam_search", lambda *args, **keys: search(*args, **{**keys, "beam_size": 3}))


def batches_of_one_weight(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TrainingModule, "on_before_optimizer_step", lambda self, optimizer: self._step_tokens.clear())


def no_smoothing(patch: pytest.MonkeyPatch) -> None:
    whole = training.objective_of
    patch.setattr(training, "objective_of", lambda *parts, smoothing: whole(*parts, smoothing=0))


def padding_that_counts(patch: pytest.MonkeyPatch) -> None:
    def step(self: TrainingModule, batch: Batch, number: int) -> torch.Tensor:
        logits = self.model(batch.src, batch.src_mask, batch.tgt_in)
        nats = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), reduction="none")
        self.loss_sum.update(nats.sum().detach())
        self._token_sum += len(nats)
        self._step_tokens.append(len(nats))
        return nats.mean() * self.options.trainer.accumulate_grad_batches

    patch.setattr(TrainingModule, "training_step", step)


def a_decoder_that_learns_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loss, "MOST_STEPS", 50)
    states = Transformer.decode_states
    patch.setattr(Transformer, "decode_states", lambda *args, **keys: states(*args, **keys).detach() * 0)


def a_checkpoint_that_forgets(patch: pytest.MonkeyPatch) -> None:
    describe = Trained.describe
    patch.setattr(Trained, "describe", lambda self: {**describe(self), "length_ratio": 9.0})


def columns_that_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    read = kept.read_pairs
    plain = FilesOptions(train="", source=0, target=1)
    patch.setattr(
        kept, "read_pairs", lambda other, text, options, notes: read(other, text, replace(options, task=plain), notes)
    )


@pytest.mark.parametrize(
    ("fault", "found", "not_found"),
    [
        (leaking_mask, {model.causality, model.hidden_cells, loss.only_the_past, outputs.cache}, {loss.labels}),
        (
            dropped_padding_mask,
            {model.padding, model.hidden_cells, outputs.greedy_batches, outputs.beam_batches},
            {model.causality, loss.labels},
        ),
        (data_that_show_the_label, {loss.labels, loss.only_the_past}, {model.causality, model.padding}),
        (training_that_shows_the_label, {loss.only_the_past, loss.batching}, {loss.labels, model.causality}),
        (weights_that_are_no_shares, {model.row_sums}, {model.hidden_cells}),
        (nothing_divided_by_nothing, {model.empty_source}, {model.padding, model.causality}),
        (positions_that_start_anew, {outputs.cache}, {outputs.beam_of_one, outputs.greedy_batches}),
        (scores_of_fewer_symbols, {outputs.scores}, {outputs.beam_of_one, outputs.greedy_batches}),
        (another_beam, {outputs.beam_of_one}, {outputs.beam_batches}),
        (batches_of_one_weight, {loss.accumulation}, {loss.smoothing, loss.batching}),
        (no_smoothing, {loss.smoothing}, {loss.batching}),
        (padding_that_counts, {loss.smoothing, loss.batching, loss.accumulation}, {loss.labels}),
        (a_decoder_that_learns_nothing, {loss.by_heart}, {model.causality, loss.only_the_past}),
        (a_checkpoint_that_forgets, {kept.saved}, {outputs.cache}),
        (columns_that_are_forgotten, {kept.read_again}, {kept.saved}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_is_found(
    fault: Callable[[pytest.MonkeyPatch], None],
    found: set[Measure],
    not_found: set[Measure],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault(monkeypatch)
    assert broken(subject_of(), found | not_found) == found


def test_what_is_not_a_number_keeps_no_promise() -> None:
    subject = subject_of()
    affected = {model.padding, model.causality, model.row_sums, model.empty_source, loss.batching, outputs.beam_of_one}
    with torch.no_grad():
        subject.trained.model.source_embedding.weight[EOS] = float("nan")
    assert broken(subject, affected) == affected


def test_a_check_that_fails_itself_is_a_finding_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transformer, "new_cache", lambda self: 1 / 0)
    found = {p.measure: p.check(subject_of()) for p in PROMISES if p.measure in (outputs.cache, model.padding)}
    assert found[model.padding].passed and not found[outputs.cache].passed
    assert found[outputs.cache].lines[1].strip() == "not measured, ZeroDivisionError: division by zero"


def test_a_table_fits_80_columns_of_ascii_and_says_what_a_failure_means() -> None:
    for promise in PROMISES:
        for number in (0, 1.23456e-16, 123_456_789, 99_999, float("inf"), float("nan")):
            finding = Finding(promise.name, number, promise.unit, promise.tolerance, promise.meaning)
            assert all(len(line) <= 80 and line.isascii() for line in finding.lines)
            if finding.passed:
                assert finding.lines[0].startswith("  pass  ") and len(finding.lines) == 1
            else:
                assert finding.lines[0].startswith("  FAIL  ")
                assert " ".join(line.strip() for line in finding.lines[1:]) == promise.meaning


def test_where_to_look_names_what_exists() -> None:
    source = Path(package.__file__).parents[2]
    named = {word.strip(",.:;") for p in PROMISES for word in p.meaning.split() if "/" in word}
    assert len(named) > 5
    for path in named:
        assert (source / path).is_file(), path


def test_the_command_prints_a_line_a_promise_and_exits_with_1_if_one_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shell, "listen", lambda: None)  # signals are pytest's here
    few = [promise for promise in PROMISES if promise.measure in (model.padding, loss.labels)]
    monkeypatch.setattr(package, "PROMISES", few)
    assert shell.run("selfcheck", TINY) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["  a new model for task=copy", "  8 of the validation pairs, double precision, CPU", ""]
    assert [line[:6] for line in lines[3:5]] == ["  pass"] * 2
    assert lines[5:] == ["", "  2 of 2 promises hold"]
    monkeypatch.setattr(package, "PROMISES", [*few, Promise("never kept", lambda subject: 1, "times", 0, "why")])
    assert shell.run("selfcheck", TINY) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-3:] == ["        why", "", "  2 of 3 promises hold"]
    assert printed.err == "selfcheck: 1 of 3 promises does not hold\n"
    assert shell.run("selfcheck", [*TINY, "ckpt=nowhere"]) == 2
    assert shell.run("selfcheck", ["ckpt=nowhere"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    "others", [["model.position=rope"], ["config=run/config.yaml"], ["task=copy", "seed=1"], ["experiment=reverse"]]
)
def test_keys_of_training_beside_a_checkpoint_are_refused(others: list[str]) -> None:
    with pytest.raises(UsageError, match=f"{others[0]}: ckpt=run has its own configuration: leave out one of them"):
        read_overrides("selfcheck", ["ckpt=run", *others], config_folder())
    assert read_overrides("selfcheck", ["run"], config_folder()) == ["ckpt='run'"]


def test_a_trained_model_is_checked_on_the_pairs_of_its_run(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = (model.padding, model.hidden_cells, loss.labels, loss.only_the_past, kept.saved)
    monkeypatch.setattr(package, "PROMISES", [promise for promise in PROMISES if promise.measure in few])
    shown: list[str] = []
    findings = selfcheck(compose_options("selfcheck", [f"ckpt={small_run}"]), show=shown.append)
    assert all(finding.passed for finding in findings)
    assert shown[0].startswith(f"  step 12 of {small_run}"[:70])
    assert shown[1] == "  8 of the run's validation pairs, double precision, CPU"


def files_subject(folder: Path, *more: str) -> Trained:
    """A model for pairs of a file, as if loaded from a run folder."""
    data = folder / "pairs.tsv"
    data.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in "abcdef" for b in "uvwxyz"), encoding="utf-8")
    options = compose_options("selfcheck", ["task=files", f"task.train={data}", "model.d_model=16", "model.d_ff=32"])
    (folder / "run" / "checkpoints").mkdir(parents=True)
    (folder / "run" / "config.yaml").touch()
    return replace(Subject.of(options).trained, path=folder / "run" / "checkpoints" / "best.ckpt")


def test_pairs_of_a_file_are_those_that_the_run_has_kept(tmp_path: Path) -> None:
    trained = files_subject(tmp_path)
    (tmp_path / "run" / "data").mkdir()
    (tmp_path / "run" / "data" / "valid.tsv").write_text("a b\tb a\n", encoding="utf-8")
    Path(trained.options.task.train).unlink()
    assert [tuple(pair[:2]) for pair in valid_pairs_of(trained)] == [("a b", "b a")]


def test_a_checkpoint_whose_pairs_are_gone_is_checked_on_random_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = files_subject(tmp_path)
    assert isinstance(trained.options.task, FilesOptions)
    Path(trained.options.task.train).unlink()
    monkeypatch.setattr("seq2see.runs.selfcheck.subject.load", lambda path: trained)
    subject = Subject.of(compose_options("selfcheck", ["ckpt=alone.ckpt"]))
    assert subject.origin == "8 pairs of random tokens"
    assert not (subject.batch.tgt_in[subject.batch.tgt_out != PAD] == PAD).any()
    assert broken(subject, [*vars(model).values(), *vars(loss).values()]) == set()


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["model.dropout=0.2", "optim.ema=0.9", "trainer.accumulate_grad_batches=2"]])
def test_a_run_that_was_killed_goes_on(more: list[str]) -> None:
    assert kept.resumed(subject_of(*more)) == 0


def test_what_a_run_has_recorded_of_its_best_checkpoint_is_so(small_run: Path) -> None:
    assert kept.chosen(subject_of()) == 0
    assert kept.chosen(Subject.of(compose_options("selfcheck", [f"ckpt={small_run}"]))) == 0


def test_the_first_of_equal_scores_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace.Best, "order", lambda self, select: (self.score, 0.0))
    assert kept.chosen(subject_of()) == 1


def test_a_validation_that_scores_each_pair_against_its_own_target_alone_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OfPairs(References):
        def __init__(self, pairs, source_tokenizer, target_tokenizer, *, most=None) -> None:
            alone = [pair._replace(source=f"{pair.source}{number}") for number, pair in enumerate(pairs)]
            super().__init__(alone, source_tokenizer, target_tokenizer, most=most)
            self._source_ids = source_tokenizer.encode_batch([pair.source for pair in pairs])

    monkeypatch.setattr("seq2see.runs.fit.References", OfPairs)
    assert kept.chosen(subject_of()) > 0


@pytest.mark.parametrize("planted", ["best", "score"])
def test_so_is_a_run_that_has_recorded_something_else(small_run: Path, tmp_path: Path, planted: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(small_run, run, ignore=shutil.ignore_patterns("attention*", "tensorboard", "evaluation"))
    with (run / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    best = json.loads((run / "result.json").read_text(encoding="utf-8"))["best"]
    for row in rows:
        if planted == "score" and int(row["step"]) == best["step"]:
            row["val/chrf"] = "99.0"
        elif planted == "best" and row["val/loss"] and int(row["step"]) != best["step"]:
            row["val/loss"] = "0.001"
    with (run / "metrics.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert kept._num_misrecorded(run) == 1


@pytest.mark.slow
def test_a_run_that_goes_on_with_other_random_numbers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.training.callbacks.checkpoints.set_random_state", lambda state: None)
    assert kept.resumed(subject_of("model.dropout=0.2")) > 0


@pytest.mark.slow
def test_the_real_command_leaves_nothing_behind(small_run: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPT), *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=240
        )

    done = run(f"ckpt={small_run}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert f"{len(PROMISES)} of {len(PROMISES)} promises hold" in done.stdout
    wrong = run("ckpt=nowhere")
    assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1 and wrong.stdout == ""
    assert list(tmp_path.iterdir()) == []
