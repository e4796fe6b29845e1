"""Attention maps of a finished model, for any text, or of a run's log, as a page."""

from pathlib import Path

from seq2see.data import EncodedPairs
from seq2see.decoding import decode_sentences
from seq2see.maps import AttentionLog, page
from seq2see.maps.capture import capture
from seq2see.options import AttentionOptions
from seq2see.runs.alignment import example_of, model_dimensions
from seq2see.runs.checkpoint import Trained, device_of, load
from seq2see.runs.folder import write_text
from seq2see.runs.translate import read_lines
from seq2see.tasks import Pair

MAX_LINES = 200  # in one page


def command(options: AttentionOptions) -> None:
    """What `scripts/attention.py` does."""
    print(f"open {attention(options)}")


def attention(options: AttentionOptions) -> Path:
    """Writes a page of maps and returns its path.

    Raises:
        ValueError: neither or both of `ckpt` and `run` are given, or a file is not to be had.
    """
    if (options.ckpt is None) == (options.run is None):
        raise ValueError("set ckpt= (a checkpoint, for any text) or run= (a run folder, for its log), one of them")
    if options.run is not None:
        log, title = AttentionLog.open(Path(options.run).expanduser()), Path(options.run).name
    else:
        assert options.ckpt is not None
        trained = load(options.ckpt, average=options.average)
        trained.decode_as(options.decode)
        trained.model.to(device_of(options.accelerator))
        lines = [line for line in read_lines(options.input) if line and not line.isspace()]
        log, title = log_of(trained, lines), options.input or "standard input"
    output = Path(options.output or "attention.html").expanduser()
    try:
        write_text(output, page.render(log, title=title))
    except OSError as error:
        raise ValueError(f"output: {output} cannot be written ({error.strerror}): name another file") from error
    return output


def log_of(trained: Trained, lines: list[str]) -> AttentionLog:
    """A log of one step, in memory: what the model attends to while it translates these lines.

    Raises:
        ValueError: there is no line, or there are more than one page holds.
    """
    if not lines:
        raise ValueError("input: there is no line with text in it: give at least one")
    if len(lines) > MAX_LINES:
        raise ValueError(f"input: {len(lines)} lines are more than the {MAX_LINES} that one page holds: give fewer")
    hypotheses = decode_sentences(
        trained.model,
        trained.source_tokenizer.encode_batch(lines),
        limit=trained.length_limit,
        options=trained.options.decode,
    )
    texts = [trained.target_tokenizer.decode(best.ids) for best, *_ in hypotheses]
    pairs = [Pair(line, text) for line, text in zip(lines, texts, strict=True)]
    encoded = EncodedPairs.from_pairs(pairs, trained.source_tokenizer, trained.target_tokenizer)
    examples = [example_of(number, pair, trained, is_reference=False) for number, pair in enumerate(pairs)]
    maps = capture(trained.model, encoded.batch(range(len(pairs))))
    return AttentionLog.of_maps(
        maps, examples=examples, model=model_dimensions(trained), step=trained.step, hypotheses=texts
    )
