"""Sentences: statements, questions, opinions, and two clauses joined."""

import random
from collections.abc import Sequence

from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation.clauses import Clause, Mood, verb_group
from seq2see.tasks.translation.events import ASKED, MOODS, Events, Request, Tense
from seq2see.tasks.translation.parts import Parts, Subject
from seq2see.tasks.translation.phrases import English, German, single
from seq2see.tasks.translation.words import PERSONS, Verb

QUESTION_WORDS = {"why": "warum", "when": "wann", "where": "wo", "what": "was"}
MAX_WORDS = 14  # of the English sentence, marks included
LINKS = [[(i, j) for i in range(64)] for j in range(64)]  # made once: saves a sixth of the time and most of the memory
TOLD: tuple[Mood, ...] = ("past", "past", "past", "wanted", "could")  # what somebody knew, thought, said
OUTSIDE = {"garden", "park", "lake", "forest", "market"}  # where one goes in fine weather
INSIDE = {"home", "house", "room", "kitchen"}  # where one goes in bad weather
CONJUNCTIONS = {
    "because": "weil",
    "although": "obwohl",
    "when": "wenn",
    "if": "wenn",
    "before": "bevor",
    "while": "während",
    "that": "dass",
    "whether": "ob",
}


class Speaker:
    """Says one sentence after the other, in English and in German."""

    def __init__(self, rng: random.Random) -> None:
        """Take the source of all choices."""
        self.parts = Parts(rng)
        self.events = Events(self.parts)
        self.random = rng.random
        self.opinions = [verb for verb in self.parts.words.verbs if verb.clauses]

    def sentence(self) -> Pair:
        """One sentence with its translation and its alignment."""
        while True:
            pair = self._sentence()
            if pair.source.count(" ") < MAX_WORDS:
                return pair

    def _sentence(self) -> Pair:
        chance = self.random()
        if chance < 0.56:
            return self.statement()
        if chance < 0.69:
            return self.yes_no_question()
        if chance < 0.76:
            return self.question()
        if chance < 0.85:
            return self.opinion()
        return self.two_clauses()

    def statement(self) -> Pair:
        """A main clause, opened by its subject or by the time."""
        clause = self._plain_clause()
        if clause.time is None or self.random() < 0.6:
            return finish(clause.english(), clause.german_statement(), ".")
        front, clause.time = clause.time, None
        return finish(front.english + clause.english(), front.german + clause.german_from_verb(), ".")

    def _plain_clause(self) -> Clause:
        chance = self.random()
        if chance < 0.1:
            return self.events.identification()
        if chance > 0.97:
            return self.events.weather_report()
        return self.events.description() if chance < 0.22 else self.events.action(Request())

    def yes_no_question(self) -> Pair:
        """A question that opens with the verb."""
        chance = self.random()
        if chance < 0.05:
            clause = self.events.identification(plain=True)
        elif chance < 0.18:
            clause = self.events.description(asking=True)
        else:
            clause = self.events.action(Request(asking=True, moods=ASKED, brief=True, plain=True))
        return finish(clause.english(asking=True), clause.german_from_verb(), "?")

    def question(self) -> Pair:
        """A question that opens with a question word."""
        if self.random() < 0.25:
            who = Subject(single("who", "wer"), "he", None, by_pronoun=True)
            clause = self.events.action(Request(subject=who))
            return finish(clause.english(), clause.german_statement(), "?")
        which = self.parts.pick(("why", "why", "when", "where", "what"))
        clause = self.events.action(Request(asking=True, wanted=which, moods=ASKED))
        word = single(which, QUESTION_WORDS[which])
        return finish(word.english + clause.english(asking=True), word.german + clause.german_from_verb(), "?")

    def opinion(self) -> Pair:
        """Somebody knows, thinks, says or hopes something."""
        verb = self.parts.pick(self.opinions)
        tense: Tense = "past" if self.random() < 0.35 else "present"
        subject = self.parts.subject(PERSONS)
        doubt = "whether" in verb.clauses and self.random() < 0.4
        group = verb_group(verb, tense, subject.person, negated=doubt, asking=False)
        main = Clause(subject.phrase, subject.by_pronoun, group)
        inner = self._content(verb, tense, plain=doubt)
        while same_noun(main, inner):
            inner = self._content(verb, tense, plain=doubt)
        return joined(main, "whether" if doubt else "that", inner, inner_first=False)

    def _content(self, verb: Verb, tense: Tense, *, plain: bool) -> Clause:
        """What somebody knows, thinks, says or hopes."""
        chance = self.random()
        moods = MOODS if tense == "present" else TOLD
        if verb.english[0] == "hope":
            moods = ("present", "will", "can") if tense == "present" else ("wanted",)
        elif chance < 0.2 and tense == "present":
            return self.events.identification()
        elif chance < 0.4:
            return self.events.description(tense, asking=plain)
        elif chance < 0.5:
            return self.events.about_weather(tense)
        return self.events.action(Request(moods=moods, brief=True, inner=True, plain=plain))

    def two_clauses(self) -> Pair:
        """A main clause with its reason, its condition or its time."""
        conjunction = self.parts.pick(
            ("because", "because", "because", "although", "when", "if", "before", "before", "while")
        )
        conditional = conjunction in ("when", "if")
        tense: Tense = "present" if conditional or self.random() < 0.5 else "past"
        event = conjunction in ("before", "while") or conditional and self.random() < 0.4
        subject = self.parts.subject(PERSONS if self.random() < 0.9 else ["animals"])
        while not (event or subject.pronoun):
            subject = self.parts.subject(PERSONS)
        if event:
            verbs = self.events.steps if conjunction == "before" else self.events.deeds
        else:  # nobody says "I help you if I am friendly"
            verbs = self.events.moody if conditional or subject.pronoun in ("I", "we") else self.events.explained
        verb = self.events.verb_for(subject, verbs, past=tense == "past")
        moods: Sequence[Mood] = ("present", "present", "can", "should", "will") if conditional else (tense,)
        plain = conjunction != "although"
        main = self.events.action(
            Request(verb=verb, subject=subject, moods=moods, brief=True, plain=plain, timeless=True)
        )
        if event:
            inner = self._event(conjunction, tense, subject, verb)
            while same_noun(main, inner):
                inner = self._event(conjunction, tense, subject, verb)
        else:
            inner = self._circumstance(conjunction, tense, subject, verb, main)
        return joined(main, conjunction, inner, inner_first=self.random() < 0.35)

    def _circumstance(self, conjunction: str, tense: Tense, subject: Subject, verb: Verb, main: Clause) -> Clause:
        """A clause that explains another one, or that speaks against it: of the same person, or of the weather."""
        again = subject.again()
        contrary = conjunction == "although" and not main.verb.negation
        places = {word.text for place in (main.place, main.complement) if place for word in place.english}
        outside = not places.isdisjoint(OUTSIDE)
        if again is None or (outside or not places.isdisjoint(INSIDE)) and self.random() < 0.6:
            return self.events.about_weather(tense, fine=outside != contrary)
        feelings, intents = self._against(verb) if contrary else ([verb.reason] if verb.reason else [], verb.aims)
        if feelings and (subject.group == "animals" or not intents or self.random() < 0.5):
            return self.events.being(again, tense, self.parts.pick(feelings), plain=True)
        other = self._other_verb(verb, again, [self.events.named[name] for name in intents])
        unwilling = "pleasant" not in other.traits and conjunction not in ("when", "if")
        moods: Sequence[Mood] = ("wanted",) if tense == "past" else ("want", "must") if unwilling else ("want",)
        return self._inner(other, again, moods)

    def _against(self, verb: Verb) -> tuple[list[str], list[str]]:
        """Feelings and intents that would rather keep one from doing it."""
        feelings = [feeling for feeling in ("tired", "hungry") if feeling != verb.reason]
        hindering = [name for name in ("work", "sleep") if name not in (*verb.aims, verb.english[0])]
        return feelings, [name for name in hindering if not (name == "sleep" and verb.reason == "tired")]

    def _event(self, conjunction: str, tense: Tense, subject: Subject, verb: Verb) -> Clause:
        """What happens next, meanwhile, or whenever the main clause is to happen."""
        if conjunction == "before":
            again = subject.again()
            if again is None:
                return self.events.about_rain(tense)
            awake = verb.reason == "tired" or "morning" in verb.traits  # no breakfast before one sleeps
            verbs = self.events.awake if awake else self.events.steps
            other = self._other_verb(verb, again, verbs, past=tense == "past")
            return self._inner(other, again, (tense,))
        verbs = self.events.lasting if conjunction == "while" else self.events.occasions
        return self._inner(self._other_verb(verb, None, verbs), None, (tense,))

    def _inner(self, verb: Verb, subject: Subject | None, moods: Sequence[Mood]) -> Clause:
        return self.events.action(
            Request(verb=verb, subject=subject, moods=moods, brief=True, inner=True, plain=True, timeless=True)
        )

    def _other_verb(self, verb: Verb, subject: Subject | None, verbs: Sequence[Verb], *, past: bool = False) -> Verb:
        """A verb, for the subject if there is one, that says something new."""
        while True:
            other = self.events.verb_for(subject, verbs, inner=True, past=past)
            if other.german != verb.german:
                return other


def same_noun(one: Clause, other: Clause) -> bool:
    """Whether two clauses have the same noun or name as subject: not "Anna sleeps while Anna works"."""
    if one.by_pronoun or other.by_pronoun:
        return False
    first, second = sorted(clause.subject.english[-1].text for clause in (one, other))
    return second.startswith(first)  # neither "teacher" with "teachers"


def joined(main: Clause, conjunction: str, inner: Clause, *, inner_first: bool) -> Pair:
    """A main clause with a subordinate one; a comma that only German writes goes with the conjunction."""
    word = English(conjunction)
    opening = CONJUNCTIONS[conjunction], (word,)
    if inner_first:
        comma = English(",")
        english = [word, *inner.english(), comma, *main.english()]
        german = [opening, *inner.german_subordinate(), (",", (comma,)), *main.german_from_verb()]
    else:
        english = [*main.english(), word, *inner.english()]
        german = [*main.german_statement(), (",", (word,)), opening, *inner.german_subordinate()]
    return finish(english, german, ".")


def finish(english: list[English], german: list[German], mark: str) -> Pair:
    """The pair: capitals at the beginning, a mark at the end, and each link as two numbers."""
    end = English(mark)
    english.append(end)
    german.append((mark, (end,)))
    for number, word in enumerate(english):
        word.number = number
    links = [LINKS[number][word.number] for number, (_, words) in enumerate(german) for word in words]
    return Pair(
        source=_capitalised(" ".join([word.text for word in english])),
        target=_capitalised(" ".join([text for text, _ in german])),
        links=tuple(links),
    )


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
