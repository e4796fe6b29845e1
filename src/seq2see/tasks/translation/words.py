"""The dictionary: words with all their forms, read from lexicon.toml.

A plural is a noun of its own here (gender "plural"): German articles and endings treat it just so.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

Case = Literal["nominative", "accusative", "dative", "genitive"]
Gender = Literal["masculine", "feminine", "neuter", "plural"]
Person = Literal["I", "he", "they"]  # verbs agree with these three only: "we" goes with "they", names with "he"
Forms = dict[tuple[Gender, Case], str]

CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter", "plural")
GENDER_OF_ARTICLE: dict[str, Gender] = {"der": "masculine", "die": "feminine", "das": "neuter"}


def _table(*lines: str) -> Forms:
    """Forms by gender and case; a line for each case lists those of each gender, "-" for an empty ending."""
    return {
        (gender, case): form.strip("-")
        for case, line in zip(CASES, lines, strict=True)
        for gender, form in zip(GENDERS, line.split(), strict=True)
    }


THE = _table("der die das die", "den die das die", "dem der dem den", "des der des der")
STRONG = _table("er e es e", "en e es e", "em er em en", "en er en er")
WEAK = _table("e e e en", "en e e en", "en en en en", "en en en en")  # after der, dieser
MIXED = _table("er e es en", "en e es en", "en en en en", "en en en en")  # after ein, kein, mein
DIES = _table("er e es e", "en e es e", "em er em en", "es er es er")
EIN = _table("- e - e", "en e - e", "em er em en", "es er es er")


class Determiner(NamedTuple):
    """An article or a word in its place."""

    english: str  # the English word; "" where a noun has none ("drinks milk")
    german: Forms  # its form for each gender and case, "" where there is none
    endings: Forms  # what an adjective after it takes
    definite: bool  # whether the listener knows which one is meant; German places such objects earlier


def _inflected(english: str, stem: str, like: Forms, endings: Forms, definite: bool) -> Determiner:
    return Determiner(english, {key: stem + ending for key, ending in like.items()}, endings, definite)


POSSESSIVES = {"my": "mein", "our": "unser", "his": "sein", "her": "ihr", "their": "ihr"}
DETERMINERS: dict[str, Determiner] = {
    "the": Determiner("the", THE, WEAK, definite=True),
    "this": _inflected("this", "dies", DIES, WEAK, True),
    "these": _inflected("these", "dies", DIES, WEAK, True),
    "a": _inflected("a", "ein", EIN, MIXED, False),
    "bare": Determiner("", dict.fromkeys(THE, ""), STRONG, definite=False),
    "two": Determiner("two", dict.fromkeys(THE, "zwei"), STRONG, definite=False),
    "three": Determiner("three", dict.fromkeys(THE, "drei"), STRONG, definite=False),
    **{english: _inflected(english, stem, EIN, MIXED, True) for english, stem in POSSESSIVES.items()},
}
KEIN = _inflected("", "kein", EIN, MIXED, False)  # what "not" makes of "ein" and of no article


class Adjective(NamedTuple):
    """An adjective: English, German after "to be", and the stem that endings join."""

    english: str
    german: str
    stem: str


class Noun(NamedTuple):
    """A noun in one number."""

    english: list[str]  # one word, or two that German joins to one ("train", "station")
    german: dict[Case, str]  # its form in each case
    gender: Gender  # its gender
    lemma: str  # its English singular, the same for both numbers
    determiners: list[str]  # names of those that suit it
    adjectives: list[Adjective]  # those that suit it


class Verb(NamedTuple):
    """A verb."""

    english: list[str]  # plain form, third person singular and past; "-" where that looks like the present
    particle: str  # an English word that belongs to it ("up"), if any
    german: dict[Person, str]  # the form for each person; that of "they" is the plain form, too
    prefix: str  # the separable one, if any
    auxiliary: str  # "hat" or "ist"; "-" where the past is a form of its own
    past: list[str]  # the participle, or the past forms of "he" and "they"
    who: list[str]  # groups of its subjects; for opinions the conjunctions that follow
    what: list[str]  # groups of its accusative objects
    whom: list[str]  # groups of its dative objects
    where: str  # "at": it happens at a place; "to": it leads to one


class Lexicon(NamedTuple):
    """All words. `places` has for each lemma (English, German) prepositions for "at" and "to"."""

    nouns: dict[str, list[Noun]]
    places: dict[str, list[list[str]]]
    adjectives: dict[str, Adjective]
    names: dict[str, str]
    phrases: dict[str, list[tuple[str, str]]]  # as they are written there
    verbs: list[Verb]
    opinions: list[Verb]


@cache
def lexicon() -> Lexicon:
    """The words of lexicon.toml."""
    read = tomllib.loads(
        resources.files("seq2see.tasks.translation").joinpath("lexicon.toml").read_text(encoding="utf-8")
    )
    adjectives = {
        english: Adjective(english, german.split()[0], german.split()[-1])
        for english, german in read["adjectives"].items()
    }
    return Lexicon(
        nouns={group: list(_nouns(entry, adjectives)) for group, entry in read["nouns"].items()},
        places={place: [each.split(" / ") for each in ways.split(", ")] for place, ways in read["places"].items()},
        adjectives=adjectives,
        names=read["names"],
        phrases={kind: [*entries.items()] for kind, entries in read["phrases"].items()},
        verbs=[_verb(*each) for each in read["verbs"].items()],
        opinions=[_verb(*each) for each in read["opinions"].items()],
    )


def _nouns(group: dict, adjectives: dict[str, Adjective]) -> Iterator[Noun]:
    determiners = group["determiners"].split()
    suiting = [adjectives[name] for name in group["adjectives"].split()]
    for english, german in group["words"].items():
        (article, *forms), *plural = (part.split() for part in german.split(" | "))
        lemma, *plural_english = english.split(" | ")
        gender = GENDER_OF_ARTICLE[article]
        one = [name for name in determiners if name not in ("two", "three")]
        yield Noun(lemma.split(), _singular(forms, gender), gender, lemma, one, suiting)
        for many, (form,) in zip(plural_english, plural, strict=True):
            dative = form if form[-1] in "ns" else form + "n"
            cases: dict[Case, str] = {case: dative if case == "dative" else form for case in CASES}
            suits = ["these" if name == "this" else name for name in determiners if name != "a"]
            yield Noun(many.split(), cases, "plural", lemma, suits, suiting)


def _singular(forms: list[str], gender: Gender) -> dict[Case, str]:
    nominative, genitive = forms[0], forms[-1]
    if gender == "masculine" and not genitive.endswith("s"):  # der Junge, den Jungen, dem Jungen, des Jungen
        return {case: nominative if case == "nominative" else genitive for case in CASES}
    return {case: genitive if case == "genitive" else nominative for case in CASES}


def _verb(english: str, entry: dict[str, str]) -> Verb:
    words, _, particle = english.partition(" +")
    forms = entry["german"].split()
    at = next(number for number, form in enumerate(forms) if form in ("hat", "ist", "-") and number >= 3)
    prefix = forms[0] if at == 4 else ""
    plain, i, he = forms[at - 3 : at]
    return Verb(
        words.split(),
        particle,
        {"I": i, "he": he, "they": plain},
        prefix,
        forms[at],
        forms[at + 1 :],
        entry.get("who", "people friends").split(),
        entry.get("what", "").split(),
        entry.get("whom", "").split(),
        entry.get("where", ""),
    )
