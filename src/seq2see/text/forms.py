"""What a text must be before it is read: its Unicode form, and the error for a file that breaks a rule."""

import unicodedata

from seq2see.options import Normalize


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
    """The text in the chosen Unicode form: the one place that changes a text.

    Args:
        text: any text.
        how: `nfc` composes accents (`e` + U+0301 becomes `é`); `none` keeps every code point.

    Returns:
        The text; normalising it again changes nothing.

    Raises:
        ValueError: it holds half a character.
    """
    require_whole(text)
    return unicodedata.normalize("NFC", text) if how is Normalize.nfc else text
