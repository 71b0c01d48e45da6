"""The tables of lopuhaa2024 that are made from its tables, and the tables to read."""

import math

import numpy as np
import pandas as pd
import pytest

from papers.lopuhaa2024 import summaries, synthetic
from papers.lopuhaa2024.catalogue import COMPUTED
from reproduction.results.tables import RESULTS, SKIPPED, select
from support.instances import study
from support.mechanisms import fig2_of

EPSILONS = [0.3, 1.5]
INSTANCES = 2
#: Coarse, as what is tested is what becomes of the optima.
TOLERANCE = 0.05
COUNTS = np.array([[30, 0, 12], [25, 41, 60]])

STUDIED = list(COMPUTED)


@pytest.fixture(scope="module")
def sweep():
    return fig2_of(COUNTS, [0.6, 1.0], instance="a, b", tolerance=TOLERANCE)


@pytest.fixture(scope="module")
def table():
    """Two sizes at two significance levels, the optimum over F at one of them."""
    parts = [
        study(shape, range(INSTANCES), EPSILONS, betas=[beta], mechanisms=names, tolerance=TOLERANCE, seed=7)
        for shape in ((2, 3), (3, 2))
        for beta, names in ((0.05, STUDIED), (0.0005, [name for name in STUDIED if name != "ir_tight"]))
    ]
    return RESULTS.conform(pd.concat(parts))


@pytest.fixture(scope="module")
def usual(table):
    return select(table, beta=0.05)


# Orderings


def test_orderings(sweep):
    ranks = summaries.orderings(sweep)
    assert list(ranks["epsilon"]) == [0.6, 1.0]
    assert set(ranks["size"] + ", " + ranks["instance"]) == {"2 x 3, a, b"}
    nmi = select(sweep, metric="nmi", epsilon=1.0).set_index("mechanism")["value"]
    assert ranks.loc[1, "ranking"].split(" > ") == list(
        nmi.sort_index().sort_values(ascending=False, kind="stable").index
    )
    assert ranks.loc[1, list(nmi.index)].to_dict() == nmi.to_dict()
    assert ranks.loc[1, "ir_above_srr"] == ("yes" if nmi["ir"] > nmi["srr"] else "no")
    assert (ranks["nr_leads"] == "yes").all()
    # Without PolyOpt its statement is open, not false.
    fewer = summaries.orderings(sweep[sweep["mechanism"] != "polyopt"])
    assert (fewer["polyopt_leads"] == "-").all()
    assert (fewer["ir_above_srr"] != "-").all()
    assert fewer["polyopt"].isna().all()


def test_mean_orderings_compare_equal_instances(usual):
    ranks = summaries.mean_orderings(usual)
    assert ranks["size"].tolist() == ["2 x 3", "2 x 3", "3 x 2", "3 x 2"]
    assert set(ranks["instances"]) == {INSTANCES}
    assert (ranks["nr_leads"] == "yes").all()
    small = select(usual, size="2 x 3")
    part = summaries.mean_orderings(small[(small["mechanism"] != "polyopt") | (small["instance"] == "000")])
    one = summaries.mean_orderings(select(small, instance="000"))
    pd.testing.assert_frame_equal(part, one)
    # A mechanism that the paper does not have is compared if it has the same instances, and takes none away.
    fewer = summaries.mean_orderings(small[(small["mechanism"] != "ir_tight") | (small["instance"] == "000")])
    assert set(fewer["instances"]) == {INSTANCES}
    assert fewer["ir_tight"].isna().all()
    assert not summaries.mean_orderings(small)["ir_tight"].isna().any()


# Quartiles, means and Table 2


def test_quantile():
    values = [3.0, 1.0, 2.0, 10.0]
    assert summaries.quantile(values, 0.25) == np.quantile(values, 0.25)
    assert summaries.quantile([1.0, math.inf, 0.0], 0.5) == 1.0
    assert summaries.quantile([1.0, math.inf], 0.25) == math.inf
    assert summaries.quantile([math.inf] * 3, 0.25) == math.inf


def test_means_of_nmi(usual):
    summary = summaries.fig3(usual)
    assert len(summary) == 2 * len(STUDIED) * len(EPSILONS)
    chosen = {"size": "2 x 3", "mechanism": "nr", "epsilon": 1.5}
    row = select(summary, **chosen).iloc[0]
    values = select(usual, metric="nmi", **chosen)["value"]
    assert row["instances"] == INSTANCES
    assert row["mean"] == pytest.approx(values.mean())
    assert row["low"] == pytest.approx(values.quantile(0.25))
    assert row["standard_error"] == pytest.approx(values.std() / math.sqrt(INSTANCES))


def test_covered_tables_are_those_that_the_study_notes(usual):
    assert summaries.COVERED == synthetic.COVERED
    rows = select(usual, metric="realized_epsilon", mechanism="nr", epsilon=1.5)
    covered = select(summaries.fig4(usual), mechanism="nr", epsilon=1.5)["covered"].sum()
    assert covered == (rows["note"] == synthetic.COVERED).sum() > 0


def test_difference_of_utility(usual):
    summary = summaries.fig5(usual, 1.5)
    assert set(summary["epsilon"]) == {1.5}
    assert (summary["extreme"] == np.maximum(-summary["smallest"], summary["largest"])).all()
    assert summary["positive"].between(0, 1).all()
    assert summaries.fig5(usual, 9.0).empty


def test_table_of_significance_levels(table):
    summary = summaries.table2(table, 1.5)
    chosen = select(summary, size="3 x 2", mechanism="polyopt")
    assert chosen["beta"].tolist() == [0.0005, 0.05]
    assert chosen["change"].iloc[1] == 0
    assert chosen["change"].iloc[0] < 0
    assert (select(summary, mechanism="srr")["change"] == 0).all()


# Tables to read


def test_table_2_to_read(table):
    summary = summaries.table2(table, 1.5)
    texts = summaries.table2_texts(select(summary, mechanism=["srr", "polyopt"]))
    assert texts.columns.tolist() == ["size", "mechanism", "beta = 0.05", "beta = 0.0005", "change"]
    assert texts["mechanism"].tolist() == ["PolyOpt", "SRR"] * 2
    assert texts["change"].tolist()[1] == "+0.00%"
    with pytest.raises(ValueError, match=r"several values of order: 1\.0, 2\.0"):
        summaries.table2_texts(pd.concat([summary.assign(order=1.0), summary]))


def test_what_was_skipped_is_not_ranked(sweep):
    skipped = sweep["mechanism"] == "polyopt"
    table = sweep.assign(
        status=sweep["status"].mask(skipped, SKIPPED), value=sweep["value"].mask(skipped, math.nan)
    )
    assert not summaries.orderings(table)["ranking"].str.contains("polyopt >|polyopt$").any()
