"""The theorem checks: all hold, and a wrong statement is noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import secret_randomized_response
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024 import theorems
from papers.lopuhaa2024.catalogue import DIMENSIONS, INEQUALITIES, RADIUS, RADIUS_BOUND, RADIUS_PRINTED
from papers.lopuhaa2024.random_tables import theorem_tables

COUNTS = np.array([[7, 10], [26, 57]])


SIZES = {"2 x 2": ((2, 2), 60), "3 x 2": ((3, 2), 900)}


@pytest.mark.parametrize("size", SIZES)
def test_every_statement_holds(size):
    table = theorems.check_theorems(theorem_tables([SIZES[size]], seed=5), [2.0], [0.7])
    table = table[~table["quantity"].str.startswith(RADIUS_PRINTED)]
    assert table["holds"].all(), table[~table["holds"]].to_string()
    claims = {"L-T1", "L-T2", "L-T3", "L-T4", "L-T5", "L-P1", "L-P2", "L-S81a"}
    assert set(table["claim"]) == claims
    table = table[~table["instance"].isin(theorems._FEW_RECORDS)]
    assert set(table["size"]) == {size}
    assert set(table["instance"]) == {f"{SIZES[size][1]} records"}
    # Theorem 4 has no uncertainty set, and so no order.
    assert (table["order"].isna() == (table["claim"] == "L-T4")).all()
    assert (table["order"].dropna() == 2.0).all()
    equal = table[(table["relation"] == "=")]
    np.testing.assert_allclose(equal["measured"], equal["limit"], atol=1e-6)


@pytest.mark.parametrize("order", [0.5, 1.0, 5.0])
def test_projections_of_every_order(order):
    ball = RenyiBall.confidence(COUNTS, order=order)
    rows = list(theorems._projections(ball))
    assert all(row.holds for row in rows)
    assert {row.claim for row in rows} == {"L-T1", "L-P1"}


def test_the_printed_radius_of_proposition_2():
    """It is 2 p too large where the condition holds, and cannot be a distance; elsewhere it is a bound."""
    rows = list(theorems._projections(RenyiBall.confidence(COUNTS)))
    found = {row.quantity.rpartition(" ")[0]: row for row in rows if row.claim == "L-P2"}
    assert not found[RADIUS_PRINTED].holds
    assert found[RADIUS_PRINTED].measured > 2.0 * (1.0 - 7 / 17)
    assert found[RADIUS_PRINTED].measured - found[RADIUS].measured == pytest.approx(2 * 7 / 17)
    assert found[RADIUS].holds
    assert found[RADIUS_BOUND].holds
    assert found[RADIUS_BOUND].measured > found[RADIUS_BOUND].limit


def test_dimensions_of_the_polyhedron():
    for counts in (COUNTS, [[5, 6, 7], [8, 9, 10]]):
        rows = {row.quantity: row for row in theorems._polyhedron(RenyiBall.confidence(counts), 1.0)}
        a = np.size(counts)
        assert rows[DIMENSIONS].measured == a - 1
        assert rows[INEQUALITIES].measured == a**2 + a


def test_the_printed_radii_of_example_2_are_noticed(monkeypatch):
    """log(1 + (e^B - 1)/p_s), which Example 2 uses, is not the radius of the projection."""
    ball = RenyiBall.confidence(COUNTS)
    printed = np.log1p(np.expm1(ball.radius) / ball.sensitive)
    np.testing.assert_allclose(printed, [0.3782, 0.0900], atol=2e-4)
    monkeypatch.setattr(RenyiBall, "projected_radii", printed)
    rows = list(theorems._projections(RenyiBall.confidence(COUNTS)))
    assert not any(row.holds for row in rows if row.claim == "L-T1")


def test_worst_epsilon_dominates_random_members():
    ball = RenyiBall.confidence(COUNTS)
    channel = secret_randomized_response(2, 2, 1.0)
    worst = theorems.worst_epsilons(ball, [channel])[0]
    P = ball.sample(np.random.default_rng(1), 400)
    P = P / P.sum(axis=2, keepdims=True)
    assert rldp_epsilon(channel, P).max() <= worst + 1e-11 <= 1.0


def test_zero_cells_and_an_empty_group():
    for counts in ([[0, 17], [26, 57]], [[0, 0], [26, 57]]):
        ball = RenyiBall.confidence(counts)
        rows = list(theorems._projections(ball))
        assert all(row.holds for row in rows)
        channel = secret_randomized_response(2, 2, 1.0)
        exact = ball.worst_case_epsilon(channel)
        assert theorems.worst_epsilons(ball, [channel])[0] == pytest.approx(exact, abs=1e-5)


def test_telling_all_leaks_without_limit():
    """All of S and U, all of S, and one value of U, which no record of one group has."""
    ball = RenyiBall.confidence(COUNTS)
    for told in (np.eye(4), np.repeat(np.eye(2), 2, axis=0)):
        assert theorems.worst_epsilons(ball, [Channel(told)])[0] == math.inf
    sparse = RenyiBall.confidence([[0, 17], [26, 57]])
    assert theorems.worst_epsilons(sparse, [Channel(np.tile(np.eye(2), (2, 1)))])[0] > 100
    assert theorems.worst_epsilons(ball, [Channel(np.ones((4, 1)))])[0] == pytest.approx(0.0, abs=1e-9)
