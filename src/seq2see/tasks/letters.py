"""`copy`, `reverse`, `sort`: sequences of letters, all lengths equally often; `ood` is twice to four times as long."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from string import ascii_lowercase

from seq2see.options import LettersOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.sampling import DistinctSampler, draw_splits


class Letters:
    """Distinct pairs of letter sequences; to ask for more than exist is a ValueError."""

    def __init__(self, options: LettersOptions) -> None:
        def sampler(shortest: int, longest: int, seed: str) -> DistinctSampler[int]:
            sizes = {length: options.vocab_size**length for length in range(shortest, longest + 1)}
            return DistinctSampler(sizes, Random(f"{seed} {options.seed}"))

        shortest, longest = 2 * options.max_length, 4 * options.max_length
        usual = sampler(options.min_length, options.max_length, "letters")
        ood = sampler(shortest, longest, "longer letters")
        sizes = replace(options, ood_size=min(options.ood_size, ood.total))
        self.notes: list[str] = []
        self.ood = f"{shortest} to {longest} letters" if sizes.ood_size else ""
        self._pairs = draw_splits(
            sizes,
            lambda length, number: _pair(options.kind, _letters(number, length, options.vocab_size)),
            usual,
            ood,
            f"raise task.vocab_size ({options.vocab_size}) or task.max_length ({options.max_length})",
        )

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links."""
        return self._pairs[split]


def _letters(number: int, length: int, vocab_size: int) -> str:
    """The sequence with this number: its digits in base `vocab_size`, as letters."""
    letters = ""
    for _ in range(length):
        number, digit = divmod(number, vocab_size)
        letters += ascii_lowercase[digit]
    return letters


def _pair(kind: str, letters: str) -> Pair:
    places = range(len(letters))  # of the source, in the order of the target
    if kind == "reverse":
        places = reversed(places)
    elif kind == "sort":  # equal letters keep their order
        places = sorted(places, key=letters.__getitem__)
    places = tuple(places)
    return Pair(" ".join(letters), " ".join([letters[place] for place in places]), _links(places))


@lru_cache(maxsize=4096)  # the pairs of a length share their links
def _links(places: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((place, target) for target, place in enumerate(places))
