"""What follows from the data: the facts that are counted, and the kind of token that they lead to."""

import random

import pytest

from seq2see.options import (
    FilesOptions,
    LettersOptions,
    NumbersOptions,
    ScanOptions,
    TokenizerKind,
    TokenizerOptions,
    TrainOptions,
    TranslationOptions,
)
from seq2see.runs.choices import Facts, choose
from seq2see.tasks import Pair, make_task

BPE, CHAR, WORD = TokenizerKind.bpe, TokenizerKind.char, TokenizerKind.word
PHONES = "a e i o u aː t͡ʃʼ p b t d k ɡ s z ʃ m n ŋ l r".split()


def words(number):
    draw = random.Random(0)
    phones = [[draw.choice(PHONES) for _ in range(draw.randint(1, 9))] for _ in range(number)]
    return [("".join(phone[0] for phone in word), " ".join(word)) for word in phones]


def kinds(rows, *, has_tags=False, **tokenizer):
    """The kinds of both sides, and the reason."""
    facts = Facts.of([Pair(*row) for row in rows], has_tags=has_tags)
    options = TrainOptions(task=FilesOptions(train="x.tsv"), tokenizer=TokenizerOptions(**tokenizer))
    filled, reasons = choose(options, facts)
    return (filled.tokenizer.source, filled.tokenizer.target), reasons[0]


def test_symbols_with_spaces_between_beside_words_without_are_tokens_and_the_reason_is_said():
    found, reason = kinds(words(100))
    assert found == (CHAR, WORD)
    assert reason == (
        "tokenizer: source=char, target=word, shared=False (words or symbols: 1.0 and "
        f"{sum(len(phones.split()) for _, phones in words(100)) / 100:.1f} words a side; target: 21 short symbols with "
        "spaces between, so ser is their error rate)"
    )


def test_each_side_is_decided_by_its_own_facts():
    assert kinds([row[::-1] for row in words(100)])[0] == (WORD, CHAR)
    assert kinds([(" ".join(word), phones) for word, phones in words(100)])[0] == (WORD, WORD)
    assert kinds([(f"V;PST;{n}\t{row[0]}", row[1]) for n, row in enumerate(words(100))], has_tags=True)[0] == (
        CHAR,
        WORD,
    )


def test_a_kind_that_is_set_stays_and_one_vocabulary_has_one_kind():
    found, reason = kinds(words(100), target=CHAR)
    assert found == (CHAR, CHAR) and "symbols with spaces" not in reason
    assert kinds(words(100), shared=True)[0] == (CHAR, CHAR)


SYLLABLES = [a + b for a in "kstnhmrg" for b in "aiueo"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(word, word[::-1]) for word, _ in words(100)], (CHAR, CHAR)),
        ([(f"{n} + {n % 17}", str(n + n % 17)) for n in range(10, 900)], (CHAR, CHAR)),
        ([("go on now", "yes"), ("I am in it", "no"), ("go", "yes")] * 3, (CHAR, CHAR)),
        ([(f"word{n}", f"a b c d{n}") for n in range(60)], (CHAR, CHAR)),
        ([("the cat is on the bed now", "die Katze ist nun da"), ("he is in it", "er ist da drin")] * 50, (BPE, BPE)),
        ([(phones, "the cat sat there") for _, phones in words(100)], (BPE, BPE)),
        ([("".join(s), " ".join(s)) for s in zip(SYLLABLES * 5, SYLLABLES[3:] * 6, strict=False)], (CHAR, WORD)),
    ],
    ids=["words", "numbers", "few", "ever new", "sentences", "beside sentences", "syllables"],
)
def test_what_else_has_short_words_is_not_taken_for_symbols(rows, expected):
    assert kinds(rows)[0] == expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (TranslationOptions(train_size=500), (BPE, BPE)),
        (ScanOptions(train_size=500), (BPE, BPE)),
        (NumbersOptions(train_size=500), (BPE, BPE)),
        (LettersOptions("reverse", train_size=500), (WORD, WORD)),
    ],
)
def test_the_texts_of_generated_tasks_as_a_users_own(task, expected):
    assert kinds([pair[:2] for pair in make_task(task).pairs("train")])[0] == expected


NAMES = [Pair("Ada Lovelace", "Ада Лавлейс"), Pair("Mary Ann Evans", "Мэри Энн Эванс")]
SENTENCES = [Pair("the cat sees a dog", "die Katze sieht einen Hund"), Pair("go away", "geh weg")]
WORDS = [Pair("walk", "walked")]


@pytest.mark.parametrize(
    ("pairs", "select"),
    [(NAMES, "chrf"), ([*SENTENCES[:1] * 3, *SENTENCES[1:]], "bleu"), (SENTENCES, "chrf"), (WORDS, "exact_match")],
)
def test_bleu_chooses_only_where_at_most_a_quarter_of_the_targets_are_too_short_for_it(
    pairs: list[Pair], select: str
) -> None:
    chosen, lines = choose(TrainOptions(task=FilesOptions(train="pairs.tsv")), Facts.of(pairs, has_tags=False))
    assert chosen.training.select == select
    assert any(f"select={select}" in line and "fewer than four words" in line for line in lines)
