"""Names of columns and values as people type them: suggestions, and texts that begin with a column."""

import unicodedata

import pytest

from ldpsurvey import table_of_values
from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.data.groups import parsed_bins
from ldpsurvey.data.value_lists import parsed_values
from ldpsurvey.estimate.targets import with_expected

COLUMNS = ["q", "q=2", "cov.age", " krank ", "größe"]


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Cov.age", " Did you mean 'cov.age'?"),
        ("krank", " Did you mean ' krank '?"),
        (unicodedata.normalize("NFD", "größe"), r" Did you mean 'gr\xf6\xdfe'?"),
        ("weight", ""),
        *((column, "") for column in COLUMNS),
    ],
)
def test_a_suggestion_is_never_what_was_typed(name, question):
    assert close_name(name, COLUMNS) == question


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("q=2", ("q", "2")),
        ("q=2=a,b", ("q=2", "a,b")),
        (" cov.age = 1,2", ("cov.age", " 1,2")),
        (" krank =ja", (" krank ", "ja")),
        ('"x=y" =1', ("x=y", "1")),
        ("x = y=1", ("x", " y=1")),
        ("q", ("q", None)),
    ],
)
def test_the_longest_column_is_the_one_that_a_text_is_about(word, found):
    assert split_column(word, COLUMNS) == found


def test_options_with_columns_that_have_equals_signs():
    assert parsed_values(["q=2=a,b", "q=1,2"], COLUMNS) == {"q=2": ("a", "b"), "q": ("1", "2")}
    assert parsed_bins(["q=2=18,40", "cov.age=3"], COLUMNS) == {"q=2": [18.0, 40.0], "cov.age": 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [("yes=2", r"has '2' for 'yes'; it must be a number from 0 to 1\.$"), ("Yes=0.2", "Did you mean 'yes'")],
)
def test_what_is_wrong_with_an_expected_share_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        with_expected(table_of_values({"s": ["no", "yes"]}, ["s"]), [text])
