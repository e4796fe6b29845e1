"""Free-running scores: what the model wrote against the references, under the names and scales of the whole project."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import sacrebleu

from seq2see.evaluation.counts import SentenceCounts
from seq2see.evaluation.edits import edit_counts
from seq2see.options import TokenizerKind
from seq2see.text import Tokenizer

_KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
_WITHOUT_SPACES = ("CJK", *_KANA, "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")  # as Unicode's names begin
_PLENTY = 0.1  # share of kana by which Japanese is told from Chinese


def one_line(text: str) -> str:
    """A text as one field of a line: tabs and line ends, which a bpe or char model may write, become spaces."""
    return text.replace("\t", " ").replace("\r", " ").replace("\n", " ")


class BleuTokenizer(NamedTuple):
    """How sacrebleu splits texts into the tokens that BLEU counts.

    Args:
        name: sacrebleu's.
        reason: why this one, for people.
    """

    name: str
    reason: str

    @classmethod
    def choose(cls, references: Iterable[str]) -> "BleuTokenizer":
        """The one for the script in which most letters of the references are.

        `13a`, sacrebleu's usual one, where words have spaces between them; `zh` for Chinese characters; `char` for
        Japanese (a tenth of its letters is kana), Thai, Lao, Khmer, Burmese and Tibetan.
        """
        characters: Counter[str] = Counter()
        for reference in references:
            characters.update(reference)
        scripts: Counter[str] = Counter()
        for character, count in characters.items():
            if character.isalpha():
                scripts[unicodedata.name(character, "").split(" ")[0]] += count
        without = {script: scripts[script] for script in _WITHOUT_SPACES if scripts[script]}
        if 2 * sum(without.values()) <= scripts.total():
            return cls("13a", "the references are in a script with spaces between words")
        if sum(without.get(script, 0) for script in _KANA) > _PLENTY * sum(without.values()):
            return cls("char", "the references are Japanese, which has no spaces between words")
        script = max(without, key=lambda script: without[script])
        if script == "CJK":
            return cls("zh", "the references are in Chinese characters")
        return cls("char", f"the references are in {script.title()}, which has no spaces between words")


class Scorer:
    """Scores any outputs against the same references.

    Where a sentence has several: exact match is with any of them, `bleu` and `chrf` are sacrebleu's for several
    references, and the error rates are against the nearest, which is the one with the fewest errors, or the first of
    those.

    Args:
        references: for each sentence its different references, at least one, in one line each.
        tokenizer: the target's; its tokens are what `ser` counts.
    """

    def __init__(self, references: Sequence[Sequence[str]], tokenizer: Tokenizer) -> None:
        self.references = references
        self.tokenizer = tokenizer
        self._flat = [reference for own in references for reference in own]
        self._begins = np.cumsum([0, *map(len, references)])
        self.bleu_tokenizer = BleuTokenizer.choose(self._flat)
        streams = list(zip_longest(*references))  # None where a sentence has fewer references, as sacrebleu wants it
        self._bleu, self._chrf = _metrics(self.bleu_tokenizer.name, streams)

    @property
    def signatures(self) -> dict[str, str]:
        """How `bleu` and `chrf` are computed, in sacrebleu's own words."""
        return {"bleu": str(self._bleu.get_signature()), "chrf": str(self._chrf.get_signature())}

    def counts(self, outputs: Sequence[str]) -> tuple[SentenceCounts, np.ndarray]:
        """What the scores are made of.

        Args:
            outputs: one for each sentence, in one line each.

        Returns:
            the counts behind `exact_match`, `bleu`, `chrf`, `cer`, `wer` and `ser` (torchmetrics' rates; a symbol is
            one of the target tokenizer's tokens); and for each sentence the number of the reference that is nearest in
            characters, int64 (N,).
        """
        right = [output in own for output, own in zip(outputs, self.references, strict=True)]
        cer, nearest = self._errors(outputs, self._flat)
        wer, _ = self._errors([output.split() for output in outputs], [text.split() for text in self._flat])
        ser = {TokenizerKind.char: cer, TokenizerKind.word: wer}.get(self.tokenizer.kind)
        if ser is None:
            ser, _ = self._errors(self.tokenizer.encode_batch(outputs), self.tokenizer.encode_batch(self._flat))
        columns = {
            "exact_match": np.stack([right, np.ones(len(outputs))], axis=1),
            "bleu": np.array(self._bleu._extract_corpus_statistics(outputs, None), dtype=np.float64),
            "chrf": np.array(self._chrf._extract_corpus_statistics(outputs, None), dtype=np.float64),
            "cer": cer,
            "wer": wer,
            "ser": ser,
        }
        return SentenceCounts(columns), nearest

    def _errors(self, outputs: Sequence[Sequence], references: Sequence[Sequence]) -> tuple[np.ndarray, np.ndarray]:
        """Errors against the nearest reference, and its length, float64 (N, 2); and its number, int64 (N,)."""
        repeated = [output for output, own in zip(outputs, self.references, strict=True) for _ in own]
        errors = edit_counts(repeated, references).total
        spans = zip(self._begins[:-1].tolist(), self._begins[1:].tolist(), strict=True)
        nearest = np.array([int(errors[begin:end].argmin()) for begin, end in spans], dtype=np.int64)
        chosen = self._begins[:-1] + nearest
        lengths = np.array([len(reference) for reference in references])
        return np.stack([errors[chosen], lengths[chosen]], axis=1).astype(np.float64), nearest


def _metrics(tokenizer: str, references: Sequence[Sequence[str]]) -> tuple[sacrebleu.BLEU, sacrebleu.CHRF]:
    # force: no complaint about text that looks tokenised, for generated tasks do
    return sacrebleu.BLEU(force=True, tokenize=tokenizer, references=references), sacrebleu.CHRF(references=references)
