"""The dictionary: words with all their forms, read from lexicon.toml.

A plural is a noun of its own here (gender "plural"): German articles and endings treat it just so.
"""

import functools
import tomllib
from importlib import resources
from typing import Literal, NamedTuple, TypedDict

Case = Literal["nominative", "accusative", "dative"]
Gender = Literal["masculine", "feminine", "neuter", "plural"]
Person = Literal["I", "he", "they"]  # verbs agree with these three only: "we" goes with "they", names with "he"
Forms = dict[tuple[Gender, Case], str]

CASES: tuple[Case, ...] = ("nominative", "accusative", "dative")
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter", "plural")
FAMILY = ["parents", "siblings"]  # the lexicon says "family" for both
PERSONS = ["adults", "children", "helpers", "friends", *FAMILY, "names"]  # and "persons" for all of these
GENDER_OF_ARTICLE: dict[str, Gender] = {"der": "masculine", "die": "feminine", "das": "neuter"}


def table(nominative: str, accusative: str, dative: str) -> Forms:
    """Forms by gender and case; each line lists masculine, feminine, neuter and plural, "-" for an empty ending."""
    lines = (nominative, accusative, dative)
    return {
        (gender, case): form.strip("-")
        for case, line in zip(CASES, lines, strict=True)
        for gender, form in zip(GENDERS, line.split(), strict=True)
    }


THE = table("der die das die", "den die das die", "dem der dem den")
STRONG = table("er e es e", "en e es e", "em er em en")
WEAK = table("e e e en", "en e e en", "en en en en")  # after der, dieser
MIXED = table("er e es en", "en e es en", "en en en en")  # after ein, kein, mein
EIN = table("- e - e", "en e - e", "em er em en")


class Determiner(NamedTuple):
    """An article or a word in its place.

    Attributes:
        english: the English word; "" where a noun has none ("drinks milk").
        german: its form for each gender and case, "" where there is none.
        endings: what an adjective after it takes.
        definite: whether the listener knows which one is meant; German places such objects earlier.
    """

    english: str
    german: Forms
    endings: Forms
    definite: bool


def _inflected(english: str, stem: str, *, like: Forms, endings: Forms, definite: bool) -> Determiner:
    return Determiner(english, {key: stem + ending for key, ending in like.items()}, endings, definite)


def _unchanging(english: str, german: str) -> Determiner:
    return Determiner(english, dict.fromkeys(THE, german), STRONG, definite=False)


DETERMINERS: dict[str, Determiner] = {
    "the": Determiner("the", THE, WEAK, definite=True),
    "this": _inflected("this", "dies", like=STRONG, endings=WEAK, definite=True),
    "these": _inflected("these", "dies", like=STRONG, endings=WEAK, definite=True),
    "a": _inflected("a", "ein", like=EIN, endings=MIXED, definite=False),
    "no": _inflected("no", "kein", like=EIN, endings=MIXED, definite=False),
    "not a": _inflected("a", "kein", like=EIN, endings=MIXED, definite=False),
    "not bare": _inflected("", "kein", like=EIN, endings=MIXED, definite=False),
    "bare": _unchanging("", ""),
    "two": _unchanging("two", "zwei"),
    "three": _unchanging("three", "drei"),
} | {
    english: _inflected(english, stem, like=EIN, endings=MIXED, definite=True)
    for english, stem in {"my": "mein", "our": "unser", "his": "sein", "her": "ihr", "their": "ihr"}.items()
}
POSSESSIVES = {"I": "my", "we": "our", "he": "his", "she": "her", "they": "their"}


class Adjective(NamedTuple):
    """An adjective: English, German after "to be", and the stem that endings join."""

    english: str
    german: str
    stem: str


class Determiners(NamedTuple):
    """Names of the determiners that suit a noun ("own": a possessive)."""

    definite: list[str]
    indefinite: list[str]
    either: list[str]
    none: list[str]  # "no", if it suits


class Noun(NamedTuple):
    """A noun in one number.

    Attributes:
        english: one word, or two that German joins to one ("train", "station").
        german: its form in each case.
        gender: its gender.
        pronoun: what stands for it in a later clause; None where German and English would not agree on it.
        lemma: its singular, the same for both numbers.
        group: name of its group in the lexicon, which decides on
        determiners: what suits it, and
        adjectives: what it can be.
    """

    english: tuple[str, ...]
    german: dict[Case, str]
    gender: Gender
    pronoun: str | None
    lemma: str
    group: str
    determiners: Determiners
    adjectives: list[Adjective]


class Group(NamedTuple):
    """Nouns of a kind."""

    singulars: list[Noun]
    plurals: list[Noun]


class Fixed(NamedTuple):
    """A fixed phrase: English words, and German words each with the numbers of the English words it renders."""

    english: tuple[str, ...]
    german: tuple[tuple[str, tuple[int, ...]], ...]


class Place(NamedTuple):
    """How one is at a place and how one goes to it: (English preposition, German preposition)."""

    at: tuple[str, str]
    to: tuple[str, str]


Trait = Literal[
    "reflexive",  # "sich" follows
    "recipient",  # somebody receives the object
    "beneficiary",  # can be done for somebody
    "company",  # can be done with somebody
    "pronouns",  # the object can be a pronoun
    "state",  # no action, so neither "today" nor "can"
    "happens",  # nobody wants to do it, or should
    "lasting",  # takes so long that something else happens meanwhile
    "pleasant",  # can be liked
    "once",  # not done every day
    "morning",  # done in the morning
    "lack",  # "no" suits its object: "has no car"
    "occasion",  # others may react to it
    "making",  # the object is new to the subject, not "my letter"
]


class Verb(NamedTuple):
    """A verb with its forms and with what it asks for.

    Attributes:
        english: plain form, third person singular, past.
        particle: an English word that goes with it ("up" of "wake up"); "" for none.
        german: present for I, he, they; the last is also the plain form.
        prefix: the separable German prefix; "" for none.
        auxiliary: "haben" or "sein", which makes the perfect together with
        participle: "gesehen"; "" where the past is a single word:
        preterite: past for I, he, they.
        who: groups of its subjects.
        what: groups of its objects; empty without an object.
        case: case of the object.
        preposition: (English, German) before the object; None for none.
        where: groups of places at which it happens.
        to: groups of places to which it leads.
        clauses: conjunctions of the clauses that it takes in place of an object.
        reason: the adjective that tells why somebody does it; "" for none.
        aims: the plain English forms of verbs that tell what somebody does it for.
        traits: what else is true of it.
    """

    english: tuple[str, str, str]
    particle: str
    german: dict[Person, str]
    prefix: str
    auxiliary: str
    participle: str
    preterite: dict[Person, str]
    who: list[str]
    what: list[str]
    case: Case
    preposition: tuple[str, str] | None
    where: list[str]
    to: list[str]
    clauses: list[str]
    reason: str
    aims: list[str]
    traits: frozenset[Trait]


class Lexicon(NamedTuple):
    """All words, by what they are used for."""

    groups: dict[str, Group]
    adjectives: dict[str, Adjective]
    names: dict[str, str]
    places: dict[tuple[str, ...], Place]
    phrases: dict[str, list[Fixed]]
    verbs: list[Verb]


class _GroupEntry(TypedDict):
    determiners: str
    adjectives: str
    words: dict[str, str]


@functools.cache
def lexicon() -> Lexicon:
    """The dictionary of the task."""
    file = resources.files("seq2see.tasks.translation").joinpath("lexicon.toml")
    entries = tomllib.loads(file.read_text(encoding="utf-8"))
    adjectives = {english: _adjective(english, german) for english, german in entries["adjectives"].items()}
    return Lexicon(
        groups={name: _group(name, entry, adjectives) for name, entry in entries["nouns"].items()},
        adjectives=adjectives,
        names=entries["names"],
        places={
            tuple(noun.split()): Place(at=_preposition(ways["at"]), to=_preposition(ways["to"]))
            for noun, ways in entries["places"].items()
        },
        phrases={
            kind: [_fixed(english, german) for english, german in phrases.items()]
            for kind, phrases in entries["phrases"].items()
        },
        verbs=[_verb(entry) for entry in entries["verbs"]],
    )


def _adjective(english: str, entry: str) -> Adjective:
    german, *stem = entry.split(", ")
    return Adjective(english, german, stem[0] if stem else german)


def _preposition(entry: str) -> tuple[str, str]:
    english, german = entry.split(" = ")
    return english, german


def _group(name: str, entry: _GroupEntry, adjectives: dict[str, Adjective]) -> Group:
    suiting = [adjectives[each] for each in entry["adjectives"].split()]
    words = entry["determiners"].split()
    some = ["two", "three"] if name in (*PERSONS, "animals") else ["bare", "two", "three"]
    in_plural = {"a": some, "this": ["these"]}
    singular = _determiners(words)
    plural = _determiners([each for word in words for each in in_plural.get(word, [word])])
    group = Group([], [])
    for english, german in entry["words"].items():
        lemma, *plurals = english.split(" | ")
        first, *others = german.split(" | ")
        article, nominative = first.split()
        gender, oblique = GENDER_OF_ARTICLE[article], (others[1:] or [nominative])[0]
        cases: dict[Case, str] = {"nominative": nominative, "accusative": oblique, "dative": oblique}
        pronoun = {"masculine": "he", "feminine": "she"}.get(gender)
        group.singulars.append(Noun(tuple(lemma.split()), cases, gender, pronoun, lemma, name, singular, suiting))
        for english_plural in plurals:
            plain = others[0].removeprefix("die ")
            cases = {"nominative": plain, "accusative": plain, "dative": plain if plain[-1] in "ns" else plain + "n"}
            words = tuple(english_plural.split())
            group.plurals.append(Noun(words, cases, "plural", "they", lemma, name, plural, suiting))
    return group


def _determiners(words: list[str]) -> Determiners:
    indefinite = [word for word in words if word in ("a", "bare", "two", "three")]
    none = [word for word in words if word == "no"]
    definite = [word for word in words if word not in indefinite + none]
    return Determiners(definite or indefinite, indefinite or definite, definite + indefinite, none)


def _fixed(english: str, german: str) -> Fixed:
    words = (word.split(":") for word in german.split())
    return Fixed(tuple(english.split()), tuple((word, tuple(map(int, figures))) for word, figures in words))


def _groups(names: str) -> list[str]:
    several = {"persons": PERSONS, "family": FAMILY}
    return [group for name in names.split() for group in several.get(name, [name])]


def _verb(entry: dict) -> Verb:
    plain, third, past = entry["english"].split()
    they, i, he = entry["german"].split()
    auxiliary, participle = entry.get("perfect", " ").split(" ")
    singular, plural = entry.get("preterite", " ").split(" ")
    return Verb(
        english=(plain, third, past),
        particle=entry.get("with", ""),
        german={"I": i, "he": he, "they": they},
        prefix=entry.get("prefix", ""),
        auxiliary={"hat": "haben", "ist": "sein", "": ""}[auxiliary],
        participle=participle,
        preterite={"I": singular, "he": singular, "they": plural},
        who=_groups(entry.get("who", "persons")),
        what=[group for group in _groups(entry.get("what", "")) if group != "names"],
        case=entry.get("case", "accusative"),
        preposition=_preposition(entry["preposition"]) if "preposition" in entry else None,
        where=entry.get("where", "").split(),
        to=entry.get("to", "").split(),
        clauses=entry.get("clause", "").split(),
        reason=entry.get("reason", ""),
        aims=entry.get("aim", "").split(),
        traits=frozenset(entry.get("traits", "").split()),
    )
