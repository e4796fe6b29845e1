"""Clauses: where English and German put the phrases.

The German rules are those of any textbook. The finite verb is the second thing in a main clause, the first in a yes-no
question, the last in a subordinate clause; the rest of the verb ends the clause; between them stands what is known
before the time, and what is new after it.
"""

import dataclasses
from typing import Literal, NamedTuple

from seq2see.tasks.translation.phrases import English, German, Phrase, reflexive
from seq2see.tasks.translation.words import Person, Verb

Mood = Literal["present", "past", "can", "must", "should", "will", "could", "want", "wanted", "like"]

HELPING = ("can", "must", "should", "will", "could")
MODALS: dict[str, dict[Person, str]] = {
    "can": {"I": "kann", "he": "kann", "they": "können"},
    "must": {"I": "muss", "he": "muss", "they": "müssen"},
    "should": {"I": "sollte", "he": "sollte", "they": "sollten"},
    "will": {"I": "werde", "he": "wird", "they": "werden"},
    "could": {"I": "konnte", "he": "konnte", "they": "konnten"},
    "want": {"I": "will", "he": "will", "they": "wollen"},
    "wanted": {"I": "wollte", "he": "wollte", "they": "wollten"},
}
AUXILIARIES: dict[str, dict[Person, str]] = {
    "haben": {"I": "habe", "he": "hat", "they": "haben"},
    "sein": {"I": "bin", "he": "ist", "they": "sind"},
}
BE: dict[str, dict[Person, tuple[str, str]]] = {
    "present": {"I": ("am", "bin"), "he": ("is", "ist"), "they": ("are", "sind")},
    "past": {"I": ("was", "war"), "he": ("was", "war"), "they": ("were", "waren")},
}


class VerbGroup(NamedTuple):
    """A verb in a certain tense and person, in pieces, as both languages pull it apart.

    Attributes:
        helper: English before the subject of a question ("does", "can").
        negation: the word that says "not": "not" itself, or "cannot"; empty if nothing is denied.
        rest: English after the helper and "not" ("see", "wants to see").
        finite: the German word that agrees with the subject.
        gladly: German "gern", if any.
        last: German that ends the clause ("gesehen", "auf").
        prefixed: whether `last` is a prefix that joins `finite` at the end of a subordinate clause.
        reflexive: whether "sich" follows.
    """

    helper: list[English]
    negation: tuple[English, ...]
    rest: list[English]
    finite: German
    gladly: list[German]
    last: list[German]
    prefixed: bool = False
    reflexive: bool = False


def be(tense: Literal["present", "past"], person: Person, *, negated: bool) -> VerbGroup:
    """The verb "to be", which needs no helper."""
    english, german = BE[tense][person]
    word = English(english)
    negation = (English("not"),) if negated else ()
    return VerbGroup([word], negation, [], (german, (word,)), [], [])


def verb_group(verb: Verb, mood: Mood, person: Person, *, negated: bool, asking: bool) -> VerbGroup:
    """A verb in a mood.

    Args:
        verb: the verb.
        mood: a tense, or the modal verb that rules it.
        person: person of the subject.
        negated: whether "not" follows.
        asking: whether it is a question in which English needs "do".
    """
    helper = _helper(mood, person, needed=negated or asking)
    negation: tuple[English, ...] = ()
    if negated and mood == "can" and not asking:
        helper = [English("cannot")]
        negation = (helper[0],)
    elif negated:
        negation = (English("not"),)
    if mood in ("present", "like"):
        return _present(verb, person, helper, negation, liked=mood == "like")
    if mood == "past":
        return _past(verb, person, helper, negation)
    return _modal(verb, mood, person, helper, negation)


def _helper(mood: Mood, person: Person, *, needed: bool) -> list[English]:
    """The English verb that would stand before the subject of a question."""
    if mood in HELPING:
        return [English(mood)]
    if not needed:
        return []
    if mood in ("past", "wanted"):
        return [English("did")]
    return [English("does" if person == "he" else "do")]


def _present(
    verb: Verb, person: Person, helper: list[English], negation: tuple[English, ...], *, liked: bool
) -> VerbGroup:
    """The present, also with "likes to", for which German has an adverb; a prefix waits at the end."""
    bare = bool(helper) or person != "he"
    liking = [English("like" if bare else "likes"), English("to")] if liked else []
    words = [English(verb.english[0 if bare or liked else 1])]
    if verb.particle:
        words.append(English(verb.particle))
    finite = verb.german[person], (*helper, *liking[1:], *words)
    gladly: list[German] = [("gern", (liking[0],))] if liked else []
    last: list[German] = [(verb.prefix, tuple(words))] if verb.prefix else []
    return VerbGroup(helper, negation, liking + words, finite, gladly, last, bool(last), "reflexive" in verb.traits)


def _past(verb: Verb, person: Person, helper: list[English], negation: tuple[English, ...]) -> VerbGroup:
    """The past: in German the perfect, or the past form of the few verbs that keep it."""
    words = [English(verb.english[0 if helper else 2])]
    if verb.particle:
        words.append(English(verb.particle))
    if not verb.participle:
        return VerbGroup(helper, negation, words, (verb.preterite[person], (*helper, *words)), [], [])
    finite = AUXILIARIES[verb.auxiliary][person], tuple(helper or words[:1])
    last = [(verb.participle, tuple(words))]
    return VerbGroup(helper, negation, words, finite, [], last, reflexive="reflexive" in verb.traits)


def _modal(verb: Verb, mood: Mood, person: Person, helper: list[English], negation: tuple[English, ...]) -> VerbGroup:
    """A modal verb, or "wants to": the plain German verb waits at the end."""
    words = [English(verb.english[0])]
    if verb.particle:
        words.append(English(verb.particle))
    wanting: list[English] = []
    if mood not in HELPING:
        plain = "want" if helper or (mood == "want" and person != "he") else "wants"
        wanting = [English("wanted" if mood == "wanted" and not helper else plain), English("to")]
    finite = MODALS[mood][person], (*helper, *wanting[:1])
    last = [(verb.prefix + verb.german["they"], (*wanting[1:], *words))]
    return VerbGroup(helper, negation, wanting + words, finite, [], last, reflexive="reflexive" in verb.traits)


@dataclasses.dataclass(slots=True)
class Clause:
    """What is said, before any order.

    Attributes:
        subject: who does it.
        by_pronoun: whether the subject is a pronoun.
        verb: the verb in its tense.
        objects: the objects in English order.
        known: those that German puts before the time, in German order: pronouns and definite objects.
        new: those that German puts after time and place.
        often: how often, in one word.
        company: with whom, or by what vehicle.
        place: where.
        complement: what is closest to the verb: where to, for whom, how somebody or something is.
        time: when.
    """

    subject: Phrase
    by_pronoun: bool
    verb: VerbGroup
    objects: list[Phrase] = dataclasses.field(default_factory=list)
    known: list[Phrase] = dataclasses.field(default_factory=list)
    new: list[Phrase] = dataclasses.field(default_factory=list)
    often: Phrase | None = None
    company: Phrase | None = None
    place: Phrase | None = None
    complement: Phrase | None = None
    time: Phrase | None = None

    def english(self, *, asking: bool = False) -> list[English]:
        """The words in English order, with the helper before the subject if it is a question."""
        verb, subject = self.verb, self.subject.english
        words = [*verb.helper, *subject] if asking else [*subject, *verb.helper]
        if verb.negation and verb.negation[0] not in verb.helper:
            words += verb.negation
        if self.often:
            words += self.often.english
        words += verb.rest
        for phrase in (*self.objects, self.complement, self.company, self.place, self.time):
            if phrase:
                words += phrase.english
        return words

    def german_from_verb(self) -> list[German]:
        """The clause from its finite verb on: a question, or a statement that something else opens."""
        return [self.verb.finite, *self._subject_and_middle(), *self.verb.last]

    def german_statement(self) -> list[German]:
        """The clause opened by its subject."""
        sich = [reflexive(self.subject, self.verb.rest)] if self.verb.reflexive else []
        return [*self.subject.german, self.verb.finite, *sich, *self._middle(), *self.verb.last]

    def german_subordinate(self) -> list[German]:
        """The clause with its finite verb at the end, joined with its prefix if it has one."""
        words = self._subject_and_middle()
        finite = self.verb.finite
        if self.verb.prefixed:
            [(prefix, _)] = self.verb.last
            return [*words, (prefix + finite[0], finite[1])]
        return [*words, *self.verb.last, finite]

    def _subject_and_middle(self) -> list[German]:
        """What stands between a verb that comes first and the end; "sich" only lets a pronoun pass."""
        subject = self.subject.german
        if self.verb.reflexive:
            sich = [reflexive(self.subject, self.verb.rest)]
            subject = subject + sich if self.by_pronoun else sich + subject
        return subject + self._middle()

    def _middle(self) -> list[German]:
        words: list[German] = []
        for phrase in self.known:
            words += phrase.german
        for phrase in (self.time, self.often):
            if phrase:
                words += phrase.german
        if self.verb.negation and (self.verb.gladly or not self.new):  # otherwise "kein" denies
            words.append(("nicht", self.verb.negation))
        words += self.verb.gladly
        for phrase in (self.company, self.place, *self.new, self.complement):
            if phrase:
                words += phrase.german
        return words
