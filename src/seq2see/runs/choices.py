"""What a run does where its configuration leaves it open: chosen from the task and the data, with the reason."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from seq2see.options import (
    OWN_NUMBERS,
    SCORES,
    TINY,
    GivenOptions,
    LettersOptions,
    NumbersOptions,
    ScanOptions,
    TokenizerKind,
    TokenizerOptions,
    TrainOptions,
)
from seq2see.tasks import Pair
from seq2see.text import untagged

Values = dict[str, dict[str, Any]]  # of the options, by part and name
FEW = 3_000  # pairs of words: with less a model learns them by heart, unless much dropout hinders it
SMALL = {"d_model": 256, "num_heads": 4, "num_encoder_layers": 3, "num_decoder_layers": 3, "d_ff": 1024}


@dataclass(frozen=True)
class Facts:
    """What the choices depend on."""

    num_pairs: int  # training pairs
    words_a_source: float  # mean, split at white space; tags are no words
    words_a_target: float  # mean, split at white space
    letters_a_pair: float  # mean number of characters, both sides together
    short_targets: float  # share of the targets that have fewer than the four words in a row that BLEU counts
    # if the sources are symbols with spaces between them, as phones are, how many different ones; else 0
    source_symbols: int = 0
    target_symbols: int = 0  # the same of the targets

    @classmethod
    def of(cls, pairs: Sequence[Pair], *, has_tags: bool) -> "Facts":
        """The facts of some 10,000 pairs, evenly over all of them (files are often sorted), and the number of all."""
        some = pairs[:: max(len(pairs) // 10_000, 1)]
        count = max(len(some), 1)
        sources = [(untagged(pair.source) if has_tags else pair.source).split() for pair in some]
        targets = [pair.target.split() for pair in some]
        symbols = [_num_symbols(sources), _num_symbols(targets)]
        if not all(number or _are_words(side) for number, side in zip(symbols, (sources, targets), strict=True)):
            symbols = [0, 0]  # beside sentences, short words are words
        return cls(
            num_pairs=len(pairs),
            words_a_source=sum(map(len, sources)) / count,
            words_a_target=sum(map(len, targets)) / count,
            letters_a_pair=sum(len(pair.source) + len(pair.target) for pair in some) / count,
            short_targets=sum(len(target) < 4 for target in targets) / count,
            source_symbols=symbols[0],
            target_symbols=symbols[1],
        )

    @property
    def is_text(self) -> bool:
        """Whether both sides are sentences rather than single words or symbols."""
        has_symbols = self.source_symbols or self.target_symbols
        return min(self.words_a_source, self.words_a_target) >= 2 and not has_symbols


def telling_scores(facts: Facts, select: str | None) -> list[str]:
    """The scores that say most about outputs like these, the most telling ones first.

    Exact match; then the error rate of symbols or of the characters of single words, or BLEU where words are several;
    and the score that chooses the best checkpoint, if it is another one. BLEU of single words means nothing.
    """
    natural = "ser" if facts.target_symbols else "cer" if facts.words_a_target < 2 else "bleu"
    chosen = [] if select is None or SCORES[select].is_forced else [select]
    return list(dict.fromkeys(["exact_match", natural, *chosen]))


def _num_symbols(lines: Sequence[list[str]]) -> int:
    """How many different symbols lines of phones, syllables or spelled letters have; 0 for lines of something else.

    Symbols are several a line, short, and few: the words of sentences are longer, or ever new ones. `12` is a number.
    """
    counts = Counter(word for words in lines for word in words)
    short = sum(count for word, count in counts.items() if _is_short(word))
    several, few = counts.total() >= 2 * len(lines), len(counts) <= min(counts.total() // 5, 1_000)
    return len(counts) if several and few and short >= 0.9 * counts.total() else 0


def _is_short(word: str) -> bool:
    """One to three characters, marks above and below them apart; no number of several digits."""
    return sum(not unicodedata.combining(letter) for letter in word) <= 3 and not (word.isdecimal() and len(word) > 1)


def _are_words(lines: Sequence[list[str]]) -> bool:
    return sum(len(words) == 1 for words in lines) >= 0.75 * len(lines)


def choose(options: TrainOptions, facts: Facts) -> tuple[TrainOptions, list[str]]:
    """The options with nothing left open.

    Args:
        options: as the user left them.
        facts: of the training pairs.

    Returns:
        The filled options, and one line for each choice that followed from the data, "key=value (reason)".
    """
    if not isinstance(options.task, GivenOptions):
        return _filled(options, _for_generated(options.task)), []
    filled = _filled(options, _for_files(options.tokenizer, facts))
    return filled, _explain(options, filled, facts)


def _filled(options: TrainOptions, values: Values) -> TrainOptions:
    """The options with these values where they have None; batches and the end of training are set by one key alone."""
    if options.data.batch_size or options.data.batch_tokens:
        values["data"] = {name: value for name, value in values["data"].items() if not name.startswith("batch_")}
    if options.trainer.max_steps or options.trainer.max_epochs or options.trainer.max_time:
        del values["trainer"]
    parts = {}
    for name, defaults in values.items():
        part = getattr(options, name)
        parts[name] = replace(part, **{key: value for key, value in defaults.items() if getattr(part, key) is None})
    return replace(options, **{**parts, "model": parts["model"].filled()})


def _for_generated(task: Any) -> Values:
    """Generated pairs have no noise and no end: no dropout, no smoothing, and every word is in the vocabulary.

    Tokens are words, but where a package writes numbers in its own way: then a word may be a whole number.
    """
    long = isinstance(task, ScanOptions)  # up to 48 actions: 8e-3 does not settle
    kinds = dict.fromkeys(("source", "target"), TokenizerKind.word)
    if isinstance(task, NumbersOptions):
        kinds |= {side: TokenizerKind.char for side in kinds if getattr(task, side) not in OWN_NUMBERS}
    return {
        "tokenizer": {**kinds, "shared": isinstance(task, LettersOptions)},
        "data": {"batch_size": 128},
        "model": {**TINY, "dropout": 0.0},
        "optim": {"lr": 2e-3 if long else 8e-3, "warmup_steps": 100, "label_smoothing": 0.0},
        "trainer": {"max_steps": 1_500 if long else 500},
        "training": {"select": "loss"},  # of all pairs; exact matches of 200 are a lottery
        "decode": {"batch_size": 128},
    }


def _for_files(tokenizer: TokenizerOptions, facts: Facts) -> Values:
    kind = TokenizerKind.bpe if facts.is_text else TokenizerKind.char
    symbols = {"source": facts.source_symbols, "target": facts.target_symbols}
    may_differ = not tokenizer.shared or all(symbols.values())
    kinds = {
        side: getattr(tokenizer, side) or (TokenizerKind.word if number and may_differ else kind)
        for side, number in symbols.items()
    }
    vocab_size = min(8_000, max(500, facts.num_pairs // 6)) if TokenizerKind.bpe in kinds.values() else None
    sizes, lr = (SMALL, 2e-3) if facts.num_pairs >= 50_000 else (TINY, 4e-3)
    is_small = facts.num_pairs < FEW and not facts.is_text
    return {
        "tokenizer": {**kinds, "shared": False, "vocab_size": vocab_size},
        "data": {"batch_tokens": 1_500 if is_small else 3_000, "max_length": 256},
        "model": {**sizes, "dropout": 0.3 if is_small else 0.1},
        "optim": {"lr": lr, "warmup_steps": 200, "label_smoothing": 0.1},
        "trainer": {"max_steps": 1_000 if is_small else min(max(2_000, facts.num_pairs // 10), 20_000)},
        "training": {"select": _select(facts)[0]},
        "decode": {"batch_size": 64},
    }


def _select(facts: Facts) -> tuple[str, str]:
    """Exact match for words; for sentences BLEU, or chrF if more than a quarter (as of names) are too short for it."""
    if not facts.is_text:
        return "exact_match", "words or symbols: an output is right as a whole, or wrong"
    reason = f"sentences: {facts.short_targets:.0%} of the targets have fewer than four words"
    return ("chrf", f"{reason}, too few for bleu") if facts.short_targets > 0.25 else ("bleu", reason)


def _explain(before: TrainOptions, after: TrainOptions, facts: Facts) -> list[str]:
    kind = "sentences" if facts.is_text else "words or symbols"
    symbols = "".join(
        f"; {side}: {number} short symbols with spaces between{', so ser is their error rate' * (side == 'target')}"
        for side, number in (("source", facts.source_symbols), ("target", facts.target_symbols))
        if number and getattr(before.tokenizer, side) is None and getattr(after.tokenizer, side) is TokenizerKind.word
    )
    reasons = {
        "tokenizer": f"{kind}: {facts.words_a_source:.1f} and {facts.words_a_target:.1f} words a side{symbols}",
        "model": f"{facts.num_pairs:,} pairs",
        "data": f"{facts.letters_a_pair:.0f} characters a pair",
        "optim": "the model's size",
        "trainer": f"{facts.num_pairs:,} pairs",
        "training": _select(facts)[1],
    }
    lines = []
    for name, reason in reasons.items():
        old, new = vars(getattr(before, name)), vars(getattr(after, name))
        changed = [
            f"{key}={value.value if isinstance(value, Enum) else value}"
            for key, value in new.items()
            if old[key] != value
        ]
        if changed:
            lines.append(f"{name}: {', '.join(changed)} ({reason})")
    return lines
