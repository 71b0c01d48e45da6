"""Numbers of any type, and what is none."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.numerics.arguments import as_count, as_number, as_numbers

#: What is not a number, whatever the range.
NO_NUMBERS = ["1", None, True, np.True_, math.nan, Decimal("sNaN"), pd.NA, 1j, [1.0], np.array("1"), object()]


@pytest.mark.parametrize(
    "value",
    [2, np.float32(2), np.longdouble(2), np.uint8(2), Decimal(2), Fraction(2), np.array(2)],
    ids=lambda value: type(value).__name__,
)
def test_a_number_of_any_type_is_a_float(value) -> None:
    number = as_number(value, "epsilon")
    assert type(number) is float
    assert number == 2.0
    assert (type(as_count(value, "k", "whole")), as_count(value, "k", "whole")) == (int, 2)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused(value) -> None:
    with pytest.raises(ValueError, match=r"(?s)epsilon is .*; it must be a finite number\."):
        as_number(value, "epsilon")
    with pytest.raises(ValueError, match=r"(?s)k is .*; it must be 0 or more\."):
        as_count(value, "k", "0 or more")


def test_the_range_has_its_ends() -> None:
    assert as_number(1, "x", "from 0 to 1", least=0, most=1) == 1.0
    for value in (2, -1, 10**400, math.inf, Decimal("Infinity")):
        with pytest.raises(ValueError, match=r"x is .*; it must be from 0 to 1\."):
            as_number(value, "x", "from 0 to 1", least=0, most=1)
    assert as_number(math.inf, "x", infinite=True) == math.inf
    with pytest.raises(ValueError, match=r"k is 1\.5; it must be whole\."):
        as_count(1.5, "k", "whole")
    with pytest.raises(ValueError, match=r"k is 3; it must be at most 2\."):
        as_count(3, "k", "at most 2", most=2)


@pytest.mark.parametrize(
    "values",
    [
        [0.25, 0.75],
        np.float32([0.25, 0.75]),
        [Fraction(1, 4), Decimal("0.75")],
        pd.Series([0.25, 0.75]),
        pd.Series([0.25, 0.75], dtype="Float64"),
        np.array([0.25, 0.75], dtype=object),
        np.ma.array([0.25, 0.75]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_arrays_of_numbers_of_any_type_are_floats(values) -> None:
    array = as_numbers(values, "The prior")
    assert array.dtype == np.float64
    assert array.tolist() == [0.25, 0.75]
    assert not np.shares_memory(array, np.asarray(values))


@pytest.mark.parametrize(
    "values",
    ["half", None, [True, False], ["0.5", "0.5"], [0.5, pd.NA], pd.to_datetime(["2020-01-01"]), [0.5 + 0j]],
    ids=lambda value: type(value).__name__,
)
def test_an_entry_that_is_no_number_is_refused(values) -> None:
    with pytest.raises(ValueError, match=r"The prior has the entry .*; every entry must be a number\."):
        as_numbers(values, "The prior")


def test_rows_of_different_lengths_and_masked_entries_are_refused() -> None:
    with pytest.raises(ValueError, match="The prior has rows of different lengths"):
        as_numbers([[0.5], [0.25, 0.25]], "The prior")
    with pytest.raises(ValueError, match="The prior has masked entries"):
        as_numbers(np.ma.array([0.5, 0.5], mask=[False, True]), "The prior")
