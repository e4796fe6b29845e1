"""How translated lines are written."""

import json
from collections.abc import Iterable

from seq2see.decoding import TranslatedLine
from seq2see.options import TranslationFormat

COLUMNS = ("line", "rank", "source", "hypothesis", "score", "alignment")


def header(form: TranslationFormat) -> str:
    """What stands before all lines."""
    return "\t".join(COLUMNS) + "\n" if form is TranslationFormat.tsv else ""


def written(line: TranslatedLine, form: TranslationFormat, *, alignment_from: str) -> str:
    """A line's translations, each line of them ending in a line end.

    Args:
        line: with details, but for `text`.
        form: `text` the best one alone; `tsv` a row for each; `jsonl` one object.
        alignment_from: which attention the links were read from.
    """
    if form is TranslationFormat.text:
        return _one_line(line.text) + "\n"
    return _rows(line) if form is TranslationFormat.tsv else _object(line, alignment_from)


def _rows(line: TranslatedLine) -> str:
    rows = [
        (rank, line.source, found.text, f"{found.score:.4f}", _pairs(found.links))
        for rank, found in enumerate(line.translations, start=1)
    ]
    return "".join(
        "\t".join([str(line.number), *(_field(str(value)) for value in row)]) + "\n"
        for row in rows or [(1, line.source, "", "", "")]
    )


def _object(line: TranslatedLine, alignment_from: str) -> str:
    content = {
        "line": line.number,
        "source": line.source,
        "cut": line.is_cut,
        "alignment_from": alignment_from,
        "hypotheses": [
            {
                "text": found.text,
                "score": round(found.score, 6),
                "ended": found.ended,
                "tokens": found.tokens,
                "log_probs": [round(value, 6) for value in found.log_probs],
                "alignment": _pairs(found.links),
            }
            for found in line.translations
        ],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _pairs(links: Iterable[tuple[int, int]]) -> str:
    return " ".join(f"{source}-{target}" for source, target in links)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def _field(text: str) -> str:
    return _one_line(text).replace("\t", " ")
