"""Numbers as text, rounded so that what is claimed of them stays true, and channels of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np

from ldpfrontier.base.types import FloatArray

#: Numerators of a channel, a row for every input.
WholeRows = Sequence[Sequence[int]]


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
    # Digits of e^epsilon: far more than entries have, so that none has to be changed for them.
    digits = 30
    return (text_below(ratio, digits), text_above(ratio, digits)) if epsilon > 0 else ("1", "1")


def weight_texts(p: FloatArray) -> list[str]:
    """Write probabilities as they are stored, to 40 decimals."""
    # Decimals of the weights of inputs.
    least = Decimal(1).scaleb(-40)
    return [text(Decimal(repr(float(x))).quantize(least, context=Context(prec=60)), 60) for x in p.ravel()]


def whole_channels(matrix: FloatArray, constant: FloatArray | None = None) -> Iterator[WholeRows]:
    """Yield a channel in whole numbers, rows of one sum, mixed with ever more of one that tells nothing.

    A little of that makes a channel more private, whatever rounding has done. What a row lacks is added to
    its likeliest output, so that all other columns keep equal entries equal. By default the mean of the rows
    is mixed in; else `constant`, which tells nothing of what is to be protected, and is 0 where `matrix` is.
    """
    occurs = matrix.any(axis=0)
    used = matrix[:, occurs]
    least = float(used[used > 0].min())
    # Digits of the least entry of a channel: about what floats have.
    # Most digits of an entry.
    digits = min(14 - math.floor(math.log10(least)), 60)
    unit = 10**digits
    other = used.mean(axis=0) if constant is None else constant[:, occurs]
    # One output for all rows, if it can be.
    common = int(used.min(axis=0).argmax())
    slack = np.where(used[:, common] > 0, common, used.argmax(axis=1)).tolist()
    # Shares of the mean that are mixed into a channel, the least that keeps its privacy.
    for share in (1e-12, 1e-10, 1e-8, 1e-6, 1e-3):
        rounded = np.rint(((1.0 - share) * used + share * other) * float(unit))
        rows = []
        for values in rounded:
            row, occurring = [0] * len(values), np.flatnonzero(values)
            for y, n in zip(occurring.tolist(), values[occurring].tolist(), strict=True):
                row[y] = int(n)
            rows.append(row)
        for row, y in zip(rows, slack, strict=True):
            row[y] += unit - sum(row)
        if min(row[y] for row, y in zip(rows, slack, strict=True)) >= 0:
            yield rows


def written_channel(rows: WholeRows) -> dict[str, Any]:
    """Write a channel of whole numbers as documents have it: "0*12" stands for twelve zeros."""

    def written(row: Sequence[int]) -> Iterator[str]:
        end = 0
        for y in [y for y, n in enumerate(row) if n]:
            if y > end:
                yield f"0*{y - end}" if y > end + 1 else "0"
            yield str(row[y])
            end = y + 1
        if zeros := len(row) - end:
            yield f"0*{zeros}" if zeros > 1 else "0"

    return {"denominator": str(sum(rows[0])), "rows": [[*written(row)] for row in rows]}
