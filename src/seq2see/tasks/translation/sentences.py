"""Sentences, drawn at random: statements, questions, opinions, and two clauses joined."""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation.clauses import (
    Clause,
    English,
    German,
    Phrase,
    be,
    finish,
    fixed,
    noun_phrase,
    opened,
    prepositional,
    pronoun,
    single,
    verb_group,
)
from seq2see.tasks.translation.words import (
    DETERMINERS,
    POSSESSIVES,
    Adjective,
    Case,
    Determiner,
    Noun,
    Person,
    Verb,
    lexicon,
)

Choice = TypeVar("Choice")

MAX_WORDS = 14  # of the English sentence, marks included
PERSONS = ("people", "friends", "names")
PRONOUNS: dict[str, Person] = {"I": "I", "he": "he", "she": "he", "we": "they", "they": "they"}
DRAWN = ("I", "I", "I", "he", "she", "we", "they")  # "I" alone goes with a form of its own
OTHERS = {"I": ("he", "she", "they"), "we": ("he", "she", "they")}  # no "I see me", no "we see us"
MOODS = ("present", "present", "present", "past", "past", "can", "must", "should", "will", "want")
TIMES = {"past": "past", "will": "future", "want": "future"}  # and "present" for the other moods
QUESTION_WORDS = {"why": "warum", "when": "wann"}
POSSESSIVE_OF = {"I": "my", "we": "our", "he": "his", "she": "her", "they": "their"}
CONJUNCTIONS = {
    "because": "weil", "although": "obwohl", "when": "wenn", "before": "bevor", "while": "während",
    "that": "dass", "whether": "ob",
}  # fmt: skip


class Subject(NamedTuple):
    """Who does it."""

    phrase: Phrase  # the words
    person: Person  # what the verb agrees with
    pronoun: str | None  # what stands for it in a later clause; None if nothing does in both languages
    lemma: str  # its noun or name; "" for a pronoun that stands for none
    adjectives: Sequence[Adjective]  # what it may be
    group: str = "people"  # "animals", or another group of nouns


class Speaker:
    """Says one sentence after the other, in English and in German."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng.random
        self.words = lexicon()
        self.names = list(self.words.names)
        groups = {name for verb in self.words.verbs for name in verb.who}
        self.verbs = {group: [verb for verb in self.words.verbs if group in verb.who] for group in groups}
        feelings = "tired hungry happy friendly old young"
        self.feelings = [self.words.adjectives[name] for name in feelings.split()]

    def sentence(self) -> Pair:
        """One sentence with its translation and its alignment."""
        while True:
            pair = self._sentence()
            if pair.source.count(" ") < MAX_WORDS:
                return pair

    def _sentence(self) -> Pair:
        chance = self.random()
        if chance < 0.56:
            return self._statement()
        if chance < 0.68:
            clause = self._clause(asking=True, opening=True)
            return finish(clause.english(asking=True), clause.german(front=[]), "?")
        if chance < 0.76:
            return self._question()
        return self._opinion() if chance < 0.86 else self._two_clauses()

    def _statement(self) -> Pair:
        """A main clause, opened by its subject or by the time."""
        clause = self._clause()
        if clause.time is None or self.random() < 0.6:
            return finish(clause.english(), clause.german(), ".")
        front, clause.time = clause.time, None
        return finish(front.english + clause.english(), clause.german(front=front.german), ".")

    def _question(self) -> Pair:
        """A question that opens with a question word."""
        if self.random() < 0.3:
            clause = self._clause(Subject(single("who", "wer"), "he", None, "", self.feelings))
            return finish(clause.english(), clause.german(), "?")
        which = self._pick(list(QUESTION_WORDS))
        word, clause = single(which, QUESTION_WORDS[which]), self._clause(asking=True)
        if which == "when":
            clause.time = clause.often = None
        return finish(word.english + clause.english(asking=True), clause.german(front=word.german), "?")

    def _opinion(self) -> Pair:
        """Somebody knows, thinks, says, hopes or asks something."""
        verb, subject = self._pick(self.words.opinions), self._subject(PERSONS)
        mood = "past" if self.random() < 0.35 else "present"
        main = Clause(subject.phrase, verb_group(verb, mood, subject.person))
        inner = self._clause(self._other_subject(subject), brief=True, moods=("past",) if mood == "past" else MOODS)
        return joined(main, self._pick(verb.who), inner, inner_first=False)

    def _two_clauses(self) -> Pair:
        """A main clause with its reason or its time."""
        conjunction = self._pick(("because", "because", "although", "when", "before", "while"))
        mood = "past" if conjunction != "when" and self.random() < 0.5 else "present"
        subject = self._subject((*PERSONS, "animals"))
        main = self._clause(subject, brief=True, moods=(mood,))
        again = subject.pronoun if self.random() < 0.7 else None
        other = self._by_pronoun(again, subject.lemma) if again else self._other_subject(subject)
        inner = self._clause(other, brief=True, moods=(mood,))
        return joined(main, conjunction, inner, inner_first=self.random() < 0.35)

    def _clause(
        self,
        subject: Subject | None = None,
        *,
        asking: bool = False,
        opening: bool = False,
        brief: bool = False,
        moods: Sequence[str] = MOODS,
    ) -> Clause:
        """What the subject (None: anybody) does or is; `asking` where English needs "do".

        `opening` allows the German verbs that open sentences often enough to be learnt; `brief` adds little to it.
        """
        subject = subject or self._subject((*PERSONS, "animals"), not_i=asking)
        mood, negated = self._pick(moods), self.random() < 0.2
        if mood in ("present", "past") and self.random() < 0.2 or opening and mood == "present":
            clause = Clause(subject.phrase, be(subject.person, past=mood == "past", negated=negated))
            adjective = self._pick(subject.adjectives)
            clause.complement = single(adjective.english, adjective.german)
            self._add_circumstances(clause, "", mood, brief=True)
            return clause
        verb = self._pick(self.verbs[subject.group])
        while (
            mood == "past" and verb.english[2] == "-"  # it would look like the present
            or mood == "past" and opening and verb.auxiliary == "-"
            or brief and verb.prefix and subject.pronoun == "I"  # "abhole" and the like would be too rare to be learnt
        ):  # fmt: skip
            verb = self._pick(self.verbs[subject.group])
        negated = negated and mood not in ("must", "should")  # "must not" is another verb in German
        clause = Clause(subject.phrase, verb_group(verb, mood, subject.person, negated=negated, asking=asking))
        self._add_objects(clause, verb, subject)
        self._add_circumstances(clause, verb.where, TIMES.get(mood, "present"), brief=brief)
        return clause

    def _add_objects(self, clause: Clause, verb: Verb, subject: Subject) -> None:
        if verb.whom:
            indirect, _ = self._object(verb.whom, "dative", subject, definite=True, pronoun_share=0.25)
            if verb.what and self.random() < 0.4:
                indirect = opened("to", indirect)  # and it comes last in English
            clause.objects.append(indirect)
            clause.known.append(indirect)
        if verb.what:
            share = 0.0 if verb.whom or verb.what[0] != "people" else 0.25
            direct, known = self._object(
                verb.what, "accusative", subject, negation=clause.verb.negation, pronoun_share=share
            )
            last = clause.objects and clause.objects[0].english[0].text == "to"
            clause.objects.insert(0 if last else 1, direct)
            (clause.known if known else clause.new).append(direct)

    def _add_circumstances(self, clause: Clause, where: str, time: str, *, brief: bool) -> None:
        """When, where, with whom."""
        chance = self.random()
        if chance < 0.12:
            often = self._pick(self.words.phrases["often"])
            clause.often = None if clause.verb.negation else fixed(*often)
        elif chance < (0.2 if brief else 0.45):
            clause.time = fixed(*self._pick(self.words.phrases[time]))
        if where == "at" and self.random() < (0.15 if brief else 0.35):
            clause.place = self._place("cities", 0, "dative")
        if where == "to" and self.random() < 0.75:
            clause.complement = self._place("abroad", 1, "accusative")
        if where == "at" and not clause.objects and self.random() < 0.2:
            noun = self._noun("friends")
            clause.company = prepositional("with", "mit", self._noun_phrase(noun, "dative", definite=True))

    def _place(self, names: str, way: int, case: Case) -> Phrase:
        """Where something happens (way 0) or leads to (way 1)."""
        if self.random() < 0.2:
            return fixed(*self._pick(self.words.phrases[names]))
        noun = self._noun(self._pick(("rooms", "town", "town")))
        english, german = self.words.places[noun.lemma][way]
        return prepositional(english, german, self._noun_phrase(noun, "dative" if german == "zu" else case))

    def _subject(self, groups: Sequence[str], *, not_i: bool = False) -> Subject:
        """A pronoun, a name or a noun."""
        if self.random() < 0.36:
            return self._by_pronoun(self._pick(DRAWN[3:] if not_i else DRAWN))
        group = self._pick(groups)
        if group == "names":
            name = self._pick(self.names)
            return Subject(single(name, name), "he", self.words.names[name], name, self.feelings)
        noun = self._noun(group)
        person: Person = "they" if noun.gender == "plural" else "he"
        pronouns = {} if group == "animals" else {"masculine": "he", "feminine": "she", "plural": "they"}
        phrase = self._noun_phrase(noun, "nominative", of_share=0.1)
        return Subject(phrase, person, pronouns.get(noun.gender), noun.lemma, noun.adjectives, group)

    def _by_pronoun(self, which: str, lemma: str = "") -> Subject:
        return Subject(pronoun(which, "nominative"), PRONOUNS[which], which, lemma, self.feelings)

    def _other_subject(self, subject: Subject) -> Subject:
        """Somebody else: not "Anna sleeps while Anna works"."""
        while True:
            other = self._subject((*PERSONS, "animals"))
            if other.lemma != subject.lemma or not other.lemma:
                return other

    def _object(
        self,
        groups: Sequence[str],
        case: Case,
        subject: Subject,
        *,
        definite: bool = False,
        negation: tuple[English, ...] = (),
        pronoun_share: float = 0.0,
    ) -> tuple[Phrase, bool]:
        """An object that is not the subject, and whether the listener knows it."""
        chance = self.random()
        if chance < pronoun_share:
            return pronoun(self._pick(OTHERS.get(subject.pronoun or "", tuple(PRONOUNS))), case), True
        if pronoun_share and chance > 0.9:
            name = self._pick([name for name in self.names if name != subject.lemma])
            return single(name, name), True
        noun = self._noun(self._pick(groups))
        while noun.lemma == subject.lemma:
            noun = self._noun(self._pick(groups))
        determiner = self._determiner(noun, owner=subject.pronoun, definite=definite)
        if determiner.definite:
            return self._noun_phrase(noun, case, determiner=determiner, of_share=0.1), True
        if negation and determiner.english != "a":
            determiner = DETERMINERS["bare"]  # "not two" is not "kein"
        return noun_phrase(noun, determiner, self._adjective(noun), case, negation=negation), False

    def _noun(self, group: str) -> Noun:
        return self._pick(self.words.nouns[group])

    def _noun_phrase(
        self,
        noun: Noun,
        case: Case,
        *,
        definite: bool = False,
        determiner: Determiner | None = None,
        of_share: float = 0.0,
    ) -> Phrase:
        determiner = determiner or self._determiner(noun, definite=definite)
        phrase = noun_phrase(noun, determiner, self._adjective(noun), case)
        if determiner.english != "the" or self.random() > of_share:
            return phrase
        owner = self._noun(self._pick(("people", "friends")))
        of = opened("of", self._noun_phrase(owner, "genitive", definite=True))
        return Phrase(phrase.english + of.english, phrase.german + of.german)

    def _determiner(self, noun: Noun, *, owner: str | None = None, definite: bool = False) -> Determiner:
        """One that suits the noun; a possessive is most often that of the owner, a pronoun."""
        names = [name for name in noun.determiners if not definite or name == "own" or DETERMINERS[name].definite]
        name = self._pick(names)
        if name == "own":
            name = POSSESSIVE_OF[owner] if owner and self.random() < 0.7 else self._pick(list(POSSESSIVES))
        return DETERMINERS[name]

    def _adjective(self, noun: Noun) -> Adjective | None:
        return self._pick(noun.adjectives) if self.random() < 0.28 else None

    def _pick(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self.random() * len(choices))]


def joined(main: Clause, conjunction: str, inner: Clause, *, inner_first: bool) -> Pair:
    """A main clause with a subordinate one; a comma that only German writes goes with the conjunction."""
    word = English(conjunction)
    opening: German = (CONJUNCTIONS[conjunction], (word,))
    if inner_first:
        comma = English(",")
        front: list[German] = [opening, *inner.german_subordinate(), (",", (comma,))]
        return finish([word, *inner.english(), comma, *main.english()], main.german(front=front), ".")
    german = [*main.german(), (",", (word,)), opening, *inner.german_subordinate()]
    return finish([*main.english(), word, *inner.english()], german, ".")
