"""Tables, figures, statements and claims of liao2017."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.model.channel import Channel
from papers.liao2017 import figures, plan, summaries
from papers.liao2017.experiments import comparison, perturbation, sweep
from papers.liao2017.hypotheses import HYPOTHESES, hypotheses
from papers.liao2017.random_hypotheses import random_hypotheses
from papers.liao2017.search import Search, grid
from papers.liao2017.theorems import theorems
from reproduction.ledger.claims import (
    ANOTHER_READING,
    NOT_REPRODUCED,
    REPRODUCED,
    claims_of,
    decide,
)
from reproduction.planning.paper import papers
from reproduction.results.tables import CHECKS, RESULTS, Check, select

ROOT = Path(__file__).parents[4]
CONFIGURATION = yaml.safe_load((ROOT / "config/config.yaml").read_text())
PAPER = papers()["liao2017"]
LEDGER = {claim.id: claim for claim in claims_of(PAPER)}
INSTANCES = {entry["name"]: entry for entry in plan.read_instances()}
PRINTED = [name for name, entry in INSTANCES.items() if entry["table"] != "ours"]
STATED = PAPER.tables["statements"].arguments["stated"]


@pytest.fixture(scope="module")
def sweeps() -> pd.DataFrame:
    shares = [1e-4, 0.01, 0.2]
    return pd.concat(
        sweep(
            INSTANCES[name]["hypotheses"],
            shares,
            instance=name,
            experiment=INSTANCES[name]["figure"],
            tolerance=1e-5,
        )
        for name in [*PRINTED, "Three letters, pair"]
    )


@pytest.fixture(scope="module")
def comparisons() -> pd.DataFrame:
    return pd.concat(
        comparison(INSTANCES[name]["hypotheses"], (0.001, 0.002, 0.005, 0.01, 0.02, 0.045), instance=name)
        for name in PRINTED
    )


@pytest.fixture(scope="module")
def searched(sweeps: pd.DataFrame, comparisons: pd.DataFrame) -> pd.DataFrame:
    entries = [INSTANCES[name] for name in (*PRINTED, "Three letters, pair")]
    return grid(sweeps, comparisons, entries, [100, 500])


@pytest.fixture(scope="module")
def tables(
    sweeps: pd.DataFrame, comparisons: pd.DataFrame, searched: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    return {
        "sweeps": sweeps,
        "comparison": comparisons,
        "statements": summaries.statements(sweeps, comparisons, stated=STATED),
        "searches": summaries.searches(sweeps, comparisons, searched, **PAPER.tables["searches"].arguments),
        "high_privacy": summaries.high_privacy(sweeps),
        "shares": summaries.shares(comparisons),
    }


def test_tables_one_and_two() -> None:
    table = hypotheses(list(INSTANCES.values()))
    HYPOTHESES.conform(table)
    texts = summaries.hypotheses_texts(table).set_index("instance")
    assert list(texts["table"][:6]) == ["I"] * 4 + ["II"] * 2
    # Table I: pairs 3 and 4 are close to each other, 1 and 2 are not.
    between = select(table, hypothesis=2).set_index("instance")["from_first"]
    assert between[["Pair 3", "Pair 4"]].max() < 0.1 < between[["Pair 1", "Pair 2"]].min()
    assert texts.loc["Pair 1", "distance from uniform"] == "0.05, 0.45"
    assert texts.loc["Triple 1", "hypotheses"] == "(0.50, 0.50) (0.45, 0.55) (0.55, 0.45)"


def test_sweep(sweeps: pd.DataFrame) -> None:
    RESULTS.conform(sweeps)
    own = select(sweeps, instance="Pair 1")
    assert set(own["mechanism"]) == {"eit", "optimal_2", "optimal", "identity"}
    optima = select(sweeps, mechanism=["optimal", "optimal_2"])
    assert (optima["gap"] <= 1e-5).all()
    assert (optima["status"] == "optimal").all()
    assert optima["certified"].all()
    eit = select(own, mechanism="eit", metric="relative_entropy")
    np.testing.assert_allclose(eit["privacy"], eit["epsilon"])
    # A W' of three letters has no 2 x 2 rival, and two outputs.
    wide = select(sweeps, instance="Three letters, pair")
    assert "optimal_2" not in set(wide["mechanism"])
    assert set(select(wide, mechanism="eit")["outputs"].dropna()) == {2}
    assert set(wide["size"]) == {"2 x 3"}


def test_the_curve_stops_where_w_is_not_a_channel() -> None:
    table = sweep(
        INSTANCES["Pair 4"]["hypotheses"],
        [0.01, 0.5, 0.9],
        instance="p",
        experiment="e",
        w0=[0.99, 0.01],
        order=None,
    )
    eit = select(table, mechanism="eit", metric="relative_entropy")
    assert len(eit) < 3
    assert eit["note"].iloc[-1].startswith("W' is not a channel at a larger leakage")


def test_w_is_near_optimal_for_some_pairs_only(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["shares"].set_index(["instance", "leakage"])
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
    high = tables["high_privacy"].set_index("instance")
    assert high.loc["Pair 1", "share_of_any"] == pytest.approx(0.776, abs=1e-3)
    assert high.loc["Pair 2", "leakage_ratio"] == pytest.approx(0.19, rel=1e-3)
    assert high.loc["Pair 4", "leakage_ratio"] == pytest.approx(1.0, rel=1e-3)


def test_verdicts(tables: dict[str, pd.DataFrame]) -> None:
    verdicts = {name: decide(LEDGER[name], tables) for name in LEDGER if name.startswith("Li-F")}
    assert {name: found.verdict for name, found in verdicts.items()} == {
        "Li-F2a": NOT_REPRODUCED,
        "Li-F2b": REPRODUCED,
        "Li-F2c": REPRODUCED,
        "Li-F2d": NOT_REPRODUCED,
        "Li-F3": NOT_REPRODUCED,
    }
    assert "Pair 1, up to 0.5% of min H: at least 77.6%" in verdicts["Li-F2a"].measured
    assert "With the best $w_0$ instead of (1/2, 1/2) W' has" in verdicts["Li-F2a"].explanation
    assert "One in steps of 1/100 finds better channels than W', too" in verdicts["Li-F3"].explanation
    assert "For Triple 2 the certified optimum has more" in verdicts["Li-F3"].explanation


def share_tables(two: float, any_: float, share: float = 0.95) -> dict[str, pd.DataFrame]:
    rows = [
        Check("liao2017", "Li-F2b", "Pair 2", quantity, value, ">=", share, note="over the whole range")
        for quantity, value in ((summaries.OF_TWO, two), (summaries.OF_ANY, any_))
    ]
    high = dict.fromkeys(summaries.HIGH_PRIVACY.columns, 1.0) | {"instance": "Pair 2", "share_of_any": any_}
    return {
        "statements": CHECKS.table(rows),
        "searches": summaries.SEARCHES.table([]),
        "high_privacy": summaries.HIGH_PRIVACY.table([high]),
        "shares": summaries.SHARES.table([]),
    }


def test_shares_of_the_optimum() -> None:
    claim = LEDGER["Li-F2b"]
    assert decide(claim, share_tables(0.97, 0.97)).verdict == REPRODUCED
    assert decide(claim, share_tables(0.97, 0.9)).verdict == ANOTHER_READING
    assert decide(claim, share_tables(0.8, 0.8)).verdict == NOT_REPRODUCED
    assert decide(claim, share_tables(0.97, 0.97, share=0.99)).verdict == NOT_REPRODUCED


def test_theorems() -> None:
    table = theorems(random_hypotheses(seed=1, instances=1))
    CHECKS.conform(table)
    worst = table.groupby(["claim", "quantity"])["measured"].max()
    assert worst["Li-T1", "relative distance from the SDP"] < 1e-6
    assert worst["Li-T1", "relative distance from the direct program"] < 1e-5
    assert worst["Li-T1", "rank"] == 1
    assert worst["Li-T3", "relative distance of the construction's value from the SDP's"] < 1e-9
    assert worst["Li-T3", "relative distance of (44) from the SDP"] < 1e-6
    assert worst["Li-T3", "relative leakage above the limit"] < 1e-9
    assert worst["Li-T3", "outputs over M + 1"] <= 1
    assert table["holds"].all()
    assert set(select(table, claim="Li-L2")["at"]) == {0.01, 0.001}
    for name in ("Li-T1", "Li-T3", "Li-L2"):
        assert decide(LEDGER[name], {"theorems": table}).verdict == REPRODUCED


def test_search_is_the_best_of_all_channels_of_its_grid() -> None:
    tested = Hypotheses(INSTANCES["Triple 2"]["hypotheses"])
    steps = 20
    search = Search(tested, steps)
    entries = np.linspace(0.0, 1.0, steps + 1)
    every = [Channel([[a, 1 - a], [b, 1 - b]]) for a in entries for b in entries]
    for epsilon in (0.0, 1e-4, 0.003, 0.05, 0.3):
        best = max(tested.utility(c) for c in every if tested.leakage(c).max() <= epsilon)
        channel = search(epsilon)
        assert tested.leakage(channel).max() <= epsilon
        assert tested.utility(channel) == pytest.approx(best, abs=1e-12)
        np.testing.assert_allclose(channel.matrix * steps, np.round(channel.matrix * steps), atol=1e-9)
    with pytest.raises(ValueError, match="The search is over 3 letters in 20 steps; allowed are 2 letters"):
        Search(Hypotheses(INSTANCES["Three letters, pair"]["hypotheses"]), steps)


def test_figures(sweeps: pd.DataFrame, searched: pd.DataFrame) -> None:
    example = perturbation([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]], 0.02, [0.4, 0.3, 0.3])
    assert sorted(set(example["instance"])) == ["001", "002", "003", "w0"]
    assert len(figures.fig1(example).axes) == 2
    pairs = figures.utilities(sweeps, searched, ["Pair 1", "Pair 2"], steps=100, named={})
    assert len(pairs.axes) == 6
    for relative, renyi, shares in np.reshape(pairs.axes, (2, 3)):
        # Both divergences on one scale, and all mechanisms in each.
        assert relative.get_ylim() == renyi.get_ylim()
        assert not shares.get_shared_x_axes().joined(relative, shares)
        assert [len(ax.lines) for ax in (relative, renyi, shares)] == [4, 4, 3]
        # The search ends where the optimum does.
        assert max(line.get_xdata().max() for line in relative.lines) == relative.lines[0].get_xdata().max()
    figure = figures.utilities(
        sweeps, searched, ["Triple 1", "Triple 2"], steps=100, named={"Triple 2": 0.002}
    )
    assert [ax.get_xscale() for ax in figure.axes] == ["linear", "log"] * 2
    # W* twice, W' and the search; their shares; and the leakage that the text names.
    assert [len(ax.lines) for ax in figure.axes] == [4, 3, 4, 4]
    assert len(figures.shares(sweeps, PRINTED).axes) == 2


def test_plan() -> None:
    sweeps = PAPER.tables["sweeps"].part_arguments(CONFIGURATION)
    assert list(sweeps) == ["2_letters", "3_letters", "4_letters"]
    named = {entry["instance"]: entry for job in sweeps.values() for entry in job["instances"]}
    assert list(named) == [entry["name"] for entry in plan.read_instances()]
    assert named["Four letters, triple"]["tolerance"] == 1e-4
    assert named["Triple 1"]["tolerance"] is None
    assert named["Triple 1"]["experiment"] == "fig3a"
    shares = sweeps["2_letters"]["shares"]
    assert (len(shares), shares[0], shares[-1]) == (32, 1e-4, 0.2)
    comparisons = PAPER.tables["comparison"].part_arguments(CONFIGURATION)
    assert list(comparisons) == list(sweeps)


def test_errors(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("- {name: a, figure: b, hypotheses: [[1.0, 0.0]]}\n")
    with pytest.raises(ValueError, match=r"Entry 1 of .* lacks table"):
        plan.read_instances(bad)
    with pytest.raises(ValueError, match="a: Hypothesis 1 sums to"):
        hypotheses([{"name": "a", "table": "I", "hypotheses": [[0.5, 0.4], [1.0, 0.0]]}])
    with pytest.raises(ValueError, match="a has 6 letters; allowed are at most 5"):
        hypotheses([{"name": "a", "table": "I", "hypotheses": [[0.2] * 4 + [0.1] * 2] * 2}])
    with pytest.raises(ValueError, match="every share of the entropy must be positive"):
        sweep(INSTANCES["Pair 1"]["hypotheses"], [0.0], instance="a", experiment="b")
    with pytest.raises(ValueError, match="must be positive and finite"):
        sweep([[0.5, 0.5], [0.5, 0.5]], [0.1], instance="a", experiment="b")
