"""Parts of clauses, drawn at random: who, what, where and when, chosen so that they suit each other."""

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

from seq2see.tasks.translation.phrases import (
    PERSON_OF_PRONOUN,
    English,
    Phrase,
    fixed,
    noun_phrase,
    prepositional,
    pronoun,
    single,
)
from seq2see.tasks.translation.words import (
    DETERMINERS,
    PERSONS,
    POSSESSIVES,
    Adjective,
    Case,
    Determiner,
    Noun,
    Person,
    lexicon,
)

Choice = TypeVar("Choice")
Definiteness = Literal["definite", "indefinite", "either"]

PRONOUNS = ("I", "I", "I", "I", "he", "she", "we", "they")
NOT_I = ("he", "she", "we", "they")
OTHERS = {"I": ("he", "she", "they"), "we": ("he", "she", "they")}  # no "I see me", no "we see me"
OBJECTS = ("I", "he", "she", "we", "they")


class Subject(NamedTuple):
    """Who does it.

    Attributes:
        phrase: the words.
        person: what the verb agrees with.
        pronoun: what stands for it in a later clause; None if nothing does in both languages.
        by_pronoun: whether it is a pronoun already.
        noun: the noun, if it is one, or if the pronoun stands for one.
    """

    phrase: Phrase
    person: Person
    pronoun: str | None
    by_pronoun: bool = False
    noun: Noun | None = None

    @property
    def group(self) -> str:
        """The group of nouns that it counts as."""
        return self.noun.group if self.noun else "names"

    @property
    def owner(self) -> str | None:
        """The pronoun for whose things it has; None for animals and for whom no pronoun stands for."""
        return None if self.group == "animals" else self.pronoun

    def again(self) -> "Subject | None":
        """The pronoun for it in a later clause, if one does in both languages."""
        return by_pronoun(self.pronoun, self.noun) if self.pronoun else None


def by_pronoun(which: str, noun: Noun | None = None) -> Subject:
    """A pronoun as subject."""
    return Subject(pronoun(which, "nominative"), PERSON_OF_PRONOUN[which], which, True, noun)


class Object(NamedTuple):
    """A noun phrase, and whether it is definite."""

    phrase: Phrase
    definite: bool


class Parts:
    """Draws the phrases that clauses are made of."""

    def __init__(self, rng: random.Random) -> None:
        """Take the source of all choices."""
        self.random = rng.random
        self.words = lexicon()
        self.names = list(self.words.names)

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """One of the choices."""
        return choices[int(self.random() * len(choices))]

    def subject(
        self,
        groups: Sequence[str],
        *,
        one_other: bool = False,
        not_i: bool = False,
        definite: bool = False,
        adjective_share: float = 0.32,
    ) -> Subject:
        """A subject of one of the groups.

        Args:
            groups: the groups of nouns; those of persons allow names and pronouns too.
            one_other: only subjects that go with "does".
            not_i: anybody but the speaker.
            definite: only somebody whom the listener knows.
            adjective_share: how often a noun has an adjective.
        """
        if "names" in groups and self.random() < 0.42:
            return by_pronoun(self.pick(("he", "she") if one_other else NOT_I if not_i else PRONOUNS))
        group = self.pick(groups)
        if group == "names":
            name = self.pick(self.names)
            return Subject(single(name, name), "he", self.words.names[name])
        noun = self.noun(group, plural_share=0.0 if one_other else 0.3)
        definite = definite or noun.gender == "plural" or not (group in PERSONS or group == "animals")
        determiner = self.determiner(noun, "definite" if definite else "either")
        phrase = noun_phrase(noun, determiner, self.adjective(noun, adjective_share), "nominative")
        return Subject(phrase, "they" if noun.gender == "plural" else "he", noun.pronoun, noun=noun)

    def somebody(self, groups: Sequence[str], case: Case, subject: Subject, *, pronoun_share: float) -> Phrase:
        """Another person than the subject, known to the listener: a pronoun, a name or a definite noun."""
        chance = self.random()
        if chance < pronoun_share:
            return pronoun(self.pick(OTHERS.get(subject.pronoun or "", OBJECTS)), case)
        if chance > 0.87:
            name = self.pick([name for name in self.names if name != subject.phrase.english[0].text])
            return single(name, name)
        noun = self.other_noun([group for group in groups if group != "names"], subject, plural_share=0.3)
        determiner = self.determiner(noun, "definite", owner=subject.owner)
        return noun_phrase(noun, determiner, self.adjective(noun, 0.15), case)

    def thing(
        self,
        groups: Sequence[str],
        case: Case,
        subject: Subject,
        *,
        negation: tuple[English, ...],
        none: bool = False,
        bare: bool = False,
        definiteness: Definiteness = "either",
        adjective_share: float = 0.4,
    ) -> Object:
        """An object.

        Args:
            groups: its possible groups.
            case: its case.
            subject: who acts on it, and so is not it.
            negation: the English "not" that "kein" would render, if the clause is negative.
            none: whether there may be "no" such thing.
            bare: without any determiner, as in "likes to read books".
            definiteness: whether it must be known to the listener, or must not.
            adjective_share: how often it has an adjective.
        """
        noun = self.other_noun(groups, subject, plural_share=1.0 if bare else 0.25)
        adjective = self.adjective(noun, adjective_share)
        if bare:
            return Object(noun_phrase(noun, DETERMINERS["bare"], adjective, case), definite=False)
        if none and noun.determiners.none and self.random() < 0.2:
            return Object(noun_phrase(noun, DETERMINERS["no"], adjective, case), definite=False)
        determiner = self.determiner(noun, definiteness, owner=subject.owner)
        return self.denied(noun, determiner, adjective, case, negation)

    @staticmethod
    def denied(
        noun: Noun, determiner: Determiner, adjective: Adjective | None, case: Case, negation: tuple[English, ...]
    ) -> Object:
        """A noun in a clause that may be negative: "not a", "not any" become "kein"."""
        if determiner.definite or not negation:
            return Object(noun_phrase(noun, determiner, adjective, case), determiner.definite)
        determiner = DETERMINERS["not a" if determiner.english == "a" else "not bare"]
        return Object(noun_phrase(noun, determiner, adjective, case, negation=negation), definite=False)

    def noun(self, group: str, *, plural_share: float) -> Noun:
        """A noun of the group."""
        nouns = self.words.groups[group]
        if nouns.plurals and self.random() < plural_share:
            return self.pick(nouns.plurals)
        return self.pick(nouns.singulars)

    def other_noun(self, groups: Sequence[str], subject: Subject, *, plural_share: float) -> Noun:
        """A noun that is not the subject's."""
        while True:
            noun = self.noun(self.pick(groups), plural_share=plural_share)
            if subject.noun is None or noun.lemma != subject.noun.lemma:
                return noun

    def determiner(self, noun: Noun, definiteness: Definiteness = "either", *, owner: str | None = None) -> Determiner:
        """A determiner that suits the noun; a possessive is most often that of the owner, a pronoun."""
        name = self.pick(getattr(noun.determiners, definiteness))
        if name == "own":
            mine = owner if owner and self.random() < 0.85 else self.pick(OBJECTS)
            name = POSSESSIVES[mine]
        return DETERMINERS[name]

    def adjective(self, noun: Noun, share: float) -> Adjective | None:
        """An adjective that suits the noun, or none."""
        return self.pick(noun.adjectives) if self.random() < share else None

    def at_place(self, groups: Sequence[str], owner: str | None) -> Phrase:
        """Where something happens."""
        if "home" in groups and self.random() < 0.15:
            return self.fixed("home")
        if "cities" in groups and self.random() < 0.4:
            return self.fixed("cities")
        noun = self.noun(self.pick([group for group in groups if group != "cities"]), plural_share=0.0)
        return self._place(noun, self.words.places[noun.english].at, "dative", owner)

    def to_place(self, groups: Sequence[str], owner: str | None) -> Phrase:
        """Where somebody goes."""
        if "abroad" in groups:
            return self.fixed("abroad")
        if "home" in groups and self.random() < 0.2:
            return self.fixed("homeward")
        noun = self.noun(self.pick(groups), plural_share=0.0)
        preposition = self.words.places[noun.english].to
        return self._place(noun, preposition, "dative" if preposition[1] == "zu" else "accusative", owner)

    def _place(self, noun: Noun, preposition: tuple[str, str], case: Case, owner: str | None) -> Phrase:
        determiner = self.determiner(noun, owner=owner)
        return prepositional(preposition, noun_phrase(noun, determiner, self.adjective(noun, 0.15), case))

    def fixed(self, kind: str) -> Phrase:
        """A fixed phrase of a kind."""
        return fixed(self.pick(self.words.phrases[kind]))
