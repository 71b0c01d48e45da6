"""Readers for numbers as people write them, with decimal points, commas and separators of thousands.

A text that may be either of two numbers is none: a number must not be read as a thousandth of what it is.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")

#: One comma, or one point, with three digits behind it: 1,250 is 1250 for some, and 1.25 for others.
_ONE_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_ONE_POINT = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")

#: A whole number, maybe as a library writes it that takes it for a measurement: 16.0.
_WHOLE = re.compile(r"([0-9]{1,15})(?:\.0*)?")
#: One in groups of three digits, behind commas, apostrophes or spaces, or behind two points or more.
_GROUPED = re.compile(
    r"(?=.{1,19}$)[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:['’][0-9]{3})+|(?:[ \u00a0\u2009\u202f][0-9]{3})+"
    r"|(?:\.[0-9]{3}){2,})"
)


def as_finite(text: str) -> float | None:
    """Return the number that a text is, with a decimal point or comma; None if it is none, or not finite.

    One comma with three digits behind it may be either, and is none.
    """
    plain = text.strip()
    if _DECIMAL_COMMA.fullmatch(plain) and not is_ambiguous(plain):
        plain = plain.replace(",", ".")
    if not _NUMBER.fullmatch(plain):
        return None
    number = float(plain)
    return number if abs(number) < float("inf") else None


def is_ambiguous(text: str) -> bool:
    """Tell whether the comma of a number may be that of decimals or that of thousands."""
    return _ONE_COMMA.fullmatch(text.strip()) is not None


def as_whole(text: str) -> int | None:
    """Return the whole number that a text is; None if it is none.

    Thousands may be set apart, as in ``32,000``: a count has no decimals. What stands behind a single point
    may be thousands or decimals, so that ``32.000`` is none.
    """
    plain = text.strip()
    if is_ambiguous_whole(plain):
        return None
    if whole := _WHOLE.fullmatch(plain):
        return int(whole[1])
    return int("".join(filter(str.isdigit, plain))) if _GROUPED.fullmatch(plain) else None


def is_ambiguous_whole(text: str) -> bool:
    """Tell whether the point of a count may be that of decimals or that of thousands."""
    return _ONE_POINT.fullmatch(text.strip()) is not None
