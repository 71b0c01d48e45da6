"""What has to be precise: names, values and slopes, by moving the distribution."""

from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import estimation_error
from ldpsurvey.data.tables import CountTable
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.design import design_channel
from ldpsurvey.estimate.targets import target_of, with_expected

ILL = CountTable(
    ("ill",), ("age",), (("no",), ("yes",)), (("20",), ("40",), ("60",)), [[450, 300, 150], [30, 40, 30]]
)
SEVERE = CountTable(("ill",), ("age",), (("a",), ("b",), ("c",)), (("x",), ("y",)), [[9, 5], [4, 6], [2, 7]])


@pytest.mark.parametrize("table", [ILL, SEVERE], ids=["two", "three"])
@pytest.mark.parametrize(
    "precise", ["cells", "S", "U", "rates", "differences", "shares", "pairs", "ill ~ age"]
)
def test_rows_are_the_slopes_of_values(table, precise):
    found, p = target_of(table, precise), table.expected
    for cell in np.eye(p.size):
        move = 1e-5 * (cell.reshape(p.shape) - p)
        ends = [target_of(replace(table, assumed=p + sign * move), precise).values for sign in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(
            found.rows @ (cell - p.ravel()), rel=1e-4, abs=1e-6 * np.abs(found.rows).max()
        )


def test_a_term_is_named_before_its_formula():
    assert target_of(ILL, "ill ~ age + I(age**2)").names == ("age", "I(age ** 2)")
    one = target_of(ILL, "age in ill ~ age + I(age**2)")
    assert one.names == ("age",)
    assert one.rows == pytest.approx(target_of(ILL, "ill ~ age + I(age**2)").rows[:1])
    ages, shares = np.array([20.0, 40.0, 60.0]), ILL.expected.sum(axis=0)
    assert 1.0 / one.scales[0] ** 2 == pytest.approx(shares @ ages**2 - (shares @ ages) ** 2)


def test_the_design_for_a_coefficient_has_its_error_and_beats_what_is_made_for_cells():
    target = target_of(ILL, "ill ~ age")
    rows = target.rows / target.scales[:, None]
    made, other = (
        design_channel(ILL, 1.0, against="anyone", precise=precise, purpose="frequencies")
        for precise in ("ill ~ age", "cells")
    )
    best = made.best()
    assert best.asked == pytest.approx(
        np.sqrt(estimation_error(best.channel, ILL.expected, rows) / ILL.records)
    )
    assert estimation_error(best.channel, ILL.expected, rows) < estimation_error(
        other.best().channel, ILL.expected, rows
    )


def test_what_is_expected_replaces_rates_or_shares():
    rates = with_expected(ILL, ["40=0.5"]).expected
    assert rates[1] / rates.sum(axis=0) == pytest.approx(
        [*(ILL.counts[1] / ILL.counts.sum(axis=0))[:1], 0.5, 1 / 6]
    )
    assert rates.sum(axis=0)[1] / rates.sum() == pytest.approx(ILL.expected.sum(axis=0)[1], rel=0.01)
    answers = table_of_values({"vote": ["a", "b", "c"]}, ["vote"])
    assert with_expected(answers, ["b=0.5"]).expected.ravel() == pytest.approx([0.25, 0.5, 0.25])
    found = design_channel(with_expected(answers, ["b=0.9"]), 1.0, mechanisms=["grr"], records=1_000).best()
    p = np.array([0.05, 0.9, 0.05])
    square = estimation_error(found.channel, p) / 3 / 1_000
    assert found.error == pytest.approx(np.sqrt(square), rel=1e-3)


@pytest.mark.parametrize(
    ("table", "precise", "words"),
    [
        (ILL, "tables", "must be one of cells"),
        (table_of_values({"vote": ["a", "b"]}, ["vote"]), "differences", "without useful columns"),
        (ILL, "age ~ ill", "must be the only sensitive column"),
        (ILL, "ill ~ agee", "Did you mean 'age'"),
        (ILL, "ages in ill ~ age", "one that varies is needed"),
        (ILL, "ill ~ 1", "one that varies is needed"),
        (ILL, "ill ~ C(age) + age", "not independent"),
    ],
)
def test_what_a_table_does_not_have_is_refused(table, precise, words):
    with pytest.raises(ValueError, match=words):
        design_channel(table, 1.0, precise=precise, records=100)


@pytest.mark.parametrize(
    ("table", "texts", "words"),
    [
        (ILL, ["30=0.1"], "it must be VALUE=NUMBER"),
        (ILL, ["20=1.1"], "from 0 to 1"),
        (ILL, ["20"], "VALUE=NUMBER"),
        (SEVERE, ["x=0.1"], "rates of the second of two values"),
        (table_of_values({"vote": ["a", "b"]}, ["vote"]), ["a=0.6", "b=0.6"], "sum to 1"),
    ],
)
def test_what_cannot_be_expected_is_refused(table, texts, words):
    with pytest.raises(ValueError, match=words):
        with_expected(table, texts)
