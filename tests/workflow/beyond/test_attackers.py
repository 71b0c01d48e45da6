"""Attackers whom RLDP does not consider: their levels, and the optima that protect from those who know U."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from beyond import attackers, figures
from beyond.catalogue import UNCONDITIONAL
from beyond.second_level import second_level
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.cones import conditional_cone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises import mechanism
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from reproduction.figure_style import save
from reproduction.results.tables import SKIPPED, TableError, select
from support.mechanisms import measured

COUNTS = np.array([[30, 0, 12], [25, 41, 60]])
EPSILONS = [0.6, 1.5]
LEVELS = [0.0, 0.3, 2.0]
TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return second_level(COUNTS, EPSILONS, LEVELS, instance="a, b", tolerance=TOLERANCE)


@pytest.fixture(scope="module")
def summary(rows) -> pd.DataFrame:
    return attackers.two_levels(rows)


# Optima with a conditional level


def test_every_level_is_there_and_kept(rows):
    optima = select(rows, mechanism="exact", metric="nmi")
    for epsilon in EPSILONS:
        found = select(optima, epsilon=epsilon)
        assert found["conditional_epsilon"].tolist() == sorted([*LEVELS, epsilon, math.inf])
        assert (found["conditional_privacy"] <= found["conditional_epsilon"] + 1e-12).all()
        assert (found["privacy"] <= epsilon + 1e-9).all()
    assert optima["certified"].all()
    assert (optima["gap"] <= TOLERANCE).all()
    others = rows[rows["mechanism"] != "exact"]
    assert set(others["mechanism"]) == {"polyopt", UNCONDITIONAL}
    assert np.isinf(others["conditional_epsilon"]).all()


def test_the_optima_are_those_of_the_library(rows):
    ball = RenyiBall.confidence(COUNTS)
    for level in (0.3, math.inf):
        cone = robust_cone(ball, 0.6) & conditional_cone(COUNTS.shape, min(level, 30.0))
        found = optimal_mechanism(MutualInformation(ball.centre), cone, tolerance=TOLERANCE)
        row = select(rows, mechanism="exact", metric="nmi", epsilon=0.6, conditional_epsilon=level).iloc[0]
        assert row["value"] == pytest.approx(found.value / entropy(ball.centre), rel=2 * TOLERANCE)


def test_a_larger_level_costs_less(summary):
    assert (summary.groupby("epsilon")["nmi"].diff().dropna() >= -1e-12).all()
    assert (summary["nmi"] <= summary["bound"]).all()
    assert (summary["nmi"] <= summary["optimum"] + 1e-12).all()
    assert summary.loc[np.isinf(summary["conditional_epsilon"]), "kept"].tolist() == [1.0, 1.0]
    assert (summary.loc[summary["conditional_epsilon"] == 0.0, "kept"] < 0.95).all()
    # Privacy under every distribution implies both levels at k = epsilon, and costs more.
    same = summary[summary["conditional_epsilon"] == summary["epsilon"]]
    assert (same["unconditional"] < 0.9 * same["nmi"]).all()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"nmi": 0.0}, "below that of a smaller level given U"),
        ({"bound": 1e-6}, "below that of a smaller level given U|above its bound"),
        ({"unconditional": 0.999}, "has less NMI than the unconditional optimum"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(summary, changed, words):
    damaged = summary.copy()
    damaged.loc[len(damaged) - 1, [*changed]] = [*changed.values()]
    with pytest.raises(TableError, match=words):
        attackers.TWO_LEVELS.conform(damaged)


def test_tables_out_of_reach_are_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(mechanism, "LIMITS", replace(mechanism.LIMITS, max_joint_cells=5))
    table = second_level(COUNTS, [1.0], [], instance="a, b", tolerance=0.1)
    optima = select(table, mechanism="exact", metric="nmi")
    assert optima["conditional_epsilon"].tolist() == [1.0, math.inf]
    assert (optima["status"] == SKIPPED).tolist() == [True, False]
    assert "6 inputs; at most 5 are supported" in optima["note"].iloc[0]
    assert attackers.two_levels(table)["conditional_epsilon"].tolist() == [math.inf]


def test_figure_of_two_levels_shows_the_table(summary, tmp_path):
    figure = figures.two_levels(summary)
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "0.3", "0.6", "1.5", "2", "∞"]
    curve = select(summary, epsilon=1.5)
    # What has no level given U stands alone.
    finite = np.isfinite(curve["conditional_epsilon"])
    for part in (finite, ~finite):
        assert any(np.array_equal(line.get_ydata(), curve["nmi"][part]) for line in ax.lines)
    circles = [line for line in ax.lines if line.get_marker() == "o" and line.get_markersize() > 5]
    assert [float(line.get_xdata()[0]) for line in circles] == EPSILONS
    for name in ("polyopt", "unconditional"):
        assert any(np.array_equal(line.get_ydata(), [curve[name].iloc[0]] * 2) for line in ax.lines)
    save(figure, tmp_path / "two.png")


# Levels for different attackers


@pytest.fixture(scope="module")
def levels() -> pd.DataFrame:
    names = ["polyopt", "exact", "nr", "ir", "srr", "grr"]
    return attackers.attackers(
        measured(COUNTS, EPSILONS, instance="a, b", mechanisms=names, tolerance=0.05, max_rounds=20)
    )


def test_rldp_bounds_the_level_over_the_set_alone(levels):
    robust = levels[levels["mechanism"] != "nr"]
    assert (robust["over_set"] <= robust["epsilon"] + 1e-9).all()
    assert (select(levels, mechanism="nr")["over_set"] > select(levels, mechanism="nr")["epsilon"]).all()
    assert (select(levels, mechanism="polyopt")["given_useful"] > 2 * np.array(EPSILONS)).all()
    for name in ("srr", "grr"):
        rows = select(levels, mechanism=name)
        np.testing.assert_allclose(rows["everywhere"], rows["epsilon"], rtol=1e-9)
    assert (levels["given_useful"] <= levels["everywhere"] + 1e-9).all()
    assert (levels["everywhere"] <= levels["any_inputs"] + 1e-9).all()
    # What acquaintances learn is between what insiders and what anyone may learn, and more in intervals.
    order = ["given_useful", "about_useful_known", "about_useful", "everywhere"]
    for less, more in itertools.pairwise(order):
        assert (levels[less] <= levels[more] + 1e-9).all()
    ir = select(levels, mechanism="ir")
    assert (ir["given_useful"] < ir["about_useful_known"]).all()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"about_useful_known": 99.0}, "with known odds ratios above that in intervals"),
        ({"about_useful": 99.0}, "for acquaintances above that under every distribution"),
        ({"about_useful_known": 0.0}, "given U above that for acquaintances with known odds ratios"),
    ],
)
def test_levels_for_acquaintances_that_contradict_others_are_refused(levels, changed, words):
    damaged = levels.assign(given_useful=levels["given_useful"].clip(0.1, 50.0))
    damaged.loc[damaged["mechanism"] == "srr", [*changed]] = [*changed.values()]
    with pytest.raises(TableError, match=words):
        attackers.ATTACKERS.conform(damaged)


def test_levels_that_contradict_each_other_are_refused(levels):
    damaged = levels.assign(everywhere=0.5 * levels["given_useful"].where(levels["given_useful"] < 9, 1.0))
    with pytest.raises(TableError, match="given U above that under every distribution"):
        attackers.ATTACKERS.conform(damaged)
