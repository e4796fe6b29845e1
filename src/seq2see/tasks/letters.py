"""`copy`, `reverse`, `sort`: sequences of letters whose true alignment is known.

The sequences are drawn without repetition, the test pairs first, then the validation pairs, then the training pairs: so
no source is in two splits, `task.train_size` leaves the other splits as they are, and a smaller training set is the
beginning of a larger one. The split `ood` has sequences of twice to four times the longest length.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import islice
from random import Random
from string import ascii_lowercase

from seq2see.options import LettersOptions
from seq2see.tasks.decks import Deck, draw_evenly
from seq2see.tasks.pairs import Pair

# How much of a length may be used up once a split is drawn, as long as there is another choice: where sequences are few
# (26 of one letter), some are left for training.
_SHARES = {"test": 25, "valid": 50, "train": 100}  # percent


class Letters:
    """Distinct pairs of letter sequences, written with spaces between; all lengths equally often where that can be.

    Args:
        options: which task, how many pairs, which lengths, how many letters, which seed.

    Raises:
        ValueError: fewer distinct sequences exist than the three sizes ask for.
    """

    notes: list[str]
    ood: str

    def __init__(self, options: LettersOptions) -> None:
        self.notes = []
        self.ood = ""
        sizes = {"test": options.test_size, "valid": options.valid_size, "train": options.train_size}
        lengths = range(options.min_length, options.max_length + 1)
        _check_sizes(options, sum(options.vocab_size**length for length in lengths))
        random = Random(f"letters {options.seed}")
        decks = {length: Deck(options.vocab_size**length, random) for length in lengths}
        order = _ORDERS[options.kind]
        drawn = {split: _draw(decks, size, _SHARES[split], random) for split, size in sizes.items()}
        drawn["ood"] = self._draw_longer(options)
        self._pairs = {
            split: [_pair(_letters(number, length, options.vocab_size), order) for length, number in numbers]
            for split, numbers in drawn.items()
        }

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links."""
        return self._pairs[split]

    def _draw_longer(self, options: LettersOptions) -> list[tuple[int, int]]:
        shortest, longest = 2 * options.max_length, 4 * options.max_length
        random = Random(f"longer letters {options.seed}")
        decks = {length: Deck(options.vocab_size**length, random) for length in range(shortest, longest + 1)}
        size = min(options.ood_size, sum(deck.size for deck in decks.values()))
        if size:
            self.ood = f"{shortest} to {longest} letters"
        return _draw(decks, size, 100, random)


def _check_sizes(options: LettersOptions, exist: int) -> None:
    left = exist
    for key in ("test_size", "valid_size", "train_size"):
        asked = getattr(options, key)
        if asked > left:
            raise ValueError(
                f"task.{key} ({asked}) asks for more than exist: {exist} distinct sequences with task.vocab_size "
                f"({options.vocab_size}), task.min_length ({options.min_length}) and task.max_length "
                f"({options.max_length}), {left} of them for this split; ask for fewer, or for longer sequences"
            )
        left -= asked


def _draw(decks: dict[int, Deck], size: int, share: int, random: Random) -> list[tuple[int, int]]:
    """`size` sequences as (length, number), each once."""
    limits = {length: deck.size * share // 100 for length, deck in decks.items()}
    return list(islice(draw_evenly(decks, limits, random), size))


def _letters(number: int, length: int, vocab_size: int) -> str:
    """The sequence with this number: its digits in base `vocab_size`, as letters."""
    letters = []
    for _ in range(length):
        number, digit = divmod(number, vocab_size)
        letters.append(ascii_lowercase[digit])
    return "".join(letters)


def _pair(letters: str, order: Callable[[str], tuple[int, ...]]) -> Pair:
    places = order(letters)
    target = " ".join([letters[place] for place in places])
    return Pair(" ".join(letters), target, _links(places))


@cache
def _copied(length: int) -> tuple[int, ...]:
    return tuple(range(length))


@cache
def _reversed(length: int) -> tuple[int, ...]:
    return tuple(range(length - 1, -1, -1))


def _sorted(letters: str) -> tuple[int, ...]:
    """Equal letters keep their order, as in any stable sort."""
    return tuple(sorted(range(len(letters)), key=letters.__getitem__))


@lru_cache(maxsize=4096)  # the pairs of a length share their links
def _links(places: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((place, target) for target, place in enumerate(places))


# For each target place, the source place that it is taken from.
_ORDERS: dict[str, Callable[[str], tuple[int, ...]]] = {
    "copy": lambda letters: _copied(len(letters)),
    "reverse": lambda letters: _reversed(len(letters)),
    "sort": _sorted,
}
