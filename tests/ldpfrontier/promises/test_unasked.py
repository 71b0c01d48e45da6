"""Mechanisms that see U alone: values of published tables, independent programs, levels and refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.joint.association_cone import association_cone
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.engines.joint.unasked import UnaskedCone, unasked_cone
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import PolyhedralCone, polyopt_cone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.adult import adult_counts
from support.tables import random_ball


def asked(found: Optimum, a1: int) -> Channel:
    """Return a mechanism on U as one on (S, U)."""
    return Channel(np.tile(found.channel.matrix, (a1, 1)))


#: I(U; Y) / H(U) at a level: for a known distribution, and over the simplices of PolyOpt.
ADULT = [
    ("sex", "race", 0.1, 0.550, 0.141),
    ("sex", "race", 1.0, 1.000, 0.939),
    ("income", "relationship", 0.3, 0.590, 0.475),
    ("sex", "workclass", 2.0, 1.000, 0.984),
]


@pytest.mark.parametrize(("secret", "useful", "epsilon", "known", "robust"), ADULT)
def test_shares_of_adult(secret: str, useful: str, epsilon: float, known: float, robust: float) -> None:
    ball = RenyiBall.confidence(adult_counts(secret, useful))
    h, a1 = entropy(ball.centre.sum(axis=0)), len(ball.centre)
    of_known = optimal_nonrobust(ball.centre, epsilon, observed="useful")
    of_simplices = optimal_robust(ball, epsilon, observed="useful", tolerance=1e-9)
    assert of_known.value / h == pytest.approx(known, abs=5e-4)
    assert of_simplices.value / h == pytest.approx(robust, abs=5e-4)
    assert {of_known.status, of_simplices.status} == {"optimal"}
    assert rldp_epsilon(asked(of_known, a1), ball.conditionals) <= epsilon + 1e-12
    assert ball.worst_case_epsilon(asked(of_simplices, a1)) <= epsilon + 1e-9


def enumerated(rows: FloatArray, prior: FloatArray) -> float:
    """Return the optimum over {v >= 0: rows . v <= 0}, whose rays are found from all sets of equalities."""
    n, B = prior.size, np.vstack([rows, -np.eye(prior.size)])
    rays = [np.ones(n)]
    for chosen in itertools.combinations(range(len(B)), n - 1):
        _, sizes, basis = np.linalg.svd(B[list(chosen)])
        if sizes[-1] < 1e-9:
            continue
        ray = basis[-1] * np.sign(basis[-1].sum())
        if (B @ ray <= 1e-9).all():
            rays.append(np.maximum(ray, 0.0))
    columns = MutualInformation(prior).columns(np.array(rays))
    found = linprog(-columns.values, A_eq=columns.vectors.T, b_eq=np.ones(n), method="highs")
    return float(-found.fun)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_all_vertices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 60, size=(2 + seed % 2, 3))
    ball, epsilon = RenyiBall.confidence(counts), float(rng.uniform(0.3, 2.0))
    prior, R = ball.centre.sum(axis=0), ball.conditionals
    pairs = itertools.permutations(range(len(R)), 2)
    known = np.array([R[s] - math.exp(epsilon) * R[t] for s, t in pairs])
    found = optimal_nonrobust(ball.centre, epsilon, observed="useful")
    assert found.value == pytest.approx(enumerated(known, prior), rel=1e-7)
    rows = polyopt_cone(ball.lower_bounds, epsilon).inequalities.reshape(-1, *counts.shape).sum(axis=1)
    simplices = optimal_robust(ball, epsilon, observed="useful", tolerance=1e-9)
    assert simplices.value == pytest.approx(enumerated(rows, prior), rel=1e-7)
    exact = optimal_robust(ball, epsilon, observed="useful", envelope="exact", tolerance=1e-3)
    assert simplices.value <= exact.value * (1 + 1e-9)
    assert exact.bound <= found.bound * (1 + 1e-9)
    assert ball.worst_case_epsilon(asked(exact, len(R))) <= epsilon + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_acquaintances_compare_letters_two_by_two(seed: int) -> None:
    """The closed form of ratios is what the cuts of the cone for (S, U) imply."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 80, size=(2 + seed % 2, 3))
    odds = OddsRatios.confidence(counts)
    epsilon = float(rng.uniform(0.3, 1.5))
    found = optimal_association(odds, epsilon, observed="useful", tolerance=1e-9)
    utility = MutualInformation(odds.prior.sum(axis=0))
    by_cuts = optimal_mechanism(utility, UnaskedCone(association_cone(odds, epsilon)), tolerance=1e-3)
    assert by_cuts.value <= found.value * (1 + 1e-9) <= by_cuts.bound * (1 + 1e-8)
    assert association_epsilon(asked(found, len(counts)), odds) == pytest.approx(epsilon, abs=1e-9)


def test_perfect_privacy_tells_what_is_independent() -> None:
    """At level 0 and a known distribution, more letters than secrets leave something to tell."""
    joint = np.array([[0.2, 0.2, 0.1], [0.1, 0.1, 0.3]])
    found = optimal_nonrobust(joint, 0.0, observed="useful")
    assert found.value > 0.1
    assert rldp_epsilon(asked(found, 2), joint / joint.sum(axis=1, keepdims=True)) < 1e-12
    assert (found.channel.matrix > 1e-9).sum(axis=0).max() <= 2


def test_nothing_to_hide_and_nothing_to_tell() -> None:
    one = np.array([[5, 6, 7]])
    ball, h = RenyiBall.confidence(one), entropy(one[0] / one.sum())
    assert optimal_nonrobust(one / one.sum(), 1.0, observed="useful").value == pytest.approx(h)
    assert optimal_robust(ball, 1.0, observed="useful", envelope="exact").value == pytest.approx(h)
    odds = OddsRatios.confidence(np.array([[5, 6, 7], [3, 9, 1]]))
    nothing = optimal_association(odds, 0.0, observed="useful")
    assert nothing.channel.n_inputs == 3
    assert nothing.value == 0.0


def test_what_is_known_where_no_time_is_allowed() -> None:
    ball, epsilon = random_ball((3, 6), 1)
    odds, h = OddsRatios.over(ball), entropy(ball.centre.sum(axis=0))
    for found in (
        optimal_nonrobust(ball.centre, epsilon, observed="useful", max_seconds=0.0),
        optimal_robust(ball, epsilon, observed="useful", max_seconds=0.0),
        optimal_robust(ball, epsilon, observed="useful", envelope="exact", max_seconds=0.0),
        optimal_association(odds, epsilon, observed="useful", max_seconds=0.0),
    ):
        assert found.status == "bounded"
        assert found.bound <= h * (1 + 1e-9)
        assert rldp_epsilon(asked(found, 3), ball.conditionals) <= epsilon + 1e-9


@pytest.mark.parametrize("envelope", ["simplex", "exact"])
def test_what_is_refused(envelope: str) -> None:
    ball = random_ball((2, 20), 1)[0]
    with pytest.raises(Intractable, match=r"^(The cone has 20 inputs|There are 20 useful values); .*\.$"):
        optimal_robust(ball, 1.0, observed="useful", envelope=envelope)
    few = random_ball((2, 3), 1)[0]
    with pytest.raises(ValueError, match="observed is 'secret'; it must be"):
        optimal_robust(few, 1.0, observed="secret", envelope=envelope)
    with pytest.raises(ValueError, match="A start was given, which sees both values"):
        optimal_robust(few, 1.0, observed="useful", envelope=envelope, start=Channel(np.eye(6)))
    with pytest.raises(ValueError, match="The cone is a RenyiBall"):
        unasked_cone(few)


def test_cones_of_the_useful_value() -> None:
    ball = random_ball((2, 3), 1)[0]
    simplices = unasked_cone(polyopt_cone(ball.lower_bounds, 1.0))
    assert isinstance(simplices, PolyhedralCone)
    utility = MutualInformation(ball.centre.sum(axis=0))
    found = optimal_mechanism(utility, simplices, tolerance=1e-9)
    assert found.value == pytest.approx(
        optimal_robust(ball, 1.0, observed="useful", tolerance=1e-9).value, rel=1e-8
    )
    assert unasked_cone(robust_cone(ball, 1.0)).shape == (1, 3)
