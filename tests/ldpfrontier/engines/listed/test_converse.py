"""The converse for mutual information: no column gains at its duals, and its limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import exp, expm1, fsum, log, mpf

from ldpfrontier.engines.listed.converse import converse
from ldpfrontier.engines.listed.staircase import Staircase
from ldpfrontier.model.column_utility import ColumnUtility
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from oracles import high_precision  # noqa: F401  (60 digits)
from support.priors import concentrations, largest_information, random_prior

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 10), concentrations, st.floats(0.01, 12.0))
@settings(max_examples=80, deadline=None)
def test_duals_of_the_converse_leave_no_column_a_gain(seed, k, concentration, epsilon):
    prior = random_prior(seed, k, concentration)
    bound = converse(prior, epsilon)
    assert bound.duals.sum() == pytest.approx(bound.bound, rel=1e-9)
    reduced = Staircase(MutualInformation(prior), epsilon).reduced_costs(bound.duals)
    assert reduced.max() <= 1e-12 * (1.0 + bound.bound)
    assert bound.bound <= largest_information(epsilon) * (1.0 + 1e-12)


def phi(x):
    return (1 + x) * np.log1p(x) - x


@given(seeds, st.integers(2, 40), concentrations, st.floats(0.1, 8.0))
@settings(max_examples=120, deadline=None)
def test_no_other_q_proves_a_lower_bound(seed, k, concentration, epsilon):
    """By the formulas of the theorem, for q on a grid and around the probabilities, where A jumps."""
    prior = random_prior(seed, k, concentration)
    rise, bound = math.expm1(epsilon), converse(prior, epsilon).bound

    def m(p):
        return p * phi(rise) - phi(rise * p)

    near = (prior[:, None] * (1.0 + np.array([-1e-9, 1e-9]))).ravel()
    for q in np.concatenate([np.geomspace(1e-6, 1.0, 200), near[(near > 0) & (near <= 1)]]):
        slope = phi(rise) - rise * np.log1p(rise * q)
        alone = prior > q
        rest = float(prior[~alone].sum())
        least, most = (m(s) - slope * s for s in (min(q, rest), q))
        known = float(m(prior[alone]).sum()) + slope * rest
        A = np.clip(known / (rise + alone.sum()), least, most)
        proved = max(A, (known - alone.sum() * A) / rise)
        # The formulas lose digits: they are differences of numbers of the size of phi(rise).
        assert bound <= proved * (1.0 + 1e-9) + 1e-15 * phi(rise)


@pytest.mark.parametrize(
    ("prior", "epsilon"), [([0.41, 0.41, 0.18], 1.0), ([0.505, 0.4455, 0.0297, 0.0198], 2.0)]
)
def test_best_of_several_q(prior: list[float], epsilon: float) -> None:
    """The bound is the optimum; other q at which A leaves its lower limit prove 4% more."""
    joint = np.array(prior) / sum(prior)
    optimum = optimal_ldp(MutualInformation(joint), epsilon)
    assert converse(joint, epsilon).bound == pytest.approx(optimum.value, rel=1e-9)


def test_the_bound_is_not_below_randomized_response_exactly():
    """Where all inputs are alone, it is the value of randomized response, sum_x m(P_x) / (t - 1 + k)."""
    rng, close = np.random.default_rng(4), 0
    for _ in range(100):
        k, epsilon = int(rng.integers(2, 9)), float(rng.uniform(1.0, 8.0))
        prior = rng.dirichlet(np.full(k, 5.0))
        rise, total = expm1(mpf(epsilon)), fsum(map(mpf, prior.tolist()))

        def exact(x):
            return (1 + x) * log(1 + x) - x

        shares = [mpf(x) / total for x in prior.tolist()]
        value = fsum(p * exact(rise) - exact(rise * p) for p in shares) / (rise + k)
        found = converse(prior, epsilon)
        assert mpf(found.bound) >= value
        close += float(found.bound) < float(value) * (1.0 + 1e-12)
    assert close > 50


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 5.0])
def test_ends_of_the_converse(epsilon):
    """C(eps) where nobody is likely, randomized response where everybody is; in between, below both."""
    fine = np.full(10_000, 1e-4)
    assert converse(fine, epsilon).bound == pytest.approx(largest_information(epsilon), rel=1e-10)
    assert not converse(fine, epsilon).alone.any()
    coarse = np.array([0.5, 0.5])
    response = MutualInformation(coarse)(randomized_response(2, epsilon))
    assert converse(coarse, epsilon).alone.all()
    assert converse(coarse, epsilon).bound == pytest.approx(response, rel=1e-10)
    mixed = np.append(0.5, np.full(1000, 0.0005))
    assert converse(mixed, epsilon).alone.sum() == 1
    assert response < converse(mixed, epsilon).bound < largest_information(epsilon)


#: Generators f of f-informations, with the largest value of docs/reproduction/kairouz2016.md in closed form.
GENERATORS = {
    "mutual information": (lambda r: r * np.log(r), largest_information),
    "chi-squared": (lambda r: (r - 1.0) ** 2, lambda epsilon: math.sinh(epsilon / 2.0) ** 2),
    "total variation": (lambda r: abs(r - 1.0) / 2.0, lambda epsilon: math.tanh(epsilon / 4.0)),
}


def largest_chord(f, epsilon):
    """Return the largest mean of f over ratios in an interval [m, e^eps m] whose mean is 1."""
    top, m = math.exp(epsilon), np.linspace(math.exp(-epsilon), 1.0, 100_001)
    return (((1.0 - m) * f(top * m) + (top * m - 1.0) * f(m)) / (math.expm1(epsilon) * m)).max()


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("name", GENERATORS)
def test_no_f_information_exceeds_its_converse_which_many_inputs_attain(name, epsilon):
    f, closed_form = GENERATORS[name]
    limit = closed_form(epsilon)
    assert largest_chord(f, epsilon) == pytest.approx(limit, rel=1e-6)
    for seed, k in ((0, 3), (1, 6), (2, 8)):
        prior = random_prior(seed, k, math.inf if seed == 2 else 1.0)

        def information(v, prior=prior):
            mean = (v @ prior)[:, None]
            return (mean * f(v / mean)) @ prior

        optimum = optimal_ldp(ColumnUtility(prior, information), epsilon)
        assert 0.0 < optimum.value <= optimum.upper_bound <= limit * (1.0 + 1e-9)
    # Of many equally likely inputs, the best sets of one size cover all equally often.
    share = np.arange(1, 10_000) / 10_000
    mean = 1.0 + math.expm1(epsilon) * share
    best = (share * f(math.exp(epsilon) / mean) + (1.0 - share) * f(1.0 / mean)).max()
    assert limit * (1.0 - 1e-6) <= best <= limit * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 5.0])
def test_the_largest_information_is_the_logarithm_of_spechts_ratio(epsilon):
    h = mpf(math.exp(epsilon))
    ratio = (h - 1) * h ** (1 / (h - 1)) / (exp(1) * log(h))
    assert largest_information(epsilon) == pytest.approx(float(log(ratio)), rel=1e-9)


def test_twelve_inputs_nearly_attain_the_largest_information() -> None:
    for seed in range(5):
        prior = np.random.default_rng(seed).dirichlet(np.ones(12))
        optimum = optimal_ldp(MutualInformation(prior), 1.0)
        assert 0.98 * largest_information(1.0) < optimum.value < largest_information(1.0)
