"""How the commands of SCAN are divided into training and test, as published.

`length`, `addprim_*`, `template_*` and `filler` follow from the grammar: their parts are those of the files that the
authors publish, command by command. Where the authors drew at random, the numbers are theirs and the draw is our own,
by `task.seed`: `simple` (also their `simple_p*`, with `train_fraction`), `few_shot`, and `addprim_jump` with
`num_composed` (their `addprim_complex_jump`).

Source:
    Lake and Baroni 2018, "Generalization without Systematicity": `simple` (experiment 1), `length` (2), `addprim_jump`
    and `addprim_turn_left` (3). Loula, Baroni and Lake 2018, "Rearranging the Familiar": `template_*`, `filler` and
    `few_shot`. Other lengths than 22: Newman et al. 2020, "The EOS Decision and Length Extrapolation".
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from seq2see.options import ScanOptions, ScanSplit
from seq2see.tasks.pairs import Pair
from seq2see.tasks.scan.grammar import PRIMITIVES

_JUMPS = 1467  # lines `jump`, a tenth of the training part of addprim_jump
_TURNS = 2189  # lines `turn left`, a tenth of the training part of addprim_turn_left
_FILLERS = ("look", "walk", "run")  # in the order in which they are published


class Parts(NamedTuple):
    """A published split.

    Attributes:
        once: the commands that stand once in training.
        repeated: the commands that stand several times in training, all equally often.
        repeats: how often each of them does.
        test: the commands to test on.
    """

    once: list[Pair]
    repeated: list[Pair]
    repeats: int
    test: list[Pair]


def divide(pairs: Sequence[Pair], options: ScanOptions) -> Parts:
    """The parts of the split that the options name; in each, the order of `pairs` is kept.

    Args:
        pairs: all commands; what is chosen at random is the first of them, so shuffle them before.
        options: which split, and its own key.

    Raises:
        ValueError: the key of the split leaves no command to train on, or none to test on.
    """
    match options.split:
        case ScanSplit.simple:
            return _simple(pairs, 0.8 if options.train_fraction is None else options.train_fraction)
        case ScanSplit.length:
            return _length(pairs, 22 if options.length_cutoff is None else options.length_cutoff)
        case ScanSplit.addprim_jump:
            return _add_jump(pairs, options.num_composed or 0)
        case ScanSplit.addprim_turn_left:
            return _add_primitive(pairs, "turn left", _TURNS)
        case ScanSplit.template_right:
            return _template(pairs, "right", fillers=("opposite", "around"))
        case ScanSplit.template_opposite_right:
            return _template(pairs, "opposite right")
        case ScanSplit.template_around_right:
            return _template(pairs, "around right")
        case ScanSplit.template_jump_around_right:
            return _template(pairs, "around right", fillers=_FILLERS, tested=("jump",))
        case ScanSplit.filler:
            return _template(pairs, "around right", fillers=_FILLERS[: options.num_fillers or 0], tested=("jump",))
        case ScanSplit.few_shot:
            return _few_shot(pairs, 1 if options.num_shots is None else options.num_shots)


def _simple(pairs: Sequence[Pair], fraction: float) -> Parts:
    # Through the decimal digits that were typed: 0.7 of 20,910 is 14,637, where the product of floats is below it.
    size = int(Fraction(str(fraction)) * len(pairs))
    if size == 0:
        raise ValueError(
            f"task.train_fraction ({fraction}) leaves nothing to train on: there are {len(pairs):,} commands; "
            "choose a larger one, as 0.01"
        )
    return Parts([*pairs[:size]], [], 0, [*pairs[size:]])


def _length(pairs: Sequence[Pair], cutoff: int) -> Parts:
    lengths = [len(pair.target.split(" ")) for pair in pairs]
    longest = max(lengths)
    if cutoff >= longest:
        raise ValueError(
            f"task.length_cutoff ({cutoff}) leaves nothing to test on: the longest command has {longest} actions; "
            f"choose 1 to {longest - 1}"
        )
    once = [pair for pair, length in zip(pairs, lengths, strict=True) if length <= cutoff]
    return Parts(once, [], 0, [pair for pair, length in zip(pairs, lengths, strict=True) if length > cutoff])


def _add_jump(pairs: Sequence[Pair], num_composed: int) -> Parts:
    """As published, `jump` and the composed commands share its lines equally, and the latter leave the test part."""
    once, repeated, _, test = _add_primitive(pairs, "jump", _JUMPS)
    if num_composed >= len(test):
        raise ValueError(
            f"task.num_composed ({num_composed}) leaves nothing to test on: {len(test):,} composed commands have "
            f"jump; choose 0 to {len(test) - 1}"
        )
    repeated += test[:num_composed]
    return Parts(once, repeated, max(1, round(_JUMPS / len(repeated))), test[num_composed:])


def _add_primitive(pairs: Sequence[Pair], primitive: str, repeats: int) -> Parts:
    """`turn left` counts where the two words follow each other: `turn around left` is trained on."""
    once = [pair for pair in pairs if primitive not in pair.source]
    alone = [pair for pair in pairs if primitive == pair.source]
    composed = [pair for pair in pairs if primitive in pair.source and primitive != pair.source]
    return Parts(once, alone, repeats, composed)


def _few_shot(pairs: Sequence[Pair], num_shots: int) -> Parts:
    """`filler` without fillers, and some commands of its first filler, which no validation takes away."""
    none, one = (_template(pairs, "around right", fillers=_FILLERS[:number], tested=("jump",)) for number in (0, 1))
    known = {pair.source for pair in none.once}
    shots = [pair for pair in one.once if pair.source not in known]
    if num_shots > len(shots):
        raise ValueError(
            f"task.num_shots ({num_shots}) asks for more than exist: {len(shots):,} commands have "
            f'"{_FILLERS[0]} around right" and no other filler; choose 1 to {len(shots)}'
        )
    return Parts(none.once, shots[:num_shots], 1, none.test)


def _template(
    pairs: Sequence[Pair], template: str, *, fillers: Sequence[str] = (), tested: Sequence[str] = PRIMITIVES
) -> Parts:
    """Training: nothing but fillers stands before the template. Test: one of `tested` does, and `turn` does not."""
    before = [_before(template.split(" "), pair.source.split(" ")) for pair in pairs]
    once = [pair for pair, words in zip(pairs, before, strict=True) if words.issubset(fillers)]
    test = [
        pair for pair, words in zip(pairs, before, strict=True) if not words.isdisjoint(tested) and "turn" not in words
    ]
    return Parts(once, [], 0, test)


def _before(template: list[str], words: list[str]) -> set[str]:
    size = len(template)
    return {words[place - 1] for place in range(1, len(words)) if words[place : place + size] == template}
