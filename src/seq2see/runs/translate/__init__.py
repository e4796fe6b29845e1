"""Lines in, as many lines out, in the same order; at a terminal, a prompt."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from seq2see.atomic_write import whole_file
from seq2see.decoding import Trained, device_of, load
from seq2see.maps.attended import aligning_head, with_details
from seq2see.options import TranslateOptions, TranslationFormat
from seq2see.runs.translate.formats import header, written
from seq2see.runs.translate.lines import count_lines, read_chunks
from seq2see.runs.translate.messages import LinesDone, Messages
from seq2see.runs.translate.prompt import prompt

__all__ = ["translate"]


def translate(options: TranslateOptions) -> int:
    """What `scripts/translate.py` does: from `input` or standard input to `output` or standard output.

    Returns:
        the number of lines.

    Raises:
        ValueError: the checkpoint or a file is not to be had, or keys contradict each other.
    """
    speak_utf8()
    at_terminal = _is_prompt(options)
    _check(options, at_terminal=at_terminal)
    assert options.ckpt is not None
    trained = load(options.ckpt, average=options.average)
    trained.decode_as(options.decode)
    trained.model.to(device_of(options.accelerator))
    if at_terminal:
        return prompt(trained)
    with _output(options.output) as file:
        return _write(trained, options, file)


def speak_utf8() -> None:
    r"""Standard input, output and messages are UTF-8, whatever the console says; only `\n` ends a line of output."""
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)  # type: ignore[union-attr]
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(newline="\n")  # type: ignore[union-attr]


def _is_prompt(options: TranslateOptions) -> bool:
    files = options.input is not None or options.output is not None or options.format is not TranslationFormat.text
    return not files and sys.stdin.isatty() and sys.stdout.isatty()


def _check(options: TranslateOptions, *, at_terminal: bool) -> None:
    if options.ckpt is None:
        raise ValueError("ckpt is missing: name a run folder or a .ckpt file, as in ckpt=outputs/translation/RUN")
    num_best = options.decode.num_best or 1
    if num_best > 1 and options.format is TranslationFormat.text and not at_terminal:
        raise ValueError(
            f"decode.num_best ({num_best}) does not fit format=text, which has one line for each line: "
            "add format=tsv or format=jsonl"
        )
    if options.decode.oracle_length:
        raise ValueError("decode.oracle_length=true needs references, which only evaluate.py has: leave it out")


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    """Where to write: a file that appears whole or not at all, or what is no such file as it stands."""
    if path is None:
        yield sys.stdout
        return
    file = Path(path)
    try:
        with whole_file(file) as stream:  # the input may be the same file
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(f"output: {path} cannot be written ({error.strerror})") from error


def _write(trained: Trained, options: TranslateOptions, file: TextIO) -> int:
    form, count = options.format, 0
    head = None if form is TranslationFormat.text else aligning_head(trained)
    messages = Messages(trained)
    if head is not None:
        messages.console.print(f"alignment: cross attention of {head}")
    elif options.input is None and sys.stdin.isatty():
        messages.console.print("reading lines from the terminal; Ctrl-D ends")
    is_shown = messages.console.is_terminal and not (options.output is None and sys.stdout.isatty())
    file.write(header(form))
    total = count_lines(options.input) if is_shown else None
    with LinesDone(messages.console, total=total, is_shown=is_shown) as done:
        for chunk in read_chunks(options.input):
            lines = trained.translations(chunk, first=count + 1, progress=done.advance)
            if head is not None:
                lines = with_details(trained, lines, head)
            file.writelines(written(line, form, alignment_from=str(head)) for line in lines)
            file.flush()
            done.advance(sum(not line.translations for line in lines))
            messages.note(lines)
            count += len(lines)
    file.flush()
    messages.finish()
    return count
