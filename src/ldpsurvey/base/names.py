"""Names of columns and values as people type them: what may be meant, and which column a text is about."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches


def close_name(name: str, known: Iterable[str]) -> str:
    """Return a question for the name that may be meant, with a space before it; nothing if none is close.

    Nothing, too, if the name itself is known: then it is not what is wrong. Names that look alike are written
    so that they can be told apart.
    """
    every = list(known)
    names = {plain_name(other): other for other in reversed(every)}
    found = [] if name in every else get_close_matches(plain_name(name), names, n=1)
    if not found:
        return ""
    meant = names[found[0]]
    alike = unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", meant)
    return f" Did you mean {ascii(meant) if alike else repr(meant)}?"


def plain_name(name: str) -> str:
    """Return what names have in common that differ in spaces, or in upper and lower case."""
    return unicodedata.normalize("NFC", name).strip().casefold()


def split_column(word: str, columns: Iterable[str] = ()) -> tuple[str, str | None]:
    """Return the column of a text ``COLUMN=...``, and what follows; None if the text has no such form.

    It is the longest of some columns that the text begins with, so that names may have ``=`` in them; if it
    begins with none, what stands before the first ``=``, maybe in double quotation marks. Spaces around names
    do not count unless a column has them.
    """
    for column in sorted(columns, key=len, reverse=True):
        for text in (word, word.lstrip()):
            rest = text.removeprefix(column).lstrip()
            if column and text.startswith(column) and rest.startswith("="):
                return column, rest[1:]
    if word.lstrip().startswith('"') and (quoted := word.lstrip()[1:].partition('"'))[2].lstrip()[:1] == "=":
        return quoted[0], quoted[2].lstrip()[1:]
    column, equals, rest = word.partition("=")
    return (column.strip(), rest) if equals else (word, None)
