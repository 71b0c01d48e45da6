"""Certificates: lines of parts, frames and profiles, against what they say and against listed vertices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier.information import mutual_information
from ldpfrontier.optimal import body_products, robust
from ldpfrontier.optimal.body_products import BodyProducts
from ldpfrontier.optimal.certificates import Certificate, Frame
from ldpfrontier.optimal.decomposition import Decomposition
from ldpfrontier.optimal.lines import joined
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.profiles import Profiles
from ldpfrontier.optimal.projections import projected_mechanism
from ldpfrontier.renyi_ball import RenyiBall


def some_products(epsilon: float, *, distinct: bool) -> BodyProducts:
    shares = np.random.default_rng(2).dirichlet(np.full(20, 2.0))
    ball = RenyiBall.confidence(np.random.default_rng(1).multinomial(20_000, shares).reshape(5, 4))
    return BodyProducts(ball, epsilon, distinct=distinct)


@pytest.fixture(scope="module")
def parted():
    """A refined decomposition at a level where single blocks move Z."""
    products = some_products(3.0, distinct=False)
    decomposition = Decomposition(products.product(0, 0.0), 3.0)
    decomposition.solve(products.explore, gap=1e-4, rounds=60)
    whole = float(decomposition.solve(products.explore, gap=1e-4, rounds=60).sum())
    decomposition.refine(gap=1e-4)
    return products, decomposition, decomposition.settle(gap=1e-4), whole


def test_parts_have_lines_that_no_vertex_is_above(parted):
    products, decomposition, prices, _ = parted
    product = products.product(0, 0.0)
    lines = decomposition.lines(product)
    assert len(lines) > 1
    for line in lines:
        assert line.bonus <= 0.0
        assert line.heights.sum() + line.bonus <= -math.exp(line.slope - 1.0) + 1e-9
        for s, (block, f) in enumerate(zip(product.blocks, product.reduced(prices), strict=True)):
            inside = block.z <= line.high
            over = f - line.slope * block.z - line.heights[s] - line.bonus * (block.z > line.low)
            assert over[inside].max() <= 1e-3 * prices.sum()


def test_joined_parts_have_lines_that_no_vertex_is_above(parted):
    products, decomposition, prices, _ = parted
    product, enough = products.product(0, 0.0), 1e-3 * float(prices.sum())
    lines = decomposition.lines(product)
    few = joined(lines, product, prices, enough)
    assert 1 < len(few) < len(lines)
    assert [line.high for line in few[:-1]] == [line.low for line in few[1:]]
    assert (few[0].low, few[-1].high) == (0.0, math.inf)
    frame = Frame.of_parts(few)
    assert frame.kappa().max() <= enough
    for line in few:
        for s, (block, f) in enumerate(zip(product.blocks, product.reduced(prices), strict=True)):
            over = f - line.slope * block.z - line.heights[s] - line.bonus * (block.z > line.low)
            assert over[block.z <= line.high].max() <= 1e-3 * prices.sum()
    # One line for all does not do.
    assert len(joined(lines, product, prices, 1e-6)) > 1


def test_parts_give_tighter_bounds_than_the_whole(parted):
    products, decomposition, prices, whole = parted
    bound = projected_mechanism(
        some_products(3.0, distinct=False), tolerance=1e-3, max_rounds=5, cells=60_000
    )[1]
    assert bound < whole
    frame = Frame.of_parts(decomposition.lines(products.product(0, 0.0)))
    value = float(prices.sum())
    frame = frame.raised(2e-4 * value)
    certificate = Certificate(products, prices, frame, 4e-5 * value)
    first = certificate.bound(4_000)
    second = certificate.bound(40_000)
    assert 0.0 <= second <= first
    # No column of two-valued vertices has a larger reduced cost.
    product, rng = products.product(0, 0.0), np.random.default_rng(0)
    choice = np.stack([rng.integers(0, len(b), 20_000) for b in product.blocks], axis=1)
    columns = product.columns(choice)
    assert (columns.values - columns.vectors @ prices.ravel()).max() <= second + 1e-9
    assert product.price(prices.ravel(), 0)[0] <= second + 2e-3 * value


@pytest.mark.parametrize("distinct", [False, True])
def test_raised_heights_use_what_the_totals_allow(distinct):
    groups, rng = range(4), np.random.default_rng(7)
    knots = np.linspace(0.0, 1.0, 3) if distinct else np.zeros(1)
    roles = [(s, special) for special in ((False, True) if distinct else (False,)) for s in groups]
    heights = {role: -rng.uniform(0.5, 1.0, (2, len(knots))) for role in roles}
    products = (
        [[(s, s == s0) for s in groups] for s0 in groups] if distinct else [[(s, False) for s in groups]]
    )
    frame = Frame(
        knots, np.array([0.0, 0.5]), np.array([0.5, np.inf]), np.array([0.0, -0.1]),
        rng.uniform(1.0, 1.4, (2, len(knots))), heights, products, np.ones((len(products), 2), dtype=bool),
    )  # fmt: skip
    goal = float(frame.kappa().max()) + 0.1
    raised = frame.raised(goal)
    assert all((raised.heights[role] >= heights[role]).all() for role in roles)
    np.testing.assert_allclose(raised.kappa().max(), goal)
    if distinct:
        np.testing.assert_allclose(raised.kappa(), goal)
        # Lines that a product does not need say nothing of it.
        needed = np.array([[True, True], [True, False], [False, True], [True, False]])
        few = replace(frame, needed=needed)
        kappa = few.raised(goal).kappa()
        np.testing.assert_allclose(kappa[needed], goal)
        assert (kappa[~needed] == -np.inf).all()
        assert few.own((1, True)).tolist() == [True, False]
    # What is above the levels counts.
    assert raised.kappa(0.1).max() > goal


def test_profiles_are_worth_their_vertices_at_every_knot():
    products = some_products(0.5, distinct=True)
    decomposition = Decomposition(products.product(0, 0.0), 0.5)
    prices = decomposition.solve(products.explore, gap=1e-3, rounds=20)
    profiles = Profiles(products, 17)
    frame = profiles.frame(prices)
    P = products.ball.centre
    for k in (0, 5, len(frame.knots) - 1):
        delta = float(profiles.deltas[k])
        for s in range(len(P)):
            for special in (False, True):
                body = products.body((s, delta, special and k > 0))
                # Here bodies are scaled by e^(-delta / 2).
                tilt = float(frame.slope[0, k]) + 0.5 * delta
                best = math.exp(-0.5 * delta) * body.reduced(prices[s] + tilt * P[s]).max()
                assert frame.heights[s, special][0, k] >= best - 1e-6


def test_bounds_of_distinct_pairs_are_above_those_of_all_pairs():
    # At delta = 0 they are the same columns.
    products = some_products(0.5, distinct=True)
    decomposition = Decomposition(products.product(0, 0.0), 0.5)
    prices = decomposition.solve(products.explore, gap=1e-3, rounds=20)
    value = float(prices.sum())
    frame = Profiles(products, 17).frame(prices)
    frame = frame.raised(max(1e-3 * value, float(frame.kappa().max()) + 1e-4 * value))
    bound = Certificate(products, prices, frame, 1e-4 * value).bound(60_000)
    assert bound >= products.product(0, 0.0).excess(prices)[0] - 1e-9
    for s0, delta in ((0, 0.1), (2, 0.3), (4, 0.5)):
        product, rng = products.product(s0, delta), np.random.default_rng(0)
        choice = np.stack([rng.integers(0, len(b), 5_000) for b in product.blocks], axis=1)
        columns = product.columns(choice)
        assert (columns.values - columns.vectors @ prices.ravel()).max() <= bound + 1e-9


def test_a_shortened_list_has_what_is_in_use_and_the_best(monkeypatch):
    monkeypatch.setattr(body_products, "KEPT", 3)
    products = some_products(1.0, distinct=True)
    product = products.product(0, 0.0)
    decomposition = Decomposition(product, 1.0)
    prices = decomposition.solve(products.known, gap=1e-6)
    size, excess, columns = product.size, product.excess(prices)[0], decomposition.columns()
    decomposition.renumber(products.focus(prices, decomposition.known()))
    assert product.size < size
    assert product.excess(prices)[0] == pytest.approx(excess)
    again = decomposition.columns()
    np.testing.assert_allclose(again.vectors, columns.vectors)
    np.testing.assert_allclose(again.values, columns.values)
    assert max(map(len, products.product(1, 0.5).blocks)) <= 3 + 2
    assert decomposition.solve(products.known, gap=1e-6).sum() == pytest.approx(prices.sum(), rel=1e-5)


def test_the_optimum_over_f_has_no_bound_of_the_projections(monkeypatch):
    ball = some_products(1.0, distinct=True).ball
    nonrobust = optimal_nonrobust(ball.centre, 1.0).upper_bound

    def closed(products, **options):
        channel, _, rounds = projected_mechanism(products, **options)
        return channel, 0.5 * (mutual_information(ball.centre, channel) + nonrobust), rounds

    monkeypatch.setattr(robust, "projected_mechanism", closed)
    of_class = robust.optimal_robust(ball, 1.0, envelope="projections", pairs="distinct")
    assert of_class.value < of_class.upper_bound < 0.999 * nonrobust
    assert robust.optimal_robust(ball, 1.0, envelope="exact").upper_bound == pytest.approx(nonrobust)
