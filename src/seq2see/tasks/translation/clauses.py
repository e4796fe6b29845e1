"""Phrases and clauses in both languages, each German word with the English words that it renders.

The German rules are those of any textbook. The finite verb is the second thing in a main clause, the first in a yes-no
question, the last in a subordinate clause; the rest of the verb ends the clause; between them stands what is known
before the time, and what is new after it. "Not" before something new becomes "kein".
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation.words import KEIN, Adjective, Case, Determiner, Noun, Person, Verb

CASES_OF_PRONOUNS = ("nominative", "accusative", "dative")
PRONOUNS = {  # English subject and object, German in its cases
    "I": ("I", "me", "ich", "mich", "mir"),
    "he": ("he", "him", "er", "ihn", "ihm"),
    "she": ("she", "her", "sie", "sie", "ihr"),
    "we": ("we", "us", "wir", "uns", "uns"),
    "they": ("they", "them", "sie", "sie", "ihnen"),
}
JOINED = {
    "in dem": "im", "in das": "ins", "an dem": "am", "zu dem": "zum", "zu der": "zur", "auf das": "aufs",
}  # fmt: skip
BE: dict[Person, tuple[str, str, str, str]] = {
    "I": ("am", "was", "bin", "war"), "he": ("is", "was", "ist", "war"), "they": ("are", "were", "sind", "waren"),
}  # fmt: skip
HAVE: dict[str, dict[Person, str]] = {
    "hat": {"I": "habe", "he": "hat", "they": "haben"},
    "ist": {"I": "bin", "he": "ist", "they": "sind"},
}
MODALS: dict[str, dict[Person, str]] = {
    "can": {"I": "kann", "he": "kann", "they": "können"},
    "must": {"I": "muss", "he": "muss", "they": "müssen"},
    "should": {"I": "sollte", "he": "sollte", "they": "sollten"},
    "will": {"I": "werde", "he": "wird", "they": "werden"},
    "want": {"I": "will", "he": "will", "they": "wollen"},
}


class English:
    """An English word; links refer to it as itself, since its number is known last."""

    __slots__ = ("number", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.number = 0


German = tuple[str, tuple[English, ...]]  # a word, and the English words that it renders


class Phrase(NamedTuple):
    """The same in both languages."""

    english: list[English]
    german: list[German]


def single(english: str, german: str) -> Phrase:
    """One word for one word."""
    word = English(english)
    return Phrase([word], [(german, (word,))])


def fixed(english: str, german: str) -> Phrase:
    """A fixed phrase of the lexicon: "on Monday", "am:0 Montag:1"."""
    words = [English(text) for text in english.split()]
    parts = [word.split(":") for word in german.split()]
    return Phrase(words, [(text, tuple(words[int(number)] for number in numbers)) for text, numbers in parts])


def pronoun(which: str, case: Case) -> Phrase:
    """A personal pronoun."""
    subject, other, *german = PRONOUNS[which]
    return single(subject if case == "nominative" else other, german[CASES_OF_PRONOUNS.index(case)])


def noun_phrase(
    noun: Noun, determiner: Determiner, adjective: Adjective | None, case: Case, *, negation: tuple[English, ...] = ()
) -> Phrase:
    """Determiner, adjective and noun; with a negation "kein" in the determiner's place."""
    key = noun.gender, case
    english: list[English] = []
    german: list[German] = []
    denied = KEIN if negation else determiner
    if determiner.english:
        article = determiner.english
        if article == "a" and (adjective.english if adjective else noun.english[0])[0] in "aeiou":
            article = "an"
        english.append(English(article))
    if denied.german[key]:
        german.append((denied.german[key], (*negation, *english)))
    if adjective:
        word = English(adjective.english)
        english.append(word)
        german.append((adjective.stem + denied.endings[key], (word,)))
    words = [English(text) for text in noun.english]
    return Phrase([*english, *words], [*german, (noun.german[case], tuple(words))])


def opened(text: str, phrase: Phrase) -> Phrase:
    """A phrase after an English word that German has no word for: its first word renders that too."""
    word, ((first, renders), *rest) = English(text), phrase.german
    return Phrase([word, *phrase.english], [(first, (word, *renders)), *rest])


def prepositional(english: str, german: str, phrase: Phrase) -> Phrase:
    """A phrase after a preposition, which may join the article ("im")."""
    word, ((first, renders), *rest) = English(english), phrase.german
    joined = JOINED.get(f"{german} {first}")
    begin: list[German] = [(joined, (word, *renders))] if joined else [(german, (word,)), (first, renders)]
    return Phrase([word, *phrase.english], [*begin, *rest])


class VerbGroup(NamedTuple):
    """A verb in a mood and person, in the pieces into which both languages pull it apart."""

    helper: list[English]  # English before the subject of a question ("does", "can"), or before "not"
    negation: tuple[English, ...]  # the words that deny ("not", "cannot"); empty if nothing is denied
    rest: list[English]  # English after the helper and "not" ("wants", "to", "see")
    finite: German  # the German word that agrees with the subject
    last: list[German]  # German that ends the clause ("gesehen", "auf")
    prefixed: bool = False  # whether `last` is a prefix that joins `finite` at the end of a subordinate clause


def be(person: Person, *, past: bool, negated: bool) -> VerbGroup:
    """The verb "to be", which needs no helper."""
    word = English(BE[person][past])
    return VerbGroup([word], (English("not"),) if negated else (), [], (BE[person][2 + past], (word,)), [])


def verb_group(verb: Verb, mood: str, person: Person, *, negated: bool = False, asking: bool = False) -> VerbGroup:
    """A verb in a mood: "present", "past" or one of `MODALS`; `asking` in a question in which English needs "do"."""
    modal = mood if mood in MODALS and mood != "want" else ""
    helper = [English(modal)] if modal else []
    if not modal and (negated or asking):
        helper = [English("did" if mood == "past" else "does" if person == "he" else "do")]
    negation: tuple[English, ...] = ()
    if negated and modal == "can" and not asking:
        helper = [English("cannot")]
        negation = (helper[0],)
    elif negated:
        negation = (English("not"),)
    form = 0 if helper or mood == "want" else 2 if mood == "past" else 1 if person == "he" else 0
    words = [English(text) for text in (verb.english[form], verb.particle) if text]
    infinitive = verb.prefix + verb.german["they"]
    if mood == "want":
        wanting = [English("want" if helper or person != "he" else "wants"), English("to")]
        last: list[German] = [(infinitive, (wanting[1], *words))]
        finite = MODALS[mood][person], (*helper, wanting[0])
        return VerbGroup(helper, negation, wanting + words, finite, last)
    if modal:
        return VerbGroup(helper, negation, words, (MODALS[modal][person], tuple(helper)), [(infinitive, tuple(words))])
    if mood == "past" and verb.auxiliary == "-":
        return VerbGroup(helper, negation, words, (verb.past[person == "they"], (*helper, *words)), [])
    if mood == "past":
        finite = HAVE[verb.auxiliary][person], tuple(helper or words[:1])
        return VerbGroup(helper, negation, words, finite, [(verb.past[0], tuple(words))])
    finite = verb.german[person], (*helper, *words)
    last = [(verb.prefix, tuple(words))] if verb.prefix else []
    return VerbGroup(helper, negation, words, finite, last, bool(last))


@dataclass(slots=True)
class Clause:
    """What is said, before any order."""

    subject: Phrase
    verb: VerbGroup
    objects: list[Phrase] = field(default_factory=list)  # in English order
    known: list[Phrase] = field(default_factory=list)  # of these, in German order, pronouns and definite ones
    new: list[Phrase] = field(default_factory=list)  # and those that German puts after the time and the place
    often: Phrase | None = None
    company: Phrase | None = None
    place: Phrase | None = None
    complement: Phrase | None = None  # what is closest to the verb: where to, or how somebody is
    time: Phrase | None = None

    def english(self, *, asking: bool = False) -> list[English]:
        """The words in English order, with the helper before the subject if it is a question."""
        verb, subject = self.verb, self.subject.english
        words = [*verb.helper, *subject] if asking else [*subject, *verb.helper]
        words += [word for word in verb.negation if word not in verb.helper]
        words += self.often.english if self.often else []
        words += verb.rest
        for phrase in (*self.objects, self.complement, self.company, self.place, self.time):
            words += phrase.english if phrase else []
        return words

    def german(self, *, front: list[German] | None = None) -> list[German]:
        """A main clause, opened by its subject, or by what is given; by its verb if that is nothing."""
        if front is None:
            return [*self.subject.german, self.verb.finite, *self._middle(), *self.verb.last]
        return [*front, self.verb.finite, *self.subject.german, *self._middle(), *self.verb.last]

    def german_subordinate(self) -> list[German]:
        """The clause with its finite verb at the end, joined with its prefix if it has one."""
        words, finite = [*self.subject.german, *self._middle()], self.verb.finite
        if self.verb.prefixed:
            return [*words, (self.verb.last[0][0] + finite[0], finite[1])]
        return [*words, *self.verb.last, finite]

    def _middle(self) -> list[German]:
        words = [word for phrase in (*self.known, self.time, self.often) if phrase for word in phrase.german]
        if self.verb.negation and not self.new:  # otherwise "kein" denies
            words.append(("nicht", self.verb.negation))
        for phrase in (self.company, self.place, *self.new, self.complement):
            words += phrase.german if phrase else []
        return words


def finish(english: list[English], german: list[German], mark: str) -> Pair:
    """The pair: capitals at the beginning, a mark at the end, and each link as two numbers."""
    end = English(mark)
    english, german = [*english, end], [*german, (mark, (end,))]
    for number, word in enumerate(english):
        word.number = number
    links = tuple((word.number, number) for number, (_, words) in enumerate(german) for word in words)
    source, target = " ".join(word.text for word in english), " ".join(text for text, _ in german)
    return Pair(source[0].upper() + source[1:], target[0].upper() + target[1:], links)
