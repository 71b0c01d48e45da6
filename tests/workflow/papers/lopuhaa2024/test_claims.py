"""Every claim of lopuhaa2024 has a verdict that its tables decide."""

import numpy as np
import pandas as pd
import pytest

from falsified.lopuhaa2024 import (
    LARGE,
    LEDGER,
    NAMED,
    SMALL,
    differences,
    orderings,
    ranges,
)
from papers.lopuhaa2024 import sampling, summaries, synthetic
from papers.lopuhaa2024.random_tables import fresh_tables
from papers.lopuhaa2024.sampling import QUANTILES
from reproduction.ledger import claims
from reproduction.ledger.claims import (
    ANOTHER_READING,
    NOT_CHECKABLE,
    NOT_REPRODUCED,
    REPRODUCED,
    NotCheckable,
)
from reproduction.results.tables import PRINTED, Printed
from support.instances import study


class Tables(dict[str, pd.DataFrame]):
    """Tables by name; what is missing makes a claim not checkable, as with files."""

    def __missing__(self, name):
        raise NotCheckable(f"The table {name} is missing.")


def verdict(claim, **tables):
    found = claims.decide(LEDGER[claim], Tables(tables))
    assert found.verdict == REPRODUCED or found.explanation
    return found.verdict


# The worked example and the theorems


def test_worked_example():
    def table(radius, d):
        return PRINTED.table(
            [
                Printed("lopuhaa2024", "Example 5", 0, "rad_s1 in d", radius, 0.6, digits=1, note="repeats"),
                Printed("lopuhaa2024", "Example 5", 1, "d", d, 1.4, digits=1, note="why"),
            ]
        )

    assert verdict("L-E5", example=table(0.6, 1.4)) == REPRODUCED
    assert verdict("L-E5", example=table(0.7, 1.4)) == ANOTHER_READING
    assert verdict("L-E5", example=table(0.6, 1.5)) == NOT_REPRODUCED
    assert verdict("L-E5", example=table(0.7, 1.5)) == NOT_REPRODUCED
    # A misprint is one only if the paper goes on with the right number.
    assert verdict("L-E5", example=table(0.7, 1.4)[:1]) == NOT_CHECKABLE
    assert verdict("L-E1", example=table(0.6, 1.4)) == NOT_CHECKABLE


# Orderings


def test_orderings_are_those_of_tables_of_a_size():
    small, large = orderings(SMALL, "2 x 5"), orderings(LARGE, "15 x 16", NAMED)
    assert verdict("L-S81b", orderings=large) == verdict("L-S81c", orderings=small) == NOT_CHECKABLE
    # A table without one of the five mechanisms is left out, not held against the statement.
    fewer = orderings({name: SMALL[name] for name in ("polyopt", "ir", "srr")}, "2 x 6")
    assert verdict("L-S81b", orderings=pd.concat([small, fewer])) == REPRODUCED
    assert verdict("L-S81b", orderings=fewer) == NOT_CHECKABLE


# Privacy and utility under the truth


def test_quantile_of_nr():
    both = ("2 x 5", 0.28, 0.44), ("2 x 6", 0.33, 0.53)
    found = claims.decide(LEDGER["L-S83b"], {"quantiles": ranges(*both)})
    assert "any number from 0.330 to 0.440 would have passed" in found.explanation
    for change in ({"epsilon": 1.0}, {"beta": 0.01}, {"sample": 50}, {"drawn": False}, {"mechanism": "ir"}):
        assert verdict("L-S83b", quantiles=ranges(*both, **change)) == NOT_CHECKABLE
    assert verdict("L-S83b", quantiles=ranges(*both, tables=100)) == NOT_CHECKABLE


def test_range_of_a_quantile_of_samples():
    """Shares of the range, against samples of uniform numbers."""
    low, high = sampling.shares(0.75, 100)
    found = np.quantile(np.random.default_rng(1).uniform(size=(20000, 100)), 0.75, axis=1)
    assert np.quantile(found, [0.025, 0.975]) == pytest.approx([low, high], abs=3e-3)
    assert sampling.shares(0.5, 1) == pytest.approx((0.025, 0.975))


def test_quantiles_are_those_of_the_study():
    fresh = [
        fresh_tables(2, 3, 12, first=3, records=500, concentration=concentration, seed=4)
        for concentration in (0.5, 1.0)
    ]
    table = sampling.quantiles(pd.concat(fresh), [5, 12], drawn=0.5, epsilon=0.1, beta=0.05, order=2.0)
    QUANTILES.conform(table)
    assert len(table) == 4
    own = study((2, 3), range(3, 15), [0.1], mechanisms=["nr"], records=500, concentration=0.5, seed=4)
    values = own[own["metric"] == synthetic.REALIZED]["value"]
    drawn = table[table["drawn"]]
    assert (drawn["quantile"] == summaries.quantile(values, 0.75)).all()
    assert drawn["low"].is_monotonic_increasing
    assert drawn["high"].is_monotonic_decreasing
    assert (table["low"] <= table["quantile"]).all()


def test_utility_difference():
    own = [("ir", "2 x 5"), ("srr", "15 x 16"), ("polyopt", "2 x 5")]
    assert verdict("L-S84", fig5=differences(*own)) == REPRODUCED
    assert verdict("L-S84", fig5=differences(*own, epsilon=2.0)) == NOT_CHECKABLE
    # NR is none of the three methods, and PolyOpt is not on large tables: neither decides anything.
    for other in (("nr", "2 x 5"), ("polyopt", "15 x 16")):
        both = pd.concat([differences(*own), differences(other, extreme=0.04, positive=80)])
        assert verdict("L-S84", fig5=both) == REPRODUCED
    # The statement is about all three.
    for missing in own:
        fewer = differences(*(method for method in own if method != missing))
        assert verdict("L-S84", fig5=fewer) == NOT_CHECKABLE


# Significance level
