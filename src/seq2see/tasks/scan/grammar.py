"""All commands of SCAN, each with its actions and with the words that cause them.

The phrase-structure grammar, from the outside in (20,808 + 102 = 20,910 commands):

    C -> S and S | S after S | S
    S -> V twice | V thrice | V
    V -> D opposite left | D around left | D left | P, and the same with right
    D -> P | turn
    P -> walk | look | run | jump

A phrase is built together with its alignment: for each action, the place of the one word that names it. The actions are
read off those words, so an alignment that missed would be a wrong command, too.

Source:
    Lake and Baroni 2018, "Generalization without Systematicity", supplementary figures 6 and 7.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from seq2see.tasks.pairs import Pair

PRIMITIVES = ("walk", "look", "run", "jump")

# The words that name an action. All others (turn, opposite, around, twice, thrice, and, after) say how often and in
# which order, and have no link.
_ACTIONS = {
    "walk": "I_WALK",
    "look": "I_LOOK",
    "run": "I_RUN",
    "jump": "I_JUMP",
    "left": "I_TURN_LEFT",
    "right": "I_TURN_RIGHT",
}


@cache
def commands() -> tuple[Pair, ...]:
    """All 20,910 pairs of command and actions, each once, with one sure link for each action.

    The link of an action goes to the word that names it: `I_JUMP` to `jump`, `I_TURN_LEFT` to `left` (also in
    `turn left` and `jump around left`). So a word may have many links, and the words that only say how often or in
    which order have none.
    """
    return tuple(_pair(phrase) for phrase in _commands())


class _Phrase(NamedTuple):
    words: tuple[str, ...]
    causes: tuple[int, ...]  # for each action, the place of the word that names it


def _commands() -> Iterator[_Phrase]:
    sentences = [*_sentences()]
    yield from sentences
    for first, second in product(sentences, repeat=2):
        moved = tuple(len(first.words) + 1 + place for place in second.causes)
        yield _Phrase((*first.words, "and", *second.words), first.causes + moved)
        yield _Phrase((*first.words, "after", *second.words), moved + first.causes)


def _sentences() -> Iterator[_Phrase]:
    for words, causes in _verb_phrases():
        yield _Phrase(words, causes)
        yield _Phrase((*words, "twice"), causes * 2)
        yield _Phrase((*words, "thrice"), causes * 3)


def _verb_phrases() -> Iterator[_Phrase]:
    for primitive in PRIMITIVES:
        yield _Phrase((primitive,), (0,))
    for verb, direction in product((*PRIMITIVES, "turn"), ("left", "right")):
        act = () if verb == "turn" else (0,)
        yield _Phrase((verb, direction), (1, *act))
        yield _Phrase((verb, "opposite", direction), (2, 2, *act))
        yield _Phrase((verb, "around", direction), (2, *act) * 4)


def _pair(phrase: _Phrase) -> Pair:
    actions = [_ACTIONS[phrase.words[place]] for place in phrase.causes]
    return Pair(" ".join(phrase.words), " ".join(actions), _links(phrase.causes))


@cache  # the commands share their 903 alignments
def _links(causes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((place, action) for action, place in enumerate(causes))
