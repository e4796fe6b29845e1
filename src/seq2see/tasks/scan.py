"""`scan`: navigation commands and their actions, in the published splits, with the true alignment.

The grammar, from the outside in (20,808 + 102 = 20,910 commands):

    C -> S and S | S after S | S
    S -> V twice | V thrice | V
    V -> D opposite left | D around left | D left | P, and the same with right
    D -> P | turn
    P -> walk | look | run | jump

`length`, `addprim_*`, `template_*` and `filler` follow from it, command by command as published. `simple`, `few_shot`
and `num_composed` are draws of our own, by `task.seed`, of the published sizes.

Source:
    Lake and Baroni 2018, "Generalization without Systematicity": the grammar (supplementary figures 6 and 7), `simple`,
    `length`, `addprim_*`. Loula, Baroni and Lake 2018, "Rearranging the Familiar": `filler`, `template_*`, `few_shot`.
    Other lengths than 22: Newman et al. 2020, "The EOS Decision and Length Extrapolation".
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import NamedTuple

from seq2see.options import ScanOptions, ScanSplit
from seq2see.tasks.pairs import Pair

_Phrase = tuple[tuple[str, ...], tuple[int, ...]]  # words; for each action, the place of the word that names it
_PRIMITIVES = ("walk", "look", "run", "jump")
_JUMPS = 1467  # lines `jump`, a tenth of the training part of addprim_jump
_KEYS_OF_SPLITS = ("train_fraction", "length_cutoff", "num_composed")
_FILLERS = ("look", "walk", "run")  # in the order in which they are published
# The words that name an action. All others (turn, opposite, around, twice, thrice, and, after) have no link.
_ACTIONS = {word: f"I_{word.upper()}" for word in _PRIMITIVES} | {"left": "I_TURN_LEFT", "right": "I_TURN_RIGHT"}


class Scan:
    """The commands of SCAN in one of its splits, every part in an order that the seed decides.

    Validation is drawn from the commands that stand once in training, and leaves it: so no source is in two parts. A
    smaller training part is the beginning of a larger one. There is no `ood`: most test parts are so themselves.

    Raises:
        ValueError: the options leave nothing to train or to test on, or ask for more than exists.
    """

    def __init__(self, options: ScanOptions) -> None:
        random = Random(f"scan {options.seed}")
        shuffled = [*commands()]
        random.shuffle(shuffled)
        parts = _divide(shuffled, options)
        for part, use in ((parts.once, "train"), (parts.test, "test")):
            if not part:  # only where the key of the split asks for it
                key = next(key for key in _KEYS_OF_SPLITS if getattr(options, key) is not None)
                raise ValueError(
                    f"task.{key} ({getattr(options, key)}) leaves none of the {len(shuffled):,} commands to {use} on"
                )
        exist, name = len(parts.once), options.split.value
        valid_size = min(500, exist // 10) if options.valid_size is None else options.valid_size
        if valid_size >= exist:
            raise ValueError(
                f"task.valid_size ({valid_size}) leaves nothing to train on: it is drawn from the {exist:,} commands "
                f"that stand once in the training part of task.split={name}; ask for fewer"
            )
        train = parts.once[valid_size:] + parts.repeated * parts.repeats
        random.shuffle(train)
        exist, train_size = len(train), options.train_size or len(train)
        if train_size > exist:
            raise ValueError(
                f"task.train_size ({train_size}) asks for more than exist: {exist:,} pairs in the training part of "
                f"task.split={name} beside the {valid_size:,} for validation; ask for fewer, or leave it out"
            )
        self._pairs = {"train": train[:train_size], "valid": parts.once[:valid_size], "test": parts.test, "ood": []}
        self.ood = ""
        some = f"{train_size:,}" if train_size == exist else f"{train_size:,} of {exist:,}"
        self.notes = [f"split={name}: {some} train{parts.note}, {valid_size:,} valid, {len(parts.test):,} test"]

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, with their links; `ood` is empty."""
        return self._pairs[split]


@cache
def commands() -> tuple[Pair, ...]:
    """All 20,910 pairs of command and actions, each once, each action linked to the word that names it."""
    phrases: list[_Phrase] = [((primitive,), (0,)) for primitive in _PRIMITIVES]
    for verb, direction in product((*_PRIMITIVES, "turn"), ("left", "right")):
        act = () if verb == "turn" else (0,)
        phrases.append(((verb, direction), (1, *act)))
        phrases.append(((verb, "opposite", direction), (2, 2, *act)))
        phrases.append(((verb, "around", direction), (2, *act) * 4))
    sentences: list[_Phrase] = []
    for words, places in phrases:
        sentences += [(words, places), ((*words, "twice"), places * 2), ((*words, "thrice"), places * 3)]
    joined: list[_Phrase] = []
    for (first, first_places), (second, places) in product(sentences, repeat=2):
        second_places = tuple(len(first) + 1 + place for place in places)
        joined.append(((*first, "and", *second), first_places + second_places))
        joined.append(((*first, "after", *second), second_places + first_places))
    return tuple(
        Pair(" ".join(words), " ".join([_ACTIONS[words[place]] for place in places]), _links(places))
        for words, places in sentences + joined
    )


@cache  # the commands share their 903 alignments
def _links(places: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((place, action) for action, place in enumerate(places))


class _Parts(NamedTuple):
    once: list[Pair]  # the commands that stand once in training
    test: list[Pair]
    repeated: list[Pair] = []  # those that validation leaves in training, all equally often
    repeats: int = 0  # how often each of them stands there
    note: str = ""  # on the repeated ones


def _divide(pairs: Sequence[Pair], options: ScanOptions) -> _Parts:
    """The parts of the split; in each, the order of `pairs` is kept, and what is chosen at random is the first."""
    match options.split:
        case ScanSplit.simple:
            size = int(Fraction(str(options.train_fraction or 0.8)) * len(pairs))  # 0.7 of 20,910 is not 14,636
            return _Parts([*pairs[:size]], [*pairs[size:]])
        case ScanSplit.length:
            num_spaces = (options.length_cutoff or 22) - 1
            short = [pair for pair in pairs if pair.target.count(" ") <= num_spaces]
            return _Parts(short, [pair for pair in pairs if pair.target.count(" ") > num_spaces])
        case ScanSplit.addprim_jump:
            return _add_jump(pairs, options.num_composed or 0)
        case ScanSplit.addprim_turn_left:
            return _add_primitive(pairs, "turn left", 2189)  # a tenth of the training part, as published
        case ScanSplit.template_right:
            return _template(pairs, "right", fillers=("opposite", "around"))
        case ScanSplit.template_opposite_right:
            return _template(pairs, "opposite right")
        case ScanSplit.template_around_right:
            return _template(pairs, "around right")
        case ScanSplit.template_jump_around_right:
            return _filler(pairs, 3)
        case ScanSplit.filler:
            return _filler(pairs, options.num_fillers or 0)
        case ScanSplit.few_shot:
            return _few_shot(pairs, options.num_shots or 1)


def _add_primitive(pairs: Sequence[Pair], primitive: str, repeats: int) -> _Parts:
    """`turn left` counts where the two words follow each other: `turn around left` is trained on."""
    once = [pair for pair in pairs if primitive not in pair.source]
    alone = [pair for pair in pairs if primitive == pair.source]
    composed = [pair for pair in pairs if primitive in pair.source and primitive != pair.source]
    return _Parts(once, composed, alone, repeats, f' ("{primitive}" {repeats:,} times)')


def _add_jump(pairs: Sequence[Pair], num_composed: int) -> _Parts:
    """As published, `jump` and the composed commands share its lines equally, and the latter leave the test part."""
    parts = _add_primitive(pairs, "jump", _JUMPS)
    if not num_composed:
        return parts
    repeated, repeats = parts.repeated + parts.test[:num_composed], max(1, round(_JUMPS / (num_composed + 1)))
    note = f' ("jump" and {num_composed:,} composed {repeats:,} times each)'
    return _Parts(parts.once, parts.test[num_composed:], repeated, repeats, note)


def _template(
    pairs: Sequence[Pair], template: str, *, fillers: Sequence[str] = (), tested: Sequence[str] = _PRIMITIVES
) -> _Parts:
    """Training: nothing but fillers stands before the template. Test: one of `tested` does, and `turn` does not."""
    once, test = [], []
    for pair in pairs:
        before = set(re.findall(rf"(\w+) {template}\b", pair.source))
        if before.issubset(fillers):
            once.append(pair)
        elif "turn" not in before and not before.isdisjoint(tested):
            test.append(pair)
    return _Parts(once, test)


def _filler(pairs: Sequence[Pair], num_fillers: int) -> _Parts:
    return _template(pairs, "around right", fillers=_FILLERS[:num_fillers], tested=("jump",))


def _few_shot(pairs: Sequence[Pair], num_shots: int) -> _Parts:
    """`filler` without fillers, and some commands of its first filler."""
    once, test, *_ = _filler(pairs, 0)
    known = set(once)
    shots = [pair for pair in _filler(pairs, 1).once if pair not in known]
    if num_shots > len(shots):
        raise ValueError(
            f"task.num_shots ({num_shots}) asks for more than exist: {len(shots):,} commands have "
            f'"{_FILLERS[0]} around right" and no other filler; choose 1 to {len(shots)}'
        )
    return _Parts(once, test, shots[:num_shots], 1, f' ({num_shots:,} with "look around right")')
