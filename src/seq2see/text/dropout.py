"""BPE dropout: a known text in other pieces each time, so that a model learns what its words are made of.

The `tokenizers` library can do it too, but draws from a generator of its own, one a thread, that nothing can seed: no
run would repeat itself, and none could go on where it was interrupted. So the learned merges are applied here.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, repeat
from random import Random

from seq2see.text import vocabulary

_MOST_WORDS = 100_000  # whose segmentation is remembered: some tens of megabytes


class MergeDropout:
    """Segments texts anew, each merge left out with a probability.

    At every step the merges that are possible in a word are gone through in the order in which they were learned, each
    left out with probability `rate`; the first that is not is applied. Where all are left out, the word is done.

    Args:
        symbols: of the vocabulary, by id.
        merges: in the order in which they were learned.
        rate: 0 to below 1; 0 gives the usual segmentation.
        first_text_id: lower ids (special symbols and tags) are no text and stay as they are.

    Source:
        Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization", algorithm 1.
    """

    def __init__(
        self, symbols: Sequence[str], merges: Sequence[vocabulary.Merge], *, rate: float, first_text_id: int
    ) -> None:
        ids = {symbol: number for number, symbol in enumerate(symbols)}
        self.rate = rate
        self._symbols = symbols
        self._first_text_id = first_text_id
        self._ranks = {(ids[left], ids[right]): rank for rank, (left, right) in enumerate(merges)}
        self._merged = [ids[left + right] for left, right in merges]  # by rank
        self._id_of_byte = {character: ids[character] for character in vocabulary.BYTES}
        self._words: dict[str, tuple[list[int], list[int]]] = {}

    def __call__(self, ids: Sequence[int], random: Random) -> list[int]:
        """Other ids of the same text.

        Args:
            ids: any ids of a text, with its tags, without BOS and EOS.
            random: decides what is left out; the same state gives the same ids.
        """
        begin = next((place for place, number in enumerate(ids) if number >= self._first_text_id), len(ids))
        anew = list(ids[:begin])

        def kept() -> bool:
            return random.random() >= self.rate

        for word in vocabulary.byte_level_words("".join(self._symbols[number] for number in ids[begin:])):
            spelled, whole = self._word(word)
            draws = [kept() for _ in range(len(spelled) - len(whole))]  # one a merge, if none is left out
            anew += whole if all(draws) else self._segment(spelled, chain(draws, iter(kept, None)))
        return anew

    def _word(self, word: str) -> tuple[list[int], list[int]]:
        """A word byte by byte, and in its usual segmentation."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            spelled = [self._id_of_byte[character] for character in word]
            found = self._words[word] = spelled, self._segment(spelled, repeat(True))
        return found

    def _segment(self, spelled: Sequence[int], kept: Iterator[bool]) -> list[int]:
        """Merges until none is kept; each draw says whether the next candidate is."""
        pieces, ranks = list(spelled), self._ranks
        while True:
            candidates = [(ranks[pair], place) for place, pair in enumerate(pairwise(pieces)) if pair in ranks]
            while candidates:
                rank, place = first = min(candidates)
                if next(kept):
                    pieces[place : place + 2] = [self._merged[rank]]
                    break
                candidates.remove(first)
            else:
                return pieces
