"""Lines in, as many lines out, in the same order."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from seq2see.decoding import decode_sentences
from seq2see.options import TranslateOptions
from seq2see.runs.checkpoint import Trained, device_of, load
from seq2see.runs.folder import whole_file

LINES_AT_ONCE = 1_024  # read, sorted by length and translated together


def translate(options: TranslateOptions) -> int:
    """What `scripts/translate.py` does: from `input` or standard input to `output` or standard output.

    Returns:
        the number of lines.

    Raises:
        ValueError: the checkpoint or a file is not to be had.
    """
    if options.ckpt is None:
        raise ValueError("ckpt is missing: name a run folder or a .ckpt file, as in ckpt=outputs/translation/RUN")
    trained = load(options.ckpt)
    trained.decode_as(options.decode)
    trained.model.to(device_of(options.accelerator))
    texts = translated(trained, read_lines(options.input))
    if options.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        return _write(texts, sys.stdout)
    output = Path(options.output).expanduser()
    try:
        with whole_file(output) as file:  # the input may be the same file
            return _write(texts, file)
    except OSError as error:
        raise ValueError(f"output: {options.output} cannot be written ({error.strerror})") from error


def _write(texts: Iterable[str], file: TextIO) -> int:
    count = 0
    for text in texts:
        file.write(text + "\n")
        count += 1
    file.flush()
    return count


def translated(trained: Trained, lines: Iterable[str]) -> Iterator[str]:
    """One line for each line; a blank one for a blank one."""
    batch: list[str] = []
    for line in lines:
        batch.append(line)
        if len(batch) == LINES_AT_ONCE:
            yield from _translate_some(trained, batch)
            batch = []
    yield from _translate_some(trained, batch)


def _translate_some(trained: Trained, lines: list[str]) -> list[str]:
    places = [place for place, line in enumerate(lines) if line and not line.isspace()]
    texts = [""] * len(lines)
    found = decode_sentences(
        trained.model,
        trained.source_tokenizer.encode_batch([lines[place] for place in places]),
        limit=trained.length_limit,
        batch_size=trained.options.decode.batch_size or 64,
    )
    for place, hypothesis in zip(places, found, strict=True):
        text = trained.target_tokenizer.decode(hypothesis.ids)
        texts[place] = text.replace("\n", " ").replace("\r", " ")
    return texts


def read_lines(path: str | None) -> Iterator[str]:
    r"""The lines of a UTF-8 file, or of standard input; only `\n` or `\r\n` ends a line, and a BOM is dropped.

    Raises:
        ValueError: the file cannot be read, or is not UTF-8.
    """
    name = "standard input" if path is None else path
    try:
        with sys.stdin.buffer if path is None else Path(path).expanduser().open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield _decoded(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, name, number)
    except OSError as error:
        raise ValueError(f"input: {name} cannot be read ({error.strerror})") from error


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}, line {number}: not UTF-8 ({error.reason}): convert the file to UTF-8") from error
