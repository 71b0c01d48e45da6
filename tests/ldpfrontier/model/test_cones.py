"""Cones as promises: what is inside, what is refused, and what moves into them."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpfrontier import (
    Channel,
    PolyhedralCone,
    RenyiBall,
    conditional_cone,
    conditional_epsilon,
    ldp_epsilon,
    local_cone,
    polyopt_cone,
    robust_cone,
    unconditional_cone,
    unconditional_epsilon,
)
from ldpfrontier.model.cones import OUTSIDE, Cone, Intersection, check_inside, raised_to_level

BALL = RenyiBall.confidence([[15, 5, 10], [10, 35, 25]])
CONES = {
    "local": local_cone(6, 0.7),
    "conditional": conditional_cone((2, 3), 0.7),
    "unconditional": unconditional_cone((2, 3), 0.7),
    "polyopt": polyopt_cone(BALL.lower_bounds, 0.7),
    "distinct": polyopt_cone(BALL.lower_bounds, 0.7, pairs="distinct"),
    "F": robust_cone(BALL, 0.7),
    "F and conditional": robust_cone(BALL, 0.7) & conditional_cone((2, 3), 0.7),
    "local and own": local_cone(6, 0.7) & PolyhedralCone(np.eye(6)[:1] - 2.0 * np.eye(6)[5:]),
}
each_cone = pytest.mark.parametrize("cone", CONES.values(), ids=CONES)


def violated(cone: Cone, columns: np.ndarray) -> float:
    known = np.broadcast_to(cone.inequalities, (len(columns), *cone.inequalities.shape))
    cuts = np.concatenate([known, cone.separate(columns)], axis=1)
    values = np.einsum("mpx,mx->mp", cuts, columns)
    return float((values / np.einsum("mpx,mx->mp", np.abs(cuts), columns)).max())


@each_cone
@given(seed=st.integers(0, 10**6))
def test_columns_are_pulled_inside_and_the_constant_one_stays(cone, seed):
    columns = np.vstack([np.random.default_rng(seed).gamma(0.4, size=(5, 6)) + 1e-6, np.full((1, 6), 0.3)])
    inside, _ = cone.pull(columns)
    assert (inside >= 0).all()
    assert violated(cone, inside) < 1e-11
    np.testing.assert_allclose(inside[-1] / inside[-1, 0], 1.0, rtol=1e-12)
    again, _ = cone.pull(inside)
    np.testing.assert_allclose(again, inside, rtol=1e-8, atol=1e-12)


@each_cone
def test_the_constant_column_meets_every_inequality(cone):
    assert isinstance(cone, Cone)
    assert (cone.inequalities.sum(axis=1) <= 1e-12).all()
    assert cone.shape[0] * cone.shape[1] == 6
    assert 0 < cone.least_constant_slack <= 1


@pytest.mark.parametrize(
    ("cone", "level"),
    [
        (CONES["local"], ldp_epsilon),
        (CONES["conditional"], lambda channel: conditional_epsilon(channel, (2, 3))),
        (CONES["unconditional"], lambda channel: unconditional_epsilon(channel, (2, 3))),
    ],
    ids=("local", "conditional", "unconditional"),
)
def test_mechanisms_of_the_cone_have_the_level_that_it_is_named_after(cone, level):
    rng = np.random.default_rng(1)
    for _ in range(50):
        columns = cone.pull(rng.gamma(0.4, size=(3, 6)) + 1e-6)[0].T
        columns = columns / (2.0 * columns.sum(axis=1).max())
        rest = 1.0 - columns.sum(axis=1)
        channel = Channel(np.column_stack([columns, rest]))
        assert level(Channel(np.column_stack([columns, 1.0 - columns.sum(axis=1)]))) >= 0
        largest = max(level(pair(column)) for column in columns.T)
        assert largest == pytest.approx(0.7, rel=1e-9) or largest < 0.7
        assert channel.n_inputs == 6


def test_raised_columns_keep_the_level_in_spite_of_rounding():
    rng = np.random.default_rng(1)
    for level in (1e-3, 0.7, 5.0):
        columns = raised_to_level(rng.gamma(0.1, size=(50, 6)), (2, 3), level).reshape(-1, 2, 3)
        ratios = np.log(columns.max(axis=1) / columns.min(axis=1))
        assert level * (1.0 - 1e-9) < ratios.max() <= level


@pytest.mark.parametrize(
    ("name", "u", "w"), [("local", 0, 1), ("conditional", 1, 1), ("unconditional", 0, 2), ("polyopt", 1, 1)]
)
def test_a_column_is_inside_up_to_the_level(name, u, w):
    """Entries that are compared differ by a factor e^0.7; one millionth beyond it a column is outside."""
    for share, inside in ((1.0 - 1e-6, True), (1.0 + 1e-6, False)):
        column = np.ones((2, 3))
        if name == "polyopt":
            column[0] = math.exp(0.7 * share)
        else:
            column[0, u] *= math.exp(0.35 * share)
            column[1, w] *= math.exp(-0.35 * share)
        assert (CONES[name].violation(column.reshape(1, 6)) <= 0) == inside


def test_inequalities_cuts_and_their_tolerance_count():
    """A mechanism of an intersection is inside of both cones, of what they list and of what they find."""
    low, high = np.array([[1.0, -1.0, 0.0, 0.0, 0.0, 0.0]]), robust_cone(BALL, 0.7)
    both = Intersection(PolyhedralCone(low), high)
    for share, fits in ((0.99, True), (1.01, False)):
        column = np.array([1.0 + share * OUTSIDE, 1.0, 1.0, 1.0, 1.0, 1.0]) / 4.0
        with nullcontext() if fits else pytest.raises(ArithmeticError, match="violates a cut of the cone"):
            check_inside(both, Channel(np.stack([column, 1.0 - column], axis=1)))
    assert both.violation(np.array([[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]])) > OUTSIDE


def test_entries_of_columns_are_bounded_by_what_one_input_alone_has():
    free = PolyhedralCone(np.zeros((0, 6)), (2, 3))
    scale = np.random.default_rng(4).dirichlet(np.ones(6))
    for cone in (free, Intersection(free, free)):
        assert (np.diag(1.0 / scale) <= cone.entry_bounds(scale)).all()


def pair(column: np.ndarray) -> Channel:
    """Return a channel whose second column is almost constant, so that the first one decides its level."""
    scaled = 1e-9 * column / column.max()
    return Channel(np.column_stack([scaled, 1.0 - scaled]))


def test_both_promises_are_kept_in_an_intersection():
    rng = np.random.default_rng(2)
    both = CONES["F and conditional"]
    assert isinstance(both, Intersection)
    columns = both.pull(rng.gamma(0.4, size=(40, 6)) + 1e-6)[0]
    assert violated(CONES["F"], columns) < 1e-11
    assert CONES["conditional"].violation(columns) < 1e-11
    merged = CONES["local"] & CONES["conditional"]
    assert isinstance(merged, PolyhedralCone)
    assert merged.shape == (2, 3)
    assert len(merged.inequalities) == 30 + 6


def test_the_cone_of_polyopt_is_that_of_all_vertices():
    lower, ratio = BALL.lower_bounds, math.exp(0.7)
    rng = np.random.default_rng(3)
    for column in rng.gamma(0.6, size=(200, 6)):
        v = column.reshape(2, 3)
        rest = 1.0 - lower.sum(axis=1)
        largest, least = rest * v.max(axis=1), rest * v.min(axis=1)
        largest, least = largest + (lower * v).sum(axis=1), least + (lower * v).sum(axis=1)
        pairs = itertools.product(range(2), repeat=2)
        inside = all(largest[s] <= ratio * least[t] for s, t in pairs)
        assert inside == (CONES["polyopt"].violation(column[None]) <= 0)
        inside = all(largest[s] <= ratio * least[1 - s] for s in range(2))
        assert inside == (CONES["distinct"].violation(column[None]) <= 0)
