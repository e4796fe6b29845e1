"""The report as text in 80 columns: plain when piped, with some colour in a terminal."""

from collections.abc import Iterable
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from seq2see.options import TokenizerKind
from seq2see.options.text import NUM_SPECIAL
from seq2see.runs.data_report import DataReport, Sample
from seq2see.runs.data_report.bars import BAR, histogram, percent
from seq2see.runs.data_report.console import Glyphs, printable, wrapped
from seq2see.runs.data_report.counts import SplitCounts, Vocabulary, longest, mean
from seq2see.runs.data_report.overlap import Leak
from seq2see.runs.data_report.picture import alignment

WIDTH = 80  # columns that everything fits into
INDENT = "  "
ROOM = WIDTH - len(INDENT)
COLOURS = {r"^\S.*$": "bold", r"[█▏▎▍▌▋▊▉\u2801-\u28ff■]+": "cyan", r"·": "dim", r"^  [a-z]+, pair [\d,]+": "dim"}


def page(report: DataReport, stream: TextIO) -> None:
    """Writes the report to a terminal, a pipe or a file.

    Args:
        report: what to show.
        stream: where to; what its encoding cannot show is escaped.
    """
    text = "\n".join(_Page(report, stream.encoding).lines())
    if not stream.isatty():
        stream.write(text + "\n")
        stream.flush()
        return
    styled = Text(text)
    for pattern, style in COLOURS.items():
        styled.highlight_regex(f"(?m){pattern}", style)
    Console(file=stream, highlight=False, soft_wrap=True).print(styled)


class _Page:
    """The lines of a report, for a console of this encoding."""

    def __init__(self, report: DataReport, encoding: str | None) -> None:
        self.report = report
        self.encoding = encoding
        self.glyphs = Glyphs.of(encoding)

    def lines(self) -> Iterable[str]:
        """Section after section."""
        sections = {
            f"Pairs of task={self.report.task}": self._pairs(),
            "Lengths of the training texts": self._lengths(),
            "Vocabulary": self._vocabulary(),
            "Samples": self._samples(),
            "Repeats": self._repeats(),
            "Leakage": self._leakage(),
            "What training would choose": self._choices(),
        }
        for heading, lines in sections.items():
            yield heading
            yield from ((INDENT + line).rstrip() for line in lines)
            yield ""

    def _shown(self, text: str) -> str:
        return printable(text, self.encoding)

    def _note(self, text: str) -> list[str]:
        """A sentence over as many lines as it needs."""
        first, *rest = wrapped(self._shown(text), ROOM - 2)
        return [first, *(f"  {line}" for line in rest)]

    def _pairs(self) -> Iterable[str]:
        yield f"{'':<6}{'':>12}{'words':>21}{'tokens':>26}"
        yield f"{'':<6}{'pairs':>12}" + 2 * f"{'source':>15}{'target':>13}"
        for split, counts in self.report.splits.items():
            cells = [
                f"{mean(side):.1f} ({longest(side):,})"
                for side in (counts.source.words, counts.target.words, counts.source.tokens, counts.target.tokens)
            ]
            yield f"{split:<6}{counts.pairs:>12,}{cells[0]:>15}{cells[1]:>13}{cells[2]:>15}{cells[3]:>13}"
        yield ""
        yield from self._note("Lengths: mean (longest); the end of a text counts as a token.")
        for split, counts in self.report.splits.items():
            if counts.pairs_encoded < counts.pairs:
                yield from self._note(
                    f"Tokens of {split} were counted in {counts.pairs_encoded:,} pairs, evenly over all."
                )
        if self.report.ood:
            yield from self._note(f"ood, out of distribution: {self.report.ood}.")
        for note in self.report.notes:
            yield from self._note(note)

    def _lengths(self) -> Iterable[str]:
        train = self.report.splits["train"]
        kinds = {self.report.options["tokenizer"][side] for side in ("source", "target")}
        units = {"words": (train.source.words, train.target.words)}
        if kinds != {TokenizerKind.word.value}:
            units["tokens"] = (train.source.tokens, train.target.tokens)
            if max(map(longest, units["words"])) <= 1:
                del units["words"]
        for number, (unit, sides) in enumerate(units.items()):
            if number:
                yield ""
            yield f"{unit:>9}  {'source':<{BAR + 7}}{'':<3}target"
            yield from histogram(*sides, self.glyphs)

    def _vocabulary(self) -> Iterable[str]:
        for number, vocabulary in enumerate(self.report.vocabularies):
            if number:
                yield ""
            yield from self._one_vocabulary(vocabulary)

    def _one_vocabulary(self, vocabulary: Vocabulary) -> Iterable[str]:
        entries = max(vocabulary.size - NUM_SPECIAL, 1)
        side = "both sides" if vocabulary.side == "both" else vocabulary.side
        yield f"{side}: {vocabulary.kind}, {vocabulary.size:,} entries, {NUM_SPECIAL} of them special"
        often = [f"{self._shown(label)} {percent(count, vocabulary.tokens)}" for label, count in vocabulary.frequent]
        yield from self._listed("most often", "", often)
        once = f"{vocabulary.once:,} ({percent(vocabulary.once, entries)})" if vocabulary.once else "none"
        yield from self._listed("seen once", once, map(self._shown, vocabulary.once_examples))
        if vocabulary.never:
            yield from self._listed("never seen", f"{vocabulary.never:,} ({percent(vocabulary.never, entries)})", ())
        missing = {split: unknown for split, unknown in vocabulary.unknown.items() if unknown.tokens}
        for split, unknown in missing.items():
            share = f"{split} {unknown.tokens:,} ({percent(unknown.tokens, unknown.of)})"
            yield from self._listed("unknown", share, map(self._shown, unknown.examples))
        if not missing:
            yield from self._listed("unknown", f"none in {_and(vocabulary.unknown)}", ())

    def _listed(self, label: str, count: str, items: Iterable[str]) -> Iterable[str]:
        """A label, a count, and as many items as one line holds."""
        line = f"  {label:<12}{count}"
        for number, item in enumerate(items):
            added = ("" if not number and not count else ": " if not number else "  ") + item
            if cell_len(line + added) > ROOM:
                break
            line += added
        yield line

    def _samples(self) -> Iterable[str]:
        """As many beside each other as fit."""
        row: list[str] = []
        for sample in self.report.samples:
            block = self._sample(sample)
            beside = _beside(row, block)
            if row and max(map(cell_len, beside)) > ROOM:
                yield from row
                yield ""
                row = block
            else:
                row = beside
        yield from row

    def _sample(self, sample: Sample) -> list[str]:
        caption = f"{sample.split}, pair {sample.number:,}"
        if sample.links is None:
            texts = (self._shown(text) for text in (sample.source, sample.target))
            return [caption, *(line for text in texts for line in wrapped(text, ROOM, most=3))]
        source, target = ([self._shown(word) for word in text.split()] for text in (sample.source, sample.target))
        return [caption, *alignment(source, target, sample.links, width=ROOM, glyphs=self.glyphs)]

    def _repeats(self) -> Iterable[str]:
        if not any(repeats.same_source for repeats in self.report.repeats.values()):
            yield "none: within each split all sources are different"
            return
        yield f"{'':<6}{'same pair':>16}{'same source':>16}{'several targets':>18}{'best exact match':>20}"
        for split, repeats in self.report.repeats.items():
            num = self.report.splits[split].pairs
            yield (
                f"{split:<6}{_share(repeats.same_pair, num):>16}{_share(repeats.same_source, num):>16}"
                f"{repeats.several_targets:>18,}{repeats.best_exact_match:>20.3f}"
            )
        yield ""
        yield from self._note(
            "Pairs that repeat an earlier pair, or its source; sources with several targets; and the score that no "
            "model with one answer to a source can exceed."
        )
        for split, repeats in self.report.repeats.items():
            few = 2 if split == "train" else 1
            for source, target, times in repeats.pair_examples[:few]:
                yield from self._example(f"{split}, {times:,} times", (source, target))
            for source, targets in repeats.target_examples[:few]:
                yield from self._example(split, (source, *targets))

    def _leakage(self) -> Iterable[str]:
        leaks = [each for each in self.report.leaks if not each.is_none]
        if not self.report.leaks:
            yield "none: there is no other split than train"
            return
        targets = [each for each in self.report.leaks if each.other == "train" and each.same_target]
        if not leaks:
            no_source = "no source is the same in two of" if targets else "none between"
            splits = _and(self.report.splits)
            yield from self._note(f"{no_source} {splits}, also not up to case, punctuation and white space")
        else:
            yield from self._leaks(leaks)
        if targets:
            shares = (f"{each.split} {_share(each.same_target, each.pairs)}" for each in targets)
            yield from self._note(f"Pairs whose target train has too: {', '.join(shares)}")

    def _leaks(self, leaks: list[Leak]) -> Iterable[str]:
        yield f"{'':<14}{'same source':>15}{'same pair':>15}{'near source':>16}{'near pair':>16}"
        for each in leaks:
            counts = (each.same_source, each.same_pair, each.near_source, each.near_pair)
            cells = [_share(count, each.pairs) for count in counts]
            yield f"{each.split + ' in ' + each.other:<14}{cells[0]:>15}{cells[1]:>15}{cells[2]:>16}{cells[3]:>16}"
        yield ""
        has_tags = self.report.options["task"].get("features") is not None
        tags = " Tags before a source count in pairs alone." if has_tags else ""
        yield from self._note(f"Near: the same but for case, punctuation and white space.{tags}")
        for each in leaks:
            yield from self._leak_examples(each)

    def _leak_examples(self, each: Leak) -> Iterable[str]:
        for source in each.source_examples[:2]:
            yield from self._example(f"{each.split} and {each.other}", (source,))
        for source, other in each.near_examples:
            yield from self._example(f"{each.split} and {each.other}", (source, other))

    def _example(self, label: str, texts: Iterable[str]) -> list[str]:
        """Some texts in at most two lines."""
        first, *rest = wrapped(f"{label}: {self._shown(' | '.join(texts))}", ROOM - 4, most=2)
        return [f"  {first}", *(f"    {line}" for line in rest)]

    def _choices(self) -> Iterable[str]:
        for label, text in _chosen(self.report):
            yield from _hanging(f"{label:<11}", text)
        if self.report.reasons:
            yield ""
            yield "what follows from the data:"
        for reason in self.report.reasons:
            yield from self._note(reason)


def _share(count: int, of: int) -> str:
    return f"{count:,} ({percent(count, of)})" if count else "0"


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _beside(left: list[str], right: list[str]) -> list[str]:
    """Two blocks of lines next to each other."""
    if not left:
        return right
    width = max(map(cell_len, left)) + 4
    height = max(len(left), len(right))
    rows = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
    return [set_cell_size(one, width) + other for one, other in rows]


def _hanging(label: str, text: str) -> Iterable[str]:
    first, *rest = wrapped(text, ROOM - len(label))
    return [label + first, *(" " * len(label) + line for line in rest)]


def _chosen(report: DataReport) -> list[tuple[str, str]]:
    """What matters of the options of the run."""
    options, train = report.options, report.splits["train"]
    tokenizer, data, model = options["tokenizer"], options["data"], options["model"]
    optim, trainer = options["optim"], options["trainer"]
    kinds = [tokenizer["source"], tokenizer["target"]]
    vocabulary = "one vocabulary" if tokenizer["shared"] else "a vocabulary each"
    batch = f"{data['batch_size']:,} pairs" if data["batch_size"] else f"{data['batch_tokens']:,} tokens"
    chosen = [
        (
            "tokenizer",
            f"{kinds[0]} and {kinds[1]}, {vocabulary}" if kinds[0] != kinds[1] else f"{kinds[0]}, {vocabulary}",
        ),
        (
            "model",
            f"width {model['d_model']}, {model['num_encoder_layers']}+{model['num_decoder_layers']} layers, "
            f"{model['num_heads']} heads, {model['position']}, dropout {model['dropout']}",
        ),
        (
            "optimiser",
            f"learning rate {optim['lr']}, {optim['warmup_steps']} steps of warm-up, then {optim['schedule']}, "
            f"label smoothing {optim['label_smoothing']}",
        ),
        ("training", f"{_length(trainer)} of {batch}{_epochs(data, trainer, train)}"),
        ("selection", f"the checkpoint with the best {options['training']['select']} on valid"),
    ]
    if data["max_length"] is not None:
        chosen.append(
            (
                "left out",
                f"{train.too_long or 'none'} of {train.pairs_encoded:,} training pairs for having more than "
                f"{data['max_length']} tokens a side (data.max_length)",
            )
        )
    return chosen


def _length(trainer: dict) -> str:
    limits = [f"{trainer['max_steps']:,} steps" if trainer["max_steps"] else "", trainer["max_time"] or ""]
    limits.append(f"{trainer['max_epochs']:,} epochs" if trainer["max_epochs"] else "")
    return " or ".join(filter(None, limits))


def _epochs(data: dict, trainer: dict, train: SplitCounts) -> str:
    """How often the steps go through all pairs."""
    if not trainer["max_steps"]:
        return ""
    batches = trainer["max_steps"] * trainer["accumulate_grad_batches"]
    if data["batch_size"]:
        return f": {batches * min(data['batch_size'] / train.pairs, 1):,.1f} times through all pairs"
    tokens = (mean(train.source.tokens) + mean(train.target.tokens)) * train.pairs
    return f": about {batches * min(data['batch_tokens'] / tokens, 1):,.1f} times through all pairs"
