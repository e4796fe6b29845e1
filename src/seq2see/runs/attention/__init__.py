"""Attention maps of a finished model, for any text, or of a run's log; and alignments that are scored."""

import sys
from pathlib import Path

from seq2see.atomic_write import write_text
from seq2see.decoding import device_of, load
from seq2see.maps import AttentionLog, page
from seq2see.maps.attended import aligning_head
from seq2see.options import AttentionFormat, AttentionOptions
from seq2see.runs.attention.choice import Choice, choose
from seq2see.runs.attention.drawing import svg_figure
from seq2see.runs.attention.figures import csv_table, figures_of, in_terminal
from seq2see.runs.attention.links import score_files
from seq2see.runs.attention.texts import log_of, read_texts
from seq2see.runs.translate import speak_utf8

__all__ = ["attention", "command", "log_of"]

LINK_KEYS = ("hypothesis", "reverse")
TEXT_KEYS = ("ckpt", "run", "input", "target", "output", "layer", "head", "step", "norms")


def command(options: AttentionOptions) -> None:
    """What `scripts/attention.py` does."""
    attention(options)


def attention(options: AttentionOptions) -> Path | None:
    """Writes or prints maps, or the scores of links.

    Returns:
        the file that was written; None: everything went to standard output.

    Raises:
        ValueError: keys contradict each other, a file is not to be had, or there is no such layer, head or step.
    """
    _check(options)
    speak_utf8()
    if options.gold is not None:
        print("\n".join(score_files(options)))
        return None
    log, choice, title = _log(options)
    output = _output(options)
    if options.format is AttentionFormat.html:
        content = page.render(log, title=title, view=choice.view)
    else:
        figures = figures_of(log, choice)
        write = {
            AttentionFormat.csv: csv_table,
            AttentionFormat.svg: svg_figure,
            AttentionFormat.terminal: in_terminal,
        }[options.format]
        content = write(figures, choice)
    if output is None:
        if options.format is AttentionFormat.csv:
            print(choice, file=sys.stderr)
        sys.stdout.write(content)
        sys.stdout.flush()
        return None
    try:
        write_text(output, content)
    except OSError as error:
        raise ValueError(f"output: {output} cannot be written ({error.strerror}): name another file") from error
    _say(output, options, choice)
    return output


def _check(options: AttentionOptions) -> None:
    if options.gold is not None:
        given = [name for name in TEXT_KEYS if getattr(options, name) not in (None, False)]
        if given:
            raise ValueError(f"gold= scores links, {given[0]}= shows maps: set one of them")
        if options.hypothesis is None:
            raise ValueError("hypothesis is missing: name the file of links that gold= is to score")
        return
    given = [name for name in LINK_KEYS if getattr(options, name) is not None]
    if given:
        raise ValueError(f"{given[0]}= needs gold=, the file of true links to score against")
    if (options.ckpt is None) == (options.run is None):
        raise ValueError(
            "set ckpt= (a checkpoint, for any text), run= (a run folder, for its log) or gold= (links to score), "
            "one of them"
        )
    for name in ("input", "target", "average"):
        if options.run is not None and getattr(options, name) is not None:
            raise ValueError(f"{name}= is for ckpt=: the log of a run has texts of its own")
    if options.ckpt is not None and options.step is not None:
        raise ValueError("step= is for run=, whose log has many steps: a checkpoint is of one")


def _log(options: AttentionOptions) -> tuple[AttentionLog, Choice, str]:
    """What is to be shown, and its title."""
    if options.run is not None:
        path = Path(options.run)
        log = AttentionLog.open(path)
        if not log.steps:
            raise ValueError(f"run: {path} has logged no maps: name another run")
        return log, choose(options, log, None), path.name
    assert options.ckpt is not None
    trained = load(options.ckpt, average=options.average)
    trained.decode_as(options.decode)
    trained.model.to(device_of(options.accelerator))
    log = log_of(trained, read_texts(options.input, options.target))
    return log, choose(options, log, aligning_head(trained)), options.input or "standard input"


def _output(options: AttentionOptions) -> Path | None:
    if options.output is not None:
        return Path(options.output)
    is_file = options.format in (AttentionFormat.html, AttentionFormat.svg)
    return Path(f"attention.{options.format.value}") if is_file else None


def _say(output: Path, options: AttentionOptions, choice: Choice) -> None:
    print(f"open {output}" if options.format in (AttentionFormat.html, AttentionFormat.svg) else output)
    if options.format is not AttentionFormat.html:
        print(choice)
