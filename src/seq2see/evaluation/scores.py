"""Outputs against references: counts of each sentence, the scores that follow from their sums, and how sure these are.

A new score is one line in `options/scores.py` and one entry here: in `_sacrebleu` if sacrebleu has it, in
`Scorer._units` if it is an error rate, else in `Scorer.counts`.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import sacrebleu
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.base import Metric

from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

NUM_RESAMPLES = 1_000
_SEED = 12_345  # sacrebleu's, and drawn as it draws, so that intervals of its scores are those of its bootstrap
_DRAWS = 1 << 20  # at a time
_KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
_WITHOUT_SPACES = ("CJK", *_KANA, "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")  # as Unicode's names begin
_PLENTY = 0.1  # share of kana by which Japanese is told from Chinese


def _sacrebleu(tokenizer: str = "13a", references: Any = None) -> dict[str, Metric]:
    """The scores that sacrebleu computes, by their names here."""
    return {
        "bleu": sacrebleu.BLEU(force=True, tokenize=tokenizer, references=references),  # force: no advice on tokens
        "chrf": sacrebleu.CHRF(references=references),
    }


_FORMULAS = _sacrebleu()
ZERO_TO_HUNDRED = tuple(_FORMULAS)


@dataclass(frozen=True)
class SentenceCounts:
    """For each sentence the counts that scores are made of.

    Args:
        columns: by the score's name, float64 (N, k). For `bleu` and `chrf` what sacrebleu counts; for the others two: a
            sum, such as errors, and what it is divided by, such as characters.
    """

    columns: dict[str, np.ndarray]

    @classmethod
    def mean(cls, systems: Sequence["SentenceCounts"]) -> "SentenceCounts":
        """Of several systems on the same sentences, as of one recipe's seeds; its scores are those of all outputs."""
        return cls({name: np.mean([one.columns[name] for one in systems], axis=0) for name in systems[0].columns})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def scores(self, rows: np.ndarray | None = None) -> dict[str, float]:
        """The scores of these sentences, or of those rows of them (numbers, or True for each that is meant)."""
        chosen = slice(None) if rows is None else rows
        sums = {name: column[chosen].sum(0, keepdims=True) for name, column in self.columns.items()}
        return {name: float(values[0]) for name, values in scores_of(sums).items()}

    def resampled(self) -> dict[str, np.ndarray]:
        """The scores, float64 (R,), of 1,000 sets of as many sentences, drawn with replacement.

        They are the same sets for any counts of as many sentences.
        """
        widths = [column.shape[1] for column in self.columns.values()]
        table = np.concatenate(list(self.columns.values()), axis=1)  # (N, sum of k)
        sums = np.concatenate([times @ table for times in _times_drawn(len(self))])
        return scores_of(dict(zip(self.columns, np.split(sums, np.cumsum(widths)[:-1], axis=1), strict=True)))

    def intervals(self) -> dict[str, list[float]]:
        """The 95 % interval of every score."""
        return {name: interval(values) for name, values in self.resampled().items()}


def scores_of(sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The scores of sets of sentences, float64 (R,), from the sums of their counts, float64 (R, k).

    `perplexity` is added where there is a `loss`.
    """
    scores = {}
    for name, rows in sums.items():
        if name in _FORMULAS:
            scores[name] = np.array([_FORMULAS[name]._compute_score_from_stats(row).score for row in rows.tolist()])
        else:
            scores[name] = rows[:, 0] / np.maximum(rows[:, 1], 1)
        if name == "loss":
            scores["perplexity"] = np.exp(np.minimum(scores[name], 700.0))
    return scores


def _times_drawn(num_sentences: int) -> Iterator[np.ndarray]:
    """How often each sentence is in each set, float64 (some sets, N)."""
    random = np.random.default_rng(_SEED)
    at_once = max(_DRAWS // num_sentences, 1)
    for begin in range(0, NUM_RESAMPLES, at_once):
        num_sets = min(at_once, NUM_RESAMPLES - begin)
        drawn = random.choice(num_sentences, size=(num_sets, num_sentences), replace=True)
        drawn += num_sentences * np.arange(num_sets)[:, None]
        times = np.bincount(drawn.ravel(), minlength=num_sets * num_sentences)
        yield times.reshape(num_sets, num_sentences).astype(np.float64)


def interval(values: np.ndarray) -> list[float]:
    """The 2.5 and 97.5 percentiles (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", section 13.3)."""
    return np.percentile(values, [2.5, 97.5]).tolist()


def bleu_tokenizer(references: Iterable[str]) -> dict[str, str]:
    """How sacrebleu is to split texts into the tokens that BLEU counts: its `name` for it, and the `reason`.

    It follows the script of most letters: `13a` where words have spaces between them; `zh` for Chinese characters;
    `char` for Japanese (a tenth of its letters is kana), Thai, Lao, Khmer, Burmese and Tibetan.
    """
    scripts: Counter[str] = Counter()
    for character, count in Counter("".join(references)).items():
        if character.isalpha():
            scripts[unicodedata.name(character, "").split(" ")[0]] += count
    without = Counter({script: scripts[script] for script in _WITHOUT_SPACES})
    if 2 * without.total() <= scripts.total():
        return {"name": "13a", "reason": "the references are in a script with spaces between words"}
    if sum(without[script] for script in _KANA) > _PLENTY * without.total():
        return {"name": "char", "reason": "the references are Japanese, which has no spaces between words"}
    ((script, _),) = without.most_common(1)
    if script == "CJK":
        return {"name": "zh", "reason": "the references are in Chinese characters"}
    return {"name": "char", "reason": f"the references are in {script.title()}, which has no spaces between words"}


class Scorer:
    """Scores any outputs against the same references.

    Where a sentence has several: exact match is with any of them, `bleu` and `chrf` are sacrebleu's for several
    references, and the error rates are against the nearest, the first one with the fewest errors.

    Args:
        references: for each sentence its different references, at least one, in one line each.
        tokenizer: the target's; its tokens are what `ser` counts. None: no `ser`.
    """

    def __init__(self, references: Sequence[Sequence[str]], tokenizer: Tokenizer | None = None) -> None:
        self.references = references
        self.bleu_tokenizer = bleu_tokenizer(text for own in references for text in own)
        streams = list(zip_longest(*references))  # None where a sentence has fewer references, as sacrebleu wants it
        self._sacrebleu = _sacrebleu(self.bleu_tokenizer["name"], streams)
        self._units: dict[str, Callable[[str], Sequence]] = {"cer": str, "wer": str.split}
        if tokenizer is not None:
            unit_of_token = {
                TokenizerKind.char: str,
                TokenizerKind.word: str.split,
            }  # as text: no two unknown ones equal
            self._units["ser"] = unit_of_token.get(tokenizer.kind, tokenizer.encode)
        self.signatures = {name: str(metric.get_signature()) for name, metric in self._sacrebleu.items()}

    def counts(self, outputs: Sequence[str]) -> tuple[SentenceCounts, list[int]]:
        """The counts of all scores of these outputs, one for each sentence, in one line each.

        With them, for each sentence, comes the number of the reference that is nearest in characters.
        """
        right = [output in own for output, own in zip(outputs, self.references, strict=True)]
        columns = {"exact_match": np.stack([right, np.ones(len(outputs))], axis=1)}
        for name, metric in self._sacrebleu.items():
            columns[name] = np.array(metric._extract_corpus_statistics(outputs, None), dtype=np.float64)
        nearest = {}
        for name, units_of in self._units.items():
            columns[name], nearest[name] = self._errors(outputs, units_of)
        return SentenceCounts(columns), nearest["cer"]

    def _errors(self, outputs: Sequence[str], units_of: Callable[[str], Sequence]) -> tuple[np.ndarray, list[int]]:
        """Edits to the nearest reference of each output, and its length, float64 (N, 2); and its number."""
        counts, nearest = [], []
        for output, own in zip(outputs, self.references, strict=True):
            units, references = units_of(output), [units_of(reference) for reference in own]
            errors = [Levenshtein.distance(units, reference) for reference in references]
            nearest.append(errors.index(min(errors)))
            counts.append((min(errors), len(references[nearest[-1]])))
        return np.array(counts, dtype=np.float64), nearest
