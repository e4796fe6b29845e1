"""What is said on stderr of lines and their translations: how far that is, what was cut, symbols never seen."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seq2see.decoding import Trained, TranslatedLine
from seq2see.text import parted

PATIENCE = 1.0  # seconds without a word
MOST_CUT = 10  # lines that are named one by one
MOST_SYMBOLS = 8  # that are shown


class Messages:
    """Speaks to a person, on stderr.

    Args:
        trained: the model, whose limits and tags are spoken of.
    """

    def __init__(self, trained: Trained) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False, markup=False)
        self.limit, self.key = trained.source_limit
        self.tag_separator = trained.source_tokenizer.tag_separator
        self._remedy = trained.length_limit.remedy
        self._num_cut = self._num_with_unknown = self._num_without_tags = 0
        self._unfinished: list[int] = []
        self._unknown: Counter[str] = Counter()

    def note(self, lines: Iterable[TranslatedLine]) -> None:
        """Warns of lines that were cut, and remembers what has never been seen."""
        for line in lines:
            self._num_with_unknown += bool(line.unknown)
            self._unknown.update(line.unknown)
            if line.translations and not line.translations[0].ended:
                self._unfinished.append(line.number)
            self._num_without_tags += lacks_tags(line, self.tag_separator)
            if not line.is_cut:
                continue
            self._num_cut += 1
            if self._num_cut <= MOST_CUT:
                self.console.print(self.about_cut(line))

    def about_cut(self, line: TranslatedLine) -> str:
        """That a line was longer than the model reads."""
        remedy = "or raise that" if self.key.startswith("decode") else "or train with more"
        return (
            f"line {line.number}: {line.num_tokens:,} tokens with the end are more than {self.key} ({self.limit:,}), "
            f"so the rest was not read: split the line, {remedy}"
        )

    def finish(self) -> None:
        """What is said once, after the last line."""
        if self._num_cut > MOST_CUT:
            self.console.print(f"{self._num_cut:,} lines were longer than {self.key} ({self.limit:,}), and cut")
        if self._unfinished:
            self.console.print(about_unfinished(self._unfinished, self._remedy))
        if self._num_without_tags:
            verb = "line has" if self._num_without_tags == 1 else "lines have"
            self.console.print(f"{self._num_without_tags:,} {verb} {about_tags(self.tag_separator)}")
        if self._num_with_unknown:
            verb = "line has" if self._num_with_unknown == 1 else "lines have"
            self.console.print(
                f"{self._num_with_unknown:,} {verb} symbols that the model has never seen: {shown(self._unknown)}"
            )


def about_unfinished(numbers: Sequence[int], remedy: str) -> str:
    """That the outputs of the lines with these numbers were cut, and what `LengthLimit.remedy` says."""
    lines = ", ".join(f"{number}" for number in numbers[:MOST_CUT]) + (", ..." if len(numbers) > MOST_CUT else "")
    outputs = "1 output was" if len(numbers) == 1 else f"{len(numbers):,} outputs were"
    return f"{outputs} cut at the length limit (line{'s' * (len(numbers) > 1)} {lines}): {remedy}"


def lacks_tags(line: TranslatedLine, separator: str | None) -> bool:
    """Whether the line has no tags though the model learned from lines with them."""
    return separator is not None and bool(line.translations) and not parted(line.source, separator)[0]


def about_tags(separator: str | None) -> str:
    """What to do about it."""
    return f"no tags, with which this model was trained: write them before the text, as in TAG{separator}TAG<tab>TEXT"


def shown(symbols: Counter[str]) -> str:
    """The commonest symbols, with escapes for what has no shape."""
    first = [symbol if symbol.isprintable() else repr(symbol)[1:-1] for symbol, _ in symbols.most_common(MOST_SYMBOLS)]
    more = len(symbols) - len(first)
    return " ".join(first) + (f" and {more:,} more" if more else "")


class LinesDone:
    """After a second, a line that says how far it is; it goes away at the end.

    Args:
        console: where to.
        total: lines; None: nobody knows.
        is_shown: whether it is shown at all.
    """

    def __init__(self, console: Console, *, total: int | None, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._begin = time.monotonic()
        self._progress = Progress(
            TextColumn("lines"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("lines", total=total)
        self._is_started = False

    def advance(self, count: int) -> None:
        """So many more lines are done."""
        self._progress.advance(self._task, count)
        if self._is_shown and not self._is_started and time.monotonic() - self._begin > PATIENCE:
            self._is_started = True
            self._progress.start()

    def __enter__(self) -> "LinesDone":
        """Nothing is shown yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """The line goes away."""
        if self._is_started:
            self._progress.stop()
