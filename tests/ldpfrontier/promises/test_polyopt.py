"""PolyOpt: against enumeration, the paper's numbers, and on Adult."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier.engines import registry
from ldpfrontier.engines.column_generation.smoothed import RowSumError
from ldpfrontier.engines.products import product_optimum
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from support.adult import adult_counts
from support.grids import few
from support.tables import random_table

EXAMPLE = np.array([[0.07, 0.10], [0.26, 0.57]])
TRUTH = np.array([[0.1, 0.1], [0.2, 0.6]])
# lopuhaa2024, Example 3: the matrix V.
PRINTED_VERTICES = [
    [0.0744, 0.3227, 0.5603, 0.0426],
    [0.2426, 0.2426, 0.4783, 0.0364],
    [0.3333, 0.3333, 0.1667, 0.1667],
    [0.1091, 0.4737, 0.2086, 0.2086],
    [0.0993, 0.4310, 0.0, 0.4697],
    [0.1121, 0.4864, 0.0, 0.4015],
    [0.3404, 0.3404, 0.0, 0.3191],
    [0.0770, 0.3343, 0.2944, 0.2944],
    [0.2234, 0.2234, 0.0, 0.5531],
    [0.4875, 0.1434, 0.0, 0.3690],
    [0.4360, 0.1283, 0.0, 0.4358],
    [0.4758, 0.1400, 0.1921, 0.1921],
    [0.3437, 0.1011, 0.2776, 0.2776],
    [0.1602, 0.1602, 0.6316, 0.0481],
    [0.1667, 0.1667, 0.3333, 0.3333],
    [0.3325, 0.0978, 0.5294, 0.0403],
]


def test_empty_letters_share_an_entry_without_loss() -> None:
    # Two empty letters merged: same optimum as when all vertices of the full polytope are listed.
    counts = np.array([[40, 0, 0, 25], [10, 30, 0, 20]])
    ball = RenyiBall.confidence(counts)
    utility = MutualInformation(ball.centre)
    full = full_lp(utility, robust_rays(ball.lower_bounds, 0.7, "all"))
    assert optimal_robust(ball, 0.7).value == pytest.approx(full, abs=1e-9)


@pytest.mark.parametrize("seed", few((*range(0, 16, 2), *range(18, 27, 2)), more=(16, *range(1, 27, 2))))
def test_polyopt_equals_exact_vertex_enumeration(seed: int) -> None:
    ball, epsilon = random_table(seed)
    utility = MutualInformation(ball.centre)
    optimum = optimal_robust(ball, epsilon, tolerance=1e-9)
    assert optimum.status == "optimal"
    expected = full_lp(utility, robust_rays(ball.lower_bounds, epsilon, "all"))
    assert optimum.value == pytest.approx(expected, abs=1e-8)
    assert optimum.value <= optimum.upper_bound
    assert optimum.channel.n_outputs <= ball.centre.size  # lopuhaa2024, Theorem 3
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


def test_where_rows_of_its_columns_miss_1_there_is_the_coupling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workclass and relationship of Adult, near a level where weights of 25 columns miss 1 by 1e-8."""
    ball = RenyiBall.confidence(adult_counts("workclass", "relationship"))
    optimum = optimal_robust(ball, 0.07864784679684478)
    assert optimum.status == "optimal"

    def refused(*_args: object, **_kwargs: object) -> None:
        raise RowSumError("Row 28 of the channel matrix sums to 1.1.")

    monkeypatch.setattr(product_optimum, "generate", refused)
    coupled = optimal_robust(ball, 0.07864784679684478)
    assert 0.99 * optimum.value < coupled.value <= optimum.upper_bound
    assert ball.projected_epsilon(coupled.channel) <= 0.07864784679684478 + 1e-9
    (fallback,) = coupled.method.fallbacks
    assert fallback.startswith("the coupling")


def test_worked_example() -> None:
    """lopuhaa2024, Example 3, and the errata of its I under P*."""
    ball = RenyiBall.confidence(100 * EXAMPLE)
    published = optimal_robust(ball, math.log(2))
    assert published.value == pytest.approx(0.42278, abs=5e-6)
    assert mutual_information(TRUTH, published.channel) == pytest.approx(0.37021, abs=5e-6)
    rays = robust_rays(ball.lower_bounds, math.log(2), "all")
    printed = np.array(PRINTED_VERTICES)
    assert rays.shape == printed.shape == (16, 4)
    distance = np.abs(rays / rays.sum(1, keepdims=True) - printed[:, None]).max(axis=2)
    assert distance.min(axis=1).max() < 1.01e-4
    assert sorted(distance.argmin(axis=1)) == list(range(16))


@pytest.mark.parametrize("seed", [3, 5, 11])
def test_coupling_bounds_and_nears_the_enumerated_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ball, epsilon = random_table(seed)
    monkeypatch.setattr(registry, "LIMITS", replace(registry.LIMITS, max_exact_vertices=0))
    expected = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, epsilon, "all"))
    optimum = optimal_robust(ball, epsilon, tolerance=1e-4, max_rounds=100)
    assert optimum.status == "optimal"
    assert expected * (1 - 1e-4) - 1e-9 <= optimum.value <= expected + 1e-9 <= optimum.upper_bound + 2e-9
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9


@pytest.mark.parametrize(
    ("sensitive", "useful", "epsilon", "nmi", "gap"),
    few(
        [("sex", "race", 1.0, 0.501642, 1e-7), ("education", "marital-status", 1.0, 0.280118, 3e-8)],
        more=[
            ("education", "marital-status", 0.3, 0.074916, 2.8e-8),
            ("occupation", "education", 2.0, 0.290500, 1.6e-7),
        ],
    ),
)
def test_adult_tables(sensitive: str, useful: str, epsilon: float, nmi: float, gap: float) -> None:
    counts = adult_counts(sensitive, useful)
    ball = RenyiBall.confidence(counts)
    optimum = optimal_robust(ball, epsilon, tolerance=1e-8)
    assert optimum.value / entropy(ball.centre) >= nmi
    assert optimum.gap <= gap
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
    assert optimum.upper_bound <= optimal_nonrobust(ball.centre, epsilon).upper_bound


@pytest.mark.parametrize("epsilon", [2.0, *(pytest.param(e, marks=pytest.mark.long) for e in (4.0, 5.0))])
def test_large_table_at_large_epsilon_needs_few_rounds(epsilon: float) -> None:
    ball = RenyiBall.confidence(adult_counts("education", "marital-status"))
    optimum = optimal_robust(ball, epsilon, tolerance=1e-4)
    assert optimum.gap <= 1e-4
    # One, or on some processors eight; 40 to 90 where the decomposition is not refined.
    assert optimum.iterations <= 20
    assert ball.projected_epsilon(optimum.channel) <= epsilon + 1e-9
