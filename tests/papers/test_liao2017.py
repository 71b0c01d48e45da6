"""Tables, figures and statements of liao2017."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.papers.liao2017 import experiments as liao2017
from ldpfrontier.papers.liao2017 import figures
from ldpfrontier.tables import RESULTS
from ldpfrontier.testing.leakage import HypothesisTest

RESOURCE = Path(__file__).parents[1] / "resources" / "liao2017.yaml"
INSTANCES = {instance.name: instance for instance in liao2017.read_instances(RESOURCE)}
PRINTED = [name for name, instance in INSTANCES.items() if instance.table != "ours"]


@pytest.fixture(scope="module")
def sweeps() -> pd.DataFrame:
    shares = [1e-4, 0.01, 0.2]
    return pd.concat(
        liao2017.sweep(
            INSTANCES[name].hypotheses,
            shares,
            instance=name,
            experiment=INSTANCES[name].figure,
            tolerance=1e-5,
        )
        for name in [*PRINTED, "Three letters, pair"]
    )


@pytest.fixture(scope="module")
def comparisons() -> pd.DataFrame:
    return pd.concat(
        liao2017.comparison(INSTANCES[name].hypotheses, (0.001, 0.002, 0.005, 0.01), instance=name)
        for name in PRINTED
    )


def test_tables_one_and_two() -> None:
    table = liao2017.hypotheses_table(list(INSTANCES.values())).set_index("instance")
    assert list(table["table"][:6]) == ["I"] * 4 + ["II"] * 2
    # Table I: pairs 3 and 4 are close to each other, 1 and 2 are not.
    assert (
        table.loc[["Pair 3", "Pair 4"], "between"].max()
        < 0.1
        < table.loc[["Pair 1", "Pair 2"], "between"].min()
    )
    assert table.loc["Pair 1", "from_uniform"] == "0.05 0.45"


def test_sweep(sweeps: pd.DataFrame) -> None:
    RESULTS.conform(sweeps)
    own = sweeps[sweeps["instance"] == "Pair 1"]
    assert set(own["mechanism"]) == {"eit", "optimal_2", "optimal", "identity"}
    optima = sweeps[sweeps["mechanism"].isin(["optimal", "optimal_2"])]
    assert (optima["gap"] <= 1e-5).all()
    assert (optima["status"] == "optimal").all()
    eit = own[(own["mechanism"] == "eit") & (own["metric"] == "relative_entropy")]
    np.testing.assert_allclose(eit["privacy"], eit["epsilon"])
    # A W' of three letters has no 2 x 2 rival, and two outputs.
    wide = sweeps[sweeps["instance"] == "Three letters, pair"]
    assert "optimal_2" not in set(wide["mechanism"])
    assert set(wide.loc[wide["mechanism"] == "eit", "outputs"].dropna()) == {2}


def test_the_curve_stops_where_w_is_no_channel() -> None:
    table = liao2017.sweep(
        INSTANCES["Pair 4"].hypotheses,
        [0.01, 0.5, 0.9],
        instance="p",
        experiment="e",
        w0=[0.99, 0.01],
        order=None,
    )
    eit = table[(table["mechanism"] == "eit") & (table["metric"] == "relative_entropy")]
    assert len(eit) < 3
    assert eit["note"].iloc[-1].startswith("W' is no channel at a larger leakage")


def test_w_is_near_optimal_for_some_pairs_only(comparisons: pd.DataFrame, sweeps: pd.DataFrame) -> None:
    table = liao2017.comparison_table(comparisons).set_index(["instance", "leakage"])
    # The values of the text, over D(p_2 || p_1), to three digits.
    assert table.loc[("Pair 1", 0.001), "eit"] == pytest.approx(0.000313, rel=2e-3)
    assert table.loc[("Pair 1", 0.001), "optimal"] == pytest.approx(0.000404, rel=1e-3)
    assert table.loc[("Pair 4", 0.01), "eit"] == pytest.approx(0.00328, rel=2e-3)
    # The leakages at which W' and W* are said to agree.
    assert table.loc[("Pair 1", 0.005), "share_of_2"] == pytest.approx(0.776, abs=1e-3)
    assert table.loc[("Pair 4", 0.001), "share_of_2"] == pytest.approx(0.410, abs=1e-3)
    assert table.loc[("Triple 2", 0.002), "share_of_2"] == pytest.approx(0.637, abs=1e-3)
    # An exhaustive search in steps of 0.01 sees what the paper saw; another w_0 sees nearly all.
    assert table.loc[("Pair 1", 0.005), "grid"] == pytest.approx(
        table.loc[("Pair 1", 0.005), "eit"], rel=0.01
    )
    assert (table["eit_w0"] >= 0.985 * table["optimal"]).all()
    for name in ("Pair 2", "Pair 3", "Triple 1"):
        assert table.loc[name, "share_of_any"].min() > 0.998
    checks = liao2017.figure_checks(sweeps, comparisons).set_index(["instance", "metric"])["value"]
    assert checks["Pair 1", "first_share_of_any"] == pytest.approx(0.776, abs=1e-3)
    assert checks["Pair 2", "leakage_ratio"] == pytest.approx(0.19, rel=1e-3)
    assert checks["Pair 4", "leakage_ratio"] == pytest.approx(1.0, rel=1e-3)


def test_theorems() -> None:
    table = liao2017.theorem_checks(seed=1, instances=1)
    worst = table.groupby(["mechanism", "metric"])["value"].max()
    assert worst["Li-T1", "sdp"] < 1e-6
    assert worst["Li-T1", "solver"] < 1e-5
    assert worst["Li-T1", "rank"] == 1
    assert worst["Li-T3", "construction"] < 1e-9
    assert worst["Li-T3", "closed_form"] < 1e-6
    assert worst["Li-T3", "excess"] < 1e-9
    assert worst["Li-T3", "outputs"] <= 1
    lemma = table[table["mechanism"] == "Li-L2"].sort_values("instance")["value"].to_numpy()
    assert (np.diff(lemma) < 0).all() or lemma[-1] < 1e-3


def test_at_leakage_and_grid_search() -> None:
    test = HypothesisTest(INSTANCES["Pair 1"].hypotheses)
    channel = liao2017.grid_search(test, 0.05, 50)
    assert test.leakage(channel).max() <= 0.05
    np.testing.assert_allclose(channel.matrix * 50, np.round(channel.matrix * 50), atol=1e-9)


def test_figures(sweeps: pd.DataFrame) -> None:
    example = liao2017.perturbation([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]], 0.02, [0.4, 0.3, 0.3])
    assert len(figures.fig1(example).axes) == 2
    assert len(figures.utilities(sweeps, ["Pair 1", "Pair 2", "Pair 3", "Pair 4"]).axes) == 8
    assert len(figures.utilities(sweeps, ["Triple 1", "Triple 2"]).axes) == 2
    assert len(figures.shares(sweeps).axes) == 2


def test_errors(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("- {name: a, figure: b, hypotheses: [[1.0, 0.0]]}\n")
    with pytest.raises(ValueError, match=r"Entry 1 of .* lacks table"):
        liao2017.read_instances(bad)
    bad.write_text("- {name: a, figure: b, table: I, hypotheses: [[0.5, 0.4], [1.0, 0.0]]}\n")
    with pytest.raises(ValueError, match="Hypothesis 1 sums to"):
        liao2017.read_instances(bad)
    with pytest.raises(ValueError, match="every share of the entropy must be positive"):
        liao2017.sweep(INSTANCES["Pair 1"].hypotheses, [0.0], instance="a", experiment="b")
    with pytest.raises(ValueError, match="must be positive and finite"):
        liao2017.sweep([[0.5, 0.5], [0.5, 0.5]], [0.1], instance="a", experiment="b")
