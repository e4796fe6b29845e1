"""Attention maps of a finished model, for any text, or of a run's log; and alignments that are scored."""

import math
import sys
from pathlib import Path

from seq2see.atomic_write import write_text
from seq2see.commands.attention.choice import choose, log_of, read_texts
from seq2see.commands.translate import speak_utf8
from seq2see.decoding import device_of, load
from seq2see.maps import AttentionLog, page
from seq2see.maps.attended import aligning_head
from seq2see.maps.drawing import Choice, csv_table, in_terminal, labelled_maps, svg_figure
from seq2see.maps.links import LinkCounts, grow_diag_final_and, read_links, score_links
from seq2see.options import AttentionFormat, AttentionOptions

__all__ = ["attention", "command", "log_of"]

MAP_KEYS = ("output", "layer", "head", "norms")
KEYS = {  # of the three things to look at, and what goes with each
    "ckpt": (*MAP_KEYS, "input", "target", "average"),
    "run": (*MAP_KEYS, "step"),
    "gold": ("hypothesis", "reverse"),
}


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
        print("\n".join(_scored_links(options)))
        return None
    log, choice, title = _log(options)
    is_picture = options.format in (AttentionFormat.html, AttentionFormat.svg)
    if options.format is AttentionFormat.html:
        content = page.render(log, title=title, view=choice.view)
    else:
        write = {AttentionFormat.csv: csv_table, AttentionFormat.svg: svg_figure, AttentionFormat.terminal: in_terminal}
        content = write[options.format](labelled_maps(log, choice), choice)
    output = options.output or (f"attention.{options.format.value}" if is_picture else None)
    if output is None:
        if options.format is AttentionFormat.csv:
            print(choice, file=sys.stderr)
        sys.stdout.write(content)
        sys.stdout.flush()
        return None
    try:
        write_text(Path(output), content)
    except OSError as error:
        raise ValueError(f"output: {output} cannot be written ({error.strerror}): name another file") from error
    print(f"open {output}" if is_picture else output)
    if options.format is not AttentionFormat.html:
        print(choice)
    return Path(output)


def _check(options: AttentionOptions) -> None:
    chosen = [name for name in KEYS if getattr(options, name) is not None]
    if len(chosen) != 1:
        raise ValueError(
            "set ckpt= (a checkpoint, for any text), run= (a run folder, for its log) or gold= (links to score), "
            "one of them"
        )
    for name in dict.fromkeys(key for keys in KEYS.values() for key in keys if key not in KEYS[chosen[0]]):
        if getattr(options, name) not in (None, False):
            owners = " or ".join(f"{owner}=" for owner, keys in KEYS.items() if name in keys)
            raise ValueError(f"{name}= is for {owners}, and {chosen[0]}= is set: leave out one of them")
    if options.gold is not None and options.hypothesis is None:
        raise ValueError("hypothesis is missing: name the file of links that gold= is to score")


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


def _scored_links(options: AttentionOptions) -> list[str]:
    """What each file counts from, then precision, recall, error rate and number of links as lines of a table."""
    files = {"gold": options.gold, "hypothesis": options.hypothesis, "reverse": options.reverse}
    read = {name: read_links(path) for name, path in files.items() if path is not None}
    gold, lines = read["gold"], []
    for name, sentences in read.items():
        if len(sentences) != len(gold):
            raise ValueError(
                f"{files[name]} has {len(sentences)} lines of links, {options.gold} has {len(gold)}: give one line for "
                "each sentence, an empty one where there are no links"
            )
        lines.append(f"  {name:<10}  {files[name]}: words count from 0")
    sure, possible = (sum(len(sentence[kind]) for sentence in gold) for kind in (0, 1))
    lines[0] += f", {len(gold):,} sentences, {sure:,} sure links, {possible - sure:,} only possible"
    sets = {name: [sentence.possible for sentence in read[name]] for name in list(read)[1:]}
    if "reverse" in sets:
        lines[2] += ", read as target-source"
        sets["reverse"] = [frozenset((i, j) for j, i in links) for links in sets["reverse"]]
        both = list(zip(sets["hypothesis"], sets["reverse"], strict=True))
        sets["intersection"] = [one & other for one, other in both]
        sets["union"] = [one | other for one, other in both]
        sets["grow-diag-final-and"] = [grow_diag_final_and(one, other) for one, other in both]
    lines += ["", f"  {'':<20}{'precision':>10}{'recall':>9}{'error rate':>12}{'links':>11}"]
    return [*lines, *(_row(name, score_links(gold, links)) for name, links in sets.items())]


def _row(name: str, scores: LinkCounts) -> str:
    numbers = (float(value) for value in (scores.precision, scores.recall, scores.error_rate))
    precision, recall, rate = ("-" if math.isnan(value) else f"{value:.4f}" for value in numbers)
    return f"  {name:<20}{precision:>10}{recall:>9}{rate:>12}{scores.found:>11,}"
