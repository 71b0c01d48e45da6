"""Every claim of lopuhaa2024 has a verdict that its tables decide."""

import re
from pathlib import Path

import pandas as pd
import pytest

from ldpfrontier import claims
from ldpfrontier.claims import ANOTHER_READING, NOT_CHECKABLE, NOT_REPRODUCED, REPRODUCED, NotCheckable
from ldpfrontier.papers import papers
from ldpfrontier.papers.lopuhaa2024 import summaries
from ldpfrontier.tables import CHECKS, PRINTED, RESULTS, check, printed, result

ROOT = Path(__file__).parents[2]
PAPER = papers()["lopuhaa2024"]
LEDGER = {claim.id: claim for claim in claims.claims_of(PAPER)}


class Tables(dict[str, pd.DataFrame]):
    """Tables by name; what is missing makes a claim not checkable, as with files."""

    def __missing__(self, name):
        raise NotCheckable(f"The table {name} is missing.")


def verdict(claim, **tables):
    found = claims.decide(LEDGER[claim], Tables(tables))
    assert found.verdict == REPRODUCED or found.explanation
    return found.verdict


def rows(metric, values, *, sizes=("2 x 5",), instances=("000",), beta=0.05, epsilons=(0.1, 4.0), **more):
    """Build results from a value per epsilon of every mechanism."""
    return RESULTS.table(
        result(
            "lopuhaa2024", "any", instance, name, metric, value, unit="1", size=size, beta=beta, order=2.0,
            epsilon=epsilon, **more,
        )
        for size in sizes
        for instance in instances
        for name, levels in values.items()
        for epsilon, value in zip(epsilons, levels, strict=True)
    )  # fmt: skip


def test_the_claims_of_the_ledger():
    expected = "E1 E2 E3 E4 E5 T1 P1 P2 T2 T3 T4 T5 S81a S81b S81c S82 S83a S83b S84 S85"
    assert list(LEDGER) == [f"L-{name}" for name in expected.split()]
    assert all(claim.rule.endswith(".") for claim in LEDGER.values())


@pytest.mark.parametrize("claim", LEDGER)
def test_without_tables_nothing_is_checkable(claim):
    found = claims.decide(LEDGER[claim], Tables())
    assert found.verdict == NOT_CHECKABLE
    assert re.fullmatch(r"The table \w+ is missing\.", found.explanation)


def test_errata_name_tests_that_exist():
    errata = claims.errata_of(PAPER)
    assert len(errata) == 5
    for erratum in errata:
        file, _, function = erratum.test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), erratum.test


# The worked example and the theorems


def test_worked_example():
    def table(radius, d):
        return PRINTED.table(
            [
                printed("lopuhaa2024", "Example 5", 0, "rad_s1 in d", radius, 0.6, digits=1, note="repeats"),
                printed("lopuhaa2024", "Example 5", 1, "d", d, 1.4, digits=1, note="why"),
            ]
        )

    assert verdict("L-E5", example=table(0.6, 1.4)) == REPRODUCED
    assert verdict("L-E5", example=table(0.7, 1.4)) == ANOTHER_READING
    assert verdict("L-E5", example=table(0.6, 1.5)) == NOT_REPRODUCED
    assert verdict("L-E5", example=table(0.7, 1.5)) == NOT_REPRODUCED
    assert verdict("L-E1", example=table(0.6, 1.4)) == NOT_CHECKABLE


def test_theorems_by_direct_optimization():
    def table(measured):
        return CHECKS.table(
            check("lopuhaa2024", claim, "60 records", "q", measured, "=", 1.0, size="2 x 2")
            for claim in ("L-T1", "L-P2")
        )

    assert verdict("L-T1", theorems=table(1.0)) == REPRODUCED
    assert verdict("L-P2", theorems=table(1.0)) == ANOTHER_READING
    assert verdict("L-T1", theorems=table(2.0)) == NOT_REPRODUCED
    assert verdict("L-P2", theorems=table(2.0)) == NOT_REPRODUCED
    assert verdict("L-T2", theorems=table(1.0)) == NOT_CHECKABLE


def test_outputs_of_polyopt():
    theorems = CHECKS.table([check("lopuhaa2024", "L-T3", "60 records", "outputs", 4.0, "<=", 4.0)])
    for outputs, expected in ((10, REPRODUCED), (11, NOT_REPRODUCED)):
        fig2 = rows("nmi", SMALL, instances=["sex, race"], outputs=outputs)
        assert verdict("L-T3", theorems=theorems, fig2=fig2) == expected


# Orderings

SMALL = {
    "nr": (0.5, 0.91),
    "polyopt": (0.4, 0.9),
    "ir": (0.02, 0.78),
    "srr": (0.01, 0.8),
    "grr": (0.001, 0.7),
}
LARGE = SMALL | {"srr": (0.01, 0.5)}


def orderings(values, size, instance="a, b"):
    return summaries.orderings(rows("nmi", values, sizes=[size], instances=[instance]))


def test_orderings_on_adult():
    small, large = orderings(SMALL, "2 x 5"), orderings(LARGE, "15 x 16")
    assert verdict("L-S81b", orderings=small) == REPRODUCED
    assert verdict("L-S81b", orderings=orderings(SMALL | {"grr": (0.001, 0.95)}, "2 x 5")) == NOT_REPRODUCED
    assert verdict("L-S81b", orderings=large) == NOT_CHECKABLE
    assert verdict("L-S81c", orderings=large) == REPRODUCED
    assert verdict("L-S81c", orderings=orderings(SMALL | {"srr": (0.03, 0.5)}, "15 x 16")) == NOT_REPRODUCED
    assert verdict("L-S81c", orderings=small) == NOT_CHECKABLE
    # A table without one of the five mechanisms is left out, not held against the statement.
    fewer = orderings({name: SMALL[name] for name in ("polyopt", "ir", "srr")}, "2 x 6")
    assert verdict("L-S81b", orderings=pd.concat([small, fewer])) == REPRODUCED
    assert verdict("L-S81b", orderings=fewer) == NOT_CHECKABLE


@pytest.mark.parametrize(
    ("instance", "size", "expected"),
    [
        ("occupation, education", "15 x 16", REPRODUCED),
        ("occupation, education", "14 x 16", NOT_REPRODUCED),
        ("sex, race", "15 x 16", NOT_CHECKABLE),
    ],
)
def test_size_of_the_cone(instance, size, expected):
    assert verdict("L-S81a", fig2=rows("nmi", SMALL, sizes=[size], instances=[instance])) == expected


def means(small, large=LARGE):
    numbers = ["000", "001"]
    parts = [rows("nmi", small, instances=numbers), rows("nmi", large, sizes=["15 x 16"], instances=numbers)]
    return summaries.mean_orderings(pd.concat(parts))


def test_means_of_the_synthetic_study():
    assert verdict("L-S82", mean_orderings=means(SMALL)) == REPRODUCED
    assert verdict("L-S82", mean_orderings=means(SMALL | {"srr": (0.03, 0.8)})) == NOT_REPRODUCED


def test_means_that_fail_as_adult_fails_are_another_reading():
    last = {"grr": (0.001, 0.95)}
    found = means(SMALL | last, LARGE | last)
    adult = pd.concat([orderings(SMALL | last, "2 x 5"), orderings(LARGE | last, "15 x 16")])
    assert verdict("L-S82", mean_orderings=found, orderings=adult) == ANOTHER_READING
    other = pd.concat([orderings(SMALL, "2 x 5"), orderings(LARGE, "15 x 16")])
    assert verdict("L-S82", mean_orderings=found, orderings=other) == NOT_REPRODUCED
    assert verdict("L-S82", mean_orderings=found) == NOT_REPRODUCED


# Privacy and utility under the truth


def realized(levels, instances=100, epsilon=0.075):
    numbers = [f"{i:03d}" for i in range(instances)]
    values = {name: (level,) for name, level in levels.items()}
    table = rows("realized_epsilon", values, instances=numbers, epsilons=(epsilon,), note=summaries.COVERED)
    return summaries.fig4(table)


def test_realized_privacy():
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.05})) == REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.08})) == NOT_REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.07, "polyopt": 0.05})) == NOT_REPRODUCED
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897, "polyopt": 0.05}, 10)) == NOT_CHECKABLE
    assert verdict("L-S83a", fig4=realized({"nr": 0.3897})) == NOT_CHECKABLE


def test_quantile_of_nr():
    assert verdict("L-S83b", fig4=realized({"nr": 0.3897})) == REPRODUCED
    assert verdict("L-S83b", fig4=realized({"nr": 0.37})) == ANOTHER_READING
    assert verdict("L-S83b", fig4=realized({"nr": 0.2})) == NOT_REPRODUCED
    assert verdict("L-S83b", fig4=realized({"nr": 0.3897}, 99)) == NOT_CHECKABLE
    assert verdict("L-S83b", fig4=realized({"nr": 0.2}, epsilon=1.0)) == NOT_CHECKABLE
    other = realized({"nr": 0.3897}).assign(beta=0.01)
    assert verdict("L-S83b", fig4=other) == NOT_CHECKABLE


def test_utility_difference():
    def differences(extreme, shift, mechanism="ir", size="2 x 5", epsilon=1.5):
        table = RESULTS.table(
            result(
                "lopuhaa2024", "any", f"{i:03d}", mechanism, "utility_difference",
                extreme * (-1) ** i + shift, unit="1", size=size, beta=0.05, order=2.0, epsilon=epsilon,
            )
            for i in range(100)
        )  # fmt: skip
        return summaries.fig5(table, epsilon)

    assert verdict("L-S84", fig5=differences(0.02, 0.0)) == REPRODUCED
    assert verdict("L-S84", fig5=differences(0.04, 0.0)) == NOT_REPRODUCED
    assert verdict("L-S84", fig5=differences(0.01, 0.015)) == NOT_REPRODUCED
    assert verdict("L-S84", fig5=differences(0.02, 0.0, epsilon=2.0)) == NOT_CHECKABLE
    # NR on a large table is beyond the paper: not symmetric there is no contradiction.
    both = [differences(0.02, 0.0), differences(0.01, 0.015, "nr", "15 x 16")]
    assert verdict("L-S84", fig5=pd.concat(both)) == ANOTHER_READING


# Significance level


def levels(values, epsilon=1.5):
    """Build Table 2 from the NMI of every size and mechanism at beta = 0.5 and 0.005."""
    parts = [
        rows("nmi", {name: (nmi,)}, sizes=[size], epsilons=(epsilon,), beta=beta)
        for (size, name), pair in values.items()
        for beta, nmi in zip((0.5, 0.005), pair, strict=True)
    ]
    return summaries.table2(pd.concat(parts), epsilon)


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


def test_what_the_paper_could_not_compute_is_another_reading():
    values = {
        ("2 x 5", "polyopt"): (0.5, 0.495),
        ("2 x 5", "ir"): (0.5, 0.485),
        ("16 x 7", "polyopt"): (0.5, 0.45),
        ("16 x 7", "ir"): (0.5, 0.5),
    }
    assert verdict("L-S85", table2=levels(values)) == ANOTHER_READING
