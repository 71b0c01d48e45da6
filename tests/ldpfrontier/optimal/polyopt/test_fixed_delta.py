"""Bounds at one delta and between two, against all vertices and all columns."""

import itertools
import math

import numpy as np
import pytest

from ldpfrontier import RenyiBall
from ldpfrontier.optimal.geometry.block_key import BlockKey, block_keys
from ldpfrontier.optimal.polyopt.distinct_pairs import DistinctPairsFamily
from ldpfrontier.optimal.polyopt.fixed_delta import FixedDeltaBounds

SEEDS = range(6)


def instance(seed: int, a1: int = 3, a2: int = 4) -> tuple[DistinctPairsFamily, np.ndarray, FixedDeltaBounds]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 60, (a1, a2)) + (rng.random((a1, a2)) < 0.7)
    counts[:, 0] += 1
    ball = RenyiBall.confidence(counts)
    epsilon = float(rng.uniform(0.1, 4.0))
    family = DistinctPairsFamily(ball.centre, ball.lower_bounds, epsilon)
    duals = ball.centre * rng.normal(0.2, 0.3, ball.centre.shape)
    bounds = FixedDeltaBounds(family.all_pairs.blocks, duals, epsilon, 1e-7)
    return family, duals, bounds


def deltas_of(family: DistinctPairsFamily, seed: int) -> list[float]:
    return [0.0, *np.sort(np.random.default_rng(seed).uniform(0, family.epsilon, 4)), family.epsilon]


@pytest.mark.parametrize("seed", SEEDS)
def test_undominated_vertices_are_vertices_and_none_is_better_along_any_tangent(seed: int) -> None:
    family, duals, bounds = instance(seed)
    groups = family.centre.sum(axis=1)
    least = 1.0 + math.log(1.0 + math.expm1(-family.epsilon) * groups.max())
    for delta in deltas_of(family, seed):
        for s0, product in ((s0, family.product(s0, delta)) for s0 in range(len(groups))):
            own = block_keys(len(groups), s0, delta, delta)
            for block, key, f in zip(product.blocks, own, product.reduced(duals), strict=True):
                z, own_f, _ = bounds.undominated(key)
                _, letters = bounds.vectors(key)
                every = block.vectors(np.arange(len(block)))
                listed = letters[:, block._position]
                distance = np.abs(listed[:, None] - every[None]).max(axis=2)
                assert distance.min(axis=1).max() <= 1e-9 * max(1.0, every.max())
                assert z == pytest.approx(listed @ family.centre[key.s], rel=1e-12, abs=1e-12)
                for lam in np.linspace(least, 1.0 + family.epsilon, 5):
                    expected = (f - lam * block.z).max()
                    assert (own_f - lam * z).max() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_lists_hold_vertices_with_a_third_value_however_many_there_are(size: int) -> None:
    letters, rng = 11, np.random.default_rng(size)
    lower = np.full((2, letters), 0.9 / letters)
    centre = np.full((2, letters), 0.5 / letters)
    # Sets of so many letters are raised, and one letter more is cut.
    epsilon = math.log1p((1.0 - 0.9) / (0.9 / letters * (size + 0.5)))
    family = DistinctPairsFamily(centre, lower, epsilon)
    product = family.product(0, 0.0)
    assert min(map(len, product.blocks)) > 2 * 2**letters
    duals = centre * rng.normal(0.2, 0.3, centre.shape)
    bounds = FixedDeltaBounds(product.blocks, duals, epsilon, 1e-7)
    for s, (block, f) in enumerate(zip(product.blocks, product.reduced(duals), strict=True)):
        z, own_f, _ = bounds.undominated(BlockKey(s, 0.0, False))
        # Slopes of Z log Z, from the least Z to the largest.
        for lam in np.linspace(1.0 + math.log1p(0.5 * math.expm1(-epsilon)), 1.0 + epsilon, 5):
            expected = (f - lam * block.z).max()
            assert (own_f - lam * z).max() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_at_a_delta_are_the_best_columns(seed: int) -> None:
    family, duals, bounds = instance(seed)
    for delta in deltas_of(family, seed):
        for s0 in range(len(family.centre)):
            worth = best_column(family, duals, s0, delta)
            bound = bounds.at(s0, delta, 0.0)
            assert worth - 1e-9 <= bound
            if bound < math.inf:
                assert bound <= max(1.3 * worth, 0.0) + 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_between_two_deltas_hold_at_every_one(seed: int) -> None:
    family, duals, bounds = instance(seed)
    rng = np.random.default_rng(seed)
    for low, high in itertools.pairwise(deltas_of(family, seed)):
        for s0 in range(len(family.centre)):
            ends = max(bounds.at(s0, low, 0.0), bounds.at(s0, high, 0.0))
            over = bounds.over(s0, low, high, 0.0)
            every, critical, deltas = bounds.between(s0, low, high, 0.0)
            inside = [float(d) for d in rng.uniform(low, high, 3)]
            # What is worth most between critical deltas is so near one of them.
            inside += [float(d) for d in family.deltas[s0] if low < d < high]
            for delta in inside:
                worth = best_column(family, duals, s0, delta)
                assert worth <= over + 1e-9
                assert worth <= max(every, 0.0) + 1e-9
                assert worth <= max(ends, critical, 0.0) + 1e-9
            assert ((low < deltas) & (deltas < high)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_all_special_values_hold_for_every_one(seed: int) -> None:
    family, duals, bounds = instance(seed)
    rng = np.random.default_rng(seed)
    for low, high in itertools.pairwise(deltas_of(family, seed)):
        bound = bounds.of_all_values(low, high)
        for s0, delta in itertools.product(range(len(family.centre)), [low, high, rng.uniform(low, high)]):
            assert best_column(family, duals, s0, delta) <= max(bound, 0.0) + 1e-9
    # No value is special at delta = 0, where that is the tangent of all pairs.
    kappa, _ = family.all_pairs.best_tangent(duals.ravel())
    assert bounds.of_all_values(0.0, 0.0) == (
        pytest.approx(kappa) if kappa <= 1.0 + family.epsilon else math.inf
    )


def best_column(family: DistinctPairsFamily, duals: np.ndarray, s0: int, delta: float) -> float:
    """The largest reduced cost per unit of Z of a product, by listing its columns."""
    product = family.product(s0, delta)
    worth, total = np.zeros(1), np.zeros(1)
    for block, f in zip(product.blocks, product.reduced(duals), strict=True):
        worth, total = np.add.outer(worth, f).ravel(), np.add.outer(total, block.z).ravel()
    return max(float((worth / total - np.log(total)).max()), 0.0)
