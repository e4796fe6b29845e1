"""What a client asks for, read from bytes that may be anything."""

import json
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, NoReturn

from seq2see.options import DecodeOptions, ServeOptions

BYTES_A_CHARACTER = 12  # in JSON at most: \ud83d\ude00
BYTES_BESIDE = 10_000  # the other keys, and white space


class Refused(ValueError):
    """A request that is not done: the message is for its client.

    Args:
        status: of HTTP.
        message: names the value, the rule and the remedy.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Asked:
    """Texts, and what of them."""

    texts: list[str]
    decode: DecodeOptions  # beam_size and num_best are set
    alignment: bool  # tokens, their log-probabilities, and links between words
    attention: bool  # these, and the weights of the head that aligns


def most_bytes(limits: ServeOptions) -> int:
    """Of a body."""
    return limits.max_texts * limits.max_length * BYTES_A_CHARACTER + BYTES_BESIDE


def read_asked(body: bytes, *, limits: ServeOptions, own: DecodeOptions) -> Asked:
    """What a body asks for.

    Args:
        body: as it came.
        limits: of a request.
        own: how the model decodes unless it is asked for something else.

    Raises:
        Refused: it is no JSON object with these keys, or beyond a limit.
    """
    asked = _object(body)
    keys = ("texts", "beam_size", "num_best", "max_length", "alignment", "attention")
    for key in asked:
        if key not in keys:
            raise Refused(400, f"{shown(key)}: there is no such key: use {', '.join(keys)}")
    texts = _texts(asked.get("texts"), limits)
    num_best = _whole(asked, "num_best", limits.max_beam_size)
    beam_size = _whole(asked, "beam_size", limits.max_beam_size)
    own = own.filled()
    beam_size = beam_size or max(own.beam_size or 1, num_best or 1)
    if (num_best or 1) > beam_size:
        raise Refused(
            400, f"num_best ({num_best}) must not exceed beam_size ({beam_size}): raise beam_size, or leave it out"
        )
    decode = DecodeOptions(
        beam_size=beam_size,
        num_best=num_best or min(own.num_best or 1, beam_size),
        max_length=_whole(asked, "max_length", limits.max_length),
    )
    attention = _flag(asked, "attention")
    return Asked(texts, decode, _flag(asked, "alignment") or attention, attention)


def _object(body: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(body.decode("utf-8"), parse_constant=_no_json)
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8 (byte {error.start + 1}, {error.reason}): encode it so") from error
    except RecursionError as error:
        raise Refused(400, "the body is nested too deeply: send one object with a list of texts") from error
    except ValueError as error:
        raise Refused(400, f"the body is not JSON ({str(error):.100}): send an object with a list of texts") from error
    if not isinstance(asked, dict):
        raise Refused(400, f'the body ({shown(asked)}) must be an object: send {{"texts": ["..."]}}')
    return asked


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number there")


def _texts(texts: Any, limits: ServeOptions) -> list[str]:
    if not isinstance(texts, list):
        raise Refused(400, f"texts ({shown(texts)}) must be a list: put even a single text into one")
    if not 1 <= len(texts) <= limits.max_texts:
        raise Refused(
            400, f"texts ({len(texts):,}) must be 1 to {limits.max_texts:,} in one request: send several requests"
        )
    for place, text in enumerate(texts):
        name = f"texts[{place}] ({shown(text)})"
        if not isinstance(text, str):
            raise Refused(400, f"{name} must be a text: put it into quotes")
        if len(text) > limits.max_length:
            raise Refused(
                400, f"{name} has {len(text):,} characters and must have at most {limits.max_length:,}: split it"
            )
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise Refused(400, f"{name} holds half a character: write both halves of each \\u pair")
    return texts


def _whole(asked: dict[str, Any], key: str, most: int) -> int | None:
    value = asked.get(key)
    if value is None or (type(value) is int and 1 <= value <= most):
        return value
    raise Refused(400, f"{key} ({shown(value)}) must be a whole number from 1 to {most:,}: or leave it out")


def _flag(asked: dict[str, Any], key: str) -> bool:
    value = asked.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise Refused(400, f"{key} ({shown(value)}) must be true or false: or leave it out")


def shown(value: Any) -> str:
    """A value in few characters."""
    return f"{short(value):.60}"
