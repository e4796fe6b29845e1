"""What a console can show, and in how many columns: CJK characters take two, combining marks none."""

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

EIGHTHS = " ▏▎▍▌▋▊▉"  # of a block


@dataclass(frozen=True)
class Glyphs:
    """What things are drawn with.

    Args:
        block: a full piece of a bar.
        eighths: whether bars may end in a part of a block.
        link: where two words are linked.
        empty: where they are not.
        braille: whether lines of Braille dots may be drawn.
    """

    block: str = "█"
    eighths: bool = True
    link: str = "■"
    empty: str = "·"
    braille: bool = True

    @classmethod
    def of(cls, encoding: str | None) -> "Glyphs":
        """The best that a console of this encoding can show."""
        can = {text: _can_show(text, encoding) for text in ("█", EIGHTHS, "■", "·", "⠿")}
        return cls(
            block="█" if can["█"] else "#",
            eighths=can["█"] and can[EIGHTHS],
            link="■" if can["■"] else "#",
            empty="·" if can["·"] else ".",
            braille=can["⠿"],
        )


def _can_show(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str, encoding: str | None) -> str:
    """The text with escapes for what has no shape or what the console cannot show, so that its width is known."""
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )
    encoding = encoding or "ascii"
    return shown.encode(encoding, errors="backslashreplace").decode(encoding)


def cropped(text: str, width: int) -> str:
    """The text cut to this many columns, with an ellipsis if anything is left out."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 3).rstrip() + "..."


def wrapped(text: str, width: int, *, most: int | None = None) -> list[str]:
    """The text in lines of this many columns, broken between words where it can be.

    Args:
        text: one line.
        width: columns.
        most: lines at most; the last one is cut. None: all.
    """
    lines = [line.plain.rstrip() for line in Text(text).wrap(Console(), width, overflow="fold")]
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], cropped(lines[most - 1] + " " + lines[most], width)]
