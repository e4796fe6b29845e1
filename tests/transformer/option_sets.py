"""Sets of model options for the tests that hold for every option: a pairwise covering set, and all of them."""

from itertools import combinations, product

from seq2see.options import Activation, ModelOptions, NormOrder, Position, Score

SIZES = dict(d_model=8, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, d_ff=12)
CROSS = [Position.none, Position.rope, Position.relative, Position.alibi]
CHOICES = {
    "position": list(Position),
    "cross_position": CROSS,
    "score": list(Score),
    "norm": list(NormOrder),
    "activation": list(Activation),
    "tie_embeddings": [True, False],
    "share_layers": [False, True],
    "window": [None, 2],
    "num_kv_heads": [None, 1],
    "randomize_positions": [None, 40],
}


def meaningful(choice):
    """Whether this combination has a meaning; the others are refused (test_options.py)."""
    additive_turn = choice["score"] is Score.additive and Position.rope in (
        choice["position"],
        choice["cross_position"],
    )
    no_positions = choice["position"] is choice["cross_position"] is Position.none
    return not additive_turn and not (no_positions and choice["randomize_positions"])


def all_choices(names=tuple(CHOICES)):
    """Every meaningful combination of these options; the others at their first value."""
    first = {name: values[0] for name, values in CHOICES.items()}
    for values in product(*(CHOICES[name] for name in names)):
        choice = first | dict(zip(names, values, strict=True))
        if meaningful(choice):
            yield choice


def pairs_of(choice):
    """Every two values that stand together in it."""
    return set(combinations(sorted((name, str(value)) for name, value in choice.items()), 2))


def covering_choices():
    """A small set in which every two values that can stand together do: greedy, so always the same."""
    everything = [(choice, pairs_of(choice)) for choice in all_choices()]
    missing = set().union(*(pairs for _, pairs in everything))
    while missing:
        choice, pairs = max(everything, key=lambda candidate: len(candidate[1] & missing))
        missing -= pairs
        yield choice


def name_of(choice):
    """A short name for pytest's lists."""
    return "-".join(str(getattr(value, "name", value)) for value in choice.values())


COVERING = list(covering_choices())
EVERY_OPTION = [ModelOptions(**SIZES, **choice) for choice in COVERING]
EVERY_OPTION_NAMES = [name_of(choice) for choice in COVERING]
