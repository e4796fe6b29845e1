"""Clauses with a meaning: somebody does something, something is so, it rains."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from seq2see.tasks.translation.clauses import Clause, Mood, be, verb_group
from seq2see.tasks.translation.parts import Object, Parts, Subject
from seq2see.tasks.translation.phrases import English, Phrase, prepositional, single
from seq2see.tasks.translation.words import DETERMINERS, FAMILY, PERSONS, POSSESSIVES, Verb

Tense = Literal["present", "past"]

MODALS: tuple[Mood, ...] = ("can", "must", "should", "will", "could", "want", "wanted")
PRESENT: tuple[Mood, ...] = ("present",)
PAST: tuple[Mood, ...] = ("past",)
MOODS: tuple[Mood, ...] = (*PRESENT * 10, *PAST * 6, *MODALS, "like", "like")
ASKED: tuple[Mood, ...] = (*PRESENT * 18, *PAST * 5, "can", "should", "will", "want", "like")  # in questions
VOLUNTARY = ("must", "should", "could", "want", "wanted", "like")  # not said of what only happens
RELATED = ["friends", *FAMILY, "names"]  # whom one is with, or does something for
THINGS = ["animals", "clothes", "vehicles", "books", "letters", "things", "doors", "devices", "home", "town"]
NAMED = ["friends", "animals", "clothes", "clothes", "vehicles", "letters", "things"]
NAMED += ["meals", "drinks", "drinks", "cakes", "snacks"]
MOVABLE = ["books", "letters", "things", "clothes"]  # things that may be in the kitchen
FEELINGS = ["tired", "hungry", "happy"]
QUALITIES = [*FEELINGS, "old", "young", "friendly"]  # what people are
GROWN = ["adults", "helpers", "friends", *FAMILY]
UNGRADED = ["red", "black", "white", "new"]  # adjectives that "very" does not suit


class Request(NamedTuple):
    """What a sentence asks of a clause.

    Attributes:
        verb: the verb; None to choose one.
        subject: the subject; None to choose one.
        moods: the moods to choose from.
        asking: whether it becomes a question.
        wanted: the question word, if one takes the place of a part.
        brief: few details, for a sentence of two clauses.
        inner: whether it becomes a subordinate clause.
        plain: nothing is denied.
        timeless: no word says when.
    """

    verb: Verb | None = None
    subject: Subject | None = None
    moods: Sequence[Mood] = MOODS
    asking: bool = False
    wanted: str = ""
    brief: bool = False
    inner: bool = False
    plain: bool = False
    timeless: bool = False


class Events:
    """Draws clauses."""

    def __init__(self, parts: Parts) -> None:
        """Take what draws the parts."""
        self.parts = parts
        self.random = parts.random
        verbs = parts.words.verbs
        self.actions = [verb for verb in verbs if not verb.clauses and verb.who != ["weather"]]
        self.lasting = [verb for verb in self.actions if "lasting" in verb.traits]
        self.deeds = [verb for verb in self.actions if "state" not in verb.traits]
        self.steps = [
            verb
            for verb in self.actions
            if "happens" not in verb.traits and (verb.to or verb.prefix or "lasting" in verb.traits)
        ]
        self.awake = [verb for verb in self.steps if verb.reason != "tired" or verb.what]
        self.explained = [verb for verb in self.deeds if verb.reason or verb.aims]
        self.moody = [verb for verb in self.explained if verb.reason != "friendly"]
        self.occasions = [verb for verb in self.actions if "occasion" in verb.traits]
        self.named = {verb.english[0]: verb for verb in self.actions if not verb.particle}
        self.weather = [verb for verb in verbs if verb.who == ["weather"]]

    def about_weather(self, tense: Tense, *, fine: bool | None = None) -> Clause:
        """It rains, it is cold; or that it is warm, if it must be fine weather."""
        if not fine and self.random() < 0.6:
            return self.about_rain(tense)
        fine = self.random() < 0.5 if fine is None else fine
        it = Subject(single("it", "es"), "he", None, by_pronoun=True)
        return self.being(it, tense, "warm" if fine else "cold", plain=True)

    def about_rain(self, tense: Tense) -> Clause:
        """It rains, it snows."""
        verb = verb_group(self.parts.pick(self.weather), tense, "he", negated=False, asking=False)
        return Clause(single("it", "es"), True, verb)

    def weather_report(self) -> Clause:
        """It rained yesterday, it is often cold in Vienna."""
        if self.random() < 0.5:
            clause = self.about_weather("past")
            clause.time = self.parts.fixed("past")
        else:
            clause = self.about_weather("present")
            clause.often = self.parts.fixed("often")
        if self.random() < 0.7 and not (clause.often and clause.complement):
            clause.place = self.parts.fixed("cities")
        return clause

    def identification(self, *, plain: bool = False) -> Clause:
        """This is my new coat."""
        parts = self.parts
        noun = parts.noun(parts.pick(NAMED), plural_share=0.25)
        plural = noun.gender == "plural"
        verb = be("present", "they" if plural else "he", negated=not plain and self.random() < 0.12)
        clause = Clause(single("these" if plural else "this", "das"), True, verb)
        if "own" in noun.determiners.definite and self.random() < 0.35:
            determiner = DETERMINERS[parts.pick(list(POSSESSIVES.values()))]
        else:
            determiner = DETERMINERS["bare" if plural else parts.pick(noun.determiners.indefinite)]
        adjective = parts.adjective(noun, 0.9)
        if adjective and adjective.english in FEELINGS:  # not "this is my tired dog"
            adjective = None
        thing = parts.denied(noun, determiner, adjective, "nominative", verb.negation)
        if thing.definite:
            clause.complement = thing.phrase
        else:
            clause.new = [thing.phrase]
            clause.objects = [thing.phrase]
        return clause

    def description(self, tense: Tense | None = None, *, asking: bool = False) -> Clause:
        """Somebody or something is old, or is somewhere."""
        tense = tense or ("past" if self.random() < 0.4 else "present")
        group = self.parts.pick(PERSONS if self.random() < 0.5 else THINGS)
        subject = self.parts.subject([group], not_i=asking, definite=True, adjective_share=0.0)
        if group not in (*PERSONS, *MOVABLE, "animals") or self.random() < 0.75:
            noun = None if group in GROWN else subject.noun
            english = self.parts.pick(noun.adjectives).english if noun else self.parts.pick(QUALITIES)
            return self.being(subject, tense, english, plain=asking)
        places = ["nature"] if group == "animals" else ["home"] if group in MOVABLE else ["home", "nature", "sights"]
        place = self.parts.at_place(places, subject.owner)
        verb = be(tense, subject.person, negated=not asking and self.random() < 0.15)
        return Clause(subject.phrase, subject.by_pronoun, verb, complement=place)

    def being(self, subject: Subject, tense: Tense, english: str, *, plain: bool = False) -> Clause:
        """Somebody or something is (very) old."""
        adjective = self.parts.words.adjectives[english]
        complement = single(adjective.english, adjective.german)
        if english not in UNGRADED and self.random() < 0.2:
            very = single("very", "sehr")
            complement = Phrase(very.english + complement.english, very.german + complement.german)
        verb = be(tense, subject.person, negated=not plain and self.random() < 0.12)
        return Clause(subject.phrase, subject.by_pronoun, verb, complement=complement)

    def action(self, request: Request) -> Clause:
        """Somebody does something."""
        verb = request.verb or self.verb_for(request.subject, self.actions, wanted=request.wanted)
        mood = self._mood(verb, request)
        subject = request.subject
        opens = request.asking and not request.wanted
        if opens and verb.preterite["I"]:
            mood = "present"  # spares a rare word: "Hatte sie ...?"
        if subject is None:
            does = opens and mood in ("present", "want", "like")
            subject = self.parts.subject(
                verb.who,
                one_other=does or mood == "past" and looks_present(verb) and not request.asking,
                not_i=request.asking or request.inner and bool(verb.prefix),
                definite=request.asking,
            )
        negatable = not request.plain and mood != "must" and request.wanted in ("", "why")
        negated = negatable and self.random() < 0.14
        group = verb_group(verb, mood, subject.person, negated=negated, asking=request.asking)
        clause = Clause(subject.phrase, subject.by_pronoun, group)
        if not request.timeless and request.wanted != "when" and "state" not in verb.traits:
            self._add_time(clause, verb, mood, request)
        if verb.what and request.wanted != "what":
            self._add_object(clause, verb, mood, subject, request)
        self._add_place(clause, verb, mood, subject, request)
        return clause

    def verb_for(
        self,
        subject: Subject | None,
        verbs: Sequence[Verb],
        *,
        wanted: str = "",
        inner: bool = False,
        past: bool = False,
    ) -> Verb:
        """One of the verbs that suits.

        Args:
            subject: who can do it; None for anybody.
            verbs: the verbs.
            wanted: the question word that can ask for a part of it.
            inner: whether it is for a subordinate clause, where "weil ich anrufe" is spared as too rare.
            past: whether it must tell its past from its present.
        """
        while True:
            verb = self.parts.pick(verbs)
            if subject and subject.group not in verb.who:
                continue
            if subject and inner and verb.prefix and subject.person == "I":
                continue
            if subject and past and looks_present(verb) and subject.person != "he":
                continue
            if wanted == "where" and not verb.where or wanted == "what" and not asks_what(verb):
                continue
            if wanted == "when" and "state" in verb.traits:
                continue
            return verb

    def _mood(self, verb: Verb, request: Request) -> Mood:
        """One of the moods asked for that the verb has, or else the present or the past."""
        mood = self.parts.pick(request.moods)
        traits = verb.traits
        if mood == "like" and "pleasant" not in traits:
            return "present"
        if "state" in traits and mood not in ("present", "past") or "happens" in traits and mood in VOLUNTARY:
            return "past" if mood in ("could", "wanted") else "present"
        return mood

    def _add_time(self, clause: Clause, verb: Verb, mood: Mood, request: Request) -> None:
        chance = self.random()
        denied, morning = bool(clause.verb.negation), "morning" in verb.traits
        if mood in ("past", "could", "wanted"):
            if chance < 0.4:
                clause.time = self.parts.fixed("past")
        elif mood not in ("present", "like"):
            if chance < 0.4 and not morning:
                clause.time = self.parts.fixed("future")
        elif "once" in verb.traits:
            return
        elif chance < 0.14 and mood == "present" and not denied:
            clause.often = self.parts.fixed("often")
        elif chance < 0.4 and mood == "present" and not denied and not request.asking:
            clause.time = self.parts.fixed("morning" if morning else "daily")
        elif 0.4 < chance < 0.55 and not morning and (verb.to or "lasting" in verb.traits):
            clause.time = self.parts.fixed("season")

    def _add_object(self, clause: Clause, verb: Verb, mood: Mood, subject: Subject, request: Request) -> None:
        negation = clause.verb.negation
        if verb.preposition:
            somebody = self.parts.somebody(verb.what, verb.case, subject, pronoun_share=0.2)
            clause.complement = prepositional(verb.preposition, somebody)
            return
        if "pronouns" in verb.traits and (negation or self.random() < 0.35):
            groups = [group for group in verb.what if group in PERSONS] or FAMILY
            thing = Object(self.parts.somebody(groups, verb.case, subject, pronoun_share=0.4), definite=True)
        else:
            usual = mood == "present" and bool(clause.time or clause.often) and "pronouns" not in verb.traits
            positive = mood in ("present", "past") and not (negation or request.asking or request.brief or usual)
            thing = self.parts.thing(
                verb.what,
                verb.case,
                subject,
                negation=negation,
                none=positive and "lack" in verb.traits,
                bare=mood == "like",
                definiteness="indefinite" if usual or "making" in verb.traits else "either",
                adjective_share=0.25 if request.brief else 0.4,
            )
        (clause.known if thing.definite else clause.new).append(thing.phrase)
        clause.objects.append(thing.phrase)
        if "recipient" in verb.traits:
            self._add_recipient(clause, subject)

    def _add_recipient(self, clause: Clause, subject: Subject) -> None:
        """The receiver: "gives the child an apple" or "gives an apple to the child"."""
        receiver = self.parts.somebody(PERSONS, "dative", subject, pronoun_share=0.3)
        if self.random() < 0.6:
            clause.objects.insert(0, receiver)
        else:
            to = English("to")
            (first, words), *others = receiver.german
            receiver = Phrase([to, *receiver.english], [(first, (to, *words)), *others])
            clause.objects.append(receiver)
        clause.known.insert(0, receiver)

    def _add_place(self, clause: Clause, verb: Verb, mood: Mood, subject: Subject, request: Request) -> None:
        """Where, where to, with whom, for whom."""
        chance = self.random() * (2.0 if request.brief else 1.0)
        where, to = verb.where, verb.to
        if subject.group == "animals":  # they live outside
            where, to = [[group for group in groups if group == "nature"] for groups in (where, to)]
        if to:
            groups = [group for group in to if mood != "like" or group not in ("home", "stops")]
            clause.complement = self.parts.to_place(groups, subject.owner)
            if "abroad" in to and chance < 0.5:
                clause.company = self.parts.fixed("transport")
                return
        if "company" in verb.traits and chance < 0.2:
            somebody = self.parts.somebody(RELATED, "dative", subject, pronoun_share=0.3)
            clause.company = prepositional(("with", "mit"), somebody)
        if "beneficiary" in verb.traits and chance < 0.35 and mood != "like":
            somebody = self.parts.somebody(RELATED, "accusative", subject, pronoun_share=0.25)
            clause.complement = prepositional(("for", "für"), somebody)
        elif where and request.wanted != "where" and (chance < 0.55 or must_have_place(verb)):
            if not (mood == "like" and clause.new):
                clause.place = self.parts.at_place(where, subject.owner)


def asks_what(verb: Verb) -> bool:
    """Whether its object is a thing that "what" can ask for."""
    return bool(verb.what) and "recipient" not in verb.traits and not any(group in PERSONS for group in verb.what)


def looks_present(verb: Verb) -> bool:
    """Whether "they read" could be present or past: it is always meant as the present."""
    return verb.english[0] == verb.english[2]


def must_have_place(verb: Verb) -> bool:
    """Whether the verb says little without a place ("stay", "arrive")."""
    return verb.german["they"] in ("bleiben", "kommen")
