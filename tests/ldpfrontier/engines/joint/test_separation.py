"""The separation oracle, against levels of channels, members of the set and supports of the projections."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.model.channel import Channel
from ldpfrontier.uncertainty.divergence import renyi_divergences
from support.tables import random_ball


@pytest.mark.parametrize("order", [0.3, 0.7, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("shape", [(2, 3), pytest.param((2, 2), marks=pytest.mark.long), (3, 2)])
def test_levels_of_columns_are_those_of_a_channel(shape: tuple[int, int], order: float) -> None:
    ball, _ = random_ball(shape, 3, order)
    rng = np.random.default_rng(0)
    columns = rng.gamma(0.5, size=(6, ball.centre.size))
    levels = Oracle(ball, 0.0).levels(columns)
    for column, level in zip(columns, levels, strict=True):
        rare = column / column.max() * 1e-6  # so rare that the other output tells nothing
        assert ball.worst_case_epsilon(Channel(np.column_stack([rare, 1.0 - rare]))) == pytest.approx(
            level, abs=1e-9
        )


def test_no_member_of_the_set_passes_the_level_of_a_column() -> None:
    ball, _ = random_ball((3, 3), 1)
    rng = np.random.default_rng(1)
    columns = rng.gamma(0.7, size=(20, 9))
    levels = Oracle(ball, 0.0).levels(columns)
    P = ball.sample(rng, 4000)
    R = P / P.sum(axis=2, keepdims=True)
    means = np.log(np.einsum("psu,msu->mps", R, columns.reshape(-1, 3, 3)))
    seen = (means.max(axis=2) - means.min(axis=2)).max(axis=1)
    assert (seen <= levels + 1e-9).all()
    assert (seen > 0.8 * levels).any()


@pytest.mark.parametrize("order", [0.3, 0.7, 1.0, 2.0, 3.5])
def test_inequalities_are_of_conditionals_that_occur_together(order: float) -> None:
    """Each cut is R_s - e^eps R_s', within the budget; fast ones too, and these nearly as violated."""
    ball, epsilon = random_ball((2, 3), 2, order)
    oracle = Oracle(ball, epsilon)
    columns = np.random.default_rng(2).gamma(0.5, size=(10, 6))
    g = (order - 1.0) / order

    def spent(D: np.ndarray) -> np.ndarray:
        return np.expm1(g * D) / g if g else D

    levels = []
    for fast in (False, True):
        cuts = oracle.separate(columns) if fast else oracle.worst(columns)[1]
        for m, pair in np.ndindex(10, 2):
            s, t = ((0, 1), (1, 0))[pair]
            cut = cuts[m, pair].reshape(2, 3)
            R = np.array([cut[s], -cut[t] / math.exp(epsilon)])
            assert R.min() >= 0
            np.testing.assert_allclose(R.sum(axis=1), 1.0, atol=1e-12)
            D = renyi_divergences(ball.conditionals[[s, t]], R, order)
            assert ball.sensitive[[s, t]] @ spent(D) <= spent(np.array(ball.radius)) + 1e-10
        high = np.einsum("mpx,mx->mp", np.maximum(cuts, 0.0), columns)
        low = np.einsum("mpx,mx->mp", np.maximum(-cuts, 0.0), columns)
        levels.append(epsilon + np.log(high / low))
    exact, fast_levels = levels
    np.testing.assert_allclose(exact, oracle.worst(columns)[0], atol=1e-10)
    assert (fast_levels <= exact + 1e-11).all()
    np.testing.assert_allclose(fast_levels, exact, atol=1e-4)


def test_a_shared_budget_allows_no_more_than_the_full_one_for_each() -> None:
    ball, _ = random_ball((3, 3), 5)
    columns = np.random.default_rng(3).gamma(0.5, size=(6, 9))
    for column, level in zip(columns.reshape(-1, 3, 3), Oracle(ball, 0.0).levels(columns), strict=True):
        ends = [ball.support(s, column[s]) for s in range(3)]
        ratios = [math.log(ends[s][1][0] / ends[t][0][0]) for s, t in permutations(range(3), 2)]
        assert level <= max(ratios) + 1e-12


def test_columns_are_pulled_to_the_level_and_no_further() -> None:
    ball, _ = random_ball((2, 3), 6)
    oracle = Oracle(ball, 0.3)
    scale = ball.centre.ravel()
    columns = np.random.default_rng(4).gamma(0.4, size=(30, 6))
    columns /= (columns @ scale)[:, None]
    inside, _ = oracle.pull(columns)
    before, after = oracle.levels(columns), oracle.levels(inside)
    assert (after <= 0.3).all()
    np.testing.assert_allclose(inside @ scale, 1.0, atol=1e-12)
    assert (before > 0.3).any()
    np.testing.assert_allclose(after[before > 0.3], 0.3, atol=1e-10)
    np.testing.assert_array_equal(inside[before < 0.29], columns[before < 0.29])
