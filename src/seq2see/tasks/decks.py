"""Drawing without repetition from groups that should all come equally often, some of them small."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import TypeVar

Key = TypeVar("Key")


class Deck:
    """The numbers below `size` in random order, each once, shuffled only as far as they are drawn (Fisher-Yates)."""

    def __init__(self, size: int, random: Random) -> None:
        self.size = size
        self.num_drawn = 0
        self._random = random
        self._moved: dict[int, int] = {}

    def draw(self) -> int:
        """The next number."""
        place = self._random.randrange(self.num_drawn, self.size)
        number = self._moved.get(place, place)
        first = self._moved.pop(self.num_drawn, self.num_drawn)
        if place != self.num_drawn:
            self._moved[place] = first
        self.num_drawn += 1
        return number


def draw_evenly(decks: Mapping[Key, Deck], limits: Mapping[Key, int], random: Random) -> Iterator[tuple[Key, int]]:
    """A deck at random, then its next number, again and again until all decks are empty.

    Args:
        decks: what to draw from; some of it may be drawn already.
        limits: how many numbers of each deck may be gone as long as another deck has not reached its limit. So a split
            that is drawn early leaves some of a small deck for a later one.
        random: chooses the decks.
    """
    for most in (limits, {key: deck.size for key, deck in decks.items()}):
        open_keys = [key for key, deck in decks.items() if deck.num_drawn < most[key]]
        while open_keys:
            key = open_keys[random.randrange(len(open_keys))]
            deck = decks[key]
            number = deck.draw()
            if deck.num_drawn >= most[key]:
                open_keys.remove(key)
            yield key, number
