"""Pricing by tangents, enumeration and dynamic programming, against each other and against full programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier.engines.products import pricing
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.products.geometry.polytope import Block
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from support.tables import random_table


@pytest.mark.parametrize("seed", range(4))
def test_search_over_the_grid_bounds_and_finds_what_listing_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(2000, rng.dirichlet(np.ones(20))).reshape(5, 4)
    ball = RenyiBall.confidence(counts)
    blocks = [Block(L, P, 2.0) for L, P in zip(ball.lower_bounds, ball.centre, strict=True)]
    family = pricing.BlockProduct(blocks, ball.centre)
    duals = Decomposition(family, 2.0).solve(family.explore)
    monkeypatch.setattr(pricing, "GENERATION", replace(pricing.GENERATION, inner_share=0.0))
    family.resolution = 2e-5
    for shift in (0.0, 0.01, 0.1):
        trial = duals.ravel() * (1 - shift) + 0.01 * shift * rng.normal(size=20)
        monkeypatch.setattr(pricing, "SETTINGS", replace(pricing.SETTINGS, max_enumerated=10**7))
        exact, listed = family.price(trial, 0)
        monkeypatch.setattr(pricing, "SETTINGS", replace(pricing.SETTINGS, max_enumerated=0))
        previous = np.inf
        for effort in range(family.efforts):
            bound, offers = family.price(trial, effort)
            assert exact - 1e-12 <= bound <= previous + family.resolution
            previous = bound
        assert bound <= exact + 1e-4
        if exact > 1e-6:
            reduced = (offers.values - offers.vectors @ trial).max()
            assert reduced >= exact - 1e-4
            assert (listed.values - listed.vectors @ trial).max() == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("resolution", [0.0, 1e-12])
def test_search_over_the_grid_ends_at_any_resolution(
    resolution: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ball, _ = random_table(5)
    blocks = [Block(L, P, 2.0) for L, P in zip(ball.lower_bounds, ball.centre, strict=True)]
    family = pricing.BlockProduct(blocks, ball.centre)
    duals = 0.9 * Decomposition(family, 2.0).solve(family.explore).ravel()
    exact, _ = family.price(duals, 0)
    family.resolution = resolution
    for most in (0, 10):  # never listed, and listed where few are left
        monkeypatch.setattr(pricing, "SETTINGS", replace(pricing.SETTINGS, max_enumerated=most))
        assert exact - 1e-12 <= family.price(duals, 0)[0] <= exact * 1.01


def test_column_generation_by_search_reaches_the_enumerated_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    ball, _ = random_table(5)
    monkeypatch.setattr(pricing, "SETTINGS", replace(pricing.SETTINGS, max_enumerated=0))
    expected = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, 2.0, "all"))
    optimum = optimal_robust(ball, 2.0)
    assert optimum.value == pytest.approx(expected, abs=1e-5)
    assert optimum.value <= expected + 1e-9 <= optimum.upper_bound + 2e-9
