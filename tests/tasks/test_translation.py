"""What the English-German grammar promises: its German, its alignment, its splits, its size."""

import collections
import random

import pytest

from seq2see.options import TranslationOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation import MAX_PAIRS, Translation
from seq2see.tasks.translation.clauses import (
    PRONOUNS,
    Clause,
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
from seq2see.tasks.translation.sentences import PRONOUNS as PERSONS
from seq2see.tasks.translation.sentences import Speaker, joined
from seq2see.tasks.translation.words import DETERMINERS, Case, Noun, lexicon

WORDS = lexicon()
NOUNS = {" ".join(noun.english): noun for nouns in WORDS.nouns.values() for noun in nouns}


@pytest.fixture(scope="module")
def train() -> list[Pair]:
    """The 40,000 pairs that the default run trains on."""
    return Translation(TranslationOptions()).pairs("train")


@pytest.fixture(scope="module")
def said() -> list[Pair]:
    """40,000 sentences as they are drawn, repetitions included."""
    speaker = Speaker(random.Random(5))
    return [speaker.sentence() for _ in range(40_000)]


# Sentences built by hand from the words of the lexicon


def split(text: str) -> tuple[str, str, Noun]:
    """Determiner, adjective and noun of "a small dog"."""
    determiner, *rest = text.split()
    adjective = rest.pop(0) if rest[0] in WORDS.adjectives else ""
    return determiner, adjective, NOUNS[" ".join(rest)]


def the(text: str, case: Case = "nominative", clause: Clause | None = None) -> Phrase:
    """A noun phrase such as "a small dog"; in a clause, one that its "not" turns into "kein"."""
    determiner, adjective, noun = split(text)
    negation = clause.verb.negation if clause else ()
    return noun_phrase(noun, DETERMINERS[determiner], WORDS.adjectives.get(adjective), case, negation=negation)


def phrase(english: str) -> Phrase:
    """A fixed phrase of the lexicon."""
    return fixed(next(each for kind in WORDS.phrases.values() for each in kind if " ".join(each.english) == english))


def clause(who: str, does: str, mood: str = "present", *, negated: bool = False, asking: bool = False) -> Clause:
    """A clause of a subject and a verb; "be" is the copula. The caller adds the rest."""
    is_pronoun = who in PRONOUNS
    person = PERSONS[who] if is_pronoun else "they" if split(who)[2].gender == "plural" else "he"
    subject = pronoun(who, "nominative") if is_pronoun else the(who)
    if does == "be":
        return Clause(subject, be(person, past=mood == "past", negated=negated))
    verb = next(verb for verb in WORDS.verbs if does == " ".join([verb.english[0], verb.particle]).strip())
    return Clause(subject, verb_group(verb, mood, person, negated=negated, asking=asking))


def add(clause: Clause, *, known: Phrase | None = None, new: Phrase | None = None, **others: Phrase) -> Clause:
    """The clause with objects and other phrases."""
    clause.known += [known] if known else []
    clause.new += [new] if new else []
    clause.objects += [each for each in (known, new) if each]
    for name, value in others.items():
        setattr(clause, name, value)
    return clause


def statement(clause: Clause) -> Pair:
    """The clause as a statement that its subject opens."""
    return finish(clause.english(), clause.german(), ".")


def after(front: Phrase, clause: Clause) -> Pair:
    """The clause as a statement that another phrase opens."""
    return finish(front.english + clause.english(), clause.german(front=front.german), ".")


def question(clause: Clause) -> Pair:
    """The clause as a yes-no question."""
    return finish(clause.english(asking=True), clause.german(front=[]), "?")


def marked(pair: Pair) -> str:
    """The German with the numbers of the English words that each word renders: "Der[0] Hund[1]"."""
    assert pair.links is not None
    words = pair.target.split()
    numbers = [",".join(str(i) for i, j in sorted(pair.links) if j == number) for number in range(len(words))]
    return " ".join(f"{word}[{each}]" for word, each in zip(words, numbers, strict=True))


def negative_with_a_dog() -> Clause:
    """The woman does not see a dog."""
    base = clause("the woman", "see", negated=True)
    return add(base, new=the("a dog", "accusative", base))


def gift(*, with_to: bool) -> Clause:
    """The old man gives the child an apple, or gives an apple to the child."""
    base = clause("the old man", "give")
    apple, child = the("a apple", "accusative"), the("the child", "dative")
    child = opened("to", child) if with_to else child
    base.objects, base.known, base.new = ([apple, child] if with_to else [child, apple]), [child], [apple]
    return base


def garden_of(owner: str) -> Phrase:
    """The garden of somebody, as an object."""
    garden, of = the("the garden", "accusative"), opened("of", the(owner, "genitive"))
    return Phrase(garden.english + of.english, garden.german + of.german)


PLANTED = {
    "a separable verb frames the clause": (
        lambda: statement(add(clause("the small boy", "wake up"), often=phrase("often"), place=phrase("at home"))),
        "The small boy often wakes up at home .",
        "Der[0] kleine[1] Junge[2] wacht[4,5] oft[3] zu[6] Hause[7] auf[4,5] .[8]",
    ),
    "a separable verb is joined at the end of a subordinate clause": (
        lambda: joined(clause("I", "sleep"), "because", clause("she", "wake up"), inner_first=False),
        "I sleep because she wakes up .",
        "Ich[0] schlafe[1] ,[2] weil[2] sie[3] aufwacht[4,5] .[6]",
    ),
    "a separable verb is one word after a modal verb": (
        lambda: statement(add(clause("they", "invite", "must"), known=pronoun("he", "accusative"))),
        "They must invite him .",
        "Sie[0] müssen[1] ihn[3] einladen[2] .[4]",
    ),
    "a subordinate clause that comes first turns the main clause": (
        lambda: joined(
            add(clause("the women", "bake", "past"), new=the("two cakes", "accusative")),
            "although",
            add(clause("they", "be", "past"), complement=single("tired", "müde")),
            inner_first=True,
        ),
        "Although they were tired , the women baked two cakes .",
        "Obwohl[0] sie[1] müde[3] waren[2] ,[4] haben[7] die[5] Frauen[6] zwei[8] Kuchen[9] gebacken[7] .[10]",
    ),
    "a time that comes first turns the clause": (
        lambda: after(phrase("tonight"), add(clause("my brother", "read", "want"), new=the("a book", "accusative"))),
        "Tonight my brother wants to read a book .",
        "Heute[0] Abend[0] will[3] mein[1] Bruder[2] ein[6] Buch[7] lesen[4,5] .[8]",
    ),
    "time stands before place, and both before what is new": (
        lambda: statement(
            add(
                clause("the woman", "eat", "past"),
                new=the("a big apple", "accusative"),
                place=prepositional("in", "in", the("the garden", "dative")),
                time=phrase("yesterday"),
            )
        ),
        "The woman ate a big apple in the garden yesterday .",
        "Die[0] Frau[1] hat[2] gestern[9] im[6,7] Garten[8] einen[3] großen[4] Apfel[5] gegessen[2] .[10]",
    ),
    "what is known stands before time and nicht": (
        lambda: statement(
            add(
                clause("I", "help", "past", negated=True),
                known=the("this young woman", "dative"),
                time=phrase("last week"),
            )
        ),
        "I did not help this young woman last week .",
        "Ich[0] habe[1] dieser[4] jungen[5] Frau[6] letzte[7] Woche[8] nicht[2] geholfen[3] .[9]",
    ),
    "not a becomes kein": (
        lambda: statement(negative_with_a_dog()),
        "The woman does not see a dog .",
        "Die[0] Frau[1] sieht[2,4] keinen[3,5] Hund[6] .[7]",
    ),
    "does and the verb merge in a question": (
        lambda: question(
            add(
                clause("the farmer", "wear", asking=True),
                known=the("his old coat", "accusative"),
                place=prepositional("at", "an", the("the train station", "dative")),
            )
        ),
        "Does the farmer wear his old coat at the train station ?",
        "Trägt[0,3] der[1] Bauer[2] seinen[4] alten[5] Mantel[6] am[7,8] Bahnhof[9,10] ?[11]",
    ),
    "cannot is two words in German": (
        lambda: statement(clause("we", "sing", "can", negated=True)),
        "We cannot sing .",
        "Wir[0] können[1] nicht[1] singen[2] .[3]",
    ),
    "one goes into the house and to the bus stop": (
        lambda: joined(
            add(clause("I", "go", "past"), complement=prepositional("into", "in", the("the house", "accusative"))),
            "before",
            add(clause("he", "go", "past"), complement=prepositional("to", "zu", the("the bus stop", "dative"))),
            inner_first=False,
        ),
        "I went into the house before he went to the bus stop .",
        "Ich[0] bin[1] ins[2,3] Haus[4] gegangen[1] ,[5] bevor[5] er[6] zur[8,9] Bushaltestelle[10,11] "
        "gegangen[7] ist[7] .[12]",
    ),
    "a gift without to": (
        lambda: statement(gift(with_to=False)),
        "The old man gives the child an apple .",
        "Der[0] alte[1] Mann[2] gibt[3] dem[4] Kind[5] einen[6] Apfel[7] .[8]",
    ),
    "a gift with to crosses": (
        lambda: statement(gift(with_to=True)),
        "The old man gives an apple to the child .",
        "Der[0] alte[1] Mann[2] gibt[3] dem[6,7] Kind[8] einen[4] Apfel[5] .[9]",
    ),
    "of is a genitive": (
        lambda: statement(add(clause("she", "paint"), known=garden_of("the old police officer"))),
        "She paints the garden of the old police officer .",
        "Sie[0] malt[1] den[2] Garten[3] des[4,5] alten[6] Polizisten[7,8] .[9]",
    ),
    "the few pasts of one word, and plural datives": (
        lambda: statement(
            add(
                clause("the boys", "have", "past"),
                new=the("bare apples", "accusative"),
                company=prepositional("with", "mit", the("our friends", "dative")),
            )
        ),
        "The boys had apples with our friends .",
        "Die[0] Jungen[1] hatten[2] mit[4] unseren[5] Freunden[6] Äpfel[3] .[7]",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_sentence_built_by_hand_has_its_german_and_its_alignment(name: str) -> None:
    build, english, german = PLANTED[name]
    pair = build()
    assert pair.source == english
    assert marked(pair) == german


# Promises that hold for all sentences


def test_the_same_english_always_has_the_same_german(said: list[Pair]) -> None:
    german: dict[str, set[str]] = collections.defaultdict(set)
    for pair in said:
        german[pair.source].add(pair.target)
    assert {source: targets for source, targets in german.items() if len(targets) > 1} == {}


def test_a_sentence_has_3_to_16_words_with_single_spaces_a_capital_a_mark_and_a_link_for_every_word(
    said: list[Pair],
) -> None:
    for source, target, links in said[:20_000]:
        assert links is not None
        assert 3 <= len(source.split()) <= 16
        for text in (source, target):
            assert text == " ".join(text.split()) and text[0].isupper() and text[-2:] in (" .", " ?")
        assert len(set(links)) == len(links)
        assert {i for i, _ in links} == set(range(len(source.split())))
        assert {j for _, j in links} == set(range(len(target.split())))


def test_links_cross_merge_and_fan_out(said: list[Pair]) -> None:
    crossing = merging = fanning = apart = 0
    for _, _, links in said[:1_000]:
        assert links is not None
        crossing += any(i < k and j > m for i, j in links for k, m in links)
        merging += len({j for _, j in links}) < len(links)
        fanning += len({i for i, _ in links}) < len(links)
        apart += any(i == k and m > j + 1 and (i, j + 1) not in links for i, j in links for k, m in links)
    assert min(crossing, merging, fanning) > 200 and apart > 100


def test_every_word_is_frequent_enough_to_be_learnt_in_sentences_of_7_to_10_words_on_average(train: list[Pair]) -> None:
    english = collections.Counter(word for pair in train for word in pair.source.split())
    assert 7 <= english.total() / len(train) <= 10
    german = collections.Counter(word for pair in train for word in pair.target.split())
    assert 300 <= len(english) <= 450
    assert 500 <= len(german) <= 650
    assert {word: count for word, count in english.items() if count < 40} == {}
    assert {word: count for word, count in german.items() if count < 5} == {}


def test_every_entry_of_the_lexicon_is_used(train: list[Pair]) -> None:
    used = {word.lower() for pair in train for word in pair.source.split()}
    expected = {word for noun in NOUNS.values() for word in noun.english} | set(WORDS.adjectives)
    expected |= {form for verb in WORDS.verbs for form in verb.english} | {name.lower() for name in WORDS.names}
    expected |= {word.lower() for phrases in WORDS.phrases.values() for each in phrases for word in each.english}
    assert expected - used - {"-"} == set()


def test_there_are_millions_of_sentences(said: list[Pair]) -> None:
    """Of N sentences, two draws are the same one with a chance of 1/N at least: few equal draws mean many sentences."""
    long = [pair.source for pair in said if len(pair.source.split()) >= 10]
    equal = sum(count * (count - 1) // 2 for count in collections.Counter(long).values())
    draws = len(long) * (len(long) - 1) // 2
    assert draws / max(equal, 1) > 5 * MAX_PAIRS


# Splits


def test_the_pairs_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    options = TranslationOptions(train_size=3_000, valid_size=500, test_size=1_000)
    forwards, backwards = Translation(options), Translation(options)
    splits = ("train", "valid", "test")
    assert {split: forwards.pairs(split) for split in splits} == {
        split: backwards.pairs(split) for split in reversed(splits)
    }


def test_more_pairs_than_can_be_made_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=rf"task\.train_size \(2000000\) is too large: .* at most {MAX_PAIRS} pairs"):
        Translation(TranslationOptions(train_size=2_000_000))
    with pytest.raises(ValueError, match=r"task\.test_size \(999999\) is too large: .* and 1040499 are asked for"):
        Translation(TranslationOptions(test_size=999_999))


def test_the_ood_split_holds_texts_of_several_sentences_with_their_links() -> None:
    task = Translation(TranslationOptions(train_size=20, valid_size=5, test_size=5, ood_size=80))
    pairs = task.pairs("ood")
    assert len(pairs) == 80 and task.ood == "several sentences, 28 to 56 words"
    for pair in pairs:
        source, target = pair.source.split(" "), pair.target.split(" ")
        assert 28 <= len(source) <= 56
        assert all(i < len(source) and j < len(target) for i, j in pair.links)
        marks = [[n for n, word in enumerate(words) if word in ".?"] for words in (source, target)]
        assert len(marks[0]) == len(marks[1]) > 1
        assert set(zip(*marks, strict=True)) <= set(pair.links)
