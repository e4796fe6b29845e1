"""Lines in, as many lines out, in the same order; at a terminal, a prompt."""

import sys
from pathlib import Path
from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seq2see.atomic_write import whole_file
from seq2see.commands.translate.lines import COLUMNS, Messages, read_chunks, split_last, written
from seq2see.commands.translate.prompt import prompt
from seq2see.decoding import Constraints, TranslationModel, device_of, load
from seq2see.maps.attended import aligning_head, require_copies, with_copies, with_details
from seq2see.options import (
    LastColumn,
    ServeOptions,
    TranslateOptions,
    TranslationFormat,
    checkpoints_of,
    texts_of,
)

__all__ = ["translate"]


def translate(options: TranslateOptions) -> int:
    """What `scripts/translate.py` does: from `input` or standard input to `output` or standard output.

    Returns:
        the number of lines.

    Raises:
        ValueError: the checkpoint or a file is not to be had, or keys contradict each other.
    """
    speak_utf8()
    is_plain = (
        options.last_column is None
        and not options.copy_unknown
        and options.input is None
        and options.output is None
        and options.format is TranslationFormat.text
    )
    at_terminal = is_plain and sys.stdin.isatty() and sys.stdout.isatty()
    _check(options, at_terminal=at_terminal)
    model = model_of(options)
    model.predictor.to(device_of(options.accelerator))
    if options.copy_unknown:
        require_copies(model)
    must, forbid, constraints = texts_of(options.must), texts_of(options.forbid), None
    if must or forbid:
        constraints = Constraints(model.target_tokenizer, must=must, forbid=forbid)
    if at_terminal:
        return prompt(model, constraints, options.prefix or "")
    if options.output is None:
        return _write(model, options, constraints, sys.stdout)
    try:
        with whole_file(Path(options.output)) as file:  # the input may be the same file
            return _write(model, options, constraints, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(f"output: {options.output} cannot be written ({error.strerror})") from error


def speak_utf8() -> None:
    r"""Standard input, output and messages are UTF-8, whatever the console says; only `\n` ends a line of output."""
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            newline = "\n" if stream is sys.stdout else None
            stream.reconfigure(encoding="utf-8", errors=errors, newline=newline)  # type: ignore[union-attr]


def model_of(options: TranslateOptions | ServeOptions) -> TranslationModel:
    """The model that `ckpt` names, or several as one, on the CPU, set to decode as `decode` says.

    Raises:
        ValueError: there is none, or there are several, and `ensemble` does not say that they are one.
    """
    paths = checkpoints_of(options)
    if len(paths) > 1 and not options.ensemble:
        raise ValueError(f"ckpt names {len(paths)} models: add ensemble=true to make one of them, or name a single one")
    model = load(paths if options.ensemble else paths[0], average=options.average)
    model.decode_as(options.decode)
    return model


def _check(options: TranslateOptions, *, at_terminal: bool) -> None:
    num_best = options.decode.num_best or 1
    if num_best > 1 and options.format is TranslationFormat.text and not at_terminal:
        raise ValueError(
            f"decode.num_best ({num_best}) does not fit format=text, which has one line for each line: "
            "add format=tsv or format=jsonl"
        )


def _write(model: TranslationModel, options: TranslateOptions, constraints: Constraints | None, file: TextIO) -> int:
    form, count = options.format, 0
    head = None if form is TranslationFormat.text and not options.copy_unknown else aligning_head(model)
    chunks, total = read_chunks(options.input)
    messages = Messages(model)
    if head is not None:
        whose = "" if model.ensemble is None else f" of {model.path}"
        messages.console.print(f"alignment: cross attention of {head}{whose}")
    if options.input is None and sys.stdin.isatty():
        messages.console.print("reading lines from the terminal; Ctrl-D ends")
    if form is TranslationFormat.tsv:
        file.write("\t".join(COLUMNS) + "\n")
    columns = TextColumn("lines"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn()
    is_shown = messages.console.is_terminal and not file.isatty()
    with Progress(*columns, console=messages.console, transient=True, disable=not is_shown) as progress:
        task = progress.add_task("lines", total=total)
        for chunk in chunks:
            rows = [(line, options.prefix or "") for line in chunk]
            if options.last_column is not None:
                rows = split_last(chunk, options.last_column, first=count + 1)
            if options.last_column is LastColumn.target:
                lines = model.scored(rows, first=count + 1)
            else:
                lines = model.translations(
                    [source for source, _ in rows],
                    first=count + 1,
                    progress=lambda done: progress.advance(task, done),
                    constraints=constraints,
                    prefixes=[prefix for _, prefix in rows] if options.prefix or options.last_column else None,
                )
            if head is not None and options.copy_unknown:
                lines = with_copies(model, lines, head)
            if head is not None and form is not TranslationFormat.text:
                lines = with_details(model, lines, head)
            if options.last_column is LastColumn.target and form is TranslationFormat.text:
                file.writelines("".join(f"{found.score:.4f}" for found in line.translations) + "\n" for line in lines)
            else:
                file.writelines(written(line, form, alignment_from=str(head)) for line in lines)
            file.flush()
            messages.note(lines)
            count += len(lines)
            progress.update(task, completed=count)  # with the blank ones
    messages.finish()
    return count
