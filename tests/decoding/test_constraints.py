"""Outputs begin with, hold and lack what was asked for; a wide beam finds the best of them all, whatever tokens are."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import assert_same, endless, forced, random_model

from seq2see.decoding import Constraints, Ensemble, Hypothesis, LengthLimit, decode_sentences
from seq2see.decoding.ensemble import Predictor
from seq2see.options import DecodeOptions, Normalize, Position, TokenizerKind
from seq2see.text import Tokenizer

LIMIT = LengthLimit(0.0, asked=6)
CHAR = Tokenizer(TokenizerKind.char, ["a", "b", " "], normalize=Normalize.nfc)
WORD = Tokenizer(TokenizerKind.word, ["ab", "a", "b-a"], normalize=Normalize.nfc)
BPE = Tokenizer(TokenizerKind.bpe, ["a", "b", "Ġ", "ab", "Ġa"], [("a", "b"), ("Ġ", "a")], normalize=Normalize.nfc)
TOKENIZERS = [CHAR, WORD, BPE]
each_tokenizer = pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=["char", "word", "bpe"])


def fits(text: str, must: list[str], forbid: list[str], prefix: str) -> bool:
    def holds(word: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None

    begins = text.startswith(prefix) or (prefix[-1:].isspace() and text == prefix.rstrip())
    return begins and all(map(holds, must)) and not any(map(holds, forbid))


def every(
    model: Predictor, tokenizer: Tokenizer, limit: int, must: list[str], forbid: list[str], prefix: str
) -> list[Hypothesis]:
    """All whole outputs that fit, best first, each text of ids scored by itself."""
    texts = [list(ids) for n in range(limit) for ids in itertools.product(range(3, tokenizer.vocab_size), repeat=n)]
    texts = [ids for ids in texts if fits(tokenizer.decode(ids), must, forbid, prefix)]
    scores = forced(model, [[5, 6]] * len(texts), texts).totals
    found = [Hypothesis(ids, score, True) for ids, score in zip(texts, scores, strict=True)]
    return sorted(found, key=lambda one: -one.ranked_by(1.0))


def found(model: Predictor, constraints: Constraints, prefix: str = "", limit: int = 6, **decode) -> list[Hypothesis]:
    """Of one source between others, so that rows leave and come to rest."""
    options = DecodeOptions(batch_size=3, length_penalty=1.0, **decode)
    sources, prefixes = [[4], [5, 6], [7, 8, 9]], ["", prefix, ""]
    limits = replace(LIMIT, asked=limit)
    return decode_sentences(model, sources, limit=limits, options=options, constraints=constraints, prefixes=prefixes)[
        1
    ]


CASES = [
    (["a"], [], ""),
    (["a"], ["ab"], ""),
    ([], ["a", "ab"], ""),
    ([], [], "ab "),
    ([], [], "a"),
    (["a", "ab"], [], ""),
    (["a"], [], "ab"),
    (["a"], [], "a "),
    ([], ["a"], "a"),
    (["ab a"], [], ""),
]


@each_tokenizer
@pytest.mark.parametrize(("must", "forbid", "prefix"), CASES)
def test_a_wide_beam_finds_every_output_that_fits_in_their_order(
    tokenizer: Tokenizer, must: list[str], forbid: list[str], prefix: str
) -> None:
    limit = 5 if tokenizer is CHAR else 4  # the beam is as wide as there are outputs of so many tokens
    model = random_model(3, tokenizer.vocab_size)
    wanted = every(model, tokenizer, limit, must, forbid, prefix)
    constraints = Constraints(tokenizer, must=must, forbid=forbid)
    if not wanted:
        with pytest.raises(ValueError, match="needs at least"):
            found(model, constraints, prefix, limit, beam_size=1000, num_best=1000)
        return
    own = found(model, constraints, prefix, limit, beam_size=1000, num_best=1000)
    assert_same([[one for one in own if one.ended]], [wanted])
    assert all(fits(tokenizer.decode(one.ids), must, forbid, prefix) for one in own)


def test_an_ensemble_is_searched_alike() -> None:
    models = Ensemble([random_model(1, 7), random_model(2, 7, position=Position.learned, max_positions=40)])
    own = found(models, Constraints(CHAR, must=["a"], forbid=["ab"]), "b", 5, beam_size=1000, num_best=1000)
    assert_same([[one for one in own if one.ended]], [every(models, CHAR, 5, ["a"], ["ab"], "b")])


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    tokenizer=st.sampled_from(TOKENIZERS),
    decode=st.sampled_from([{}, {"beam_size": 3, "num_best": 3}, {"sample": True, "num_best": 3}]),
    must=st.lists(st.sampled_from(["a", "ab"]), max_size=2),
    forbid=st.sampled_from([[], ["b-a"], ["a ab"]]),
    prefix=st.sampled_from(["", "a", "ab", "ab "]),
    ends=st.booleans(),
)
def test_whatever_method_all_outputs_fit_and_are_scored_as_by_the_model(
    seed: int, tokenizer: Tokenizer, decode: dict, must: list[str], forbid: list[str], prefix: str, ends: bool
) -> None:
    must = [] if "sample" in decode else must
    model = random_model(seed, tokenizer.vocab_size)
    model = model if ends else endless(model)
    own = found(model, Constraints(tokenizer, must=must, forbid=forbid), prefix, 9, **decode)
    assert own
    for one in own:
        assert fits(tokenizer.decode(one.ids), must, forbid, prefix), tokenizer.decode(one.ids)
        log_probs = forced(model, [[5, 6]], [one.ids]).log_probs[0]
        assert one.score == pytest.approx(log_probs[: len(one.ids) + one.ended].sum())


def test_greedy_takes_the_most_probable_token_of_those_that_may_follow() -> None:
    model = random_model(5, CHAR.vocab_size)
    (one,) = found(model, Constraints(CHAR, forbid=["ab"]), "a", 6)
    best, ids = every(model, CHAR, 6, [], ["ab"], "a"), list[int]()
    while ids != one.ids:
        step = {}
        for other in best:
            if other.ids[: len(ids)] == ids and len(other.ids) > len(ids):
                step.setdefault(other.ids[len(ids)], other)
            scores = {token: forced(model, [[5, 6]], [[*ids, token]]).log_probs[0][len(ids)] for token in step}
        ids.append(max(scores, key=lambda token: scores[token]))
        assert ids == one.ids[: len(ids)]


def test_without_constraints_nothing_changes() -> None:
    model = random_model(4, CHAR.vocab_size)
    methods: list[dict] = [{}, {"beam_size": 3, "num_best": 3}, {"sample": True, "num_best": 2}]
    for decode in methods:
        options = DecodeOptions(**decode)
        plain = decode_sentences(model, [[4], [5, 6]], limit=LIMIT, options=options)
        assert (
            decode_sentences(model, [[4], [5, 6]], limit=LIMIT, options=options, constraints=Constraints(CHAR)) == plain
        )


@pytest.mark.parametrize(
    ("text", "holds"),
    [("Hund", False), ("Hunde", True), ("ein Hund.", False), ("»Hund«", False), ("Hündin", True), ("Hund_", True),
     ("Hundé", True), ("\u00e9Hund", True), ("Hund—", False)],
)  # fmt: skip
def test_a_word_is_found_as_a_whole_with_any_signs_around_it(text: str, holds: bool) -> None:
    letters = Tokenizer.fit(TokenizerKind.char, ["ein Hunde. »« ü é _ —"])
    constraints = Constraints(letters, forbid=["Hund"])
    if holds:
        constraints.path(text, number=1, limit=LengthLimit(0.0, asked=40), source_length=1)
    else:
        with pytest.raises(ValueError, match="without what forbid names"):
            constraints.path(text + " ", number=1, limit=LengthLimit(0.0, asked=40), source_length=1)


def test_scripts_without_spaces_are_found_anywhere() -> None:
    letters = Tokenizer.fit(TokenizerKind.char, ["数据模型"])
    with pytest.raises(ValueError, match="without what forbid names"):
        Constraints(letters, forbid=["据"]).path("数据模", number=1, limit=LIMIT, source_length=1)


@pytest.mark.parametrize(
    ("must", "forbid", "prefix", "message"),
    [
        (["zebra"], [], "", r"must \(zebra\) cannot be written: the model has no symbol for zebra: choose words"),
        (["ab"], ["ab"], "", r"must \(ab\) cannot be written without what forbid names \(ab\): leave out"),
        ([" "], [], "", r"must \(' '\) has a blank text: leave it out"),
        (["a"] * 9, [], "", r"must has 9 texts, and at most 8"),
        ([], [], "ab zeb", r"line 2: prefix \(ab zeb\) cannot be written: the model has no symbol for zeb: choose"),
        ([], ["ab"], "ab a", r"line 2: prefix \(ab a\) cannot be written without what forbid names \(ab\)"),
        (
            ["a"],
            [],
            "ab ab ab ab ab ab",
            r"line 2: prefix \(ab ab ab ab ab ab\) and must \(a\) needs at least 7 tokens, and the length limit is 6: "
            "set a larger decode.max_length",
        ),
    ],
)
def test_what_cannot_be_met_is_refused_with_the_line_and_what_to_do(
    must: list[str], forbid: list[str], prefix: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        found(random_model(0, WORD.vocab_size), Constraints(WORD, must=must, forbid=forbid), prefix)


def test_texts_that_must_appear_are_not_sampled() -> None:
    with pytest.raises(ValueError, match=r"decode.sample=true draws at random, and must= needs a search"):
        found(random_model(0, WORD.vocab_size), Constraints(WORD, must=["a"]), sample=True)


def test_with_texts_that_must_appear_the_whole_log_probability_ranks_unless_a_penalty_is_set() -> None:
    model, keys = random_model(3, CHAR.vocab_size), {"beam_size": 50, "num_best": 9}

    def scores(**more) -> list[float]:
        options = DecodeOptions(**keys, **more)
        (own,) = decode_sentences(model, [[5]], limit=LIMIT, options=options, constraints=Constraints(CHAR, must=["a"]))
        return [one.score for one in own]

    assert scores() == scores(length_penalty=0.0) == sorted(scores(), reverse=True) != scores(length_penalty=1.0)
