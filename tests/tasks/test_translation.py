"""What the English-German grammar promises: its German, its alignment, its splits, its size."""

import collections
import random

import pytest

from seq2see.options import TranslationOptions
from seq2see.tasks.pairs import Pair
from seq2see.tasks.translation import MAX_PAIRS, Translation
from seq2see.tasks.translation.sentences import Speaker


@pytest.fixture(scope="module")
def said() -> list[Pair]:
    """40,000 sentences as they are drawn, repetitions included."""
    speaker = Speaker(random.Random(5))
    return [speaker.sentence() for _ in range(40_000)]


def marked(pair: Pair) -> str:
    """The German with the numbers of the English words that each word renders: "Der[0] Hund[1]"."""
    links = sorted(pair.links or ())
    words = enumerate(pair.target.split())
    return " ".join(f"{word}[{','.join(str(i) for i, j in links if j == number)}]" for number, word in words)


SAID = """
a separable verb frames the clause, and "am" is "an dem"
My dog sometimes wakes up at the old lake . = Mein[0] Hund[1] wacht[3,4] manchmal[2] am[5,6] alten[7] See[8] auf[3,4] .[9]
a separable verb is joined at the end of a subordinate clause
He knows whether Maria comes back . = Er[0] weiß[1] ,[2] ob[2] Maria[3] zurückkommt[4,5] .[6]
a separable verb is one word after a modal verb
I can call her . = Ich[0] kann[1] sie[3] anrufen[2] .[4]
a subordinate clause that comes first turns the main clause
Although we were friendly , we arrived . = Obwohl[0] wir[1] freundlich[3] waren[2] ,[4] sind[6] wir[5] angekommen[6] .[7]
a time that comes first turns the clause
Tonight he wants to go home . = Heute[0] Abend[0] will[2] er[1] nach[5] Hause[5] gehen[3,4] .[6]
time stands before place, and both before what is new
The dog heard a teacher in the garden this morning . = Der[0] Hund[1] hat[2] heute[8] Morgen[9] im[5,6] Garten[7] einen[3] Lehrer[4] gehört[2] .[10]
what is known stands before time and nicht
I did not meet my happy daughter this morning . = Ich[0] habe[1] meine[4] glückliche[5] Tochter[6] heute[7] Morgen[8] nicht[2] getroffen[3] .[9]
not a becomes kein
The tired child does not buy a car . = Das[0] müde[1] Kind[2] kauft[3,5] kein[4,6] Auto[7] .[8]
does and the verb merge in a question
When does she wait ? = Wann[0] wartet[1,3] sie[2] ?[4]
a yes-no question begins with its verb
Does my cat want to see us in the city tonight ? = Will[0,3] meine[1] Katze[2] uns[6] heute[10] Abend[10] in[7] der[8] Stadt[9] sehen[4,5] ?[11]
cannot is two words in German
I cannot sing . = Ich[0] kann[1] nicht[1] singen[2] .[3]
one goes into the house
I often went into the house . = Ich[0] bin[2] oft[1] ins[3,4] Haus[5] gegangen[2] .[6]
and to the bus stop
We knew whether I went to the bus stop . = Wir[0] wussten[1] ,[2] ob[2] ich[3] zur[5,6] Bushaltestelle[7,8] gegangen[4] bin[4] .[9]
a gift without to
These farmers gave the men an apple . = Diese[0] Bauern[1] haben[2] den[3] Männern[4] einen[5] Apfel[6] gegeben[2] .[7]
a gift with to crosses, and of is a genitive
The doctor of my friend gives a cake to the farmer . = Der[0] Arzt[1] meines[2,3] Freundes[4] gibt[5] dem[8,9] Bauern[10] einen[6] Kuchen[7] .[11]
the few pasts of one word
Peter had his car . = Peter[0] hatte[1] sein[2] Auto[3] .[4]
plural datives
The man sometimes arrives with his old sisters . = Der[0] Mann[1] kommt[3] manchmal[2] mit[4] seinen[5] alten[6] Schwestern[7] an[3] .[8]
"""  # noqa: E501 (a sentence a line)


def test_a_sentence_has_its_german_and_its_alignment(said: list[Pair]) -> None:
    by_source = {pair.source: pair for pair in said}
    for line in SAID.splitlines():
        english, equals, german = line.partition(" = ")
        assert not equals or marked(by_source[english]) == german


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


def test_every_word_is_frequent_enough_to_be_learnt_in_sentences_of_7_to_10_words_on_average(said: list[Pair]) -> None:
    english = collections.Counter(word for pair in said for word in pair.source.split())
    assert 7 <= english.total() / len(said) <= 10
    german = collections.Counter(word for pair in said for word in pair.target.split())
    assert 300 <= len(english) <= 450
    assert 500 <= len(german) <= 650
    assert {word: count for word, count in english.items() if count < 40} == {}
    assert {word: count for word, count in german.items() if count < 5} == {}


def test_there_are_millions_of_sentences(said: list[Pair]) -> None:
    """Of N sentences, two draws are the same one with a chance of 1/N at least: few equal draws mean many sentences."""
    long = [pair.source for pair in said if len(pair.source.split()) >= 10]
    equal = sum(count * (count - 1) // 2 for count in collections.Counter(long).values())
    draws = len(long) * (len(long) - 1) // 2
    assert draws / max(equal, 1) > 5 * MAX_PAIRS


def test_the_pairs_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    options = TranslationOptions(train_size=300, valid_size=50, test_size=100)
    forwards, backwards = Translation(options), Translation(options)
    assert [forwards.pairs(split) for split in ("train", "valid", "test")] == [
        backwards.pairs(split) for split in ("test", "valid", "train")
    ][::-1]


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
