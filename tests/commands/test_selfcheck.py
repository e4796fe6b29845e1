"""The promises hold on any model, and a model that breaks one is found out."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from seq2see.attention import AttentionLayer
from seq2see.commands import selfcheck as package
from seq2see.commands import shell
from seq2see.commands.selfcheck import checks
from seq2see.commands.selfcheck.checks import (
    CHECKS,
    Check,
    batches,
    beam_of_one,
    by_heart,
    cache,
    causality,
    loss,
    padding,
    resumed,
    saved,
    scores,
)
from seq2see.commands.selfcheck.fixture import Fixture, valid_pairs_of
from seq2see.data import Batch, encoded
from seq2see.decoding import TranslationModel
from seq2see.options import Position
from seq2see.runs.config import compose_options
from seq2see.runs.overrides import UsageError, read_overrides
from seq2see.text import BOS, EOS, PAD
from seq2see.training.module import TrainingModule
from seq2see.transformer import Transformer
from seq2see.transformer.model import DecoderCache

SCRIPT = Path(__file__).parents[2] / "scripts" / "selfcheck.py"
TINY = [
    "task=copy", "task.train_size=60", "task.valid_size=20", "task.test_size=0", "task.max_length=5",
    "model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.num_encoder_layers=1",
    "decode.max_length=8",
]  # fmt: skip
QUICK = [padding, causality, batches, beam_of_one, cache, scores, loss, saved]  # without training
Fault = Callable[[pytest.MonkeyPatch], None]


def fixture_of(*more: str) -> Fixture:
    return Fixture.of(compose_options("selfcheck", [*TINY, *more]))


def broken(fixture: Fixture, among: Iterable[Check]) -> list[str]:
    """Those of the promises that do not hold."""
    return sorted(check.promise for check in among if not check.run(fixture)[0])


@pytest.mark.parametrize("position", [Position.rope, Position.relative, Position.none])
def test_a_new_model_keeps_every_promise_of_a_model(position: Position) -> None:
    assert broken(fixture_of(f"model.position={position.value}"), QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ["model.score=additive", "model.position=relative", "model.norm=post"],
        ["model.share_layers=true", "model.window=2", "model.tie_embeddings=true"],
        ["model.randomize_positions=30", "model.dropout=0.3", "model.attention_dropout=0.3", "optim.ema=0.9"],
        [
            "model.position=learned",
            "model.max_positions=16",
            "task.ood_size=0",
        ],  # 50 columns of padding have no positions
        ["task.valid_size=0", "trainer.accumulate_grad_batches=3", "optim.label_smoothing=0.2", "data.num_workers=1"],
        ["tokenizer.source=bpe", "tokenizer.target=bpe", "tokenizer.shared=false", "model.position=alibi"],
    ],
    ids=lambda more: more[0],
)
def test_a_new_model_of_other_options_keeps_every_promise_in_training_too(more: list[str]) -> None:
    assert broken(fixture_of(*more), CHECKS) == []


def step_on(change: Callable[[TrainingModule, Batch], Batch]) -> Fault:
    """Training takes another batch."""
    step = TrainingModule.training_step
    return lambda patch: patch.setattr(
        TrainingModule, "training_step", lambda self, batch, number: step(self, change(self, batch), number)
    )


def leaking_mask(patch: pytest.MonkeyPatch) -> None:
    whole = AttentionLayer.forward
    patch.setattr(AttentionLayer, "forward", lambda *args, **keys: whole(*args, **{**keys, "causal": False}))


def dropped_padding_mask(patch: pytest.MonkeyPatch) -> None:
    def unmasked(whole: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def call(self: Transformer, *args, **keys) -> torch.Tensor:
            is_mask = [isinstance(one, torch.Tensor) and one.dtype == torch.bool for one in args]
            all_seen = [torch.ones_like(one) if mask else one for one, mask in zip(args, is_mask, strict=True)]
            return whole(self, *all_seen, **keys)

        return call

    for name in ("forward", "encode", "decode"):
        patch.setattr(Transformer, name, unmasked(getattr(Transformer, name)))


def data_that_show_the_label(patch: pytest.MonkeyPatch) -> None:
    shifted = encoded.shifted

    def not_shifted(*args) -> Batch:
        batch = shifted(*args)
        return batch._replace(tgt_in=batch.tgt_out)

    patch.setattr(encoded, "shifted", not_shifted)


def no_smoothing(self: TrainingModule, batch: Batch) -> Batch:
    self.optim = replace(self.optim, label_smoothing=0.0)
    return batch


def padding_that_counts(_: TrainingModule, batch: Batch) -> Batch:
    return batch._replace(tgt_out=batch.tgt_out.masked_fill(batch.tgt_out == PAD, EOS))


def batches_of_one_weight(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TrainingModule, "on_before_optimizer_step", lambda self, optimizer: None)


def positions_that_start_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DecoderCache, "length", property(lambda self: 0, lambda self, length: None), raising=False)


def scores_of_fewer_symbols(patch: pytest.MonkeyPatch) -> None:
    def of_those_that_can_be_produced(logits: torch.Tensor) -> torch.Tensor:
        logits[..., [PAD, BOS]] = float("-inf")
        return logits.log_softmax(-1)

    for search in ("greedy", "beam"):
        patch.setattr(sys.modules[f"seq2see.decoding.{search}"], "next_log_probs", of_those_that_can_be_produced)


def another_beam(patch: pytest.MonkeyPatch) -> None:
    search = checks.beam_search
    patch.setattr(checks, "beam_search", lambda *args, **keys: search(*args, **{**keys, "beam_size": 3}))


def a_decoder_that_learns_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checks, "MOST_STEPS", 50)
    step = TrainingModule.training_step
    patch.setattr(TrainingModule, "training_step", lambda *args: step(*args) * 0)


def a_checkpoint_that_forgets(patch: pytest.MonkeyPatch) -> None:
    describe = TranslationModel.describe
    patch.setattr(TranslationModel, "describe", lambda self: {**describe(self), "length_ratio": 9.0})


@pytest.mark.parametrize(
    ("fault", "found", "not_found"),
    [
        (leaking_mask, {causality, cache}, {saved}),
        (dropped_padding_mask, {padding, batches}, {causality}),
        (data_that_show_the_label, {scores, loss}, {causality, padding}),
        (step_on(lambda _, batch: batch._replace(tgt_in=batch.tgt_out)), {loss}, {causality, scores}),
        (step_on(no_smoothing), {loss}, {scores}),
        (step_on(padding_that_counts), {loss}, {scores, padding}),
        (batches_of_one_weight, {loss}, {scores}),
        (positions_that_start_anew, {cache}, {beam_of_one, batches}),
        (scores_of_fewer_symbols, {scores}, {beam_of_one, batches}),
        (another_beam, {beam_of_one}, {batches}),
        (a_decoder_that_learns_nothing, {by_heart}, {causality}),
        (a_checkpoint_that_forgets, {saved}, {cache}),
    ],
)
def test_a_fault_is_found(
    fault: Fault, found: set[Check], not_found: set[Check], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert broken(fixture_of(), found | not_found) == sorted(check.promise for check in found)


def test_what_is_not_a_number_keeps_no_promise() -> None:
    fixture, affected = fixture_of(), [padding, causality, beam_of_one, scores, loss]
    with torch.no_grad():
        fixture.model.source_embedding.weight[EOS] = float("nan")
    assert len(broken(fixture, affected)) == len(affected)


def test_a_table_fits_80_columns_of_ascii_and_says_what_a_failure_means_and_which_file_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, fixture = Path(package.__file__).parents[2], fixture_of()
    for check in CHECKS:
        meaning = check.measure.__doc__ or ""
        for path in (word.strip(",.:;") for word in meaning.split() if "/" in word):
            assert (source / path).exists(), path
        for number in (0, 1.23456e-16, 123_456_789, float("nan")):

            def measure(_: Fixture, number: float = number) -> float:
                return number

            measure.__doc__ = meaning
            passed, lines = replace(check, measure=measure).run(fixture)
            assert all(len(line) <= 80 and line.isascii() for line in lines)
            assert lines[0].startswith("  pass  " if passed else "  FAIL  ")
            said = " ".join(line.strip() for line in lines[1:])
            assert said == ("" if passed else " ".join(meaning.split()))
    monkeypatch.setattr(Transformer, "new_cache", lambda self: 1 / 0)
    passed, lines = cache.run(fixture)  # one that fails itself ends nothing
    assert not passed and lines[1].strip() == "not measured, ZeroDivisionError: division by zero"


def test_the_command_prints_a_line_a_promise_and_exits_with_1_if_one_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(fixture: Fixture) -> int:
        """Why."""
        return 1

    monkeypatch.setattr(shell, "listen", lambda: None)  # signals are pytest's here
    monkeypatch.setattr(package, "CHECKS", [padding])
    assert shell.run("selfcheck", TINY) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "  a new model for task=copy" and others[:2] == [
        "  8 of the validation pairs, double precision, CPU",
        "",
    ]
    assert others[2].startswith("  pass") and others[3:] == ["", "  1 of 1 promises hold"]
    monkeypatch.setattr(package, "CHECKS", [padding, Check("never kept", "times", 0, never)])
    assert shell.run("selfcheck", TINY) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-3:] == ["        Why.", "", "  1 of 2 promises hold"]
    assert printed.err == "selfcheck: promises that do not hold: 1 of 2\n"
    assert shell.run("selfcheck", ["ckpt=nowhere"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "others", [["model.position=rope"], ["config=run/config.yaml"], ["task=copy", "seed=1"], ["experiment=reverse"]]
)
def test_keys_of_training_beside_a_checkpoint_are_refused(others: list[str]) -> None:
    with pytest.raises(UsageError, match=f"{others[0]}: ckpt=run has its own configuration: leave out one of them"):
        read_overrides("selfcheck", ["ckpt=run", *others])
    assert read_overrides("selfcheck", ["run"]) == ["ckpt='run'"]


def test_a_trained_model_is_checked_on_the_pairs_of_its_run(small_run: Path) -> None:
    fixture = Fixture.of(compose_options("selfcheck", [f"ckpt={small_run}"]))
    assert (fixture.title, fixture.origin) == (f"step 12 of {small_run}", "8 of the run's validation pairs")
    assert broken(fixture, [padding, saved]) == []


def test_pairs_of_a_file_are_those_that_the_run_has_kept_and_else_random_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in "abcdef" for b in "uvwxyz"), encoding="utf-8")
    typed = ["task=files", f"task.train={data}", "model.d_model=16", "model.d_ff=32", "model.num_encoder_layers=1"]
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").touch()
    new = Fixture.of(compose_options("selfcheck", typed)).trained
    trained = replace(new, path=tmp_path / "run" / "checkpoints" / "best.ckpt")
    data.unlink()
    monkeypatch.setattr("seq2see.commands.selfcheck.fixture.load", lambda path: trained)
    fixture = Fixture.of(compose_options("selfcheck", ["ckpt=alone.ckpt"]))
    assert fixture.origin == "8 pairs of random tokens"
    assert not (fixture.batch.tgt_in[fixture.batch.tgt_out != PAD] == PAD).any()
    assert broken(fixture, [padding, scores, saved]) == []
    (tmp_path / "run" / "data").mkdir()
    (tmp_path / "run" / "data" / "valid.tsv").write_text("a b\tb a\n", encoding="utf-8")
    assert [tuple(pair[:2]) for pair in valid_pairs_of(trained)] == [("a b", "b a")]


@pytest.mark.slow
def test_a_run_that_goes_on_with_other_random_numbers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.training.callbacks.set_random_state", lambda state: None)
    assert resumed.measure(fixture_of("model.dropout=0.2")) > 0


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
    assert f"{len(CHECKS)} of {len(CHECKS)} promises hold" in done.stdout
    wrong = run("ckpt=nowhere")
    assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1 and wrong.stdout == ""
    assert list(tmp_path.iterdir()) == []
