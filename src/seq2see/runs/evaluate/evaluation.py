"""A trained model and pairs in; its translations, their scores and what is behind them out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seq2see.data import EncodedPairs, make_loader
from seq2see.decoding import Hypothesis, decode_sentences
from seq2see.evaluation import (
    Forced,
    Kind,
    Scorer,
    SentenceCounts,
    by_confidence,
    by_length,
    error_kinds,
    intervals,
    make_baselines,
    one_line,
    teacher_forced,
    tokens_in_place,
)
from seq2see.evaluation.report import detail_lines, score_lines, wrapped
from seq2see.maps.cases.flags import report_lines
from seq2see.options import TokenizerKind, TrainOptions
from seq2see.runs.alignment import alignment_scores
from seq2see.runs.checkpoint import Trained
from seq2see.runs.config import to_plain
from seq2see.runs.data import normalized_targets
from seq2see.runs.lock import alone_in
from seq2see.tasks import Pair
from seq2see.tasks.whole_file import write_text
from seq2see.text import UNK, normalize, parted

_NUM_LINES = 5  # of the .tsv file that are named for each kind of error


@dataclass
class Evaluation:
    """Everything known about a model's translations of some pairs.

    Args:
        scores: by their names: `loss`, `perplexity`, `token_accuracy`, `exact_match`, `bleu`, `chrf`, `cer`, `wer`,
            `ser`, and `alignment_error_rate` where the true alignment is known.
        details: how they came about and what is behind them, in plain values (see the README of `evaluation`).
        pairs: what was translated.
        references: their targets as they are scored: in the Unicode form that the model learns, in one line each.
        hypotheses: what the model found.
        texts: the hypotheses as text, in one line each.
        counts: what the scores are made of, for each source.
        firsts: the first pair of each source, by its number.
        closest: for each source the number of the pair whose reference is nearest to the output.
        notes: for people.
        page: outputs and their attention as HTML, where that was asked for.
    """

    scores: dict[str, float]
    details: dict[str, Any]
    pairs: Sequence[Pair]
    references: list[str]
    hypotheses: list[Hypothesis]
    texts: list[str]
    counts: SentenceCounts
    firsts: list[int]
    closest: list[int]
    notes: list[str] = field(default_factory=list)
    page: str | None = field(default=None, repr=False)

    def write(self, folder: Path, name: str) -> list[Path]:
        """`<name>.json` (scores), `<name>.tsv` (every translation), `<name>.html` (the page); returns their paths.

        Raises:
            ValueError: another process writes the folder.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder):
            return self._write(folder, name)

    def _write(self, folder: Path, name: str) -> list[Path]:
        report = {"scores": self.scores, **self.details, "notes": self.notes}
        write_text(folder / f"{name}.json", json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        rows = [
            f"{one_line(pair.source)}\t{reference}\t{text}\t{hypothesis.score:.4f}\n"
            for pair, reference, text, hypothesis in zip(
                self.pairs, self.references, self.texts, self.hypotheses, strict=True
            )
        ]
        write_text(folder / f"{name}.tsv", "source\treference\thypothesis\tscore\n" + "".join(rows))
        if self.page is None:
            return [folder / f"{name}.json", folder / f"{name}.tsv"]
        write_text(folder / f"{name}.html", self.page)
        return [folder / f"{name}.{ending}" for ending in ("json", "tsv", "html")]

    def lines(self) -> list[str]:
        """What the terminal shows, in 80 columns."""
        signatures = [f"  {name}: {signature}" for name, signature in self.details["signatures"].items()]
        notes = [line for note in self.notes for line in wrapped(note)]
        flags = self.details.get("attention_flags")
        return [
            *score_lines(self.scores, self.details), "", *detail_lines(self.details), "",
            *([] if flags is None else [*report_lines(flags), ""]), *signatures, *notes,
        ]  # fmt: skip


def evaluate_pairs(
    trained: Trained,
    pairs: Sequence[Pair],
    *,
    valid: Sequence[Pair] = (),
    train: Sequence[Pair] = (),
    device: str = "cpu",
) -> Evaluation:
    """Teacher-forced and free-running scores, and what is behind them.

    If a source has several different targets, each source is translated once, and scored against all of them (see
    `Scorer`); with exact lengths it gets that of the first. `loss` and `token_accuracy` are always those of all pairs.

    Args:
        trained: the model.
        pairs: what to translate, at least one.
        valid: other pairs with true alignments, on which the attention head that aligns is chosen.
        train: the training pairs, for the baselines; empty: no baselines.
        device: where to compute.
    """
    model = trained.model.to(device)
    decode, target = trained.options.decode, trained.target_tokenizer
    references = [one_line(text) for text in normalized_targets(pairs, trained.options)]
    groups = _of_same_source(pairs, references, trained.options)
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, target)
    forced = teacher_forced(model, make_loader(encoded, batch_size=128, shuffle=False, seed=0))
    firsts = [group[0] for group in groups]
    found = decode_sentences(
        model,
        trained.source_tokenizer.encode_batch([pairs[place].source for place in firsts]),
        limit=trained.length_limit,
        options=decode,
        exact_lengths=encoded.target_lengths[firsts].tolist() if decode.oracle_length else None,
    )
    hypotheses = [best for best, *_ in found]
    texts = [one_line(target.decode(hypothesis.ids)) for hypothesis in hypotheses]
    different = [list({references[place]: place for place in reversed(group)}.values())[::-1] for group in groups]
    scorer = Scorer([[references[place] for place in own] for own in different], target)
    free, nearest = scorer.counts(texts)
    counts = SentenceCounts(forced.columns(groups) | free.columns)
    closest = [own[number] for own, number in zip(different, nearest.tolist(), strict=True)]
    scores = counts.scores()
    details: dict[str, Any] = {
        "pairs": len(pairs),
        "sources": len(groups),
        "step": trained.step,
        "decode": to_plain(decode),
        "signatures": scorer.signatures,
        "bleu_tokenizer": scorer.bleu_tokenizer._asdict(),
        "unknown": dict(zip(("source", "target"), encoded.num_unknown, strict=True)),
        "hit_length_limit": sum(not hypothesis.ended for hypothesis in hypotheses),
        "intervals": {name: list(low_high) for name, low_high in intervals(counts).items()},
        "forced_and_free": _forced_and_free(trained, pairs, forced, hypotheses, groups, closest, scores),
        "by_source_length": by_length((encoded.source_lengths[firsts] - 1).tolist(), counts),
        "by_target_length": by_length((encoded.target_lengths[closest] - 1).tolist(), counts),
        "errors": _errors(texts, [references[place] for place in closest], hypotheses, firsts, scorer),
        "confidence": by_confidence(
            [hypothesis.ranked_by(1.0) for hypothesis in hypotheses],
            counts.columns["exact_match"][:, 0].astype(bool).tolist(),
        ),
    }
    if train:
        details["baselines"] = _baselines(trained, [pairs[place].source for place in firsts], train, scorer)
    alignment = alignment_scores(trained, pairs, valid)
    if alignment is not None:
        scores["alignment_error_rate"] = alignment.error_rate
        details["alignment"] = alignment.details
    source_of = {place: number for number, group in enumerate(groups) for place in group}
    order = [source_of[place] for place in range(len(pairs))]
    return Evaluation(
        scores,
        details,
        pairs,
        references,
        [hypotheses[number] for number in order],
        [texts[number] for number in order],
        counts,
        firsts,
        closest,
        _notes(details, counts),
    )


def _of_same_source(pairs: Sequence[Pair], references: Sequence[str], options: TrainOptions) -> list[list[int]]:
    """The pairs of each source, by their numbers; each pair alone if no source has two different references."""
    groups: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        groups.setdefault(normalize(pair.source, options.tokenizer.normalize), []).append(place)
    if any(len({references[place] for place in group}) > 1 for group in groups.values()):
        return list(groups.values())
    return [[place] for place in range(len(pairs))]


def _forced_and_free(
    trained: Trained,
    pairs: Sequence[Pair],
    forced: Forced,
    hypotheses: Sequence[Hypothesis],
    groups: Sequence[Sequence[int]],
    closest: Sequence[int],
    scores: dict[str, float],
) -> dict[str, dict[str, float]]:
    """Scores when the model is told what came before, and when it goes on from its own words.

    `token_accuracy` counts the reference tokens that stand in their place, of the reference that is nearest to the
    output. The two values of `exact_match` are the same for greedy outputs: what is right word by word is found.
    """
    ids = trained.target_tokenizer.encode_batch([pairs[place].target for place in closest])
    tokens = forced.tokens[list(closest)].sum()
    in_place = sum(tokens_in_place(*both) for both in zip(hypotheses, ids, strict=True))
    whole = forced.correct == forced.tokens
    rows = {
        "token_accuracy": (forced.correct[list(closest)].sum() / tokens, in_place / tokens),
        "exact_match": (sum(whole[list(group)].any() for group in groups) / len(groups), scores["exact_match"]),
    }
    return {
        name: {"forced": float(told), "free": float(own), "gap": float(told - own)}
        for name, (told, own) in rows.items()
    }


def _errors(
    texts: Sequence[str],
    references: Sequence[str],
    hypotheses: Sequence[Hypothesis],
    firsts: Sequence[int],
    scorer: Scorer,
) -> dict[str, Any]:
    """How many outputs are wrong in which way, and where the first of them stand in the .tsv file.

    Units are characters where the tokens are, where words have no spaces between them, and where most references are
    of one word.
    """
    one_word = 2 * sum(len(reference.split()) < 2 for reference in references) > len(references)
    characters = scorer.tokenizer.kind is TokenizerKind.char or scorer.bleu_tokenizer.name != "13a" or one_word
    unknown = [UNK in hypothesis.ids for hypothesis in hypotheses]
    kinds = error_kinds(texts, references, unknown=unknown, characters=characters)
    places = {kind: [first for first, own in zip(firsts, kinds, strict=True) if own is kind] for kind in Kind}
    return {
        "wrong": sum(kind is not None for kind in kinds),
        "unit": "characters" if characters else "words",
        "kinds": {
            kind.value: {"outputs": len(places[kind]), "lines": [place + 2 for place in places[kind][:_NUM_LINES]]}
            for kind in sorted(Kind, key=lambda kind: -len(places[kind]))
        },
    }


def _baselines(trained: Trained, sources: Sequence[str], train: Sequence[Pair], scorer: Scorer) -> dict[str, Any]:
    """The scores of the baselines, and how far was searched."""
    options, tokenizer = trained.options, trained.source_tokenizer
    separator = tokenizer.tag_separator
    texts = [source if separator is None else parted(source, separator)[1] for source in sources]
    made = make_baselines(
        [one_line(normalize(text, options.tokenizer.normalize)) for text in texts],
        tokenizer.encode_batch(sources),
        tokenizer.encode_batch([pair.source for pair in train]),
        [one_line(text) for text in normalized_targets(train, options)],
    )
    scores = {name: scorer.counts(outputs)[0].scores() for name, outputs in made.outputs.items()}
    return {**scores, "searched": made.searched, "training_pairs": len(train)}


def _notes(details: dict[str, Any], counts: SentenceCounts) -> list[str]:
    notes = []
    if details["sources"] < details["pairs"]:
        notes.append(
            f"{details['pairs']:,} pairs of {details['sources']:,} sources: each output is scored against all the "
            "targets of its source"
        )
    short = float((counts.columns["bleu"][:, 1] < 4).mean())  # sacrebleu's second count: tokens of the reference
    if short > 0.5:
        notes.append(
            f"{short:.0%} of the references have fewer than four of the tokens that BLEU counts in fours: look at chrf "
            "and exact_match"
        )
    if any(details["unknown"].values()):
        notes.append(
            f"{details['unknown']['source']:,} symbols of the sources and {details['unknown']['target']:,} of the "
            "references are not in the vocabularies"
        )
    if details["hit_length_limit"]:
        notes.append(f"{details['hit_length_limit']:,} outputs hit the length limit (decode.max_length)")
    return notes
