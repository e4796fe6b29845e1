"""Sets of model options for the tests that hold for every option: covering sets of pairs and of triples."""

from itertools import combinations, product

from seq2see.options import Activation, ModelOptions, NormOrder, Position, Score

SIZES = dict(d_model=8, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, d_ff=12)
CHOICES = {
    "position": list(Position),
    "cross_position": [position for position in Position if not position.is_embedded],
    "score": list(Score),
    "norm": list(NormOrder),
    "activation": list(Activation),
    "tie_embeddings": [True, False],
    "share_layers": [False, True],
    "window": [None, 2],
    "num_kv_heads": [None, 1],
    "randomize_positions": [None, 40],
}


def _is_meaningful(choice):
    """Whether this combination has a meaning; the others are refused (tests/options/test_rules.py)."""
    places = (choice["position"], choice["cross_position"])
    has_no_positions = places == (Position.none, Position.none)
    is_additive_rope = choice["score"] is Score.additive and Position.rope in places
    return not is_additive_rope and not (has_no_positions and choice["randomize_positions"])


def covering(strength):
    """Choices in which every so many values that can stand together do: greedy, so always the same."""
    number = {}  # of each combination: its bit
    together = []
    for values in product(*CHOICES.values()):
        choice = dict(zip(CHOICES, values, strict=True))
        if _is_meaningful(choice):
            parts = combinations([(name, str(value)) for name, value in choice.items()], strength)
            together.append((choice, sum(1 << number.setdefault(part, len(number)) for part in parts)))
    missing = (1 << len(number)) - 1
    found = []
    while missing:
        choice, own = max(together, key=lambda candidate: (candidate[1] & missing).bit_count())
        missing &= ~own
        found.append(choice)
    return found


def name_of(choice):
    return "-".join(str(getattr(value, "name", value)) for value in choice.values())


_PAIRS = covering(2)
EVERY_OPTION = [ModelOptions(**SIZES, **choice) for choice in _PAIRS]
EVERY_OPTION_NAMES = [name_of(choice) for choice in _PAIRS]
