"""A trained model and pairs in; its translations, their scores and what is behind them out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seq2see.atomic_write import write_text
from seq2see.data import EncodedPairs, scoring_loader
from seq2see.decoding import Forced, Hypothesis, TranslationModel, teacher_forced
from seq2see.evaluation.baselines import make_baselines
from seq2see.evaluation.bootstrap import intervals
from seq2see.evaluation.breakdown import by_confidence, by_length
from seq2see.evaluation.counts import SentenceCounts
from seq2see.evaluation.kinds import Kind, error_kinds
from seq2see.evaluation.references import References, as_scored, tokens_in_place
from seq2see.evaluation.report import detail_lines, flag_lines, score_lines, wrapped
from seq2see.evaluation.scorer import Scorer, one_line
from seq2see.options import TokenizerKind
from seq2see.options.plain import to_plain
from seq2see.tasks import Pair
from seq2see.text import UNK, parted

_NUM_LINES = 5  # of the .tsv file that are named for each kind of error


@dataclass
class Evaluation:
    """Everything known about a model's translations of some pairs.

    Args:
        scores: by their names: `loss`, `perplexity`, `token_accuracy`, `target_log_prob`, `exact_match`, `bleu`,
            `chrf`, `cer`, `wer`, `ser`, and `alignment_error_rate` where `maps.alignment` has added it.
        details: how they came about and what is behind them, in plain values (see the README of `evaluation`).
        pairs: what was translated.
        sources: in the Unicode form that the model gets, in one line each.
        references: their targets as they are scored: as the model could write them, in one line each.
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
    sources: list[str]
    references: list[str]
    hypotheses: list[Hypothesis]
    texts: list[str]
    counts: SentenceCounts
    firsts: list[int]
    closest: list[int]
    notes: list[str] = field(default_factory=list)
    page: str | None = field(default=None, repr=False)

    def write(self, folder: Path, name: str) -> list[Path]:
        """`<name>.json` (scores), `<name>.tsv` (every translation), `<name>.html` (the page); returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        report = {"scores": self.scores, **self.details, "notes": self.notes}
        write_text(folder / f"{name}.json", json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        rows = [
            f"{source}\t{reference}\t{text}\t{hypothesis.score:.4f}\n"
            for source, reference, text, hypothesis in zip(
                self.sources, self.references, self.texts, self.hypotheses, strict=True
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
            *([] if flags is None else [*flag_lines(flags), ""]), *signatures, *notes,
        ]  # fmt: skip


def evaluate_pairs(
    trained: TranslationModel,
    pairs: Sequence[Pair],
    *,
    train: Sequence[Pair] = (),
    device: str = "cpu",
) -> Evaluation:
    """Teacher-forced and free-running scores, and what is behind them.

    Each source is translated once, and scored against all its targets (see `References`); `loss`, `token_accuracy` and
    `target_log_prob` are those of all pairs.

    Args:
        trained: the model.
        pairs: what to translate, at least one.
        train: the training pairs, for the baselines; empty: no baselines.
        device: where to compute.

    Raises:
        ValueError: a text has more tokens than the model has positions.
    """
    model = trained.model.to(device)
    decode, target = trained.options.decode, trained.target_tokenizer
    asked = References(pairs, trained.source_tokenizer, target)
    groups, firsts, scorer, references = asked.groups, asked.firsts, asked.scorer, asked.texts
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, target)
    _check_positions(trained, pairs, encoded)
    forced = teacher_forced(model, scoring_loader(encoded))
    hypotheses, texts = asked.translated(model, limit=trained.length_limit, decode=decode)
    free, nearest = scorer.counts(texts)
    counts = SentenceCounts(forced.columns(groups) | free.columns)
    closest = [own[number] for own, number in zip(asked.different, nearest.tolist(), strict=True)]
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
        "references_over_limit": _over_limit(trained, encoded),
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
    source_of = {place: number for number, group in enumerate(groups) for place in group}
    order = [source_of[place] for place in range(len(pairs))]
    return Evaluation(
        scores,
        details,
        pairs,
        [one_line(source) for source in asked.sources],
        references,
        [hypotheses[number] for number in order],
        [texts[number] for number in order],
        counts,
        firsts,
        closest,
        _notes(details, counts, trained.length_limit.remedy),
    )


def _forced_and_free(
    trained: TranslationModel,
    pairs: Sequence[Pair],
    forced: Forced,
    hypotheses: Sequence[Hypothesis],
    groups: Sequence[Sequence[int]],
    closest: Sequence[int],
    scores: dict[str, float],
) -> dict[str, dict[str, float]]:
    """Scores when the model is told what came before, and when it goes on from its own words.

    `token_accuracy` counts the reference tokens that stand in their place, of the reference that is nearest to the
    output. The two values of `exact_match` are the same for greedy outputs: what is right word by word is found; a
    reference with an unknown symbol is neither.
    """
    ids = trained.target_tokenizer.encode_batch([pair.target for pair in pairs])
    tokens = sum(len(forced.right[place]) for place in closest)
    in_place = sum(tokens_in_place(found, ids[place]) for found, place in zip(hypotheses, closest, strict=True))
    whole = [bool(right.all()) and UNK not in own for right, own in zip(forced.right, ids, strict=True)]
    rows = {
        "token_accuracy": (sum(int(forced.right[place].sum()) for place in closest) / tokens, in_place / tokens),
        "exact_match": (sum(any(whole[n] for n in group) for group in groups) / len(groups), scores["exact_match"]),
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


def _baselines(
    trained: TranslationModel, sources: Sequence[str], train: Sequence[Pair], scorer: Scorer
) -> dict[str, Any]:
    """The scores of the baselines, and how far was searched."""
    tokenizer, target = trained.source_tokenizer, trained.target_tokenizer
    separator = tokenizer.tag_separator
    texts = [source if separator is None else parted(source, separator)[1] for source in sources]
    made = make_baselines(
        as_scored(texts, target),
        tokenizer.encode_batch(sources),
        tokenizer.encode_batch([pair.source for pair in train]),
        as_scored([pair.target for pair in train], target),
    )
    scores = {name: scorer.counts(outputs)[0].scores() for name, outputs in made.outputs.items()}
    return {**scores, "searched": made.searched, "training_pairs": len(train)}


def _check_positions(trained: TranslationModel, pairs: Sequence[Pair], encoded: EncodedPairs) -> None:
    """Refuses texts that are longer than a learned table, with the first of them."""
    most = trained.model.encoder_positions.max_length
    longest = np.maximum(encoded.source_lengths, encoded.target_lengths)
    places = [] if most is None else np.flatnonzero(longest > most).tolist()
    if places:
        first = places[0]
        raise ValueError(
            f"pair {first + 1} ({pairs[first].source[:40]!r}): {longest[first]} tokens, the end included, are more "
            f"than the {most} positions of the model (model.max_positions); of {len(pairs)} pairs {len(places)} are so "
            "long: leave them out, or train with a larger model.max_positions or another model.position"
        )


def _over_limit(trained: TranslationModel, encoded: EncodedPairs) -> dict[str, int]:
    """How many references are too long to be written, and how long the longest of them is, in tokens with EOS."""
    if trained.options.decode.oracle_length:
        return {"references": 0, "longest": 0}
    lengths = encoded.target_lengths
    longer = lengths[trained.length_limit.too_short_for(encoded.source_lengths, lengths)]
    return {"references": len(longer), "longest": int(longer.max(initial=0))}


def _notes(details: dict[str, Any], counts: SentenceCounts, remedy: str) -> list[str]:
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
        notes.append(f"{details['hit_length_limit']:,} outputs were cut at the length limit: {remedy}")
    if details["references_over_limit"]["references"]:
        number, longest = details["references_over_limit"].values()
        notes.append(
            f"{number:,} references are longer than the length limit, so that no output is right: decode.max_length="
            f"{longest} lets them all be written"
        )
    return notes
