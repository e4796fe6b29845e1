"""What follows from the data: the facts that are counted, and the kind of token and the scores that they lead to."""

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
from seq2see.runs.choices import Facts, choose, telling_scores
from seq2see.tasks import Pair, make_task

BPE, CHAR, WORD = TokenizerKind.bpe, TokenizerKind.char, TokenizerKind.word
PHONES = "a e i o u aː t͡ʃʼ p b t d k ɡ s z ʃ m n ŋ l r".split()
SYLLABLES = [a + b for a in "kstnhmrg" for b in "aiueo"]
NAMES = [("Ada Lovelace", "Ада Лавлейс"), ("Mary Ann Evans", "Мэри Энн Эванс")]
SENTENCES = [("the cat sees a dog", "die Katze sieht einen Hund")] * 3 + [("go away", "geh weg")]
WHOLE = "words or symbols: an output is right as a whole, or wrong)"
FEW = "sentences: {}% of the targets have fewer than four words"
SHORT_SENTENCES = [SENTENCES[0], SENTENCES[3]]


def spoken(number):
    """Words and their phones."""
    draw = random.Random(0)
    phones = [[draw.choice(PHONES) for _ in range(draw.randint(1, 9))] for _ in range(number)]
    return [("".join(phone[0] for phone in word), " ".join(word)) for word in phones]


SPOKEN = spoken(100)


def chosen(rows, *, has_tags=False, **tokenizer):
    """What a run with these pairs does, the reasons, and the facts."""
    facts = Facts.of([Pair(*row) for row in rows], has_tags=has_tags)
    options = TrainOptions(task=FilesOptions(train="x.tsv"), tokenizer=TokenizerOptions(**tokenizer))
    return *choose(options, facts), facts


def kinds(rows, **options):
    tokenizer = chosen(rows, **options)[0].tokenizer
    return tokenizer.source, tokenizer.target


def test_symbols_with_spaces_between_beside_words_without_are_tokens_and_the_reason_is_said():
    filled, reasons, _ = chosen(SPOKEN)
    assert (filled.tokenizer.source, filled.tokenizer.target) == (CHAR, WORD)
    assert reasons[0] == (
        "tokenizer: source=char, target=word, shared=False (words or symbols: 1.0 and "
        f"{sum(len(phones.split()) for _, phones in SPOKEN) / 100:.1f} words a side; target: 21 short symbols with "
        "spaces between, so ser is their error rate)"
    )
    filled, reasons, _ = chosen(SPOKEN, target=CHAR)
    assert filled.tokenizer.target is CHAR and "symbols with spaces" not in reasons[0]


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        pytest.param([row[::-1] for row in SPOKEN], {}, (WORD, CHAR), id="phones to letters"),
        pytest.param([(" ".join(word), phones) for word, phones in SPOKEN], {}, (WORD, WORD), id="spelled"),
        pytest.param(
            [(f"V;PST;{n}\t{row[0]}", row[1]) for n, row in enumerate(SPOKEN)], {"has_tags": True}, (CHAR, WORD),
            id="tags",
        ),
        pytest.param(SPOKEN, {"shared": True}, (CHAR, CHAR), id="one vocabulary has one kind"),
        pytest.param([(word, word[::-1]) for word, _ in SPOKEN], {}, (CHAR, CHAR), id="words"),
        pytest.param([(f"{n} + {n % 17}", str(n + n % 17)) for n in range(10, 900)], {}, (CHAR, CHAR), id="numbers"),
        pytest.param([("go on now", "yes"), ("I am in it", "no"), ("go", "yes")] * 3, {}, (CHAR, CHAR), id="few"),
        pytest.param([(f"word{n}", f"a b c d{n}") for n in range(60)], {}, (CHAR, CHAR), id="ever new"),
        pytest.param(
            [("the cat is on the bed now", "die Katze ist nun da"), ("he is in it", "er ist da drin")] * 50, {},
            (BPE, BPE), id="sentences",
        ),
        pytest.param([(phones, "the cat sat there") for _, phones in SPOKEN], {}, (BPE, BPE), id="beside sentences"),
        pytest.param(
            [("".join(s), " ".join(s)) for s in zip(SYLLABLES * 5, SYLLABLES[3:] * 6, strict=False)], {}, (CHAR, WORD),
            id="syllables",
        ),
        *(
            pytest.param([pair[:2] for pair in make_task(task).pairs("train")], {}, expected, id=task.kind)
            for task, expected in (
                (TranslationOptions(train_size=500), (BPE, BPE)),
                (ScanOptions(train_size=500), (BPE, BPE)),
                (NumbersOptions(train_size=500), (BPE, BPE)),
                (LettersOptions("reverse", train_size=500), (WORD, WORD)),
            )
        ),
    ],
)  # fmt: skip
def test_each_side_is_of_the_kind_that_its_own_facts_lead_to(rows, options, expected):
    assert kinds(rows, **options) == expected


def test_a_small_vocabulary_is_refused_when_the_data_have_chosen_bpe():
    assert chosen(SPOKEN, vocab_size=100)[0].tokenizer.vocab_size == 100
    with pytest.raises(ValueError, match=r"tokenizer.vocab_size \(100\) must be at least 260 for bpe"):
        chosen(SENTENCES, vocab_size=100)


@pytest.mark.parametrize(
    ("rows", "select", "reason", "shown"),
    [
        (
            NAMES,
            "chrf",
            f"{FEW.format(100)}, too few for bleu)",
            ["bleu", "chrf"],
        ),
        (
            SHORT_SENTENCES,
            "chrf",
            f"{FEW.format(50)}, too few for bleu)",
            ["bleu", "chrf"],
        ),
        (SENTENCES, "bleu", f"{FEW.format(25)})", ["bleu"]),
        ([("walk", "walked")], "exact_match", WHOLE, ["cer"]),
        (SPOKEN, "exact_match", WHOLE, ["ser"]),
    ],
    ids=["names", "short sentences", "sentences", "words", "phones"],
)
def test_the_score_that_chooses_has_a_reason_and_those_that_are_shown_say_most_of_such_outputs(
    rows, select, reason, shown
):
    filled, lines, facts = chosen(rows)
    assert filled.training.select == select
    assert any(line.startswith(f"training: select={select} ({reason}") for line in lines)
    assert telling_scores(facts, select) == ["exact_match", *shown]
    assert telling_scores(facts, "wer") == ["exact_match", shown[0], "wer"]
    assert telling_scores(facts, "loss") == ["exact_match", shown[0]]


def test_few_pairs_of_words_get_more_dropout_smaller_batches_and_fewer_steps_than_many_or_sentences():
    def training(rows):
        filled = chosen(rows)[0]
        return filled.model.dropout, filled.data.batch_tokens, filled.trainer.max_steps

    assert training(spoken(800)) == (0.3, 1_500, 1_000)
    assert training(spoken(3_000)) == (0.1, 3_000, 2_000)
    assert training(SENTENCES * 200) == (0.1, 3_000, 2_000)
