"""Numbers as text, rounded so that what is claimed of them stays true, and channels of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.types import FloatArray


def text(x: float | Decimal, digits: int = 17, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a finite number as a decimal without an exponent, rounded to some significant digits."""
    rounded = Context(prec=digits, rounding=rounding).plus(Decimal(x))
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
    return text(Decimal(repr(float(epsilon))), 40)


def ratio_texts(epsilon: float) -> tuple[str, str]:
    """Return decimals just below and just above e^epsilon, of the level as it is written."""
    ratio = Context(prec=60).exp(Decimal(level_text(epsilon)))
    digits = SETTINGS.ratio_digits
    return (text_below(ratio, digits), text_above(ratio, digits)) if epsilon > 0 else ("1", "1")


def weight_texts(p: FloatArray) -> list[str]:
    """Write probabilities as they are stored, to 40 decimals."""
    least = Decimal(1).scaleb(-SETTINGS.weight_decimals)
    return [text(Decimal(repr(float(x))).quantize(least, context=Context(prec=60)), 60) for x in p.ravel()]


def whole_channels(matrix: FloatArray) -> Iterator[dict[str, Any]]:
    """Round a channel to whole numbers over one denominator, with ever more of its mean mixed into it.

    A little of the constant column of its mean makes a channel more private, whatever rounding has done. What
    a row lacks is added to the output that is the likeliest where it is least likely, so that all other
    columns keep equal entries equal.

    Parameters
    ----------
    matrix : ndarray, shape (inputs, outputs)
        Stochastic, to rounding.

    Yields
    ------
    dict
        The channel as documents have it.
    """
    used = matrix[:, matrix.any(axis=0)]
    least = float(used[used > 0].min())
    digits = min(max(SETTINGS.entry_digits - math.floor(math.log10(least)), 20), SETTINGS.most_digits)
    unit = 10**digits
    slack = int(used.min(axis=0).argmax())
    mean = used.mean(axis=0)
    for share in (0.0, *SETTINGS.mixing_shares):
        whole = [
            [round(Fraction(x) * unit) for x in row] for row in ((1.0 - share) * used + share * mean).tolist()
        ]
        for row in whole:
            row[slack] += unit - sum(row)
        if min(row[slack] for row in whole) >= 0:
            yield {"denominator": str(unit), "rows": [[str(n) for n in row] for row in whole]}
