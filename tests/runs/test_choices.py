"""What follows from the data where the configuration leaves it open."""

import pytest

from seq2see.options import FilesOptions, TrainOptions
from seq2see.runs.choices import Facts, choose
from seq2see.tasks import Pair

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
    chosen, lines = choose(TrainOptions(task=FilesOptions(train="pairs.tsv")), Facts.of(pairs))
    assert chosen.training.select == select
    assert any(f"select={select}" in line and "fewer than four words" in line for line in lines)
