"""A trained model as one object: it translates, says how probable a target is, and what its checkpoint is to say."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from seq2see._version import __version__
from seq2see.data import EncodedPairs, scoring_loader
from seq2see.data.encoded import Texts
from seq2see.decoding.checkpoint import FORMAT, find_checkpoint, mean_weights, read_content, require_finite
from seq2see.decoding.constraints import Constraints
from seq2see.decoding.ensemble import Ensemble, Predictor
from seq2see.decoding.forced import teacher_forced
from seq2see.decoding.hypothesis import LengthLimit, bounded
from seq2see.decoding.sentences import decode_sentences
from seq2see.options import DecodeOptions, TokenizerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.tasks.pairs import Pair
from seq2see.text import UNK, Tokenizer, normalize, parted
from seq2see.transformer import Transformer


@dataclass(frozen=True)
class Translation:
    """One translation of a line; `tokens` to `links` are its details (`maps.attended`)."""

    text: str  # as the model writes it; a `char` or `bpe` model may write line ends
    score: float  # summed log-probability, nats, before any length penalty
    ended: bool  # whether the end was reached before the length limit
    ids: list[int]  # of the target, without EOS
    tokens: tuple[str, ...] = ()  # a label for each id, and `<eos>` if the end was reached
    log_probs: tuple[float, ...] = ()  # of each of `tokens`, nats; their sum is the score
    links: tuple[tuple[int, int], ...] = ()  # for each target word the source word that it attends to most, and itself
    copied: tuple[int, ...] = ()  # which words of the text were unknown, and are copied from the source


@dataclass(frozen=True)
class TranslatedLine:
    """A line and its translations."""

    number: int  # from 1
    source: str
    translations: tuple[Translation, ...] = ()  # the best first; none of a blank line
    num_tokens: int = 0  # of the source, EOS included; 0 for a blank line
    unknown: tuple[str, ...] = ()  # symbols of the line that the model has never seen
    ids: tuple[int, ...] = ()  # of the source, that the model has read, without EOS

    @property
    def text(self) -> str:
        """The best translation; of a blank line nothing."""
        return self.translations[0].text if self.translations else ""

    @property
    def is_cut(self) -> bool:
        """Whether the line was longer than the model reads."""
        return len(self.ids) + 1 < self.num_tokens


@dataclass
class TranslationModel:
    """A model with all that is needed to use it."""

    options: TrainOptions  # the run's, with nothing left open
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    length_limit: LengthLimit  # how long a translation may get
    model: Transformer
    longest_source: int = 0  # tokens of the longest source that it was trained on, EOS included; 0: not known
    step: int = 0  # optimiser steps that made its weights
    path: Path | None = None  # the checkpoint's file, if it came from one
    ensemble: Ensemble | None = None  # of this model, the first, and others, if they are used as one

    @property
    def predictor(self) -> Predictor:
        """What translates and scores: the model, or the ensemble that it is the first of."""
        return self.model if self.ensemble is None else self.ensemble

    @property
    def run(self) -> Path | None:
        """The run folder that the checkpoint lies in, if it does."""
        folder = self.path.parent.parent if self.path is not None else None
        return folder if folder is not None and (folder / "config.yaml").is_file() else None

    @property
    def source_limit(self) -> tuple[int, str]:
        """Source tokens that the model reads at most, EOS included, and the key that says so."""
        most = self.options.decode.filled().max_source_length
        positions = self.predictor.encoder_positions.max_length
        assert most
        if positions is not None and positions < most:
            return positions, "model.max_positions"
        return most, "decode.max_source_length"

    def translate(self, lines: Iterable[str]) -> list[str]:
        """The best translation of each line, in their order; a blank one for a blank one.

        Raises:
            ValueError: `lines` is one text.
        """
        return [line.text for line in self.translations(lines)]

    def translations(
        self,
        lines: Iterable[str],
        *,
        first: int = 1,
        progress: Callable[[int], None] | None = None,
        constraints: Constraints | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> list[TranslatedLine]:
        """As many translations of each line as `decode.num_best` says, the best first, and what is known of them.

        They are ranked by log-probability / length ** `decode.length_penalty`, samples too; those that were cut at the
        length limit come after all that ended.

        Args:
            lines: decoded together; what is longer than the model reads is cut, and blank lines stay blank.
            first: the number of the first one, which random draws follow from.
            progress: called with the number of lines done since the last call; blank ones do not count.
            constraints: what each translation must hold and must not hold.
            prefixes: what the translation of each line begins with; an empty one is none.

        Raises:
            ValueError: `lines` is one text, or the constraints of a line cannot be met.
        """
        if isinstance(lines, str):
            raise ValueError(f"one text ({lines[:40]!r}) where many lines are asked for: put it into a list")
        results = self._read(lines, first)
        filled = [place for place, line in enumerate(results) if line.num_tokens]
        found = decode_sentences(
            self.predictor,
            [results[place].ids for place in filled],
            limit=self.length_limit,
            options=self.options.decode,
            numbers=[first + place for place in filled],
            progress=progress,
            constraints=Constraints(self.target_tokenizer)
            if prefixes is not None and constraints is None
            else constraints,
            prefixes=None if prefixes is None else [prefixes[place] for place in filled],
        )
        decode = self.target_tokenizer.decode
        for place, hypotheses in zip(filled, found, strict=True):
            translations = tuple(Translation(decode(one.ids), one.score, one.ended, one.ids) for one in hypotheses)
            results[place] = replace(results[place], translations=translations)
        return results

    def scored(self, pairs: Iterable[tuple[str, str]], *, first: int = 1) -> list[TranslatedLine]:
        """Each source with its given target as its translation, whose score is what `score` gives; blank ones as above.

        Raises:
            ValueError: a target has more tokens than the model has positions.
        """
        sources, given = [list(side) for side in zip(*pairs, strict=True)] or ([], [])
        results = self._read(sources, first)
        filled = [place for place, line in enumerate(results) if line.num_tokens]
        targets = self.target_tokenizer.encode_batch(given[place] for place in filled)
        most = self.predictor.decoder_positions.max_length
        for place, ids in zip(filled, targets, strict=True):
            if most is not None and len(ids) + 1 > most:
                raise ValueError(
                    f"line {results[place].number}: the target has {len(ids) + 1} tokens, the end included, and the "
                    f"model {most} positions (model.max_positions): shorten it, or train with more"
                )
        texts = [Texts.of([list(results[place].ids) for place in filled]), Texts.of(targets)]
        encoded = EncodedPairs(*texts, ids=np.arange(len(filled)))
        totals = teacher_forced(self.predictor, scoring_loader(encoded)).totals if filled else []
        for place, ids, total in zip(filled, targets, totals, strict=True):
            results[place] = replace(results[place], translations=(Translation(given[place], total, True, ids),))
        return results

    def _read(self, lines: Iterable[str], first: int) -> list[TranslatedLine]:
        """The lines as the model reads them."""
        results = [TranslatedLine(number, line) for number, line in enumerate(lines, start=first)]
        filled = [place for place, line in enumerate(results) if line.source and not line.source.isspace()]
        encoded = self.source_tokenizer.encode_batch([results[place].source for place in filled])
        for place, ids in zip(filled, encoded, strict=True):
            line, read = results[place], tuple(ids[: self.source_limit[0] - 1])
            unknown = tuple(unknown_symbols(self.source_tokenizer, line.source, ids))
            results[place] = replace(line, num_tokens=len(ids) + 1, unknown=unknown, ids=read)
        return results

    def score(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """For each source and target the log-probability of the whole target, nats."""
        encoded = EncodedPairs.from_pairs(starmap(Pair, pairs), self.source_tokenizer, self.target_tokenizer)
        return teacher_forced(self.predictor, scoring_loader(encoded)).totals

    def decode_as(self, decode: DecodeOptions) -> None:
        """Sets the decoding keys that are given, over those of the run."""
        given = {name: value for name, value in vars(decode).items() if value is not None}
        self.options = replace(self.options, decode=replace(self.options.decode, **given))
        self.length_limit = replace(
            self.length_limit,
            asked=self.options.decode.max_length,
            cap=self.predictor.decoder_positions.max_length,
        )

    def describe(self) -> dict[str, Any]:
        """What a checkpoint says beside its weights, in plain values."""
        shared = bool(self.options.tokenizer.shared)
        return {
            "format": FORMAT,
            "version": __version__,
            "config": to_plain(self.options),
            "source_tokenizer": self.source_tokenizer.state(),
            "target_tokenizer": None if shared else self.target_tokenizer.state(),
            "length_ratio": self.length_limit.ratio,
            "length_floor": self.length_limit.floor,
            "longest_source": self.longest_source,
        }


def load(path: str | Sequence[str], *, average: int | None = None) -> TranslationModel:
    """A trained model from a `.ckpt` file or a run folder, on the CPU; only plain values and tensors are read.

    Args:
        path: what `find_checkpoint` takes; several: an ensemble of these (see `as_one`).
        average: instead of the best checkpoint the mean of the run's so many newest kept ones (`training.keep`).

    Raises:
        ValueError: there is no checkpoint, it is damaged, or not one of this project; its weights are not finite;
            fewer than `average` are kept; or several have different tokenizers.
    """
    if isinstance(path, Sequence) and not isinstance(path, str):
        return as_one([load(own, average=average) for own in path])
    file = find_checkpoint(path)
    if average is None:
        content = read_content(file)
        weights = content.weights
    else:
        weights, content = mean_weights(file, average)
    require_finite(content.file, weights)
    model = content.empty_model()
    model.load_state_dict(weights)
    limit = LengthLimit(content.length_ratio, floor=content.length_floor)
    limit = bounded(limit, content.options.decode, content.options.model)
    return TranslationModel(
        content.options, *content.tokenizers, limit, model.eval(), content.longest_source, content.step, file
    )


def as_one(models: Sequence[TranslationModel]) -> TranslationModel:
    """The first of these models, which translates and scores with the mean of the probabilities of all.

    Attention is still its own, and so are the options of decoding; an output may get as long as the most generous of
    them lets it, and as the shortest learned table of positions.

    Raises:
        ValueError: there is none, or two have different tokenizers.
    """
    if not models:
        raise ValueError("ensemble: there is no model: name at least one")
    first, limits = models[0], [one.length_limit for one in models]
    for other in models[1:]:
        for side in ("source_tokenizer", "target_tokenizer"):
            own, its = getattr(first, side), getattr(other, side)
            if own.state() != its.state():
                raise ValueError(
                    f"ensemble: {first.path} and {other.path} have different tokenizers ({side.replace('_', ' ')}: "
                    f"{own.kind.value} of {own.vocab_size:,} symbols, {its.kind.value} of {its.vocab_size:,}): "
                    "take models that were trained on the same pairs with the same tokenizer.* keys"
                )
    ensemble = Ensemble([one.model for one in models]).eval()
    limit = replace(
        first.length_limit,
        ratio=max(limit.ratio for limit in limits),
        floor=max(limit.floor for limit in limits),
        cap=ensemble.decoder_positions.max_length,
    )
    return replace(first, length_limit=limit, ensemble=ensemble)


def unknown_symbols(tokenizer: Tokenizer, line: str, ids: Sequence[int]) -> list[str]:
    """The tags, words or characters of a line whose ids are UNK."""
    if UNK not in ids:
        return []
    tags, text = parted(line, tokenizer.tag_separator)
    text = normalize(text, tokenizer.normalize)
    symbols = [*tags, *(text.split() if tokenizer.kind is TokenizerKind.word else text)]
    if tokenizer.kind is TokenizerKind.bpe:
        symbols, ids = tags, ids[: len(tags)]
    return [symbol for symbol, number in zip(symbols, ids, strict=True) if number == UNK]
