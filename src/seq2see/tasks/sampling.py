"""Distinct pairs for all splits of a task, drawn from groups that should come equally often, some of them small."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice, starmap
from random import Random
from typing import Generic, TypeVar

from seq2see.options import GeneratedOptions
from seq2see.tasks.pairs import Pair

Key = TypeVar("Key")


class DistinctSampler(Generic[Key]):
    """The members of groups of these sizes, numbered from 0, each once, in random order.

    The groups `for_training` are left for training as long as there is another choice.
    """

    def __init__(self, sizes: Mapping[Key, int], random: Random, *, for_training: Collection[Key] = ()) -> None:
        self.total = sum(sizes.values())
        self._sizes = sizes
        self._random = random
        self._for_training = for_training
        self._num_drawn = dict.fromkeys(sizes, 0)
        self._moved: dict[Key, dict[int, int]] = {key: {} for key in sizes}

    def draw(self, percent: int) -> Iterator[tuple[Key, int]]:
        """A random group and its next member, again and again; none beyond these percent while another is below."""
        limits = {key: size * percent // 100 for key, size in self._sizes.items()}
        if percent < 100:
            limits |= dict.fromkeys(self._for_training, 0)
        for most in (limits, self._sizes):
            open_keys = [key for key, limit in most.items() if self._num_drawn[key] < limit]
            while open_keys:
                key = open_keys[self._random.randrange(len(open_keys))]
                first, moved = self._num_drawn[key], self._moved[key]
                place = self._random.randrange(first, self._sizes[key])
                member = moved.get(place, place)  # a Fisher-Yates shuffle that stores only what has moved
                moved[place] = moved.pop(first, first)
                self._num_drawn[key] += 1
                if self._num_drawn[key] >= most[key]:
                    open_keys.remove(key)
                yield key, member


def draw_splits(
    options: GeneratedOptions,
    write: Callable[[Key, int], Pair],
    usual: DistinctSampler[Key],
    ood: DistinctSampler[Key],
    remedy: str,
) -> dict[str, list[Pair]]:
    """The pairs that `write` makes of what is drawn, in the sizes that the options ask for, each source once.

    Training pairs are drawn last: so `task.train_size` leaves the other splits as they are, and a smaller training set
    begins a larger one. A split that asks for more than exist is a ValueError; `remedy` says what helps.
    """
    splits: dict[str, list[Pair]] = {}
    sources: set[str] = set()
    samplers = ("test", usual, 25), ("valid", usual, 50), ("train", usual, 100), ("ood", ood, 100)
    for split, sampler, percent in samplers:  # an early split leaves some of each small group for the next
        asked = getattr(options, f"{split}_size")
        left = sampler.total - (0 if sampler is ood else len(sources))
        if asked <= left:
            splits[split] = list(islice(_new(starmap(write, sampler.draw(percent)), sources), asked))
            left = len(splits[split])  # fewer where two members are written alike
        if asked > left:
            which = "of the split ood" if sampler is ood else "outside the split ood"
            raise ValueError(
                f"task.{split}_size ({asked}) asks for more than exist: {sampler.total} pairs {which}, {left} of them "
                f"for this split; ask for fewer, or {remedy}"
            )
    return splits


def _new(pairs: Iterable[Pair], sources: set[str]) -> Iterator[Pair]:
    for pair in pairs:
        if pair.source not in sources:
            sources.add(pair.source)
            yield pair
