"""English-German pairs of a small grammar of our own, each with its true alignment.

words.py knows every word with its forms, phrases.py and clauses.py put them in order, parts.py, events.py and
sentences.py choose what to say. German follows from the English sentence alone: one source, one target.
"""

import random

from seq2see.options import TranslationOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation.sentences import Speaker

__all__ = ["MAX_PAIRS", "Translation"]

MAX_PAIRS = 1_000_000  # of all splits together; the grammar makes many times as many (tests/tasks/test_translation.py)


class Translation:
    """The pairs of the translation task.

    The test split is drawn first, then valid, then train, each from its own generator, and none repeats a source of its
    own or of an earlier split. So a larger train split begins with the smaller one, and leaves valid and test alone.
    """

    def __init__(self, options: TranslationOptions) -> None:
        """Take the sizes and the seed.

        Args:
            options: seed and sizes.

        Raises:
            ValueError: the sizes add up to more than MAX_PAIRS.
        """
        self.notes: list[str] = []
        self._seed = options.seed
        self._sizes = {"test": options.test_size, "valid": options.valid_size, "train": options.train_size}
        self._pairs: dict[str, list[Pair]] = {}
        asked = sum(self._sizes.values())
        if asked > MAX_PAIRS:
            split = max(self._sizes, key=self._sizes.__getitem__)
            raise ValueError(
                f"task.{split}_size ({self._sizes[split]}) is too large: task=translation makes at most {MAX_PAIRS} "
                f"pairs for train, valid and test together, and {asked} are asked for"
            )

    def pairs(self, split: str) -> list[Pair]:
        """The pairs of a split.

        Args:
            split: "train", "valid" or "test".
        """
        if split not in self._pairs:
            self._pairs[split] = self._draw(split)
        return self._pairs[split]

    def _draw(self, split: str) -> list[Pair]:
        order = list(self._sizes)
        taken = {pair.source for earlier in order[: order.index(split)] for pair in self.pairs(earlier)}
        speaker = Speaker(random.Random(f"{self._seed} {split}"))
        pairs: list[Pair] = []
        while len(pairs) < self._sizes[split]:
            pair = speaker.sentence()
            if pair.source not in taken:
                taken.add(pair.source)
                pairs.append(pair)
        return pairs
