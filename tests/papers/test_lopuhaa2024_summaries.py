"""The summaries of lopuhaa2024, their texts, and the figures of the synthetic study."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.files import latex
from ldpfrontier.papers.lopuhaa2024 import figures, summaries, synthetic
from ldpfrontier.papers.lopuhaa2024.catalogue import MECHANISMS
from ldpfrontier.papers.lopuhaa2024.example import worked_example
from ldpfrontier.papers.lopuhaa2024.experiments import fig2
from ldpfrontier.papers.lopuhaa2024.synthetic import study
from ldpfrontier.plotting import save
from ldpfrontier.tables import RESULTS, select

SEED = 7
EPSILONS = [0.3, 1.5]
COUNTS = np.array([[30, 0, 12], [25, 41, 60]])


@pytest.fixture(scope="module")
def sweep() -> pd.DataFrame:
    return fig2(COUNTS, [0.2, 1.0], instance="a, b")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Two sizes at two significance levels."""
    parts = [study(shape, range(6), EPSILONS, betas=[0.05, 0.0005], seed=SEED) for shape in ((2, 3), (3, 2))]
    return RESULTS.conform(pd.concat(parts))


@pytest.fixture(scope="module")
def usual(table) -> pd.DataFrame:
    return table[table["beta"] == 0.05]


# Adult


def test_orderings(sweep):
    ranks = summaries.orderings(sweep)
    assert list(ranks["epsilon"]) == [0.2, 1.0]
    nmi = sweep[(sweep["metric"] == "nmi") & (sweep["epsilon"] == 1.0)].set_index("mechanism")["value"]
    assert ranks.loc[1, "ranking"].split(" > ") == list(nmi.sort_values(ascending=False).index)
    assert ranks.loc[1, "ir_above_srr"] == ("yes" if nmi["ir"] > nmi["srr"] else "no")
    assert (ranks["nr_leads"] == "yes").all()
    # Without PolyOpt its statement is unknown, not false.
    fewer = summaries.orderings(sweep[sweep["mechanism"] != "polyopt"])
    assert (fewer["polyopt_leads"] == "-").all()
    assert (fewer["ir_above_srr"] != "-").all()


def test_gain_of_distinct_pairs(sweep):
    gain = summaries.gain_adult(sweep)
    assert len(gain) == sweep["epsilon"].nunique()
    assert (gain["at_least"] <= gain["gain"] + 1e-12).all()
    assert (gain["gain"] <= gain["at_most"] + 1e-12).all()
    assert (gain["gain"] >= -1e-9).all()
    assert gain["gain"].max() > 0.01
    assert (gain["privacy"] <= gain["epsilon"] + 1e-9).all()
    expected = gain["polyopt"] + gain["closed"] * (gain["nr"] - gain["polyopt"])
    np.testing.assert_allclose(expected, gain["polyopt_distinct"], rtol=1e-12)
    assert summaries.gain_adult(sweep[sweep["mechanism"] != "polyopt_distinct"]).empty


def test_texts_of_the_example_have_a_row_per_number():
    table = worked_example()
    assert len(summaries.example_texts(table)) == len(table)


# Random tables


def test_quantile():
    values = [3.0, 1.0, 2.0, 10.0]
    assert summaries.quantile(values, 0.25) == np.quantile(values, 0.25)
    assert summaries.quantile([1.0, math.inf, 0.0], 0.5) == 1.0
    assert summaries.quantile([1.0, math.inf], 0.25) == math.inf
    assert summaries.quantile([math.inf] * 3, 0.25) == math.inf


def test_mean_nmi(usual):
    summary = summaries.fig3(usual)
    assert len(summary) == 2 * len(MECHANISMS) * len(EPSILONS)
    chosen = {"size": "2 x 3", "mechanism": "nr", "epsilon": 1.5}
    row = select(summary, **chosen).iloc[0]
    values = select(usual, metric="nmi", **chosen)["value"]
    assert row["instances"] == 6
    assert row["mean"] == pytest.approx(values.mean())
    assert row["low"] == pytest.approx(values.quantile(0.25))
    assert row["standard_error"] == pytest.approx(values.std() / math.sqrt(6))


def test_realized_privacy(usual):
    summary = summaries.fig4(usual).set_index(["size", "mechanism", "epsilon"])
    robust = summary.drop(index="nr", level="mechanism")
    assert (robust["largest_covered"] <= robust.index.get_level_values("epsilon") + 1e-9).all()
    assert (summary["kept"] <= summary["instances"]).all()
    assert (robust["kept"] >= robust["covered"]).all()
    assert (
        summary.xs("nr", level="mechanism")["largest"] > robust.xs("polyopt", level="mechanism")["largest"]
    ).all()


def test_realized_privacy_counts_the_tables_that_the_note_calls_covered(usual):
    assert summaries.COVERED == synthetic.COVERED
    covered = select(usual, metric=synthetic.REALIZED, mechanism="nr", note=synthetic.COVERED)
    assert len(covered) > 0
    assert summaries.fig4(usual).query("mechanism == 'nr'")["covered"].sum() == len(covered)


def test_quantiles_of_levels_without_limit(monkeypatch):
    """NR reveals a u that P-hat gives to one s with certainty; P* may never give it to the other s."""
    truth, counts = np.array([[0.5, 0.0], [0.25, 0.25]]), np.array([[50.0, 3.0], [20.0, 27.0]])
    monkeypatch.setattr(synthetic, "sample", lambda *_, **__: (truth, counts))
    found = study((2, 2), [0, 1], [0.5], mechanisms=["nr", "srr"], seed=SEED)
    summary = summaries.fig4(found).set_index("mechanism")
    assert summary.loc["nr", ["low", "median", "high", "largest"]].tolist() == [math.inf] * 4
    assert summary.loc["nr", "infinite"] == 2
    assert summary.loc["srr", "kept"] == 2


def test_difference_of_utility(usual):
    summary = summaries.fig5(usual, 1.5)
    assert set(summary["epsilon"]) == {1.5}
    assert (summary["extreme"] == np.maximum(-summary["smallest"], summary["largest"])).all()
    assert summary["positive"].between(0, 1).all()


def test_table_2(table):
    summary = summaries.table2(table, 1.5)
    chosen = select(summary, size="3 x 2", mechanism="polyopt")
    assert chosen["beta"].tolist() == [0.0005, 0.05]
    assert chosen["change"].iloc[1] == 0
    assert chosen["change"].iloc[0] < 0
    assert (summary.loc[summary["mechanism"] == "srr", "change"] == 0).all()
    texts = summaries.table2_texts(select(summary, mechanism=["srr", "polyopt"]))
    assert texts.columns.tolist() == ["size", "mechanism", "beta = 0.05", "beta = 0.0005", "change"]
    assert texts["mechanism"].tolist() == ["PolyOpt", "SRR"] * 2
    assert texts["change"].tolist()[1] == "+0.00%"
    source = latex(texts)
    assert source.count(r"\\" + "\n") == 5
    assert r"2 $\times$ 3 & PolyOpt & 0." in source
    assert r"$\beta$ = 0.0005" in source
    assert r"\%" in source


def test_table_2_counts_instances_that_all_levels_share(table):
    fewer = table[~((table["beta"] == 0.05) & (table["instance"] == "005"))]
    assert set(summaries.table2(fewer, 1.5)["instances"]) == {5}


def test_gain(usual):
    summary = summaries.gain(usual)
    assert (summary["gain"] >= -1e-6).all()
    assert summary["closed"].dropna().between(-1e-6, 1 + 1e-6).all()
    assert (summary["polyopt_distinct"] <= summary["nr"] + 1e-9).all()
    assert (summary["low"] <= summary["high"]).all()


def test_mean_orderings_compare_equal_instances(usual):
    ranks = summaries.mean_orderings(usual)
    assert ranks["size"].tolist() == ["2 x 3", "2 x 3", "3 x 2", "3 x 2"]
    assert (ranks["nr_leads"] == "yes").all()
    small = select(usual, size="2 x 3")
    part = small[(small["mechanism"] != "polyopt") | (small["instance"] == "000")]
    found = summaries.mean_orderings(part)
    assert set(found["instances"]) == {1}
    assert (
        found["ranking"].tolist()
        == summaries.mean_orderings(select(small, instance="000"))["ranking"].tolist()
    )


# Figures


def test_figures(usual, tmp_path):
    plotted = {
        "fig3": figures.fig3(summaries.fig3(usual)),
        "fig4": figures.fig4(summaries.fig4(usual)),
        "fig5": figures.fig5(usual, 1.5),
        "gain": figures.gain(summaries.gain(usual)),
    }
    for name in ("fig3", "fig4", "fig5"):
        titles = [ax.get_title(loc="left") for ax in plotted[name].axes]
        assert titles == ["(a) 2 × 3", "(b) 3 × 2"]
    ax = plotted["fig3"].axes[0]
    means = summaries.fig3(usual).query("size == '2 x 3' and mechanism == 'nr'")["mean"]
    line = next(line for line in ax.lines if line.get_label() == MECHANISMS["nr"].label)
    np.testing.assert_array_equal(line.get_ydata(), means)
    assert plotted["fig4"].axes[0].lines[0].get_ydata()[0] == 1.0
    for name, figure in plotted.items():
        save(figure, tmp_path / f"{name}.png", dpi=50)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_means_over_fewer_tables_than_those_of_polyopt_are_not_plotted(usual):
    fewer = (usual["mechanism"] == "nr") & (usual["instance"] != "000")
    plotted = figures.fig3(summaries.fig3(usual[~fewer]))
    labels = [{line.get_label() for line in ax.lines} for ax in plotted.axes]
    assert usual[fewer].size > 0
    assert all(MECHANISMS["nr"].label not in found for found in labels)
    assert all(MECHANISMS["polyopt"].label in found for found in labels)


def test_figures_are_equal_byte_for_byte(usual, tmp_path):
    for name in ("one", "two"):
        save(figures.fig5(usual, 1.5), tmp_path / f"{name}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_figure_shows_one_setting(table):
    with pytest.raises(ValueError, match=r"several values of beta: 0\.0005, 0\.05"):
        figures.fig3(summaries.fig3(table))
    with pytest.raises(ValueError, match="no differences of utility at epsilon = 9"):
        figures.fig5(table, epsilon=9.0)


def test_infinite_leaks_can_be_plotted(usual, tmp_path):
    summary = summaries.fig4(usual)
    summary.loc[summary["mechanism"] == "nr", "high"] = math.inf
    save(figures.fig4(summary), tmp_path / "inf.png", dpi=50)
