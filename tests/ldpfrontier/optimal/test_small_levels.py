"""At levels from 1e-300 to 1e-6: no level as stored is above epsilon, and no value above the true optimum.

Near level 0 the optimum is known in closed form. A column 1 + d of a class has the value Var(d) / 2 to second
order, or f''(1) (P0 - P1)(d)^2 / 2 for an f-divergence, and with d the class has -d: two such columns are an
optimal mechanism. The relative error is at most 4 epsilon. Levels are those of the stored numbers, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import log, mpf

from ldpfrontier.cones import local_cone, unconditional_cone
from ldpfrontier.optimal.association import optimal_association
from ldpfrontier.optimal.general.solve import optimal_mechanism
from ldpfrontier.optimal.improved_reporting import improved_reporting
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.unconditional import optimal_unconditional
from ldpfrontier.optimum import LEAST_OPTIMAL_EPSILON, STORED_EPSILON
from ldpfrontier.privacy import conditional_epsilon, ldp_epsilon, rldp_epsilon, unconditional_epsilon
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import FDivergence, MutualInformation

#: f''(1), half of which counts for a squared difference.
CURVATURES = {"kl": 1, "chi2": 2, "hellinger": Fraction(1, 4)}
TABLE = np.array([[70, 100], [260, 570]])


def exact(p) -> list[Fraction]:
    """Return the distribution that floats are proportional to."""
    total = sum(map(Fraction, np.ravel(p).tolist()))
    return [Fraction(x) / total for x in np.ravel(p).tolist()]


def number(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def best_set(p: list[Fraction]) -> Fraction:
    """Return the largest P(T) (1 - P(T)) of a set T."""
    sums = (sum(t) for size in range(1, len(p)) for t in combinations(p, size))
    return max((x * (1 - x) for x in sums), default=Fraction(0))


def best_block(p: list[Fraction], a1: int) -> Fraction:
    """Return the largest variance of 1 or -1 throughout one of the blocks, and 0 off it."""
    blocks = np.array(p, dtype=object).reshape(a1, -1).tolist()
    variances = (
        sum(block) - sum(s * x for s, x in zip(signs, block, strict=True)) ** 2
        for block in blocks
        for signs in product((1, -1), repeat=len(block))
    )
    return max(variances)


def check_optimum(optimum, best: mpf, epsilon: float) -> None:
    """Value and bound are on both sides of the true optimum, which is known to a share of 4 epsilon."""
    assert optimum.value <= best * (1 + 4 * mpf(epsilon))
    assert optimum.bound >= best * (1 - 4 * mpf(epsilon))
    assert optimum.value <= optimum.bound
    if epsilon < LEAST_OPTIMAL_EPSILON:
        assert optimum.status == "bounded"


def check_ratio(largest, smallest, epsilon: float) -> None:
    """The ratios of exact numbers are at most e^epsilon, which is above 1 + epsilon + epsilon^2 / 2."""
    e = Fraction(epsilon)
    for high, low in zip(largest, smallest, strict=True):
        assert high <= low * (1 + e + e * e / 2)


def check_ldp(matrix, epsilon: float) -> None:
    check_ratio(
        *([Fraction(x) for x in end.tolist()] for end in (matrix.max(axis=0), matrix.min(axis=0))), epsilon
    )


def check_pairs(matrix, shape, epsilon: float) -> None:
    """No entry of a value s is above e^epsilon times one of another, in the same column."""
    blocks = matrix.reshape(*shape, -1)
    for s, t in product(range(shape[0]), repeat=2):
        if s != t:
            ends = blocks[s].max(axis=0), blocks[t].min(axis=0)
            check_ratio(*([Fraction(x) for x in end.tolist()] for end in ends), epsilon)


def check_means(matrix, joint, epsilon: float) -> None:
    """The exact means of columns given s are within e^epsilon of each other."""
    a1, a2 = joint.shape
    blocks = [[[Fraction(x) for x in row] for row in block] for block in matrix.reshape(a1, a2, -1).tolist()]
    means = []
    for row, block in zip(joint, blocks, strict=True):
        means.append(
            [
                sum(p * x for p, x in zip(exact(row), column, strict=True))
                for column in zip(*block, strict=True)
            ]
        )
    check_ratio(map(max, zip(*means, strict=True)), map(min, zip(*means, strict=True)), epsilon)


def instance(n: int):
    """Return a generator and a level, of any size or one at which a channel still tells something."""
    rng = np.random.default_rng([50, n])
    return rng, float(10.0 ** rng.uniform(*((-300, -6), (-16, -6))[n % 2]))


def numbers(long: bool, few: int = 16) -> range:
    return range(1000 if long else few)


def test_no_locally_private_optimum_exceeds_its_level_or_the_true_optimum(long):
    for n in numbers(long):
        rng, epsilon = instance(n)
        p, q = rng.dirichlet(np.full(rng.integers(2, 7), rng.choice([0.3, 1.0, 10.0])), 2) + 1e-6
        p, q = p / p.sum(), q / q.sum()
        found = optimal_ldp(MutualInformation(p), epsilon)
        check_optimum(found, mpf(epsilon) ** 2 / 2 * number(best_set(exact(p))), epsilon)
        check_ldp(found.channel.matrix, epsilon)
        assert ldp_epsilon(found.channel) <= epsilon
        apart = number(sum(max(x - y, 0) for x, y in zip(exact(p), exact(q), strict=True)))
        for kind in ("kl", "tv", "chi2", "hellinger"):
            found = optimal_ldp(FDivergence(p, q, kind), epsilon)
            if kind == "tv":
                best = mpf(epsilon) * apart / 2
            else:
                best = (mpf(epsilon) * apart) ** 2 * number(Fraction(CURVATURES[kind])) / 2
            check_optimum(found, best, epsilon)
            check_ldp(found.channel.matrix, epsilon)


def test_no_optimum_of_a_table_exceeds_its_level_or_the_true_optimum(long):
    for n in numbers(long, few=2):
        rng, epsilon = instance(n)
        a1, a2 = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        joint = rng.dirichlet(np.full(a1 * a2, rng.choice([0.5, 1.0, 10.0]))).reshape(a1, a2) + 1e-4
        joint /= joint.sum()
        cells, half = exact(joint), mpf(epsilon) ** 2 / 2
        everywhere = max(best_set(cells), best_block(cells, a1))

        found = optimal_nonrobust(joint, epsilon)
        groups = [sum(cells[s * a2 : (s + 1) * a2]) for s in range(a1)]
        logs = sum(-number(x) * log(number(x / groups[i // a2])) for i, x in enumerate(cells))
        secret = half * number(best_set(groups))
        check_optimum(found, logs + secret, epsilon)
        check_means(found.channel.matrix, joint, epsilon)
        conditionals = joint / joint.sum(axis=1, keepdims=True)
        assert float(rldp_epsilon(found.channel, conditionals)) <= epsilon

        found = optimal_unconditional(joint, epsilon, tolerance=1e-3)
        check_optimum(found, half * number(everywhere), epsilon)
        check_pairs(found.channel.matrix, joint.shape, epsilon)
        assert unconditional_epsilon(found.channel, joint.shape) <= epsilon

        whole = RenyiBall(joint, np.inf)
        for pairs, best in (("all", best_set(cells)), ("distinct", everywhere)):
            found = optimal_robust(whole, epsilon, pairs=pairs)
            check_optimum(found, half * number(best), epsilon)
            check_pairs(found.channel.matrix, joint.shape, epsilon)
        ball = RenyiBall(joint, float(10.0 ** rng.uniform(-4, 0)), float(rng.choice([0.5, 1.0, 2.0])))
        level = epsilon * float(rng.choice([0.1, 1.0, 3.0]))
        for options in ({}, {"pairs": "distinct"}, {"envelope": "exact"}, {"conditional_epsilon": level}):
            found = optimal_robust(ball, epsilon, **options)
            assert found.value <= found.bound
            assert ball.worst_case_epsilon(found.channel) <= epsilon
            check_means(found.channel.matrix, joint, epsilon)
            assert found.status == "bounded" or epsilon >= LEAST_OPTIMAL_EPSILON
            if "conditional_epsilon" in options:
                assert conditional_epsilon(found.channel, joint.shape) <= level
            elif options:
                assert found.bound >= half * number(everywhere) * (1 - 4 * mpf(epsilon))
        reports = improved_reporting(ball, epsilon, splits=2, sweeps=0)
        assert ball.worst_case_epsilon(reports.channel) <= epsilon


def test_no_optimum_of_a_cone_exceeds_its_level_or_the_true_optimum(long):
    for n in range(300 if long else 1):
        rng = np.random.default_rng([52, n])
        epsilon = float(10.0 ** rng.uniform(-10, -6))
        p = rng.dirichlet(np.full(4, rng.choice([0.5, 1.0, 10.0]))) + 1e-4
        p /= p.sum()
        joint = p.reshape(2, 2)
        cells, half = exact(p), mpf(epsilon) ** 2 / 2
        found = optimal_mechanism(MutualInformation(p), local_cone(4, epsilon))
        check_ldp(found.channel.matrix, epsilon)
        # The inequalities of a cone have entries that are rounded, by 1e-16 / epsilon of the level.
        best, rounding = half * number(best_set(cells)), 1 + mpf(1e-15) / epsilon
        assert found.value <= best * rounding
        assert found.bound * rounding >= best * (1 - 4 * epsilon)
        odds = OddsRatios.known(joint)
        found = optimal_association(odds, epsilon, max_nodes=100)
        assert association_epsilon(found.channel, odds) <= epsilon
        check_means(found.channel.matrix, joint, epsilon)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-16, 9e-11])
def test_cones_of_lower_levels_are_refused(epsilon):
    for cone in (local_cone, lambda n, e: unconditional_cone((n, 2), e)):
        with pytest.raises(ValueError, match=r"level 0 or one of 1e-10 nats or more"):
            cone(3, epsilon)
    found = optimal_association(OddsRatios.known(TABLE / TABLE.sum()), epsilon, max_nodes=50)
    assert (found.status, found.value) == ("bounded", 0.0)
    assert "fallback: the mechanism that tells nothing" in str(found.method)


@pytest.mark.parametrize("epsilon", [1e-15, pytest.param(1e-17, marks=pytest.mark.long)])
def test_what_was_optimal_in_name(epsilon):
    ball = RenyiBall(np.full((5, 1), 0.2), 1e-3, 2.0)
    found = optimal_robust(ball, epsilon, envelope="exact")
    check_optimum(found, mpf(epsilon) ** 2 * 3 / 25, epsilon)
    assert ball.worst_case_epsilon(found.channel) <= epsilon


@pytest.mark.parametrize("level", [0.0, 1e-17, 1e-15, 1e-12, 1e-8, 5e-5])
def test_a_tiny_conditional_level_costs_what_the_level_0_costs(level):
    ball = RenyiBall.confidence([[30, 20, 10], [10, 25, 40]])
    silent = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=0.0)
    found = optimal_robust(ball, 1.0, envelope="exact", conditional_epsilon=level)
    assert conditional_epsilon(found.channel, (2, 3)) <= level
    assert ball.worst_case_epsilon(found.channel) <= 1.0
    assert found.value >= silent.value * (1.0 - 1e-3)


def test_values_and_gaps_near_the_constants():
    """A channel as stored has nearly the optimum where its rounding allows that."""
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    for epsilon, most in ((STORED_EPSILON * 0.999, 1e-9), (1e-6, 1e-7), (LEAST_OPTIMAL_EPSILON, 1e-3)):
        found = optimal_ldp(MutualInformation(prior), epsilon, tolerance=1e-3)
        assert found.status == "optimal"
        assert found.gap <= most
    assert optimal_ldp(MutualInformation(prior), LEAST_OPTIMAL_EPSILON / 2, tolerance=0.1).status == "bounded"
    assert optimal_ldp(MutualInformation(prior), 0.0).status == "optimal"
