"""The synthetic study: draws, rows and their certificates, degenerate tables, summaries, figures."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.channel import Channel
from ldpfrontier.independent_reporting import independent_reporting
from ldpfrontier.information import mutual_information
from ldpfrontier.optimal.components import ConditionalInformation, optimal_reporting
from ldpfrontier.optimal.staircase import Staircase, optimal_ldp
from ldpfrontier.papers.lopuhaa2024 import figures
from ldpfrontier.papers.lopuhaa2024 import synthetic as study
from ldpfrontier.plotting import MECHANISMS, save
from ldpfrontier.privacy import ldp_epsilon, rldp_epsilon
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.tables import MEASURED, RESULTS, SKIPPED, TableError

SEED = 7
EPSILONS = [0.3, 1.5]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Two sizes at two significance levels."""
    sweeps = [
        study.synthetic_sweep(shape, range(6), EPSILONS, beta=beta, seed=SEED)
        for shape in ((2, 3), (3, 2))
        for beta in (0.05, 0.0005)
    ]
    return RESULTS.conform(pd.concat(sweeps))


@pytest.fixture(scope="module")
def usual(table) -> pd.DataFrame:
    return table[table["experiment"] == study.experiment_name(0.05, 2)]


def use_counts(monkeypatch, truth, counts) -> None:
    truth, counts = np.array(truth, dtype=float), np.array(counts, dtype=float)
    monkeypatch.setattr(study, "draw", lambda *_, **__: (truth, counts))


# Draws and rows


def test_draws_depend_on_shape_number_and_seed_only():
    truth, counts = study.draw((2, 5), 3, seed=SEED)
    assert counts.sum() == 32561
    assert truth.sum() == pytest.approx(1.0)
    assert np.array_equal(study.draw((2, 5), 3, seed=SEED)[1], counts)
    for shape, number, seed in (((5, 2), 3, SEED), ((2, 5), 4, SEED), ((2, 5), 3, SEED + 1)):
        assert not np.array_equal(study.draw(shape, number, seed=seed)[1].ravel(), counts.ravel())
    # Means of the Jeffreys prior: 1/a, with variance (a - 1) / (a^2 (a/2 + 1)).
    drawn = np.array([study.draw((2, 2), i, seed=SEED)[0].ravel() for i in range(400)])
    np.testing.assert_allclose(drawn.mean(axis=0), 0.25, atol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), 3 / 16 / 3, atol=0.015)


def test_results_do_not_depend_on_chunks():
    settings = {"mechanisms": ["polyopt", "nr", "ir"], "seed": SEED}
    whole = study.synthetic_sweep((2, 3), range(3), EPSILONS, **settings)
    lines: list[str] = []
    parts = [
        study.synthetic_sweep((2, 3), [i], [epsilon], progress=lines.append, **settings)
        for i in (2, 0, 1)
        for epsilon in EPSILONS[::-1]
    ]
    pd.testing.assert_frame_equal(RESULTS.conform(pd.concat(parts)), whole)
    assert len(lines) == 6


def test_rows(usual):
    assert len(usual) == 2 * 6 * len(EPSILONS) * len(study.MECHANISMS) * 4
    certified = usual[usual["status"] != MEASURED]
    assert (certified["value"] <= certified["upper_bound"]).all()
    assert (certified["privacy"] <= certified["epsilon"] + 1e-9).all()
    assert usual["value"].notna().all()


def test_orders_that_must_hold_in_every_instance(usual):
    nmi = usual[usual["metric"] == "nmi"].pivot_table(
        index=["instance", "epsilon"], columns="mechanism", values="value"
    )
    slack = 1 + 1e-6
    for less, more in (
        ("polyopt", "polyopt_distinct"),
        ("polyopt_distinct", "nr"),
        ("ir", "ir_tight"),
        ("ir", "ir_optimal"),
        ("srr", "nr"),
        ("ir_optimal", "nr"),
    ):
        assert (nmi[less] <= nmi[more] * slack).all(), (less, more)


def test_realized_values_against_their_definitions(usual):
    truth, counts = study.draw((2, 3), 1, seed=SEED)
    ball = RenyiBall.confidence(counts)
    channel = independent_reporting(ball, 1.5).channel
    rows = usual[
        (usual["instance"] == "2 x 3, 001") & (usual["mechanism"] == "ir") & (usual["epsilon"] == 1.5)
    ].set_index("metric")
    Q = channel.matrix.reshape(2, 3, -1)
    seen = np.einsum("su,suy->sy", truth / truth.sum(axis=1, keepdims=True), Q)
    leak = np.abs(np.log(seen[0]) - np.log(seen[1])).max()
    assert rows.loc["realized_epsilon", "value"] == pytest.approx(leak, rel=1e-12)
    value, true = mutual_information(ball.centre, channel), mutual_information(truth, channel)
    assert rows.loc["utility_difference", "value"] == pytest.approx((value - true) / value, rel=1e-9)
    note = study.COVERED if ball.contains(truth) else study.MISSED
    assert rows.loc["realized_epsilon", "note"] == note


def test_a_leak_of_a_covered_truth_is_an_error(monkeypatch):
    monkeypatch.setattr(study, "rldp_epsilon", lambda *_: 0.4)
    monkeypatch.setattr(RenyiBall, "contains", lambda *_, **__: True)
    with pytest.raises(TableError, match=r"srr leaks 0\.4 under P\* in 2 x 3, 000.*limit is 0\.3"):
        study.synthetic_sweep((2, 3), [0], [0.3], mechanisms=["srr"], seed=SEED)


def test_a_failing_solve_names_its_instance(monkeypatch):
    def fail(*_):
        raise ArithmeticError("The certificate fails.")

    monkeypatch.setattr(study, "evaluate", fail)
    with pytest.raises(ArithmeticError) as caught:
        study.synthetic_sweep((2, 3), [4], [0.3], mechanisms=["polyopt"], seed=SEED)
    assert caught.value.__notes__ == ["In 2 x 3, 004 with seed 7: polyopt at epsilon 0.3."]


# Degenerate tables


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_one_value_of_a_kind(shape):
    found = study.synthetic_sweep(shape, [0], [0.5, 4.0], seed=SEED)
    nmi = found[found["metric"] == "nmi"].set_index(["mechanism", "epsilon"])["value"]
    if shape[0] == 1 and shape[1] > 1:
        # Nothing to hide: everything is told.
        assert nmi["nr", 0.5] == pytest.approx(1.0)
        assert nmi["polyopt_distinct", 0.5] == pytest.approx(1.0)
        assert nmi["ir_tight", 0.5] == pytest.approx(1.0)
    if shape == (4, 1):
        # RLDP is LDP, whatever F is.
        assert nmi["polyopt", 4.0] == pytest.approx(nmi["nr", 4.0], rel=1e-6)
    if shape == (1, 1):
        assert (nmi == 0).all()
        assert (found.loc[found["metric"] != "nmi", "value"] == 0).all()


def test_zero_cells_and_an_empty_group(monkeypatch):
    truth = [[0.2, 0.1, 0.1], [1e-9, 1e-9, 1e-9], [0.3, 0.3 - 3e-9 - 1e-4, 1e-4]]
    use_counts(monkeypatch, truth, [[200, 100, 100], [0, 0, 0], [300, 300, 0]])
    found = study.synthetic_sweep((3, 3), [0], [0.3, 1.5], seed=SEED)
    certified = found[found["status"] != MEASURED]
    assert set(certified["status"]) <= {"optimal", "bounded", "closed form"}
    # The robust mechanisms are private for whatever the empty group is under P*.
    realized = found[(found["metric"] == "realized_epsilon") & (found["mechanism"] != "nr")]
    assert (realized["value"] <= realized["epsilon"] + 1e-9).all()


def test_an_output_that_is_impossible_for_one_group_leaks_without_limit(monkeypatch):
    """NR reveals a u that P-hat gives to one s with certainty; P* may never give it to the other s."""
    use_counts(monkeypatch, [[0.5, 0.0], [0.25, 0.25]], [[50, 3], [20, 27]])
    found = study.synthetic_sweep((2, 2), [0, 1], [0.5], mechanisms=["nr", "srr"], seed=SEED)
    leaks = found[found["metric"] == "realized_epsilon"].set_index(["mechanism", "instance"])["value"]
    assert np.isinf(leaks["nr"]).all()
    assert np.isfinite(leaks["srr"]).all()
    summary = study.privacy_summary(found).set_index("mechanism")
    assert summary.loc["nr", ["low", "median", "high", "largest"]].tolist() == [math.inf] * 4
    assert summary.loc["nr", "infinite"] == 2
    assert summary.loc["srr", "kept"] == 2


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 5.0])
def test_too_few_records_for_the_ball(order):
    """With one record F is nearly everything, at order 1/2 everything; what is left is private throughout."""
    found = study.synthetic_sweep((2, 2), [0, 1], [1.0], records=1, order=order, seed=SEED)
    certified = found[found["metric"] == "nmi"]
    # One record: P-hat sits on one cell, and H(X) is 0.
    assert (certified["value"] == 0).all()
    few = study.synthetic_sweep((2, 2), [0, 1], [1.0], records=4, order=order, seed=SEED)
    few = few[(few["metric"] == "realized_epsilon") & (few["mechanism"] != "nr")]
    assert few["value"].notna().all()


@pytest.mark.parametrize("order", [0.5, 1.0, 5.0])
def test_other_orders(order):
    found = study.synthetic_sweep((2, 3), [0], [0.3, 1.5], order=order, seed=SEED)
    assert set(found["experiment"]) == {study.experiment_name(0.05, order)}
    summary = study.nmi_summary(found)
    assert set(summary["order"]) == {order}


def test_what_is_intractable_is_skipped():
    found = study.synthetic_sweep((2, 21), [0], [1.0], mechanisms=["polyopt_distinct", "srr"], seed=SEED)
    skipped = found[found["mechanism"] == "polyopt_distinct"]
    assert (skipped["status"] == SKIPPED).all()
    assert skipped["note"].str.contains("at most 20 are supported").all()
    assert set(skipped["metric"]) == {"mutual_information", "nmi"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mechanisms": ["rappor"]}, "'rappor'; allowed are polyopt"),
        ({"records": 0}, "number of records is 0"),
        ({"concentration": 0.0}, "concentration is 0.0"),
        ({"beta": 1.5}, "beta is 1.5"),
        ({"order": -1.0}, "order of the ball is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"shape": (0, 3)}, r"shape is \(0, 3\)"),
    ],
)
def test_errors_are_sentences(change, sentence):
    settings = {"shape": (2, 2), "instances": [0], "epsilons": [1.0], "seed": SEED, **change}
    with pytest.raises(ValueError, match=sentence):
        study.synthetic_sweep(**settings)


# Independent reporting with optimal components


def test_conditional_information():
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    joint[1] = 0.0
    joint /= joint.sum()
    utility = ConditionalInformation(joint)
    assert utility.prior == pytest.approx(joint.sum(axis=0))
    found = optimal_ldp(utility, 1.0)
    channel = found.channel
    weights = joint.sum(axis=1)
    expected = sum(
        w * mutual_information(row / w, channel) for w, row in zip(weights, joint, strict=True) if w
    )
    assert utility(channel) == pytest.approx(expected)
    # A column is worth the same by its pattern, by its vector, and in the channel.
    columns, weight = utility.columns(channel.matrix.T), utility.prior @ channel.matrix
    assert weight @ columns.values == pytest.approx(expected, rel=1e-12)  # noqa: PD011
    z, values = utility.patterns(1.0)
    vectors = np.where(np.arange(16)[:, None] >> np.arange(4) & 1, 1.0, math.exp(-1.0))
    np.testing.assert_allclose(vectors @ utility.prior, z)
    np.testing.assert_allclose(utility.columns(vectors).values, values, atol=1e-14)
    assert found.gap < 1e-9
    assert Staircase(utility, 1.0).bound(np.zeros(4)) >= found.value


@pytest.mark.parametrize("shape", [(2, 5), (5, 3)])
def test_optimal_reporting(shape):
    _, counts = study.draw(shape, 0, seed=SEED)
    ball = RenyiBall.confidence(counts)
    for epsilon in (0.1, 1.0, 4.0):
        report, plain = optimal_reporting(ball, epsilon), independent_reporting(ball, epsilon)
        assert report.information >= plain.information - 1e-12
        assert report.information == pytest.approx(mutual_information(ball.centre, report.channel))
        assert report.epsilon_1 + report.epsilon_2 == pytest.approx(epsilon)
        assert ball.worst_case_epsilon(report.channel) <= epsilon + 1e-9
        assert ldp_epsilon(report.channel) <= report.epsilon_1 + report.delta_2 + 1e-9
    assert optimal_reporting(ball, 0.1).information > 1.1 * independent_reporting(ball, 0.1).information
    assert optimal_reporting(ball, 0.0).information == 0


# Summaries


def test_quantile():
    values = [3.0, 1.0, 2.0, 10.0]
    assert study.quantile(values, 0.25) == np.quantile(values, 0.25)
    assert study.quantile([1.0, math.inf, 0.0], 0.5) == 1.0
    assert study.quantile([1.0, math.inf], 0.25) == math.inf
    assert study.quantile([math.inf] * 3, 0.25) == math.inf


def test_nmi_summary(usual):
    summary = study.nmi_summary(usual)
    assert len(summary) == 2 * len(study.MECHANISMS) * len(EPSILONS)
    row = summary[
        (summary["size"] == "2 x 3") & (summary["mechanism"] == "nr") & (summary["epsilon"] == 1.5)
    ].iloc[0]
    values = usual[
        usual["instance"].str.startswith("2 x 3")
        & (usual["mechanism"] == "nr")
        & (usual["metric"] == "nmi")
        & (usual["epsilon"] == 1.5)
    ]["value"]
    assert row["instances"] == 6
    assert row["mean"] == pytest.approx(values.mean())
    assert row["low"] == pytest.approx(values.quantile(0.25))
    assert row["standard_error"] == pytest.approx(values.std() / math.sqrt(6))


def test_privacy_summary(usual):
    summary = study.privacy_summary(usual).set_index(["size", "mechanism", "epsilon"])
    robust = summary.drop(index="nr", level="mechanism")
    assert (robust["largest_covered"] <= robust.index.get_level_values("epsilon") + 1e-9).all()
    assert (summary["kept"] <= summary["instances"]).all()
    assert (robust["kept"] >= robust["covered"]).all()
    assert (
        summary.xs("nr", level="mechanism")["largest"] > robust.xs("polyopt", level="mechanism")["largest"]
    ).all()


def test_difference_summary(usual):
    summary = study.difference_summary(usual)
    assert set(summary["epsilon"]) == {1.5}
    assert (summary["extreme"] == np.maximum(-summary["smallest"], summary["largest"])).all()
    assert summary["positive"].between(0, 1).all()


def test_beta_table(table):
    summary = study.beta_summary(table)
    chosen = summary[(summary["size"] == "3 x 2") & (summary["mechanism"] == "polyopt")]
    assert chosen["beta"].tolist() == [0.0005, 0.05]
    assert chosen["change"].iloc[1] == 0
    assert chosen["change"].iloc[0] < 0
    assert (summary.loc[summary["mechanism"] == "srr", "change"] == 0).all()
    texts = study.beta_texts(summary[summary["mechanism"].isin(["srr", "polyopt"])])
    assert texts.columns.tolist() == ["size", "mechanism", "beta = 0.05", "beta = 0.0005", "change"]
    assert texts["mechanism"].tolist() == ["PolyOpt", "SRR"] * 2
    assert texts["change"].tolist()[1] == "+0.00%"
    source = study.latex(texts)
    assert source.count(r"\\" + "\n") == 5
    assert r"2 $\times$ 3 & PolyOpt & 0." in source
    assert r"$\beta$ = 0.0005" in source
    assert r"\%" in source


def test_beta_table_counts_instances_that_all_levels_share(table):
    fewer = table[
        ~((table["experiment"] == "synthetic (beta 0.05, order 2)") & table["instance"].str.endswith("5"))
    ]
    assert set(study.beta_summary(fewer)["instances"]) == {5}


def test_gain_summary(usual):
    summary = study.gain_summary(usual)
    assert (summary["gain"] >= -1e-6).all()
    assert summary["closed"].dropna().between(-1e-6, 1 + 1e-6).all()
    assert (summary["polyopt_distinct"] <= summary["nr"] + 1e-9).all()
    assert (summary["low"] <= summary["high"]).all()


def test_mean_orderings_compare_equal_instances(usual):
    ranks = study.mean_orderings(usual)
    assert ranks["instance"].tolist() == ["2 x 3", "2 x 3", "3 x 2", "3 x 2"]
    assert ranks["nr_leads"].all()
    part = usual[(usual["mechanism"] != "polyopt") | (usual["instance"] == "2 x 3, 000")]
    one = usual[usual["instance"] == "2 x 3, 000"]
    found = study.mean_orderings(part[part["instance"].str.startswith("2 x 3")])
    assert found["order"].tolist() == study.mean_orderings(one)["order"].tolist()


def test_summaries_refuse_other_experiments(usual):
    with pytest.raises(ValueError, match="experiment is 'fig2'"):
        study.nmi_summary(usual.assign(experiment="fig2"))


# Figures


def test_figures(usual, tmp_path):
    drawn = {
        "fig3": figures.fig3(study.nmi_summary(usual)),
        "fig4": figures.fig4(study.privacy_summary(usual)),
        "fig5": figures.fig5(usual),
        "gain": figures.gain(study.gain_summary(usual)),
    }
    for name in ("fig3", "fig4", "fig5"):
        titles = [ax.get_title(loc="left") for ax in drawn[name].axes]
        assert titles == ["(a) 2 × 3", "(b) 3 × 2"]
    ax = drawn["fig3"].axes[0]
    means = study.nmi_summary(usual).query("size == '2 x 3' and mechanism == 'nr'")["mean"]
    line = next(line for line in ax.lines if line.get_label() == MECHANISMS["nr"].label)
    np.testing.assert_array_equal(line.get_ydata(), means)
    assert drawn["fig4"].axes[0].lines[0].get_ydata()[0] == 1.0
    for name, figure in drawn.items():
        save(figure, tmp_path / f"{name}.png", dpi=50)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_means_over_fewer_tables_than_those_of_polyopt_are_not_drawn(usual):
    fewer = (usual["mechanism"] == "nr") & (usual["instance"] != usual["instance"].iloc[0])
    drawn = figures.fig3(study.nmi_summary(usual[~fewer]))
    labels = [{line.get_label() for line in ax.lines} for ax in drawn.axes]
    assert usual[fewer].size > 0
    assert all(MECHANISMS["nr"].label not in found for found in labels)
    assert all(MECHANISMS["polyopt"].label in found for found in labels)


def test_figures_are_equal_byte_for_byte(usual, tmp_path):
    for name in ("one", "two"):
        save(figures.fig5(usual), tmp_path / f"{name}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_figure_shows_one_setting(table):
    with pytest.raises(ValueError, match=r"several values of beta: 0\.0005, 0\.05"):
        figures.fig3(study.nmi_summary(table))
    with pytest.raises(ValueError, match="no differences of utility at epsilon = 9"):
        figures.fig5(table, epsilon=9.0)


def test_infinite_leaks_can_be_drawn(usual, tmp_path):
    summary = study.privacy_summary(usual)
    summary.loc[summary["mechanism"] == "nr", "high"] = math.inf
    save(figures.fig4(summary), tmp_path / "inf.png", dpi=50)


def test_identity_is_not_private():
    """The measure of the study itself: the identity leaks everything."""
    assert rldp_epsilon(Channel(np.eye(4)), [[0.5, 0.5], [0.5, 0.5]]) == math.inf
