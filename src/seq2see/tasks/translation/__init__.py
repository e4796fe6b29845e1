"""English-German pairs of a small grammar of our own, each with its true alignment.

words.py knows every word with its forms, clauses.py puts them in order, sentences.py chooses what to say. German
follows from the English sentence alone: one source, one target.
"""

import random

from seq2see.options import TranslationOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation.sentences import MAX_WORDS, Speaker

__all__ = ["MAX_PAIRS", "Translation"]

SHORTEST_TEXT, LONGEST_TEXT = 2 * MAX_WORDS, 4 * MAX_WORDS  # words of a source of the split `ood`
MAX_PAIRS = 1_000_000  # of all splits together; the grammar makes many times as many (tests/tasks/test_translation.py)


class Translation:
    """The pairs of the translation task; a ValueError if the sizes add up to more than MAX_PAIRS.

    Test, valid and train are drawn in this order, each from its own generator, and no source twice: so a larger train
    split begins with the smaller one. A source of `ood` is a text of several sentences.
    """

    def __init__(self, options: TranslationOptions) -> None:
        self.notes: list[str] = []
        self.ood = f"several sentences, {SHORTEST_TEXT} to {LONGEST_TEXT} words" if options.ood_size else ""
        self._ood_size = options.ood_size
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
        """The pairs of `train`, `valid`, `test` or `ood`, with their links."""
        if split not in self._pairs:
            self._pairs[split] = self._draw_texts() if split == "ood" else self._draw(split)
        return self._pairs[split]

    def _draw(self, split: str) -> list[Pair]:
        earlier = list(self._sizes)[: list(self._sizes).index(split)]
        taken = {pair.source for other in earlier for pair in self.pairs(other)}
        speaker = Speaker(random.Random(f"{self._seed} {split}"))
        pairs: list[Pair] = []
        while len(pairs) < self._sizes[split]:
            pair = speaker.sentence()
            if pair.source not in taken:
                taken.add(pair.source)
                pairs.append(pair)
        return pairs

    def _draw_texts(self) -> list[Pair]:
        rng = random.Random(f"{self._seed} ood")
        speaker = Speaker(rng)
        return [_text(speaker, at_least=rng.randint(SHORTEST_TEXT, LONGEST_TEXT)) for _ in range(self._ood_size)]


def _text(speaker: Speaker, *, at_least: int) -> Pair:
    """Sentences one after the other, of at least so many words and at most LONGEST_TEXT."""
    source: list[str] = []
    target: list[str] = []
    links: list[tuple[int, int]] = []
    while len(source) < min(at_least, LONGEST_TEXT - 3):  # 3: there is always a sentence for what is left
        pair = speaker.sentence()
        words = pair.source.split(" ")
        if len(source) + len(words) <= LONGEST_TEXT:
            links += [(len(source) + i, len(target) + j) for i, j in pair.links or ()]
            source += words
            target += pair.target.split(" ")
    return Pair(" ".join(source), " ".join(target), tuple(links))
