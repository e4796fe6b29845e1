r"""Lines that come in, how they are written when they are translated, and what a person should know of them.

Only `\n` or `\r\n` ends a line. A blank line is empty or white space of any kind.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from rich.console import Console

from seq2see.decoding import TranslatedLine, Translation, TranslationModel
from seq2see.options import LastColumn, TranslationFormat
from seq2see.tasks.opening import opened
from seq2see.text import parted

MOST = 512  # lines translated together: so few that something is soon to be seen
COLUMNS = ("line", "rank", "source", "hypothesis", "score", "alignment")
MOST_NAMED = 10  # lines, and symbols, that are named one by one


def read_lines(path: str | None, *, key: str = "input") -> Iterator[str]:
    """The lines of a UTF-8 file, packed or not, or of standard input as it stands; a BOM is dropped.

    Raises:
        ValueError: it cannot be read, or is not UTF-8.
    """
    try:
        with open(sys.stdin.fileno(), "rb", closefd=False) if path is None else opened(Path(path), path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
                    fault = "a zero byte" if "\0" in text else ""
                except UnicodeDecodeError as error:
                    text, fault = "", error.reason
                if fault:
                    raise ValueError(
                        f"{path or 'standard input'}, line {number}: not UTF-8 text ({fault}): "
                        "convert it to UTF-8 if it is UTF-16 or another encoding, unpack it if it is packed"
                    )
                yield text
    except OSError as error:
        raise ValueError(f"{key}: {path or 'standard input'} cannot be read ({error.strerror})") from error


def read_chunks(path: str | None) -> tuple[Iterator[list[str]], int | None]:
    """The lines of a UTF-8 file or of standard input, some at a time, and how many there are.

    From a pipe or a terminal they are given as they come, and nobody knows how many they will be.

    Raises:
        ValueError: as `read_lines` does.
    """
    if not os.path.isfile(sys.stdin.fileno() if path is None else path):
        return _as_they_come(path), None
    lines = list(read_lines(path))
    return (lines[begin : begin + MOST] for begin in range(0, len(lines), MOST)), len(lines)


def _as_they_come(path: str | None) -> Iterator[list[str]]:
    """What has come while the lines before were translated; a thread waits for it."""
    arrived: Queue[str | Exception] = Queue(maxsize=4 * MOST)

    def read() -> None:
        try:
            for line in read_lines(path):
                arrived.put(line)
            arrived.put(EOFError())
        except Exception as error:
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    while True:
        items = [arrived.get()]
        while len(items) < MOST and not arrived.empty():
            items.append(arrived.get())
        if lines := [item for item in items if isinstance(item, str)]:
            yield lines
        if isinstance(items[-1], EOFError):
            return
        if isinstance(items[-1], Exception):
            raise items[-1]


def split_last(lines: Iterable[str], what: LastColumn, *, first: int) -> list[tuple[str, str]]:
    """The lines without their last column, and that; blank lines stay blank.

    Raises:
        ValueError: a line has no tab.
    """
    rows = []
    for number, line in enumerate(lines, start=first):
        source, tab, last = line.rpartition("\t")
        if not tab and line.strip():
            raise ValueError(
                f"line {number} ({line[:40]}) has no tab, and last_column={what.value} reads SOURCE<tab>"
                f"{what.value.upper()}: write that column, or leave out the key"
            )
        rows.append((source, last))
    return rows


def written(line: TranslatedLine, form: TranslationFormat, *, alignment_from: str) -> str:
    """A line's translations, each line of them ending in a line end.

    Args:
        line: with details, but for `text`.
        form: `text` the best one alone; `tsv` a row for each; `jsonl` one object.
        alignment_from: which attention the links were read from.
    """
    if form is TranslationFormat.text:
        return _one_line(line.text) + "\n"
    if form is TranslationFormat.tsv:
        rows = [
            (rank, line.source, found.text, f"{found.score:.4f}", alignment(found))
            for rank, found in enumerate(line.translations, start=1)
        ]
        rows = [(line.number, *row) for row in rows or [(1, line.source, "", "", "")]]
        return "".join("\t".join(_one_line(str(value)).replace("\t", " ") for value in row) + "\n" for row in rows)
    hypotheses = [{**plain(found), "copied": found.copied} for found in line.translations]
    content = {"line": line.number, "source": line.source, "cut": line.is_cut, "alignment_from": alignment_from}
    return json.dumps({**content, "hypotheses": hypotheses}, ensure_ascii=False) + "\n"


def plain(found: Translation) -> dict[str, Any]:
    """A translation with its details, as JSON has it."""
    return {
        "text": found.text,
        "score": round(found.score, 6),
        "ended": found.ended,
        "tokens": found.tokens,
        "log_probs": [round(value, 6) for value in found.log_probs],
        "alignment": alignment(found),
    }


def alignment(found: Translation) -> str:
    """Its links, in the form of word aligners: source word, target word, from 0."""
    return " ".join(f"{source}-{target}" for source, target in found.links)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def printable(text: str) -> str:
    """The text, with escapes for what would disturb a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\t" else repr(letter)[1:-1] for letter in text)


class Messages:
    """What a person should know of translated lines, on stderr.

    Args:
        model: whose limits and tags are spoken of.
    """

    def __init__(self, model: TranslationModel) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False, markup=False)
        self.model = model
        self._cut, self._unfinished, self._untagged, self._unseen = ([], [], [], [])  # numbers of lines
        self._copied, self._num_copied = list[int](), 0
        self._symbols: Counter[str] = Counter()

    def note(self, lines: Iterable[TranslatedLine]) -> None:
        """Remembers what is to be said of these lines."""
        separator = self.model.source_tokenizer.tag_separator
        done = [line for line in lines if line.translations]
        self._symbols.update(symbol for line in done for symbol in line.unknown)
        self._cut += [line.number for line in done if line.is_cut]
        self._unfinished += [line.number for line in done if not line.translations[0].ended]
        self._untagged += [line.number for line in done if separator and not parted(line.source, separator)[0]]
        self._copied += [line.number for line in done if line.translations[0].copied]
        self._num_copied += sum(len(line.translations[0].copied) for line in done)
        self._unseen += [line.number for line in done if line.unknown]

    def finish(self) -> None:
        """Says it."""
        (most, key), separator = self.model.source_limit, self.model.source_tokenizer.tag_separator
        more = "raise that" if key.startswith("decode") else "train with more"
        tags = f"write them before the text, as in TAG{separator}TAG<tab>TEXT"
        first = [symbol for symbol, _ in self._symbols.most_common(MOST_NAMED)]
        shown = " ".join(map(printable, first))
        shown += f" and {len(self._symbols) - len(first):,} more" if len(self._symbols) > len(first) else ""
        for message in (
            about(self._cut, "line was", "lines were", f"cut at {key} ({most:,} tokens)", f"split it, or {more}"),
            about_unfinished(self._unfinished, self.model.length_limit.remedy),
            about(self._untagged, "line has", "lines have", "no tags, as this model has learned with", tags),
            about(
                self._copied, "line has", "lines have", "words copied for unknown ones", f"{self._num_copied:,} in all"
            ),
            about(self._unseen, "line has", "lines have", "symbols that the model has never seen", shown),
        ):
            if message:
                self.console.print(message)


def about_unfinished(numbers: Sequence[int], remedy: str) -> str:
    """That the outputs of the lines with these numbers were cut, and what `LengthLimit.remedy` says."""
    return about(numbers, "output was", "outputs were", "cut at the length limit", remedy)


def about(numbers: Sequence[int], one: str, many: str, what: str, remedy: str) -> str:
    """What is so with the lines of these numbers, and what to do; nothing of no lines."""
    if not numbers:
        return ""
    lines = ", ".join(map(str, numbers[:MOST_NAMED])) + (", ..." if len(numbers) > MOST_NAMED else "")
    return f"{len(numbers):,} {many if numbers[1:] else one} {what} (line{'s' * (len(numbers) > 1)} {lines}): {remedy}"
