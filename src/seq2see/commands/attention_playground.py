"""A run's model as a page that runs it: what the page is given."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Protocol

from seq2see.decoding import TranslationModel
from seq2see.maps import AttentionLog
from seq2see.maps.kept_weights import KeptWeights
from seq2see.maps.playground import Sentence, Stage, render

NUM_WRONG, NUM_OOD = 3, 1  # outputs of the run's evaluation that are examples too
MOST_BYTES = 3_000_000  # of a page with earlier stages, if these are not asked for
MOST_MEASURED = 200  # test sentences on which the loss of quality is measured


class Given(Protocol):
    """A line that was given."""

    @property
    def source(self) -> str:  # noqa: D102
        ...

    @property
    def target(self) -> str | None:  # noqa: D102
        ...


def playground_of(
    trained: TranslationModel,
    given: Sequence[Given] | None = None,
    *,
    stages: bool | None = None,
    float32: bool = False,
) -> tuple[str, str]:
    """The page, and what is to be said of it.

    Args:
        trained: the model, on the CPU.
        given: the sentences to begin with; None: those whose maps the run logged, and some of its evaluation's.
        stages: hold the model before training and half-way too; None: within 3 megabytes.
        float32: hold the weights as they are.

    Raises:
        ValueError: there is no sentence, the model is an ensemble, or an earlier stage of it is damaged.
    """
    run = trained.run
    if given is not None:
        lines = [Sentence(line.source, line.target) for line in given]
    else:
        lines = [] if run is None else list(_sentences_of(run))
    if not lines:
        raise ValueError("input: the run has logged no maps and scored no pairs: give a file of sentences, input=FILE")
    kept = [] if stages is False or run is None else _stages(trained, run)
    tested = [] if run is None else [source for source, *_ in islice(_rows(run, "test"), MOST_MEASURED)]
    content, quality, shown = render(
        trained,
        lines=lines,
        measured=tested,
        title=(run or trained.path or Path()).name,
        stages=kept,
        float32=float32,
        max_bytes=MOST_BYTES if stages is None else None,
    )
    notes = [f"  {len(content.encode()) / 1e6:.1f} megabytes, {quality}"]
    if shown:
        notes.append(f"  with the model as it was after {' and '.join(str(stage.step) for stage in shown)} steps")
    if left_out := kept[len(shown) :]:
        names = " and ".join(stage.name for stage in left_out)
        notes.append(f"  without the {names} model, which would need more than 3 megabytes: stages=true holds it too")
    return content, "\n".join(notes)


def _sentences_of(run: Path) -> Iterator[Sentence]:
    if (run / "attention" / "index.json").is_file():
        for example in AttentionLog.open(run).examples:
            yield Sentence(example.source, example.reference, example.links)
    wrong = (row for row in _rows(run, "test") if row[1] != row[2])
    for source, reference, _ in islice(wrong, NUM_WRONG):
        yield Sentence(source, reference, group="wrong")
    for source, reference, _ in islice(_rows(run, "ood"), NUM_OOD):
        yield Sentence(source, reference, group="ood")


def _rows(run: Path, split: str) -> Iterator[tuple[str, str, str]]:
    """Sources, references and outputs of the run's evaluation, if there was one."""
    file = run / "evaluation" / f"{split}.tsv"
    if not file.is_file():
        return
    for line in islice(file.read_text(encoding="utf-8", errors="replace").split("\n"), 1, None):
        fields = line.split("\t")
        if len(fields) == 4:
            source, reference, output, _ = fields
            yield source, reference, output


def _stages(trained: TranslationModel, run: Path) -> list[Stage]:
    """Before training, and where the outputs had come nearest to half of their way."""
    kept = KeptWeights(run / "attention")
    steps = [step for step in kept.steps if step < trained.step]
    if not steps or steps[0] != 0:
        return []
    nearness = {step: kept.read(step)[0] for step in steps}
    half = (nearness[0] + max(nearness.values())) / 2
    chosen = {"untrained": 0}
    if len(steps) > 1:
        chosen["half-trained"] = min(steps[1:], key=lambda step: abs(nearness[step] - half))
    return [_stage(trained, kept, name, step) for name, step in chosen.items()]


def _stage(trained: TranslationModel, kept: KeptWeights, name: str, step: int) -> Stage:
    nearness, weights = kept.read(step)
    model = deepcopy(trained.model)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"{kept.folder}: the weights of step {step} are of another model than {trained.path}: set stages=false"
        ) from error
    return Stage(name, step, {"similarity": nearness}, model)
