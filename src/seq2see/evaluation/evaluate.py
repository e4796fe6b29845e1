"""A trained model and pairs in; its translations, their scores and what is behind them out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seq2see.atomic_write import write_text
from seq2see.data import EncodedPairs, scoring_loader
from seq2see.decoding import Forced, Hypothesis, TranslationModel, teacher_forced
from seq2see.evaluation.baselines import make_baselines
from seq2see.evaluation.details import Kind, by_confidence, by_length, kind_of_error, tokens_in_place
from seq2see.evaluation.references import References, as_scored, one_line
from seq2see.evaluation.report import cause_lines, detail_lines, flag_lines, score_lines, wrapped
from seq2see.evaluation.scores import Scorer, SentenceCounts
from seq2see.options import TokenizerKind
from seq2see.options.plain import to_plain
from seq2see.ranks import num_ranks
from seq2see.tasks import Pair
from seq2see.tasks.progress import counted, watched
from seq2see.text import UNK, parted

_NUM_LINES = 5  # of the .tsv file that are named for each kind of error


@dataclass
class Evaluation:
    """Everything known about a model's translations of some pairs; a text for people is in one line."""

    scores: dict[str, float]  # by their names, `alignment_error_rate` where `maps.attended` has added it
    details: dict[str, Any]  # how they came about and what is behind them (see the README of `evaluation`)
    pairs: Sequence[Pair]  # what was translated; the next five are one for each
    sources: list[str]  # in the Unicode form that the model gets
    references: list[str]  # as they are scored: as the model could write them
    target_tokens: list[list[str]]  # as the model's tokenizer cuts them
    hypotheses: list[Hypothesis]
    texts: list[str]  # of the hypotheses
    counts: SentenceCounts  # what the scores are made of, for each source
    firsts: list[int]  # of each source the number of its first pair
    closest: list[int]  # of each source the number of the pair whose reference is nearest to the output
    kinds: list[Kind | None]  # of each source's output, the kind of its error; None: it is right
    notes: list[str] = field(default_factory=list)  # for people
    log_probs: Sequence[np.ndarray] = field(default=(), repr=False)  # of the tokens of each reference and its end, nats
    keeps_log_probs: bool = False  # in a file
    page: str | None = field(default=None, repr=False)  # outputs and their attention as HTML, where it was asked for

    def write(self, folder: Path, name: str) -> list[Path]:
        """`<name>.json` (scores), `<name>.tsv` (every translation), `<name>.html` (the page) and `<name>.scores.jsonl`.

        Returns the paths of what was written; the latter two only where they were asked for.
        """
        folder.mkdir(parents=True, exist_ok=True)
        report = {"scores": self.scores, **self.details, "notes": self.notes}
        columns = {
            "source": self.sources,
            "reference": self.references,
            "hypothesis": self.texts,
            "score": [f"{hypothesis.score:.4f}" for hypothesis in self.hypotheses],
        }
        rows = [columns, *zip(*columns.values(), strict=True)]
        files = {
            folder / f"{name}.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n",
            folder / f"{name}.tsv": "".join("\t".join(row) + "\n" for row in rows),
        }
        if self.page is not None:
            files[folder / f"{name}.html"] = self.page
        if self.keeps_log_probs:
            files[folder / f"{name}.scores.jsonl"] = "".join(self._scored_references())
        for path, text in files.items():
            write_text(path, text)
        return list(files)

    def _scored_references(self) -> Iterator[str]:
        """An object a line, as `translate.py` writes them."""
        rows = zip(self.sources, self.references, self.target_tokens, self.log_probs, strict=True)
        for source, reference, tokens, log_probs in rows:
            content = {"source": source, "reference": reference, "score": round(float(log_probs.sum()), 6)}
            content |= {"tokens": [*tokens, "<eos>"], "log_probs": [round(own, 6) for own in log_probs.tolist()]}
            yield json.dumps(content, ensure_ascii=False) + "\n"

    def lines(self) -> list[str]:
        """What the terminal shows, in 80 columns."""
        flags, causes = self.details.get("attention_flags"), self.details.get("attention_causes")
        return [
            *score_lines(self.scores, self.details),
            "",
            *detail_lines(self.details),
            "",
            *([] if flags is None else [*flag_lines(flags), ""]),
            *([] if causes is None else [*cause_lines(causes), ""]),
            *(f"  {name}: {signature}" for name, signature in self.details["signatures"].items()),
            *(line for note in self.notes for line in wrapped(note)),
        ]


def evaluate_pairs(
    trained: TranslationModel, pairs: Sequence[Pair], *, train: Sequence[Pair] = (), device: str = "cpu"
) -> Evaluation:
    """Teacher-forced and free-running scores, and what is behind them.

    Each source is translated once, and scored against all its targets (see `References`); `loss`, `token_accuracy` and
    `target_log_prob` are those of all pairs, of which there is at least one. Baselines need the training pairs.

    Raises:
        ValueError: a text has more tokens than the model has positions.
    """
    model = trained.predictor.to(device)
    decode, target = trained.options.decode, trained.target_tokenizer
    asked = References(pairs, trained.source_tokenizer, target)
    groups, firsts, scorer = asked.groups, asked.firsts, asked.scorer
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, target)
    _check_positions(model.encoder_positions.max_length, pairs, encoded)
    ids = target.encode_batch([pair.target for pair in pairs])
    loader = scoring_loader(encoded)
    forced = teacher_forced(model, watched(loader, "scoring the references", total=len(loader)))
    with counted("translating", -(-len(groups) // num_ranks())) as done:
        hypotheses, texts = asked.translated(model, limit=trained.length_limit, decode=decode, progress=done)
    free, nearest = scorer.counts(texts)
    counts = SentenceCounts(forced.columns(groups) | free.columns)
    scores, lengths = counts.scores(), encoded.target_lengths
    over_limit = lengths[trained.length_limit.too_short_for(encoded.source_lengths, lengths)]
    closest = [own[number] for own, number in zip(asked.different, nearest, strict=True)]
    right = counts.columns["exact_match"][:, 0].astype(bool).tolist()
    references = [asked.texts[place] for place in closest]
    unit = _unit(references, scorer, target.kind)
    kinds = [
        kind_of_error(text, reference, has_unknown=UNK in found.ids, characters=unit == "characters")
        for text, reference, found in zip(texts, references, hypotheses, strict=True)
    ]
    details: dict[str, Any] = {
        "pairs": len(pairs),
        "sources": len(groups),
        "step": trained.step,
        "decode": to_plain(decode),
        "signatures": scorer.signatures,
        "bleu_tokenizer": scorer.bleu_tokenizer,
        "unknown": dict(zip(("source", "target"), encoded.num_unknown, strict=True)),
        "hit_length_limit": sum(not hypothesis.ended for hypothesis in hypotheses),
        "references_over_limit": {"references": len(over_limit), "longest": int(over_limit.max(initial=0))},
        "intervals": counts.intervals(),
        "forced_and_free": _forced_and_free(ids, forced, hypotheses, groups, closest, scores["exact_match"]),
        "by_source_length": by_length((encoded.source_lengths[firsts] - 1).tolist(), counts),
        "by_target_length": by_length((lengths[closest] - 1).tolist(), counts),
        "errors": _errors(kinds, unit, firsts),
        "confidence": by_confidence([hypothesis.ranked_by(1.0) for hypothesis in hypotheses], right),
    }
    if train:
        with counted("searching the training pairs for baselines"):
            details["baselines"] = _baselines(trained, [pairs[place].source for place in firsts], train, scorer)
    source_of = {place: number for number, group in enumerate(groups) for place in group}
    return Evaluation(
        scores=scores,
        details=details,
        pairs=pairs,
        sources=[one_line(source) for source in asked.sources],
        references=asked.texts,
        target_tokens=[target.tokens(own) for own in ids],
        hypotheses=[hypotheses[source_of[place]] for place in range(len(pairs))],
        texts=[texts[source_of[place]] for place in range(len(pairs))],
        counts=counts,
        firsts=firsts,
        closest=closest,
        kinds=kinds,
        log_probs=forced.log_probs,
        notes=_notes(details, counts, trained.length_limit.remedy),
    )


def _check_positions(most: int | None, pairs: Sequence[Pair], encoded: EncodedPairs) -> None:
    """Refuses texts that are longer than a learned table, with the first of them."""
    lengths = np.maximum(encoded.source_lengths, encoded.target_lengths)
    places = np.flatnonzero(lengths > (most or np.inf))
    if len(places):
        raise ValueError(
            f"pair {places[0] + 1} ({pairs[places[0]].source[:40]!r}): {lengths[places[0]]} tokens, the end included, "
            f"are more than the {most} positions of the model; of {len(pairs)} pairs {len(places)} are so long: leave "
            "them out, or train with a larger model.max_positions or another model.position"
        )


def _forced_and_free(
    ids: Sequence[Sequence[int]],
    forced: Forced,
    hypotheses: Sequence[Hypothesis],
    groups: Sequence[Sequence[int]],
    closest: Sequence[int],
    exact_match: float,
) -> dict[str, dict[str, float]]:
    """Scores when the model is told what came before, and when it goes on from its own words.

    `token_accuracy` counts the reference tokens that stand in their place, of the reference that is nearest to the
    output. The two values of `exact_match` are the same for greedy outputs: what is right word by word is found; a
    reference with an unknown symbol is neither.
    """
    whole = [bool(right.all()) and UNK not in own for right, own in zip(forced.right, ids, strict=True)]
    told = sum(int(forced.right[place].sum()) for place in closest)
    free = sum(tokens_in_place(found, ids[place]) for found, place in zip(hypotheses, closest, strict=True))
    tokens = sum(len(forced.right[place]) for place in closest)
    rows = {
        "token_accuracy": (told / tokens, free / tokens),
        "exact_match": (sum(any(whole[place] for place in group) for group in groups) / len(groups), exact_match),
    }
    return {name: {"forced": told, "free": free, "gap": told - free} for name, (told, free) in rows.items()}


def _unit(references: Sequence[str], scorer: Scorer, kind: TokenizerKind) -> str:
    """What errors are counted in.

    Characters where the tokens are, where words have no spaces between them, and where most references are of one word.
    """
    one_word = 2 * sum(len(reference.split()) < 2 for reference in references) > len(references)
    characters = kind is TokenizerKind.char or scorer.bleu_tokenizer["name"] != "13a" or one_word
    return "characters" if characters else "words"


def _errors(kinds: Sequence[Kind | None], unit: str, firsts: Sequence[int]) -> dict[str, Any]:
    """How many outputs are wrong in which way, and where the first of them stand in the .tsv file."""
    lines: dict[Kind, list[int]] = {kind: [] for kind in Kind}
    for kind, first in zip(kinds, firsts, strict=True):
        if kind is not None:
            lines[kind].append(first + 2)  # below the heading
    return {
        "wrong": sum(map(len, lines.values())),
        "unit": unit,
        "kinds": {
            kind.value: {"outputs": len(lines[kind]), "lines": lines[kind][:_NUM_LINES]}
            for kind in sorted(Kind, key=lambda kind: -len(lines[kind]))
        },
    }


def _baselines(
    trained: TranslationModel, sources: Sequence[str], train: Sequence[Pair], scorer: Scorer
) -> dict[str, Any]:
    """The scores of the baselines, and how far was searched."""
    tokenizer, target = trained.source_tokenizer, trained.target_tokenizer
    separator = tokenizer.tag_separator
    texts = [source if separator is None else parted(source, separator)[1] for source in sources]
    outputs, searched = make_baselines(
        as_scored(texts, target),
        tokenizer.encode_batch(sources),
        tokenizer.encode_batch([pair.source for pair in train]),
        as_scored([pair.target for pair in train], target),
    )
    scores = {name: scorer.counts(texts)[0].scores() for name, texts in outputs.items()}
    return {**scores, "searched": searched, "training_pairs": len(train)}


def _notes(details: dict[str, Any], counts: SentenceCounts, remedy: str) -> list[str]:
    notes, unknown, too_long = [], details["unknown"], details["references_over_limit"]
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
    if any(unknown.values()):
        notes.append(
            f"{unknown['source']:,} symbols of the sources and {unknown['target']:,} of the references are not in the "
            "vocabularies"
        )
    if details["hit_length_limit"]:
        notes.append(f"{details['hit_length_limit']:,} outputs were cut at the length limit: {remedy}")
    if too_long["references"]:
        notes.append(
            f"{too_long['references']:,} references are longer than the length limit, so that no output is right: "
            f"decode.max_length={too_long['longest']} lets them all be written"
        )
    return notes
