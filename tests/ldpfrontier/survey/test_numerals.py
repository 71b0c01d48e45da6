"""Numbers as people write them; what may be either of two is none."""

import pytest

from ldpfrontier.survey.numerals import as_finite, as_whole, is_ambiguous, is_ambiguous_whole


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" -3.5 ", -3.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("2,5", 2.5),
        ("0,250", 0.25),
        ("1250,125", 1250.125),
        ("1,250", None),
        ("1.250", 1.25),
        ("1,250,000", None),
        ("1e999", None),
        ("inf", None),
        ("nan", None),
        ("", None),
        ("1 000", None),
        ("٣", None),
    ],
)
def test_numbers_with_decimals(text, number):
    assert as_finite(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("16.0", 16),
        ("16.5", None),
        ("32,000", 32_000),
        ("32.000", None),
        ("1.234.567", 1_234_567),
        ("1'234'567", 1_234_567),
        ("1 234", 1_234),
        ("1\u202f234", 1_234),
        ("12,34", None),
        ("0,250", None),
        ("-3", None),
        ("1e3", None),
        ("", None),
    ],
)
def test_whole_numbers(text, number):
    assert as_whole(text) == number


def test_what_may_be_either_of_two_numbers():
    assert is_ambiguous("1,250")
    assert not is_ambiguous("0,250")
    assert not is_ambiguous("1,25")
    assert is_ambiguous_whole("1.250")
    assert not is_ambiguous_whole("1.2500")
