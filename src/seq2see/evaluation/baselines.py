"""What one can do without a model: the outputs that its scores are to be seen beside."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_MOST_WORK = 1_000_000_000  # sources to find x training tokens; a few seconds


@dataclass
class Baselines:
    """Outputs for each source.

    Args:
        outputs: by the baseline's name: `copy` (the source itself), `nearest` (the target of the most similar training
            source) and `most_frequent` (of all training targets).
        searched: training pairs that `nearest` was looked for among: all, or as many, evenly spaced, as a few seconds
            allow.
    """

    outputs: dict[str, list[str]]
    searched: int


def make_baselines(
    texts: Sequence[str],
    sources: Sequence[Sequence[int]],
    training_sources: Sequence[Sequence[int]],
    training_targets: Sequence[str],
) -> Baselines:
    """The baselines' outputs.

    Args:
        texts: the sources, as `copy` writes them.
        sources: the sources as ids.
        training_sources: of the training pairs, at least one, as ids.
        training_targets: as many.
    """
    tokens = sum(map(len, training_sources)) + 1
    num_searched = len(training_sources)
    if len(sources) * tokens > _MOST_WORK:
        num_searched = max(int(num_searched * _MOST_WORK / (len(sources) * tokens)), 1)
    searched = np.linspace(0, len(training_sources) - 1, num_searched).astype(np.int64).tolist()
    nearest = nearest_sources(sources, [training_sources[place] for place in searched])
    outputs = {
        "copy": list(texts),
        "nearest": [training_targets[searched[place]] for place in nearest],
        "most_frequent": [Counter(training_targets).most_common(1)[0][0]] * len(texts),
    }
    return Baselines(outputs, num_searched)


def nearest_sources(sources: Sequence[Sequence[int]], among: Sequence[Sequence[int]]) -> list[int]:
    """For each source the most similar of others, the first of equals; an exact search.

    Similarity is the share of what two have in common among their tokens and pairs of neighbouring tokens, each
    counted as often as it is there.

    Args:
        sources: ids.
        among: ids of the others, at least one.

    Source:
        Dice 1945, "Measures of the Amount of Ecologic Association Between Species", over multisets.
    """
    rows, features = _features([*sources, *among])
    sizes = np.bincount(rows, minlength=len(sources) + len(among))
    own = rows < len(sources)
    wanted, own_features = np.unique(features[own], return_inverse=True)
    places = np.minimum(np.searchsorted(wanted, features[~own]), max(len(wanted) - 1, 0))
    known = wanted[places] == features[~own] if len(wanted) else np.zeros(len(places), dtype=bool)
    order = np.argsort(places[known], kind="stable")
    others = (rows[~own] - len(sources))[known][order]  # all that have the first feature, then the second, ...
    begins = np.concatenate([[0], np.cumsum(np.bincount(places[known], minlength=len(wanted)))])
    spans = np.split(own_features, np.cumsum(sizes[: len(sources)])[:-1])
    found = []
    for mine, size in zip(spans, sizes[: len(sources)], strict=True):
        shared = np.concatenate([others[:0], *(others[begins[one] : begins[one + 1]] for one in mine.tolist())])
        common = np.bincount(shared, minlength=len(among))
        found.append(int((common / np.maximum(size + sizes[len(sources) :], 1)).argmax()))
    return found


def _features(texts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and neighbouring pairs of all texts, each with how often it was there before: text and feature, int64."""
    lengths = np.array([len(text) for text in texts])
    flat = np.fromiter((token for text in texts for token in text), dtype=np.int64, count=int(lengths.sum()))
    rows = np.repeat(np.arange(len(texts)), lengths)
    inside = rows[1:] == rows[:-1]
    num_ids = int(flat.max(initial=0)) + 1
    pairs = (num_ids + num_ids * flat[:-1] + flat[1:])[inside]
    owner = np.concatenate([rows, rows[1:][inside]])
    _, kinds = np.unique(np.concatenate([flat, pairs]), return_inverse=True)
    order = np.lexsort((kinds, owner))
    owner, kinds = owner[order], kinds[order]
    is_new = np.ones(len(kinds), dtype=bool)
    is_new[1:] = (owner[1:] != owner[:-1]) | (kinds[1:] != kinds[:-1])
    begins = np.flatnonzero(is_new)
    before = np.arange(len(kinds)) - np.repeat(begins, np.diff(np.append(begins, len(kinds))))
    return owner, kinds * (int(before.max(initial=0)) + 1) + before
