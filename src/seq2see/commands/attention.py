"""Attention maps of a finished model, for any text, or of a run's log; and alignments that are scored."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from seq2see.atomic_write import write_text
from seq2see.commands.translate import speak_utf8
from seq2see.commands.translate.lines import about_unfinished, read_lines
from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, decode_sentences, device_of, load
from seq2see.maps import AttentionLog, page
from seq2see.maps.ablation import head_effects
from seq2see.maps.arrays import depth_and_heads
from seq2see.maps.attended import Asked, CrossHead, aligning_head, dimensions_of, labelled, labels_of
from seq2see.maps.capture import capture, with_outputs
from seq2see.maps.causes import WordEffects, causes_table, cost, for_page, word_effects
from seq2see.maps.drawing import TITLES, Choice, csv_table, in_terminal, labelled_maps, svg_figure
from seq2see.maps.links import LinkCounts, grow_diag_final_and, read_links, score_links
from seq2see.maps.patching import twins_of
from seq2see.maps.twins import twins_figure, twins_in_terminal, twins_page, twins_table
from seq2see.options import AttentionFormat, AttentionKind, AttentionOptions

MAP_KEYS = ("output", "layer", "head", "norms")
KEYS = {  # of the three things to look at, and what goes with each
    "ckpt": (*MAP_KEYS, "input", "target", "average", "twin", "causes"),
    "run": (*MAP_KEYS, "step"),
    "gold": ("hypothesis", "reverse"),
}
PAGES = {  # what is opened in a browser, and where it goes if nobody says
    AttentionFormat.html: "attention.html",
    AttentionFormat.svg: "attention.svg",
    AttentionFormat.playground: "playground.html",
}
MAX_LINES = 200  # in one page
MOST_TWINS = 20  # lines with a twin, in one figure
MOST_CAUSED = 40_000  # target tokens, scored for what words cause without being asked: a second
MOST_ABLATED = 32  # lines; with more, what each head is worth takes longer than all the rest


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
    if options.format is AttentionFormat.playground:
        from seq2see.commands.attention_playground import playground_of  # which the other formats do not need

        given = None if options.input is None else read_texts(options.input, options.target)
        assert options.ckpt is not None
        trained = load(options.ckpt, average=options.average)
        trained.decode_as(options.decode)
        content, note = playground_of(trained, given, stages=options.stages, float32=options.float32)
    else:
        content, note = _twins(options) if options.twin is not None else _maps(options)
    output = options.output or PAGES.get(options.format)
    if output is None:
        if options.format is AttentionFormat.csv and note is not None:
            print(note, file=sys.stderr)
        sys.stdout.write(content)
        sys.stdout.flush()
        return None
    try:
        write_text(Path(output), content)
    except OSError as error:
        raise ValueError(f"output: {output} cannot be written ({error.strerror}): name another file") from error
    print(f"open {output}" if options.format in PAGES else output)
    if options.format is not AttentionFormat.html and note is not None:
        print(note)
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
    is_playground = options.format is AttentionFormat.playground
    if is_playground and chosen[0] != "ckpt":
        raise ValueError(f"format=playground runs a checkpoint's model: set ckpt= in the place of {chosen[0]}=")
    for name in ("layer", "head", "norms", "twin", "causes") if is_playground else ("float32",):
        if getattr(options, name) not in (None, False):
            owner = "other formats" if is_playground else "format=playground"
            raise ValueError(f"{name}= is for {owner}, and format={options.format.value} is set: leave out one of them")
    if is_playground and options.target is not None and options.input is None:
        raise ValueError("target= has a target for each line of input=: set input= too")
    if options.gold is not None and options.hypothesis is None:
        raise ValueError("hypothesis is missing: name the file of links that gold= is to score")
    if options.causes and options.format not in (AttentionFormat.html, AttentionFormat.csv):
        raise ValueError(f"causes=true is for format=html and csv, not {options.format.value}: set one of them")
    for name in ("target", "layer", "head", "norms", "causes") if options.twin is not None else ():
        if getattr(options, name) not in (None, False):
            raise ValueError(f"{name}= is for maps, and twin= looks at all layers and heads: leave out one of them")


def _maps(options: AttentionOptions) -> tuple[str, Choice | None]:
    """The maps that were asked for, as a file holds them."""
    log, choice, title, effects = _log(options)
    if options.format is AttentionFormat.html:
        words = [example.source_words or () for example in log.examples]
        causes = None if effects is None else [for_page(own, of) for own, of in zip(effects, words, strict=True)]
        return page.render(log, title=title, view=choice.view, other=_other(options), causes=causes), choice
    if options.causes and effects is not None:
        return causes_table(log.examples, effects), choice
    write = {AttentionFormat.csv: csv_table, AttentionFormat.svg: svg_figure, AttentionFormat.terminal: in_terminal}
    return write[options.format](labelled_maps(log, choice), choice), choice


def _twins(options: AttentionOptions) -> tuple[str, None]:
    """Which heads carry the difference between each line and its twin."""
    trained, file = _loaded(options), None if options.twin == "auto" else options.twin
    lines = read_texts(options.input, file, key="twin")
    if not 0 < len(lines) <= MOST_TWINS:
        raise ValueError(f"input: {len(lines)} lines with text in them: give 1 to {MOST_TWINS}, one figure's worth")
    found = {}
    for line in lines:
        try:
            found[line.number] = twins_of(trained, line.source, line.target)
        except ValueError as error:
            raise ValueError(f"twin, line {line.number}: {error}") from error
    if options.format is AttentionFormat.html:
        return twins_page(found, options.input or "standard input"), None
    write = {AttentionFormat.csv: twins_table, AttentionFormat.svg: twins_figure}
    return write.get(options.format, twins_in_terminal)(found), None


def _loaded(options: AttentionOptions) -> TranslationModel:
    assert options.ckpt is not None
    trained = load(options.ckpt, average=options.average)
    trained.decode_as(options.decode)
    trained.model.to(device_of(options.accelerator))
    return trained


def _log(options: AttentionOptions) -> tuple[AttentionLog, Choice, str, list[WordEffects] | None]:
    """What is to be shown, its title, and what source words cause, if that is to be shown too."""
    if options.run is not None:
        path = Path(options.run if isinstance(options.run, str) else options.run[0])
        log = _log_of_run(path)
        return log, choose(options, log, None), _title(path), None
    trained = _loaded(options)
    log, asked = looked_at(trained, read_texts(options.input, options.target))
    choice, effects = choose(options, log, aligning_head(trained)), None
    words = [example.source_words or () for example in log.examples]
    tokens = sum(cost(trained, pair, max(own, default=-1) + 1) for pair, own in zip(asked, words, strict=True))
    wanted = options.format is AttentionFormat.html and tokens <= MOST_CAUSED
    if options.causes or (options.causes is None and wanted):
        effects = [word_effects(trained.model, *pair, own) for pair, own in zip(asked, words, strict=True)]
    title = f"{trained.options.task.kind} ({trained.run.name if trained.run else options.ckpt})"
    return log, choice, f"{title}: {options.input or 'standard input'}", effects


def _title(run: Path) -> str:
    """A run's task and name, as its page has them; the name alone where its configuration cannot be read."""
    folder = run.resolve().parent if run.name == "attention" else run.resolve()
    try:
        task = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["task"]["kind"]
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return folder.name
    return f"{task} ({folder.name})"


def _log_of_run(path: Path) -> AttentionLog:
    log = AttentionLog.open(path)
    if not log.steps:
        raise ValueError(f"run: {path} has logged no maps: name another run")
    return log


def _other(options: AttentionOptions) -> tuple[str, AttentionLog] | None:
    """The name and the log of the run that is compared with; the whole path where both have one name.

    Says how many pairs both have, and what to choose where the models differ in size.
    """
    if not isinstance(options.run, list) or len(options.run) == 1:
        return None
    one, other = map(Path, options.run)
    log, other_log = _log_of_run(one), _log_of_run(other)
    common = sum(place is not None for place in page.pairs_in_common(log, other_log))
    note = "" if log.model == other_log.model else "; their models differ in size, so choose the head to compare with"
    print(f"{common} of {len(log.examples)} pairs are in both runs{note}")
    return str(other) if one.name == other.name else other.name, other_log


class Line(NamedTuple):
    """A line to look at."""

    number: int  # in its file, from 1
    source: str
    target: str | None = None  # what the decoder is to be fed; None: what the model writes


def read_texts(path: str | None, target: str | None, *, key: str = "target") -> list[Line]:
    """The lines of a file or of standard input with something in them, each with its target if there is such a file.

    `key` is what names that file.

    Raises:
        ValueError: a file cannot be read, or the two have different numbers of lines.
    """
    sources = list(read_lines(path))
    targets = [None] * len(sources) if target is None else list(read_lines(target, key=key))
    if len(targets) != len(sources):
        raise ValueError(
            f"{key}: {target} has {len(targets)} lines, {path or 'standard input'} has {len(sources)}: give one "
            f"{key} for each line"
        )
    lines = map(Line, range(1, len(sources) + 1), sources, targets)
    return [line for line in lines if line.source.strip()]


def log_of(trained: TranslationModel, lines: Sequence[Line]) -> AttentionLog:
    """The log of `looked_at`."""
    return looked_at(trained, lines)[0]


def looked_at(trained: TranslationModel, lines: Sequence[Line]) -> tuple[AttentionLog, list[Asked]]:
    """A log of one step, in memory: what the model attends to while it translates these lines; and their ids.

    The decoder is fed the very ids that the model wrote; where targets are given it is fed those, and the maps of the
    model's own outputs stand beside them (`*_free`).

    Args:
        trained: the model; its decoding options hold.
        lines: all of them with a target, or none.

    Raises:
        ValueError: there is no line, or there are more than one page holds, or longer ones than the model reads.
    """
    if not lines:
        raise ValueError("input: there is no line with text in it: give at least one")
    if len(lines) > MAX_LINES:
        raise ValueError(f"input: {len(lines)} lines are more than the {MAX_LINES} that one page holds: give fewer")
    target, is_forced = trained.target_tokenizer, lines[0].target is not None
    sources = trained.source_tokenizer.encode_batch(line.source for line in lines)
    given = target.encode_batch(line.target or "" for line in lines) if is_forced else []
    most = trained.model.decoder_positions.max_length
    for option, texts, (limit, key) in (
        ("input", sources, trained.source_limit),
        ("target", given, (most, "model.max_positions")),
    ):
        for line, ids in zip(lines, texts, strict=False):
            if limit is not None and len(ids) + 1 > limit:
                raise ValueError(
                    f"{option}, line {line.number}: {len(ids) + 1} tokens, the end included, are more than the {limit} "
                    f"that the model reads ({key}): give a shorter line"
                )
    numbers = [line.number for line in lines]
    found = decode_sentences(
        trained.model, sources, limit=trained.length_limit, options=trained.options.decode, numbers=numbers
    )
    hypotheses = [best for best, *_ in found]
    unfinished = [number for number, said in zip(numbers, hypotheses, strict=True) if not said.ended]
    if unfinished:
        print(about_unfinished(unfinished, trained.length_limit.remedy), file=sys.stderr)
    targets = given if is_forced else [said.ids for said in hypotheses]
    batch = EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(len(lines))).batch(range(len(lines)))
    log = AttentionLog.of_maps(
        with_outputs(trained.model, batch, hypotheses) if is_forced else capture(trained.model, batch, norms=True),
        examples=[
            labelled(trained, line.number, line.source, ids, line.target)
            for line, ids in zip(lines, targets, strict=True)
        ],
        model=dimensions_of(trained),
        step=trained.step,
        hypotheses=[target.decode(said.ids) for said in hypotheses],
        hypothesis_tokens=[labels_of(target, said.ids, ended=said.ended) for said in hypotheses] if is_forced else None,
        effects=head_effects(trained.model, batch) if len(lines) <= MOST_ABLATED else None,
    )
    return log, list(zip(sources, targets, strict=True))


def choose(options: AttentionOptions, log: AttentionLog, aligning: CrossHead | None) -> Choice:
    """What was asked for; of cross attention else the head that aligns best, of the others the last layer.

    `aligning` is what `aligning_head` found; None: the head with the lowest alignment error rate in the log.

    Raises:
        ValueError: there is no such layer, head or step, or it has no norms.
    """
    if options.step is not None and options.step not in log.steps:
        raise ValueError(f"step={options.step} is not stored: there are maps of step {', '.join(map(str, log.steps))}")
    step, kind = log.steps[-1] if options.step is None else options.step, options.kind
    if options.norms and f"{kind.value}_norm" not in log.maps(step).named():
        raise ValueError(f"norms=true: the log has weights alone at step {step}: leave norms out")
    layers, heads = depth_and_heads(log.model, kind.value)
    if options.layer is None:
        place, reason = _aligned_best(log, aligning) if kind is AttentionKind.cross else (None, "")
        place, reason = (place, reason) if place else (CrossHead(layers - 1), "layer= and head= choose another")
    elif options.layer > layers:
        raise ValueError(f"layer={options.layer}: {TITLES[kind]} has layers 1 to {layers}")
    elif options.head is not None and options.head > heads:
        raise ValueError(f"head={options.head}: there are heads 1 to {heads}")
    else:
        place, reason = CrossHead(options.layer - 1, None if options.head is None else options.head - 1), ""
    return Choice(kind, place, reason, options.step, options.norms)


def _aligned_best(log: AttentionLog, aligning: CrossHead | None) -> tuple[CrossHead | None, str]:
    if aligning is not None:
        known = aligning if aligning.head is not None else None
        return known, "aligned best on validation pairs when the run was evaluated"
    rows = [row for row in log.measures() if row.step == log.steps[-1] and not math.isnan(row.alignment_error_rate)]
    best = min(rows, key=lambda row: row.alignment_error_rate, default=None)
    reason = "the lowest alignment error rate on the logged pairs at the last step"
    return None if best is None else CrossHead(best.layer, best.head), reason


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
