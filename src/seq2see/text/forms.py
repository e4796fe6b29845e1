"""What a text must be before it is read: its Unicode form, and the error for a file that breaks a rule."""

import unicodedata

from seq2see.options import Normalize


class DataError(ValueError):
    """A file of the user's is wrong; `str(error)` is the whole message, without a traceback's help."""


def normalize(text: str, how: Normalize) -> str:
    """The text in the chosen Unicode form: the one place that changes a text.

    Args:
        text: any text.
        how: `nfc` composes accents (`e` + U+0301 becomes `é`); `none` keeps every code point.

    Returns:
        The text; normalising it again changes nothing.
    """
    return unicodedata.normalize("NFC", text) if how is Normalize.nfc else text
