"""Every claim of lopuhaa2024 has a verdict that its tables decide."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from falsified.lopuhaa2024 import (
    FOUR,
    LARGE,
    LATE,
    LEDGER,
    LEVELS,
    NAMED,
    SMALL,
    UP_TO_2,
    differences,
    levels,
    means,
    orderings,
    ranges,
    realized,
    rows,
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
from reproduction.planning.paper import papers
from reproduction.results.tables import CHECKS, PRINTED, Check, Printed
from support.instances import study

ROOT = Path(__file__).parents[4]
PAPER = papers()["lopuhaa2024"]


class Tables(dict[str, pd.DataFrame]):
    """Tables by name; what is missing makes a claim not checkable, as with files."""

    def __missing__(self, name):
        raise NotCheckable(f"The table {name} is missing.")


def verdict(claim, **tables):
    found = claims.decide(LEDGER[claim], Tables(tables))
    assert found.verdict == REPRODUCED or found.explanation
    return found.verdict


def test_the_claims_of_the_ledger():
    expected = "E1 E2 E3 E3b E4 E5 T1 P1 P2 T2 T3 T4 T5 S3 S81a S81b S81c S81d S82 S83a S83b S84 S85"
    assert list(LEDGER) == [f"L-{name}" for name in expected.split()]
    assert all(claim.rule.endswith(".") for claim in LEDGER.values())


@pytest.mark.parametrize("claim", LEDGER)
def test_without_tables_nothing_is_checkable(claim):
    found = claims.decide(LEDGER[claim], Tables())
    assert found.verdict == NOT_CHECKABLE
    assert re.fullmatch(r"The table \w+ is missing\.", found.explanation)


def test_errata_name_tests_that_exist():
    errata = claims.errata_of(PAPER)
    assert len(errata) == 16
    for erratum in errata:
        file, _, function = erratum.test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), erratum.test


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


@pytest.mark.parametrize(
    ("entry", "information", "expected"),
    [
        (0.5, 0.2804, [REPRODUCED, REPRODUCED]),
        (0.5, 0.3702, [REPRODUCED, NOT_REPRODUCED]),
        (0.6, 0.2804, [NOT_REPRODUCED, REPRODUCED]),
    ],
)
def test_an_example_of_two_claims(entry, information, expected):
    table = PRINTED.table(
        [
            Printed("lopuhaa2024", "Example 3", 0, "Q(1|1)", entry, 0.5, digits=4, note="why"),
            Printed(
                "lopuhaa2024", "Example 3", 1, "I_P* of PolyOpt", information, 0.2804, digits=4, note="why"
            ),
        ]
    )
    assert [verdict(claim, example=table) for claim in ("L-E3", "L-E3b")] == expected
    # With the numbers of one of them alone, the other is not decided.
    assert verdict("L-E3", example=table[1:]) == verdict("L-E3b", example=table[:1]) == NOT_CHECKABLE


def test_theorems_by_direct_optimization():
    def table(measured):
        return CHECKS.table(
            [Check("lopuhaa2024", "L-T1", "60 records", "q", measured, "=", 1.0, size="2 x 2")]
        )

    assert verdict("L-T1", theorems=table(1.0)) == REPRODUCED
    assert verdict("L-T1", theorems=table(2.0)) == NOT_REPRODUCED
    assert verdict("L-T2", theorems=table(1.0)) == NOT_CHECKABLE


def test_outputs_of_polyopt():
    def theorems(value):
        plain = ("lopuhaa2024", "L-T3", "60 records")
        return CHECKS.table(
            [
                Check(*plain, "outputs", 4.0, "<=", 4.0),
                Check(*plain, "I(X; Y)", value, ">=", 0.5, tolerance=1e-6),
            ]
        )

    for outputs, expected in ((11, NOT_REPRODUCED), (10, REPRODUCED)):
        fig2 = rows("nmi", SMALL, instances=["sex, race"], epsilons=LEVELS, outputs=outputs)
        assert verdict("L-T3", theorems=theorems(0.5), fig2=fig2) == expected
    # A mechanism with more outputs could have more utility.
    assert verdict("L-T3", theorems=theorems(0.49), fig2=fig2) == NOT_REPRODUCED
    assert verdict("L-T3", theorems=theorems(0.5)[:1]) == NOT_CHECKABLE


# Orderings


def test_orderings_on_adult():
    small, large = orderings(SMALL, "2 x 5"), orderings(LARGE, "15 x 16", NAMED)
    assert verdict("L-S81b", orderings=small) == REPRODUCED
    assert verdict("L-S81b", orderings=large) == NOT_CHECKABLE
    assert verdict("L-S81c", orderings=large) == REPRODUCED
    assert (
        verdict("L-S81c", orderings=orderings(SMALL | {"srr": (0.03, 0.2, 0.5)}, "15 x 16")) == NOT_REPRODUCED
    )
    assert (
        verdict("L-S81c", orderings=orderings(SMALL | {"srr": (0.019, 0.29, 0.5)}, "15 x 16"))
        == NOT_REPRODUCED
    )
    assert verdict("L-S81c", orderings=small) == NOT_CHECKABLE
    # A table without one of the five mechanisms is left out, not held against the statement.
    fewer = orderings({name: SMALL[name] for name in ("polyopt", "ir", "srr")}, "2 x 6")
    assert verdict("L-S81b", orderings=pd.concat([small, fewer])) == REPRODUCED
    assert verdict("L-S81b", orderings=fewer) == NOT_CHECKABLE


def test_orderings_that_end_where_the_paper_names_a_level_are_another_reading():
    beyond = SMALL | LATE
    found = claims.decide(LEDGER["L-S81b"], {"orderings": orderings(beyond, "2 x 5")})
    assert found.verdict == ANOTHER_READING
    assert "all parts hold with those up to 1.5, 2, 2.5, 3." in found.measured
    assert "at ε = 1.5, the highest level that it names; that was seen" in found.explanation
    assert "On ours, up to 4: Does not hold: GRR" in found.explanation
    found = claims.decide(LEDGER["L-S81b"], {"orderings": orderings(UP_TO_2, "2 x 5", epsilons=FOUR)})
    assert found.verdict == NOT_REPRODUCED
    assert "With a grid up to 2, 2.5, 3 alone" in found.explanation


def test_means_of_the_synthetic_study():
    assert verdict("L-S82", mean_orderings=means(SMALL)) == REPRODUCED
    assert verdict("L-S82", mean_orderings=means(SMALL, LARGE | {"srr": (0.03, 0.2, 0.5)})) == NOT_REPRODUCED


# Privacy and utility under the truth


def test_realized_privacy():
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.05})) == REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.08})) == NOT_REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.07, "polyopt": 0.05})) == NOT_REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.05}, 10)) == NOT_CHECKABLE
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897})) == NOT_CHECKABLE
    few = [realized({"nr": 0.3897}), realized({"polyopt": 0.05}, 10)]
    assert verdict("L-S83a", fig4=pd.concat(few)) == NOT_CHECKABLE


def test_quantile_of_nr():
    both = ("2 x 5", 0.28, 0.44), ("2 x 6", 0.33, 0.53)
    found = claims.decide(LEDGER["L-S83b"], {"quantiles": ranges(*both)})
    assert found.verdict == ANOTHER_READING
    assert "any number from 0.330 to 0.440 would have passed" in found.explanation
    assert verdict("L-S83b", quantiles=ranges(both[0], ("2 x 6", 0.4, 0.6))) == ANOTHER_READING
    assert verdict("L-S83b", quantiles=ranges(*both, tables=100)) == NOT_CHECKABLE
    for change in ({"epsilon": 1.0}, {"beta": 0.01}, {"sample": 50}, {"drawn": False}, {"mechanism": "ir"}):
        assert verdict("L-S83b", quantiles=ranges(*both, **change)) == NOT_CHECKABLE


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


@pytest.mark.parametrize(("positive", "margin"), [(50, 15), (54, 11), (62, 3), (36, 1), (35, 0), (65, 0)])
def test_utility_difference_states_its_margin(positive, margin):
    own = [("ir", "2 x 5"), ("polyopt", "2 x 5")]
    table = pd.concat([differences(*own), differences(("srr", "15 x 16"), positive=positive)])
    found = claims.decide(LEDGER["L-S84"], Tables(fig5=table))
    assert found.verdict == REPRODUCED
    assert f"The margin is {margin} tables" in found.measured
    if positive != 50:
        assert f"on SRR on 15 x 16 ({positive} of 100 positive)" in found.measured
    for turned in (positive + margin + 1, positive - margin - 1):
        table = pd.concat([differences(*own), differences(("srr", "15 x 16"), positive=turned)])
        expected = NOT_REPRODUCED if abs(turned - 50) > 15 else REPRODUCED
        assert verdict("L-S84", fig5=table) == expected


# Significance level


def test_significance_level():
    def changed(change):
        return {
            (size, name): (0.5, 0.5 * (1 - change * factor * own))
            for size, factor in (("2 x 5", 2.0), ("16 x 7", 1.0))
            for name, own in (("polyopt", 0.5), ("ir", 1.0))
        }

    assert verdict("L-S85", table2=levels(changed(0.02))) == REPRODUCED
    assert verdict("L-S85", table2=levels(changed(0.05))) == NOT_REPRODUCED
    assert verdict("L-S85", table2=levels(changed(-0.0))) == NOT_REPRODUCED
    assert verdict("L-S85", table2=levels(changed(0.02), epsilon=2.0)) == NOT_CHECKABLE
    one = {key: pair for key, pair in changed(0.02).items() if key[0] == "2 x 5"}
    assert verdict("L-S85", table2=levels(one)) == NOT_CHECKABLE

    for size in ("2 x 5", "16 x 7"):
        # IR changes more on the larger tables; PolyOpt more than IR.
        for name, change in (("ir", 0.04 if size == "16 x 7" else 0.0), ("polyopt", 0.044)):
            values = changed(0.015) | {(size, name): (0.5, 0.5 * (1 - change))}
            expected = REPRODUCED if (size, name) == ("16 x 7", "polyopt") else NOT_REPRODUCED
            assert verdict("L-S85", table2=levels(values)) == expected


def test_a_change_of_polyopt_that_grows_with_the_size_is_another_reading():
    values = {
        ("2 x 5", "polyopt"): (0.5, 0.495),
        ("2 x 5", "ir"): (0.5, 0.485),
        ("2 x 6", "polyopt"): (0.5, 0.494),
        ("2 x 6", "ir"): (0.5, 0.486),
    }
    found = claims.decide(LEDGER["L-S85"], {"table2": levels(values)})
    assert found.verdict == ANOTHER_READING
    assert "goes from 1.00% to 1.20% over the sizes" in found.explanation
