"""`dates`: from many written forms, English, German, Chinese and digits, to ISO 8601.

What stands for something of its own is written apart, "March 3 , 1 9 9 4" to "1 9 9 4 - 0 3 - 0 3", so that links of
words are exact; forms.py says what is linked to what. All forms are unambiguous: digits alone with the day or the month
first only where the day is after the 12th. The calendar is the Gregorian one throughout.

The test pairs are drawn first, then the validation pairs, then the training pairs, each once: so `task.train_size`
leaves the other splits as they are, and a smaller training set is the beginning of a larger one. All forms and months
come equally often. The split `ood` has each form with two months that it never has in the other splits; other forms of
its family write those months there, with the same words.
"""

from calendar import isleap
from collections.abc import Sequence
from datetime import date
from itertools import islice
from random import Random

from seq2see.options import DatesOptions
from seq2see.tasks.dates.forms import FORMS, Form, write
from seq2see.tasks.decks import Deck, draw_evenly
from seq2see.tasks.pairs import Pair

__all__ = ["Dates"]

# How many dates of a form and month may be used up once a split is drawn, as long as there is another choice.
_SHARES = {"test": 0.25, "valid": 0.5, "train": 1.0, "ood": 1.0}
_USUAL_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_KEPT_BACK = 2  # months of each form


class Dates:
    """Distinct pairs of a written date and the ISO date.

    Args:
        options: from which to which year, how many pairs, which seed.

    Raises:
        ValueError: more pairs are asked for than exist.
    """

    notes: list[str]
    ood: str

    def __init__(self, options: DatesOptions) -> None:
        self.notes = []
        self.ood = "forms with months that training has only in other forms" if options.ood_size else ""
        years = _Years(options.first_year, options.last_year)
        random = Random(f"dates {options.seed}")
        kept_back = _kept_back(random)
        ood_random = Random(f"dates ood {options.seed}")
        usual, ood = {}, {}
        for form in FORMS:
            for month in range(1, 13):
                size = years.num_dates(month, form.first_day)
                if (form, month) in kept_back:
                    ood[form, month] = Deck(size, ood_random)
                else:
                    usual[form, month] = Deck(size, random)
        self._pairs: dict[str, list[Pair]] = {}
        for split, share in _SHARES.items():
            decks, chooser = (ood, ood_random) if split == "ood" else (usual, random)
            _check_size(options, split, decks)
            limits = {key: int(share * deck.size) for key, deck in decks.items()}
            drawn = islice(draw_evenly(decks, limits, chooser), getattr(options, f"{split}_size"))
            self._pairs[split] = [
                write(form, years.date(month, form.first_day, number)) for (form, month), number in drawn
            ]

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid`, `test` or `ood`, with their links."""
        return self._pairs[split]


def _kept_back(random: Random) -> set[tuple[Form, int]]:
    """The combinations of the split `ood`: within a family no two forms have the same month."""
    kept_back = set()
    for family in sorted({form.family for form in FORMS}):
        months = random.sample(range(1, 13), 12)
        forms = [form for form in FORMS if form.family == family]
        for number, form in enumerate(forms):
            kept_back |= {(form, month) for month in months[_KEPT_BACK * number : _KEPT_BACK * (number + 1)]}
    return kept_back


def _check_size(options: DatesOptions, split: str, decks: dict[tuple[Form, int], Deck]) -> None:
    asked = getattr(options, f"{split}_size")
    exist = sum(deck.size for deck in decks.values())
    left = exist - sum(deck.num_drawn for deck in decks.values())
    if asked > left:
        which = "of the split ood" if split == "ood" else "outside the split ood"
        raise ValueError(
            f"task.{split}_size ({asked}) asks for more than exist: {exist} written dates {which} with task.first_year "
            f"({options.first_year}) and task.last_year ({options.last_year}), {left} of them for this split; ask for "
            "fewer, or for more years"
        )


class _Years:
    """The dates of some years, numbered month by month."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._num_years = last - first + 1
        self._leap_years = [year for year in range(first, last + 1) if isleap(year)]

    def num_dates(self, month: int, first_day: int) -> int:
        """How many dates there are in this month of all years, from this day of the month on."""
        usual = self._num_years * (_USUAL_DAYS[month - 1] - first_day + 1)
        return usual + len(self._leap_years) if month == 2 else usual

    def date(self, month: int, first_day: int, number: int) -> date:
        """The date with this number, year by year; the 29ths of February come last."""
        year, day = divmod(number, _USUAL_DAYS[month - 1] - first_day + 1)
        if year < self._num_years:
            return date(self._first + year, month, first_day + day)
        return date(self._leap_years[number - self._num_years * (_USUAL_DAYS[1] - first_day + 1)], 2, 29)
