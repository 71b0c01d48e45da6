"""Checks of arguments: every type of number becomes a float, and anything else is refused in a sentence.

Every public function reads its numbers here. Needs numpy alone.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.settings import SETTINGS


def as_number(
    value: Any,
    name: str,
    allowed: str = "a finite number",
    *,
    least: float = -math.inf,
    most: float = math.inf,
    infinite: bool = False,
) -> float:
    """Return a number of any type in a range, ends included, as a float of Python.

    It may be of Python, numpy (any precision, also an array without dimensions), `Decimal` or `Fraction`. A
    float of less precision is the number that it holds; a number of more is rounded to the nearest. Texts,
    truth values, None and NaN are no numbers. An error says the name and what is allowed.
    """
    number = _number(value)
    # Comparisons with NaN are false.
    if not least <= number <= most or (math.isinf(number) and not infinite):
        raise ValueError(f"{name} is {excerpt(value)}; it must be {allowed}.")
    return number


def as_count(value: Any, name: str, allowed: str, *, least: int = 0, most: int | None = None) -> int:
    """Return a whole number of any type in a range as an int, with errors as of `as_number`."""
    number = as_number(value, name, allowed, least=least, most=math.inf if most is None else most)
    if not number.is_integer():
        raise ValueError(f"{name} is {excerpt(value)}; it must be {allowed}.")
    return int(value)


def as_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of numbers of any type as floats, in its own shape: a copy.

    It may be an array of any precision, a table of pandas, a list of `Fraction`. Infinities and NaN that are
    floats are left to the caller; ValueError if an entry is missing, or the rows differ in length.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; every entry must be a number.")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; they must be equally long.") from None
    except (TypeError, AttributeError, OverflowError):
        raise ValueError(f"{name} is {excerpt(values)}; it must be an array of numbers.") from None
    if array.dtype.kind in "fiu":
        return np.array(array, dtype=np.float64)
    if array.dtype.kind == "O":
        numbers_ = np.array([_number(value) for value in array.ravel()], dtype=np.float64)
        missing = np.isnan(numbers_)
        if not missing.any():
            return numbers_.reshape(array.shape)
        entry = excerpt(array.ravel()[int(missing.argmax())])
        raise ValueError(f"{name} has the entry {entry}; every entry must be a number.")
    entry = excerpt(array.ravel()[0]) if array.size else excerpt(values)
    raise ValueError(f"{name} has the entry {entry}; every entry must be a number.")


def are_counts(values: FloatArray) -> bool:
    """Tell whether numbers are whole, 0 or more and 2^53 at most together: exact as floats."""
    return bool((values >= 0).all() and (values == np.rint(values)).all() and values.sum() <= 2**53)


def as_distribution(p: ArrayLike, name: str = "p") -> FloatArray:
    """Validate a probability array and return it as floats, in its own shape, row-major.

    Sums are rounded by the order in memory, and where a limited search ends may depend on that: a table gives
    the same results whether it comes from numpy or from pandas. Entries in [-1e-12, 0) are rounding and
    become 0; the sum must be one within 1e-9.
    """
    array = as_numbers(p, name)
    if array.size == 0:
        raise ValueError(f"{name} is empty; a distribution needs at least one entry.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has an entry that is not a finite number; probabilities must be finite.")
    if array.min() < -SETTINGS.negative_tolerance:
        where = tuple(int(i) for i in np.unravel_index(int(array.argmin()), array.shape))
        index = where[0] if len(where) == 1 else where
        raise ValueError(f"{name} has the negative entry {array.min():.6g} at {index}; allowed is 0 or more.")
    total = float(array.sum())
    if abs(total - 1.0) > SETTINGS.sum_tolerance:
        raise ValueError(
            f"{name} sums to {total:.12g}; a distribution must sum to 1 (within {SETTINGS.sum_tolerance:g})."
        )
    return np.ascontiguousarray(np.maximum(array, 0.0))


def as_flag(value: Any, name: str) -> bool:
    """Return a truth value; ValueError if it is something else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {excerpt(value)}; it must be True or False.")
    return bool(value)


def check_callable(value: Any, name: str) -> None:
    """Refuse an argument that cannot be called."""
    if not callable(value):
        raise ValueError(f"{name} is {excerpt(value)}; it must be a function.")


def as_instance(value: Any, kind: type, name: str) -> None:
    """Refuse an argument that is no object of a class of this package, such as a `Channel`."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} is a {type(value).__name__}; it must be a {kind.__name__}.")


def check_choice(value: Any, name: str, allowed: Sequence[str]) -> None:
    """Refuse an argument that is none of two or more texts."""
    if not isinstance(value, str) or value not in allowed:
        *first, last = map(repr, allowed)
        raise ValueError(f"{name} is {excerpt(value)}; it must be {', '.join(first)} or {last}.")


def excerpt(value: Any) -> str:
    """Return a value for a message: numbers as people write them, the rest as code, at most 80 characters."""
    text = str(value) if isinstance(value, (numbers.Real, Decimal)) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _number(value: Any) -> float:
    """Return a number as a float, and NaN for anything that is not a number."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    # In Python, true is a whole number.
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        return math.nan
    number: Any = value
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan
