"""Phrases: English words beside the German words that render them.

Every German word carries the English words it stands for, so the alignment is there from the start and follows each
word to wherever its clause puts it.
"""

from typing import NamedTuple

from seq2see.tasks.translation.words import Adjective, Case, Determiner, Fixed, Noun, Person


class English:
    """One English word at one place of one sentence: two words "the" are two objects, as links must tell them apart."""

    __slots__ = ("number", "text")

    number: int  # its place in the sentence, once that is complete

    def __init__(self, text: str) -> None:
        self.text = text


German = tuple[str, tuple[English, ...]]  # a German word, and the English words it renders


class Phrase(NamedTuple):
    """Words that stay together in both languages.

    Attributes:
        english: the words in their order.
        german: the words in their order, each with its English.
    """

    english: list[English]
    german: list[German]


PRONOUNS: dict[str, dict[Case, tuple[str, str]]] = {  # for each case: English, German
    "I": {"nominative": ("I", "ich"), "accusative": ("me", "mich"), "dative": ("me", "mir")},
    "he": {"nominative": ("he", "er"), "accusative": ("him", "ihn"), "dative": ("him", "ihm")},
    "she": {"nominative": ("she", "sie"), "accusative": ("her", "sie"), "dative": ("her", "ihr")},
    "we": {"nominative": ("we", "wir"), "accusative": ("us", "uns"), "dative": ("us", "uns")},
    "they": {"nominative": ("they", "sie"), "accusative": ("them", "sie"), "dative": ("them", "ihnen")},
}
PERSON_OF_PRONOUN: dict[str, Person] = {"I": "I", "he": "he", "she": "he", "we": "they", "they": "they"}
REFLEXIVES = {"I": "mich", "we": "uns"}  # everybody else: "sich"

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("in", "das"): "ins",
}


def single(english: str, german: str) -> Phrase:
    """One English word rendered by one German word."""
    word = English(english)
    return Phrase([word], [(german, (word,))])


def pronoun(which: str, case: Case) -> Phrase:
    """The pronoun "I", "he", "she", "we" or "they" in a case."""
    return single(*PRONOUNS[which][case])


def fixed(phrase: Fixed) -> Phrase:
    """A fixed phrase of the lexicon."""
    english = [English(text) for text in phrase.english]
    return Phrase(english, [(text, tuple([english[number] for number in numbers])) for text, numbers in phrase.german])


def noun_phrase(
    noun: Noun, determiner: Determiner, adjective: Adjective | None, case: Case, *, negation: tuple[English, ...] = ()
) -> Phrase:
    """A noun with its determiner and perhaps an adjective, all agreeing in gender, number and case.

    Args:
        noun: the noun.
        determiner: the article or what stands for it.
        adjective: the adjective, if there is one.
        case: the case.
        negation: the English "not" that the determiner renders too ("does not see a dog": "sieht keinen Hund").
    """
    key = noun.gender, case
    before: list[English] = []
    german: list[German] = []
    if determiner.english:
        before.append(English(determiner.english))
    if article := determiner.german[key]:
        german.append((article, (*negation, *before)))
    if adjective:
        word = English(adjective.english)
        before.append(word)
        german.append((adjective.stem + determiner.endings[key], (word,)))
    words = [English(text) for text in noun.english]
    german.append((noun.german[case], tuple(words)))
    english = before + words
    if determiner.english == "a" and english[1].text[0] in "aeiou":
        english[0].text = "an"
    return Phrase(english, german)


def prepositional(preposition: tuple[str, str], phrase: Phrase) -> Phrase:
    """A preposition before a phrase; German joins some with the article ("in the garden": "im Garten")."""
    english, german = preposition
    word = English(english)
    (article, articles), *others = phrase.german
    joined = CONTRACTIONS.get((german, article))
    beginning = [(joined, (word, *articles))] if joined else [(german, (word,)), (article, articles)]
    return Phrase([word, *phrase.english], beginning + others)


def reflexive(subject: Phrase, verb: list[English]) -> German:
    """The word "sich", "mich" or "uns" that some German verbs need: it renders the English verb."""
    return REFLEXIVES.get(subject.english[0].text, "sich"), tuple(verb)
