"""Scores of a trained model on pairs, and what `evaluate.py` writes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2see.data import EncodedPairs, make_loader
from seq2see.decoding import Hypothesis, decode_sentences
from seq2see.evaluation import error_rates, signatures, teacher_forced, text_scores
from seq2see.options import EvaluateOptions, FilesOptions, Split
from seq2see.runs.alignment import alignment_scores
from seq2see.runs.checkpoint import Trained, device_of, load
from seq2see.runs.config import to_plain
from seq2see.runs.data import normalized_targets, pairs_of, read_pairs
from seq2see.runs.folder import write_text
from seq2see.tasks import Pair


@dataclass
class Evaluation:
    """Everything known about a model's translations of some pairs.

    Args:
        scores: by their names: `loss`, `perplexity`, `token_accuracy`, `exact_match`, `bleu`, `chrf`, `cer`, `wer`, and
            `alignment_error_rate` where the true alignment is known.
        details: how they came about: number of pairs, decoding, signatures, the attention head that aligns.
        pairs: what was translated.
        references: their targets, in the Unicode form that the model learns.
        hypotheses: what the model found.
        texts: the hypotheses as text.
    """

    scores: dict[str, float]
    details: dict[str, Any]
    pairs: Sequence[Pair]
    references: list[str]
    hypotheses: list[Hypothesis]
    texts: list[str]

    def write(self, folder: Path, name: str) -> list[Path]:
        """`<name>.json` with the scores, and `<name>.tsv` with every translation; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        report = {"scores": self.scores, **self.details}
        write_text(folder / f"{name}.json", json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        rows = [
            f"{_field(pair.source)}\t{_field(reference)}\t{_field(text)}\t{hypothesis.score:.4f}\n"
            for pair, reference, text, hypothesis in zip(
                self.pairs, self.references, self.texts, self.hypotheses, strict=True
            )
        ]
        write_text(folder / f"{name}.tsv", "source\treference\thypothesis\tscore\n" + "".join(rows))
        return [folder / f"{name}.json", folder / f"{name}.tsv"]


def _field(text: str) -> str:
    """A text as one field of a line: tabs and line ends, which a bpe or char model may write, become spaces."""
    return text.replace("\t", " ").replace("\r", " ").replace("\n", " ")


def evaluate_pairs(
    trained: Trained, pairs: Sequence[Pair], *, valid: Sequence[Pair] = (), device: str = "cpu"
) -> Evaluation:
    """Teacher-forced and free-running scores.

    Args:
        trained: the model.
        pairs: what to translate, at least one.
        valid: other pairs with true alignments, on which the attention head that aligns is chosen.
        device: where to compute.
    """
    model = trained.model.to(device)
    references = normalized_targets(pairs, trained.options)
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, trained.target_tokenizer)
    loader = make_loader(encoded, batch_size=128, shuffle=False, seed=0)
    forced = teacher_forced(model, loader)
    hypotheses = decode_sentences(
        model,
        trained.source_tokenizer.encode_batch([pair.source for pair in pairs]),
        limit=trained.length_limit,
        batch_size=trained.options.decode.batch_size or 128,
    )
    texts = [trained.target_tokenizer.decode(hypothesis.ids) for hypothesis in hypotheses]
    scores = forced.scores() | text_scores(texts, references) | error_rates(texts, references)
    details: dict[str, Any] = {
        "pairs": len(pairs),
        "step": trained.step,
        "decode": to_plain(trained.options.decode),
        "signatures": signatures(),
        "hit_length_limit": sum(not hypothesis.ended for hypothesis in hypotheses),
    }
    alignment = alignment_scores(trained, pairs, valid)
    if alignment is not None:
        scores["alignment_error_rate"] = alignment.error_rate
        details["alignment"] = alignment.details
    return Evaluation(scores, details, pairs, references, hypotheses, texts)


def command(options: EvaluateOptions) -> None:
    """What `scripts/evaluate.py` does: the scores as a table, and where the translations are."""
    evaluation, files = evaluate(options)
    print(f"{len(evaluation.pairs):,} pairs, checkpoint of step {evaluation.details['step']:,}")
    for name, value in evaluation.scores.items():
        print(f"  {name:<22}{value:>10.4f}")
    for name, signature in evaluation.details["signatures"].items():
        print(f"  {name}: {signature}")
    if evaluation.details["hit_length_limit"]:
        print(f"  {evaluation.details['hit_length_limit']:,} outputs hit the length limit (decode.max_length)")
    for file in files:
        print(f"  {file}")


def evaluate(options: EvaluateOptions) -> tuple[Evaluation, list[Path]]:
    """Scores a checkpoint on one of its own splits, or on other data.

    Returns:
        the scores, and the files that were written.

    Raises:
        ValueError: the checkpoint, the split or the file is not to be had.
    """
    if not isinstance(options.ckpt, str):
        raise ValueError("ckpt is missing: name a run folder or a .ckpt file, as in ckpt=outputs/translation/RUN")
    trained = load(options.ckpt)
    trained.decode_as(options.decode)
    name = options.split.value
    valid: Sequence[Pair] = ()
    if options.task.test is not None:
        pairs = read_pairs(options.task.test, trained.options)
        name = Path(options.task.test if isinstance(options.task.test, str) else options.task.test[0]).name.split(".")[
            0
        ]
    else:
        pairs = pairs_of(trained.options, options.split, run=trained.run)
        if not isinstance(trained.options.task, FilesOptions):
            valid = pairs_of(trained.options, Split.valid, run=trained.run)
    if not pairs:
        raise ValueError(
            f"split={options.split.value}: this run has no such pairs: choose another split, or set task.test"
        )
    evaluation = evaluate_pairs(trained, pairs, valid=valid, device=device_of(options.accelerator))
    folder = Path(options.output).expanduser() if options.output is not None else None
    if folder is None and trained.run is not None:
        folder = trained.run / "evaluation"
    if folder is None:
        return evaluation, []
    try:
        return evaluation, evaluation.write(folder, name)
    except OSError as error:
        raise ValueError(
            f"output: {folder} cannot be written ({error.strerror}): set output to another folder"
        ) from error
