"""Tags before a text, such as `V;PST;3` before `gehen`, as one line: tags, a tab, text.

This line is what a pair with features has as its source, what a person types to have one translated, and what
`Tokenizer(tag_separator=...)` reads. A tag is one word: white space in it becomes `_`.
"""

from collections.abc import Iterable

TAB = "\t"


def split_tags(field: str, separator: str) -> list[str]:
    """The tags of a field, in order; empty ones are left out."""
    return [one_word(tag) for tag in field.split(separator) if tag and not tag.isspace()]


def one_word(tag: str) -> str:
    """The tag without white space."""
    return "_".join(tag.split())


def tagged(tags: Iterable[str], text: str, separator: str) -> str:
    """The line of these tags, as `split_tags` gives them, and any text; without tags it begins with the tab."""
    return f"{separator.join(tags)}{TAB}{text}"


def parted(line: str, separator: str) -> tuple[list[str], str]:
    """The tags and the text of a line; all before the first tab is tags, and a line without a tab has none."""
    head, tab, text = line.partition(TAB)
    return (split_tags(head, separator), text) if tab else ([], line)


def untagged(line: str) -> str:
    """The text alone of such a line."""
    _, tab, text = line.partition(TAB)
    return text if tab else line
