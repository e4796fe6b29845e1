"""What a line is before it is read: its Unicode form, and the tags that may stand before its text.

Tags before a text, such as `V;PST;3` before `gehen`, are one line with it: tags, a tab, text. This line is what a pair
with features has as its source, what a person types to have one translated, and what `Tokenizer(tag_separator=...)`
reads. A tag is one word: white space in it becomes `_`.
"""

import unicodedata
from collections.abc import Iterable

from seq2see.options import Normalize

TAB = "\t"


class DataError(ValueError):
    """A file of the user's is wrong; `str(error)` is the whole message, without a traceback's help."""


def require_whole(text: str) -> None:
    """Refuses half a character (a lone surrogate), which is in no UTF-8 and which no model can read or write.

    Raises:
        ValueError: the text holds one.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise ValueError(
            f"{ascii(text):.60}: {half} at place {error.start} is half a character (a lone surrogate): mend it, "
            "or decode the bytes that it came from"
        ) from error


def normalize(text: str, how: Normalize) -> str:
    """The text in the chosen Unicode form: `nfc` composes accents (`e` + U+0301 becomes `é`), `none` changes nothing.

    Raises:
        ValueError: it holds half a character.
    """
    require_whole(text)
    return unicodedata.normalize("NFC", text) if how is Normalize.nfc else text


def split_tags(field: str, separator: str) -> list[str]:
    """The tags of a field, in order and without white space; empty ones are left out."""
    return ["_".join(tag.split()) for tag in field.split(separator) if tag and not tag.isspace()]


def tagged(tags: Iterable[str], text: str, separator: str) -> str:
    """The line of these tags, as `split_tags` gives them, and any text; without tags it begins with the tab."""
    return f"{separator.join(tags)}{TAB}{text}"


def parted(line: str, separator: str | None) -> tuple[list[str], str]:
    """The tags and the text of a line: all before the first tab is tags. Without a tab or a separator it has none."""
    head, tab, text = line.partition(TAB)
    return (split_tags(head, separator), text) if tab and separator is not None else ([], line)


def untagged(line: str) -> str:
    """The text alone of such a line."""
    _, tab, text = line.partition(TAB)
    return text if tab else line
