"""What rounding does to bounds of PolyOpt, against 60 digits: never more than they are raised by."""

import numpy as np
import pytest
from mpmath import exp, fsum, log, mpf

from ldpfrontier.engines.column_generation.smoothed import generate
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.products.geometry.polytope import Block
from ldpfrontier.engines.products.pricing import BlockProduct
from ldpfrontier.engines.products.pricing_error import pricing_error
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.high_precision import largest_reduced_cost, vertex_rows
from support.grids import few

EPSILONS = (0.01, 0.3, 1.0, 3.0, 10.0)


def product_of(shape, epsilon, seed):
    counts = np.random.default_rng(seed).integers(1, 300, shape)
    ball = RenyiBall.confidence(counts)
    rows = zip(ball.lower_bounds, ball.centre, strict=True)
    return BlockProduct([Block(lower, prior, epsilon) for lower, prior in rows], ball.centre)


def total(duals):
    return fsum(map(mpf, duals.ravel().tolist()))


def moved(duals, apart, seed):
    noise = np.random.default_rng(seed).normal(size=duals.shape)
    return duals + apart * (noise - noise.mean())


# Duals are also moved by `apart`, by what cancels in their sum: what the error has to grow with.
@pytest.mark.parametrize("apart", few([0.0, 1e3], more=[1.0, 1e6]))
@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (4, 4), (6, 3), (6, 6)])
def test_the_tangent(shape, apart, long):
    for seed, epsilon in enumerate(EPSILONS if long or shape != (6, 6) else EPSILONS[:1]):
        product = product_of(shape, epsilon, seed)
        duals = moved(Decomposition(product, epsilon).solve(product.explore).ravel(), apart, seed)
        kappa, lam = product.best_tangent(duals)
        tops = fsum(max(f - mpf(lam) * z for f, z in rows) for rows in vertex_rows(product, duals))
        assert tops < 0
        exact = total(duals) + mpf(lam) - 1 - log(-tops)
        error = pricing_error([product], duals + kappa * product.scale)
        assert exact - (mpf(float(duals.sum())) + mpf(kappa)) <= error
        # It is no more than the digits of numbers of that size can be.
        assert error <= 1e-11 * exp(min(epsilon, 3.0)) * (1.0 + apart) * product.centre.size


@pytest.mark.parametrize("apart", few([0.0, 1e6], more=[1.0, 1e3]))
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_combinations(shape, apart):
    for seed, epsilon in enumerate(EPSILONS):
        product = product_of(shape, epsilon, seed)
        duals = moved(Decomposition(product, epsilon).solve(product.explore).ravel(), apart, seed)
        # Duals that are too low: their sum is less than the optimum, so a column has a positive reduced cost.
        duals -= 0.9 * abs(float(duals.sum())) * product.scale
        bound, _ = product.price(duals, product.efforts - 1)
        best = largest_reduced_cost(product, duals)
        assert bound > 0.0
        assert best - mpf(bound) <= pricing_error([product], duals + bound * product.scale)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_bound_is_raised(epsilon):
    product = product_of((2, 3), epsilon, 1)
    utility = MutualInformation(product.centre)
    decomposition = Decomposition(product, epsilon)
    duals = decomposition.solve(product.explore).ravel()
    raised = []

    def error(at):
        raised.append((at, pricing_error([product], at)))
        return raised[-1][1]

    arguments = {"tolerance": 1e-9, "max_rounds": 100, "stable_duals": duals}
    plain = generate(product, decomposition.columns(), utility, **arguments)
    optimum = generate(product, decomposition.columns(), utility, **arguments, error=error)
    assert optimum.bound >= plain.bound
    [(at, noise)] = raised
    assert optimum.bound >= float(at.sum()) + noise
    # The largest reduced cost of all columns, per unit of Z, at the duals of the bound.
    best = largest_reduced_cost(product, at)
    assert total(at) + best <= optimum.bound
