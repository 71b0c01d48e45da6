"""Several reports of one person: the tables of their levels and designs, and their figure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from beyond.figures import several_reports
from beyond.several_reports import designs, levels
from beyond.several_tables import (
    ADAPTIVE,
    ANYONE,
    CALIBRATED,
    CHOICES,
    INSIDERS,
    ONCE,
    SEVERAL_DESIGNS,
    SEVERAL_LEVELS,
)
from ldpfrontier import OddsRatios, RenyiBall, association_epsilon, mutual_information, optimal_association
from ldpfrontier.model.information import entropy
from reproduction.figure_style import save
from reproduction.results.tables import TableError, select

COUNTS = np.array([[900, 300, 40], [30, 200, 700]])


@pytest.fixture(scope="module")
def told():
    return levels(COUNTS, [0.5], instance="a, b", reports=3, mechanisms=["polyopt", "srr"])


@pytest.fixture(scope="module")
def chosen():
    return designs(COUNTS, [1.0], instance="a, b", reports=[1, 2])


def products(matrix, times):
    """All columns of several ordered reports, one after the other."""
    columns = matrix
    for _ in range(times - 1):
        columns = np.einsum("xy,xz->xyz", columns, matrix).reshape(len(matrix), -1)
    return columns


def test_levels_are_those_of_all_sequences_of_reports(told):
    odds = OddsRatios.confidence(COUNTS)
    best = optimal_association(odds, 0.5)
    rows = select(told, mechanism="association").set_index("reports")
    for number in (1, 2, 3):
        columns = products(best.channel.matrix, number).reshape(2, 3, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.nanmax(np.abs(np.log(columns[0] / columns[1])))
            anyone = np.nanmax(np.log(columns[:, :, None] / columns[::-1, None]))
        # The optimum is found anew: its levels are those that bind.
        assert rows.loc[number, "given_useful"] == pytest.approx(given, rel=1e-4)
        assert rows.loc[number, "anyone"] == pytest.approx(anyone, rel=1e-2)
    # Known weights of U: one attacker among the acquaintances.
    weights = np.array([1.0, 0.3, 1.0]) * COUNTS
    weights = weights / weights.sum(axis=1, keepdims=True)
    seen = np.einsum("su,suy->sy", weights, products(best.channel.matrix, 3).reshape(2, 3, -1))
    assert np.abs(np.log(seen[0] / seen[1])).max() <= rows.loc[3, "acquaintances"] + 1e-6


def test_a_second_report_by_polyopt_rules_a_value_out_and_other_promises_add_up(told):
    wide = told.set_index(["mechanism", "reports"])
    assert wide.loc[("polyopt", 1), "outsiders"] <= 0.5 + 1e-9
    assert wide.loc[("polyopt", 2), "outsiders"] == math.inf
    assert wide.loc[("unconditional", 3), "anyone"] == pytest.approx(1.5)
    # Levels given U add up, and others to within the largest odds ratio.
    insiders = wide.loc[(INSIDERS, 2)]
    assert insiders["given_useful"] <= 1.0 + 1e-6 < insiders["acquaintances"]
    odds = math.log(OddsRatios.over(RenyiBall.confidence(COUNTS)).high.max())
    assert wide.loc[("association_set", 2), "outsiders"] <= 1.0 + odds
    # SRR reports the useful value as it is drawn: two reports tell S nearly as it is, and no more than twice.
    assert wide.loc[("srr", 2), "given_useful"] == pytest.approx(2.0 * wide.loc[("srr", 1), "given_useful"])


def test_designs_keep_their_total_and_their_order(chosen):
    assert set(chosen["choice"]) == set(CHOICES)
    two = select(chosen, reports=2).set_index("choice")
    assert two.loc[CALIBRATED, "level"] == pytest.approx(1.0, rel=1e-3)
    assert two.loc[ADAPTIVE, "epsilon"] == pytest.approx(0.5)
    order = [two.loc[choice, "nmi"] for choice in (ONCE, CALIBRATED, ADAPTIVE, ANYONE)]
    assert order == sorted(order, reverse=True)
    one = select(chosen, reports=1, choice=CALIBRATED)["nmi"].item()
    odds, prior = OddsRatios.confidence(COUNTS), COUNTS / COUNTS.sum()
    best = optimal_association(odds, 1.0).channel
    assert one == pytest.approx(mutual_information(prior, best) / entropy(prior), rel=2e-3)
    assert association_epsilon(best, odds) <= 1.0 + 1e-9


def test_levels_that_do_not_add_up_and_totals_that_are_passed_are_refused(told, chosen):
    for column, value in (("given_useful", 0.1), ("acquaintances", 99.0), ("outsiders", 99.0)):
        false = told.copy()
        false.loc[(false["mechanism"] == "unconditional") & (false["reports"] == 2), column] = value
        with pytest.raises(TableError):
            SEVERAL_LEVELS.conform(false)
    for column, value in (("level", 1.1), ("nmi", 0.99), ("choice", "twice")):
        false = chosen.copy()
        false.loc[false["choice"] == CALIBRATED, column] = value
        with pytest.raises(TableError):
            SEVERAL_DESIGNS.conform(false)


def test_the_figure_shows_both_tables(told, chosen, tmp_path):
    figure = several_reports(told, chosen)
    assert len(figure.axes) == 2
    save(figure, tmp_path / "several.png")
    assert (tmp_path / "several.png").stat().st_size > 10_000
