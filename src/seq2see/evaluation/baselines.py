"""What one can do without a model: the outputs that its scores are to be seen beside."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

_MOST_TOKENS = 2_000_000  # of training sources to search,
_MOST_WORK = 1_000_000_000  # and sources to find x these: a few seconds


def make_baselines(
    texts: Sequence[str],
    sources: Sequence[Sequence[int]],
    training_sources: Sequence[Sequence[int]],
    training_targets: Sequence[str],
) -> tuple[dict[str, list[str]], int]:
    """The baselines' outputs by name, and among how many training pairs `nearest` was looked for.

    `copy` is the source as a text, `nearest` the target of the training source most similar in ids (among all, or as
    many, evenly spaced, as a few seconds allow), and `most_frequent` that of all training targets.
    """
    most = min(_MOST_TOKENS, _MOST_WORK // len(sources))
    share = min(most / (sum(map(len, training_sources)) + 1), 1)
    num_searched = max(int(len(training_sources) * share), 1)
    searched = np.linspace(0, len(training_sources) - 1, num_searched).astype(np.int64).tolist()
    nearest = nearest_sources(sources, [training_sources[place] for place in searched])
    outputs = {
        "copy": list(texts),
        "nearest": [training_targets[searched[place]] for place in nearest],
        "most_frequent": [Counter(training_targets).most_common(1)[0][0]] * len(texts),
    }
    return outputs, num_searched


def nearest_sources(sources: Sequence[Sequence[int]], among: Sequence[Sequence[int]]) -> list[int]:
    """For each source the most similar of others, the first of equals; an exact search.

    Similarity is the share of what two have in common among their tokens and pairs of neighbouring tokens, each
    counted as often as it is there.

    Source:
        Dice 1945, "Measures of the Amount of Ecologic Association Between Species", over multisets.
    """
    wanted = [_features(source) for source in sources]
    places: dict[Hashable, list[int]] = {feature: [] for own in wanted for feature in own}
    sizes = np.zeros(len(among), dtype=np.int64)
    for place, other in enumerate(among):
        features = _features(other)
        sizes[place] = len(features)
        for feature in features:
            if feature in places:
                places[feature].append(place)
    having = {feature: np.array(own, dtype=np.int64) for feature, own in places.items()}
    nearest = []
    for own in wanted:
        shared = np.concatenate([np.zeros(0, dtype=np.int64), *(having[feature] for feature in own)])
        common = np.bincount(shared, minlength=len(among))
        nearest.append(int((common / np.maximum(len(own) + sizes, 1)).argmax()))
    return nearest


def _features(ids: Sequence[int]) -> list[Hashable]:
    """Tokens and neighbouring pairs, each with how often it was there before."""
    before: defaultdict[Hashable, int] = defaultdict(int)
    features = []
    for feature in (*ids, *zip(ids, ids[1:], strict=False)):
        features.append((feature, before[feature]))
        before[feature] += 1
    return features
