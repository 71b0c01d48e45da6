"""Numbers as text, rounded so that what is claimed of them stays true, and channels of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from itertools import groupby
from typing import Any

import numpy as np

from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.types import FloatArray


def text(x: float | Decimal, digits: int = 17, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a finite number as a decimal without an exponent, rounded to some significant digits.

    A float is taken for the shortest decimal that is read as the same float.
    """
    exact = x if isinstance(x, Decimal) else Decimal(repr(float(x)))
    rounded = Context(prec=digits, rounding=rounding).plus(exact)
    written = f"{rounded:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def text_above(x: float | Decimal, digits: int = 17) -> str:
    """Write a number, rounded up."""
    return text(x, digits, ROUND_CEILING)


def text_below(x: float | Decimal, digits: int = 17) -> str:
    """Write a number, rounded down."""
    return text(x, digits, ROUND_FLOOR)


def level_text(epsilon: float) -> str:
    """Write a level by the shortest decimal that is read as the same number."""
    return text(epsilon, 40)


def ratio_texts(epsilon: float) -> tuple[str, str]:
    """Return decimals just below and just above e^epsilon, of the level as it is written."""
    ratio = Context(prec=60).exp(Decimal(level_text(epsilon)))
    digits = SETTINGS.ratio_digits
    return (text_below(ratio, digits), text_above(ratio, digits)) if epsilon > 0 else ("1", "1")


def weight_texts(p: FloatArray) -> list[str]:
    """Write probabilities as they are stored, to 40 decimals."""
    least = Decimal(1).scaleb(-SETTINGS.weight_decimals)
    return [text(Decimal(repr(float(x))).quantize(least, context=Context(prec=60)), 60) for x in p.ravel()]


def whole_channels(matrix: FloatArray, constant: FloatArray | None = None) -> Iterator[dict[str, Any]]:
    """Round a channel to whole numbers over one denominator, mixed with ever more of one that tells nothing.

    A little of that makes a channel more private, whatever rounding has done. What a row lacks is added to
    its likeliest output, so that all other columns keep equal entries equal.

    Parameters
    ----------
    matrix : ndarray, shape (inputs, outputs)
        Stochastic, to rounding.
    constant : ndarray, shape (inputs, outputs), optional
        A channel that tells nothing of what is to be protected, zero where `matrix` is; by default the mean
        of the rows.

    Yields
    ------
    dict
        The channel as documents have it.
    """
    occurs = matrix.any(axis=0)
    used = matrix[:, occurs]
    least = float(used[used > 0].min())
    digits = min(SETTINGS.entry_digits - math.floor(math.log10(least)), SETTINGS.most_digits)
    unit = 10**digits
    other = used.mean(axis=0) if constant is None else constant[:, occurs]
    # One output for all rows, if it can be.
    common = int(used.min(axis=0).argmax())
    slack = np.where(used[:, common] > 0, common, used.argmax(axis=1)).tolist()
    for share in SETTINGS.mixing_shares:
        whole = [[_whole(x, unit) for x in row] for row in ((1.0 - share) * used + share * other).tolist()]
        for row, y in zip(whole, slack, strict=True):
            row[y] += unit - sum(row)
        if min(row[y] for row, y in zip(whole, slack, strict=True)) >= 0:
            yield written_channel(unit, whole)


def written_channel(denominator: int, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Write a channel of whole numbers as documents have it: "0*12" stands for twelve zeros."""

    def written(row: Sequence[int]) -> Iterator[str]:
        for zero, run in groupby(row, lambda n: n == 0):
            entries = [str(n) for n in run]
            yield from [f"0*{len(entries)}"] if zero and len(entries) > 1 else entries

    return {"denominator": str(denominator), "rows": [[*written(row)] for row in rows]}


def rows_of(channel: dict[str, Any]) -> list[list[str]]:
    """Return the entries of a channel as documents have it, with all its zeros."""
    rows = []
    for row in channel["rows"]:
        runs = [entry.partition("*") for entry in row]
        rows.append([entry for entry, _, count in runs for _ in range(int(count or 1))])
    return rows


def _whole(x: float, unit: int) -> int:
    """Return x unit, rounded to a whole number."""
    if not x:
        return 0
    numerator, denominator = x.as_integer_ratio()
    return (2 * numerator * unit + denominator) // (2 * denominator)
