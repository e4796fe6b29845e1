"""Number words of other languages, from the optional package num2words."""

from collections.abc import Callable
from importlib import import_module

from seq2see.tasks.numbers.forms import FORMS, Word


def num2words_form(key: str, language: str) -> Callable[[int], list[Word]]:
    """Writes numbers as num2words does, words being what white space separates; they are not linked to anything.

    Args:
        key: the option that asks for it, for messages.
        language: a language code of the package, exactly: it would take "estonian" for "es", Spanish.

    Raises:
        ValueError: the package is not installed or does not know the language; when writing, it fails on a number.
    """
    built_in = ", ".join(FORMS)
    try:
        package = import_module("num2words")
    except ImportError as error:
        raise ValueError(
            f"{key} ({language}) is not built in and needs the package num2words, which is not installed: "
            f"pip install 'seq2see[numbers]', or choose one of {built_in}"
        ) from error
    if language not in package.CONVERTER_CLASSES:
        others = ", ".join(sorted(set(package.CONVERTER_CLASSES) - set(FORMS)))
        raise ValueError(
            f"{key} ({language}) is neither built in nor a language of the installed num2words: choose one of "
            f"{built_in}, {others}; a newer num2words may know more: pip install -U 'seq2see[numbers]'"
        )

    def write(number: int) -> list[Word]:
        try:
            text = package.num2words(number, lang=language)
        except Exception as error:  # whatever its rules for a language run into
            raise ValueError(
                f"{key} ({language}): num2words cannot write {number} ({error!r}): choose another language, or a "
                "smaller task.max_number"
            ) from error
        return [Word(word, 0) for word in text.split()]

    return write
