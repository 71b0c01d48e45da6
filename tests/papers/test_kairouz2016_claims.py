"""The claims of kairouz2016: what tables must say for which verdict."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ldpfrontier import claims
from ldpfrontier.claims import ANOTHER_READING, NOT_CHECKABLE, NOT_REPRODUCED, REPRODUCED
from ldpfrontier.papers import papers
from ldpfrontier.tables import CHECKS, RESULTS, check, result

IDS = [
    "K-T2",
    "K-T5",
    "K-T6",
    "K-T7",
    "K-T8",
    "K-T12",
    "K-T13",
    "K-T14",
    "K-T18",
    "K-C9",
    "K-C10",
    "K-C15",
    "K-C16",
    "K-F3a",
    "K-F3b",
    "K-F4",
    "K-F5",
    "K-F6",
    "K-F7",
    "K-F8",
]
LEDGER = {claim.id: claim for claim in claims.claims_of(papers()["kairouz2016"])}


def table(*rows, **common):
    """Build a result table: what a row leaves out has a plain value."""
    plain = {
        "paper": "kairouz2016",
        "experiment": "any",
        "size": "6",
        "instance": "000",
        "mechanism": "any",
        "epsilon": 1.0,
        "metric": "any",
        "unit": "1",
    }
    return RESULTS.table(result(**plain | common | row) for row in rows)


def decide(claim, table):
    finding = claims.decide(LEDGER[claim], {LEDGER[claim].tables[0]: table})
    assert finding.verdict == REPRODUCED or finding.explanation
    return finding


def verdict(claim, table):
    return decide(claim, table).verdict


def test_every_claim_is_there_and_says_its_rule():
    assert list(LEDGER) == IDS
    assert all(claim.rule.endswith(".") for claim in LEDGER.values())
    assert len({claim.statement for claim in LEDGER.values()}) == len(IDS)


def test_every_published_table_without_its_rows_is_not_checkable():
    for claim in LEDGER.values():
        schema = CHECKS if claim.check == "every_check_holds" else RESULTS
        finding = decide(claim.id, schema.table([]))
        assert finding.verdict == NOT_CHECKABLE
        assert "configuration leaves them out" in finding.explanation


@pytest.mark.parametrize(("worst", "expected"), [(1.2, REPRODUCED), (0.9, NOT_REPRODUCED)])
def test_checks_of_theorems(worst, expected):
    rows = [
        check("kairouz2016", "K-T13", f"{i:03d}", "binary over the bound", value, ">=", 1.0, size="6")
        for i, value in enumerate([3.0, worst])
    ]
    assert verdict("K-T13", CHECKS.table(rows)) == expected


@pytest.mark.parametrize(("value", "expected"), [(4.0, REPRODUCED), (np.inf, NOT_REPRODUCED)])
def test_thresholds(value, expected):
    assert verdict("K-T14", table({"value": value}, mechanism="rr", metric="mutual_information")) == expected
    rows = table({"value": 1.0 if value == 4.0 else 0.0}, mechanism="binary", metric="all_f")
    assert verdict("K-T5", rows) == expected


def test_the_instances_without_a_threshold_are_named():
    rows = [
        {"size": size, "instance": instance, "value": np.inf if instance == "001" else 2.0}
        for size in ("3", "6")
        for instance in ("000", "001")
    ]
    finding = decide("K-T8", table(*rows, mechanism="rr", metric="kl"))
    assert finding.explanation == "No such ε* was found for k = 3, 001, k = 6, 001."
    assert "(4 instances)" in finding.measured


def test_thresholds_of_single_divergences_alone_do_not_decide_theorem_5():
    assert verdict("K-T5", table({"value": 1.0}, mechanism="binary", metric="kl")) == NOT_CHECKABLE


def expansion(claim, order):
    rows = [
        {"mechanism": variant, "metric": name, "value": value}
        for variant in ("computed", "printed", "derived")
        for name, value in (("constant", 2.0), ("order", order if variant == "printed" else 4.0))
    ]
    return table(*rows, experiment=LEDGER[claim].arguments["corollary"])


@pytest.mark.parametrize(
    ("claim", "order", "expected"),
    [
        ("K-C15", 4.0, REPRODUCED),
        ("K-C15", 2.0, NOT_REPRODUCED),
        ("K-C16", 2.0, REPRODUCED),
        ("K-C16", 1.0, NOT_REPRODUCED),
    ],
)
def test_expansions(claim, order, expected):
    assert verdict(claim, expansion(claim, order)) == expected


def test_the_symmetrized_sum_decides_too():
    good = expansion("K-C9", 4.0)
    for value, expected in ((0.99, REPRODUCED), (1.5, NOT_REPRODUCED)):
        row = {"mechanism": "printed", "metric": "symmetrized", "value": value}
        both = table(row, experiment="corollary 9")
        assert verdict("K-C9", RESULTS.conform(pd.concat([good, both]))) == expected


def test_a_constant_of_0_is_printed_as_0():
    rows = expansion("K-C16", 1.0)
    rows.loc[(rows["mechanism"] == "printed") & (rows["metric"] == "constant"), "value"] = -3e-11
    assert "printed 0, derived 2." in decide("K-C16", rows).measured


def ratios(rr, binary, metric, sizes=("6",), instances=100):
    values = {"rr": rr, "binary": binary, "optimal": 1.0}
    rows = (
        {"size": k, "instance": f"{i:03d}", "mechanism": name, "value": max(value, 1 - i)}
        for k in sizes
        for i in range(instances)
        for name, value in values.items()
    )
    return table(*rows, metric=metric, bound=1.0, direction="max", status="closed form")


def test_minima_of_figure_3():
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl")) == REPRODUCED
    assert verdict("K-F3a", ratios(0.13, 0.17, "kl")) == ANOTHER_READING
    assert verdict("K-F3a", ratios(0.5, 0.5, "kl")) == NOT_REPRODUCED
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", instances=10)) == NOT_CHECKABLE
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", sizes=("3",))) == NOT_CHECKABLE


def test_text_and_caption_of_figure_6():
    finding = decide("K-F6", ratios(0.38, 0.40, "mutual_information"))
    assert finding.verdict == ANOTHER_READING
    assert "the text that agrees" in finding.explanation
    finding = decide("K-F6", ratios(0.38, 0.35, "mutual_information"))
    assert "the caption that agrees" in finding.explanation


def test_better_of_two():
    assert verdict("K-F4", ratios(0.2, 0.72, "kl", sizes=("6", "12"))) == REPRODUCED
    assert verdict("K-F4", ratios(0.2, 0.67, "kl", sizes=("6", "12"))) == ANOTHER_READING
    assert verdict("K-F4", ratios(0.2, 0.52, "kl", sizes=("6", "12"))) == NOT_REPRODUCED
    assert verdict("K-F4", ratios(0.2, 0.72, "kl")) == NOT_CHECKABLE


def test_what_is_stated_is_an_argument():
    rows = ratios(0.2, 0.72, "kl", sizes=("6", "12"))
    claim = dataclasses.replace(
        LEDGER["K-F4"], arguments={**LEDGER["K-F4"].arguments, "stated": {"6": 0.9, "12": 0.5}}
    )
    assert claims.decide(claim, {"fig4": rows}).verdict == NOT_REPRODUCED


def test_scaling_and_geometric():
    values = {"optimal": 1.0, "printed": 1.0, "geometric": 0.5, "binary": 1.0, "rr": 0.8}
    rows = [
        {"instance": f"{i:03d}", "mechanism": name, "value": value * (1 + i), "metric": metric}
        for i in range(3)
        for name, value in values.items()
        for metric in ("kl", "normalized")
    ]
    good = table(*rows)
    bad = good.assign(value=good["value"].mask(good["mechanism"] == "geometric", 9.0))
    for claim in ("K-F5", "K-F3b"):
        assert verdict(claim, good) == REPRODUCED
        assert verdict(claim, bad) == NOT_REPRODUCED
