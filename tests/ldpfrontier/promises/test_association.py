"""The optimum against those who know something about U: its cone, guarantee, values and refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.columns.association_program import AssociationProgram
from ldpfrontier.engines.columns.column_search import searched_columns
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import BaseCone, Cone, conditional_cone, unconditional_cone
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.optimum import uninformative
from ldpfrontier.model.privacy import conditional_epsilon, rldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises import association
from ldpfrontier.promises import association_bound as bounds
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.association_bound import association_bound, largest_ratio, sensitive_bound
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import nonrobust_bound
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.adult import adult_counts

COUNTS = np.array([[30, 20, 12], [10, 40, 25]])


def same_association(odds: OddsRatios, rng: np.random.Generator) -> FloatArray:
    """Draw a distribution with odds ratios in the intervals of a table with two rows, and any marginals."""
    a2 = odds.shape[1]
    logs = np.log(odds.prior[1] / odds.prior[0])
    for _ in range(200):
        # A step from the estimate, halved until all odds ratios are in their intervals.
        moved = logs + rng.normal(size=a2) * rng.random() * 0.3
        ratios = np.exp(moved[:, None] - moved[None, :])
        if (ratios >= odds.low[0, 1]).all():
            logs = moved
    first = rng.dirichlet(np.full(a2, rng.choice([0.2, 1.0, 5.0])))
    second = first * np.exp(logs)
    share = rng.random()
    return np.stack([share * first, (1 - share) * second / second.sum()])


def test_the_guarantee_holds_whatever_is_known_of_u(long: bool) -> None:
    """Random populations with odds ratios in the intervals and any marginals, and 100 random Z each."""
    rng, highest = np.random.default_rng(0), 0.0
    odds = OddsRatios.confidence(COUNTS, beta=0.2)
    channels = [optimal_association(odds, epsilon).channel for epsilon in (0.4, 1.0)]
    for _ in range(1_000 if long else 150):
        joint = same_association(odds, rng)
        ratios = OddsRatios.known(joint)
        assert (ratios.low >= odds.low * (1 - 1e-9)).all()
        weights = rng.random((100, 1, 3)) ** rng.choice([1, 8, 40])
        weights[::2] *= np.array([rng.permutation(3) < 2 for _ in weights[::2]])[:, None, :]
        tilted = joint * weights
        conditionals = tilted / tilted.sum(axis=2, keepdims=True)
        for epsilon, channel in zip((0.4, 1.0), channels, strict=True):
            worst = rldp_epsilon(channel, conditionals).max()
            assert worst <= epsilon + 1e-9
            highest = max(highest, worst / epsilon)
    assert highest > 0.97


def test_the_optimum_is_private_and_certified() -> None:
    for odds in (OddsRatios.known(COUNTS / COUNTS.sum()), OddsRatios.confidence(COUNTS)):
        optimum = optimal_association(odds, 0.7)
        assert optimum.status == "optimal"
        assert optimum.gap <= 1e-3
        assert association_epsilon(optimum.channel, odds) == pytest.approx(0.7, rel=1e-9)
        assert association_epsilon(optimum.channel, odds) <= 0.7
        # Nothing else than the conditional level, and less than privacy from everybody.
        unconditional = optimal_unconditional(odds.prior, 0.7)
        assert association_epsilon(unconditional.channel, odds) <= 0.7 + 1e-9
        assert unconditional.value <= optimum.upper_bound
        above = optimal_mechanism(MutualInformation(odds.prior), conditional_cone((2, 3), 0.7))
        assert optimum.value <= above.upper_bound


def test_both_levels_under_a_known_distribution_are_implied() -> None:
    prior = COUNTS / COUNTS.sum()
    odds = OddsRatios.known(prior)
    optimum = optimal_association(odds, 1.0, max_nodes=2_000)
    conditionals = prior / prior.sum(axis=1, keepdims=True)
    assert rldp_epsilon(optimum.channel, conditionals) <= 1.0
    assert conditional_epsilon(optimum.channel, (2, 3)) <= 1.0
    levels = robust_cone(RenyiBall(prior, 1e-9), 1.0) & conditional_cone((2, 3), 1.0)
    both = optimal_mechanism(MutualInformation(prior), levels, max_nodes=500)
    assert optimum.value <= both.upper_bound


def test_limits_of_the_odds_ratios() -> None:
    """Independence leaves the conditional level alone, and odds ratios of any size privacy from everybody."""
    independent = np.outer([0.4, 0.6], [0.5, 0.2, 0.3])
    low = np.ones((2, 2, 3, 3))
    alone = optimal_association(OddsRatios(independent, low), 1.0, tolerance=1e-4)
    second = optimal_mechanism(MutualInformation(independent), conditional_cone((2, 3), 1.0))
    assert alone.value == pytest.approx(second.value, rel=2e-4)
    s, u = np.arange(2), np.arange(3)
    anything = (s[:, None, None, None] == s[:, None, None]) | (u[:, None] == u)
    cone = AssociationCone(OddsRatios(independent, anything.astype(float)), 1.0)
    found = optimal_mechanism(MutualInformation(independent), cone, tolerance=1e-3, max_nodes=20_000)
    everybody = optimal_unconditional(independent, 1.0)
    assert found.value == pytest.approx(everybody.value, rel=2e-3)


def test_the_cone_is_a_cone() -> None:
    rng = np.random.default_rng(1)
    odds = OddsRatios.confidence([[9, 4, 0, 7], [2, 8, 6, 5], [7, 7, 3, 1]])
    cone = AssociationCone(odds, 0.8)
    assert isinstance(cone, Cone)
    inside, _ = cone.pull(rng.random((300, 12)) ** 6)
    # What is inside meets all cuts, and what is outside violates one.
    columns = rng.random((300, 12)) ** rng.choice([0.02, 0.1, 1.0], size=(300, 1))
    cuts, known = cone.separate(columns), cone.inequalities
    assert np.allclose(cone.constant_slack(cuts), -cuts.sum(axis=-1), rtol=1e-9)
    assert -known.sum(axis=1).max() >= cone.least_constant_slack * (1 - 1e-9)
    assert (np.abs(cuts).max(axis=-1) <= math.exp(0.8) * (1 + 1e-9)).all()
    assert np.einsum("mpx,nx->nmp", cuts, inside).max() <= 1e-12
    assert (inside @ known.T).max() <= 1e-12
    for column, own in zip(columns, cuts, strict=True):
        outside = max((own @ column).max(), (known @ column).max()) > 1e-12
        assert outside == (column_level(column, odds) > 0.8 + 1e-9)
    for column in inside:
        assert column_level(column, odds) <= 0.8
    # Columns inside stay as they are.
    again, _ = cone.pull(inside)
    assert np.allclose(again, inside, rtol=1e-9)
    scale = odds.prior.ravel()
    assert (inside / (inside @ scale)[:, None] <= cone.entry_bounds(scale) * (1 + 1e-12)).all()
    # With another promise.
    both = cone & unconditional_cone((3, 4), 1.5)
    assert both.shape == (3, 4)
    assert len(both.inequalities) > len(known)


def column_level(column: FloatArray, odds: OddsRatios) -> float:
    """Return the level of a column beside one that is not informative."""
    tiny = 1e-6 * column / column.max()
    others = Channel(np.column_stack([tiny, 1.0 - tiny]))
    return association_epsilon(others, odds)


def test_the_search_and_the_bound_around_the_certified_optimum(long: bool) -> None:
    """On small tables, where both run: they are for large ones."""
    larger = [[9, 4, 0, 7], [2, 8, 6, 5], [7, 7, 3, 1]]
    for counts, epsilon in ((COUNTS, 0.5), (COUNTS, 1.5), (larger, 1.0)) if long else ((COUNTS, 1.5),):
        for odds in (OddsRatios.known(np.divide(counts, np.sum(counts))), OddsRatios.confidence(counts)):
            utility = MutualInformation(odds.prior)
            best = optimal_association(odds, epsilon, tolerance=1e-2, max_nodes=2_000)
            program = AssociationProgram(AssociationCone(odds, epsilon), odds.prior)
            start = [secret_randomized_response(*odds.shape, epsilon)]
            channel, _ = searched_columns(program, epsilon, utility, start, 25 if long else 4, 1e-3)
            assert association_epsilon(channel, odds) <= epsilon
            assert 0.95 * best.value <= utility(channel) <= best.upper_bound
            assert best.value <= association_bound(odds, epsilon, 500)


def test_cuts_of_averages_lower_the_bound_and_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(5).integers(20, 400, (3, 4))
    odds = OddsRatios.confidence(counts)
    cuts = list[FloatArray]()
    gradient_cuts = bounds._gradient_cuts

    def recorded(*args: Any) -> list[FloatArray]:
        cuts.extend(found := gradient_cuts(*args))
        return found

    monkeypatch.setattr(bounds, "_gradient_cuts", recorded)
    with_cuts = association_bound(odds, 1.0, 500)
    monkeypatch.setattr(bounds, "_gradient_cuts", lambda *_: [])
    assert with_cuts < 0.99 * association_bound(odds, 1.0, 500)
    rng = np.random.default_rng(7)
    columns = np.exp(rng.normal(size=(3_000, 12)) * rng.choice([0.1, 0.5, 2.0], size=(3_000, 1)))
    inside = AssociationCone(odds, 1.0).pull(columns)[0].reshape(-1, 3, 4)
    averages = (inside * odds.prior / odds.prior.sum(axis=0)).sum(axis=1)
    assert len(cuts) > 3
    assert (averages @ np.array(cuts).T <= 0.0).all()


def test_averages_of_columns_are_in_the_cone_of_ratios() -> None:
    rng = np.random.default_rng(2)
    odds = OddsRatios.confidence([[60, 30, 10, 70], [20, 80, 60, 50], [70, 70, 30, 10]])
    cone = AssociationCone(odds, 0.8)
    given = odds.prior / odds.prior.sum(axis=0)
    inside = cone.pull(np.exp(rng.normal(size=(3_000, 3, 4)) * rng.choice([0.3, 1.0, 4.0])).reshape(-1, 12))[
        0
    ]
    averages = (inside.reshape(-1, 3, 4) * given).sum(axis=1)
    for u, w in itertools.permutations(range(4), 2):
        most = largest_ratio(odds, 0.8, u, w)
        assert (averages[:, u] <= most * averages[:, w]).all()
        # The program of two values has a column of the cone at its bound.
        alone = OddsRatios(given[:, [u, w]] / 2.0, odds.low[:, :, [u, w]][..., [u, w]])
        cost = np.column_stack([given[:, u], np.zeros(3)]).ravel()
        scale = np.column_stack([np.zeros(3), given[:, w]])
        program = AssociationProgram(AssociationCone(alone, 0.8), scale, 1e4)
        assert max(program.step(cost)[0] @ cost for _ in range(20)) == pytest.approx(most, rel=1e-3)


def test_ratios_without_a_bound() -> None:
    """Where S and U are independent, a report may tell all of U, and the bound says no less."""
    odds = OddsRatios.known(np.outer([0.2, 0.5, 0.3], [0.3, 0.3, 0.4]))
    assert largest_ratio(odds, 1.0, 0, 1) == math.inf
    assert association_bound(odds, 1.0, 100) > entropy(np.array([0.3, 0.3, 0.4]))


def test_larger_tables() -> None:
    counts = np.random.default_rng(5).integers(20, 400, (3, 6))
    odds = OddsRatios.confidence(counts)
    found = optimal_association(odds, 1.0, max_rounds=3)
    assert association_epsilon(found.channel, odds) <= 1.0
    assert found.value > 1.2 * optimal_unconditional(odds.prior, 1.0).value
    assert found.value <= found.bound < nonrobust_bound(odds.prior, 1.0)
    assert "search" in found.method.engine
    assert 1 < found.iterations <= 3


def test_larger_tables_at_small_levels_and_with_other_odds_ratios() -> None:
    """The estimate may be outside of the intervals, which then say nothing of it."""
    prior = np.random.default_rng(6).dirichlet(np.ones(18)).reshape(3, 6)
    for odds, epsilon in ((OddsRatios.known(prior), 1e-3), (OddsRatios(prior, np.ones((3, 3, 6, 6))), 1.0)):
        found = optimal_association(odds, epsilon, max_rounds=3)
        assert association_epsilon(found.channel, odds) <= epsilon * (1 + 1e-9)
        assert 0.0 < found.value <= found.bound


def test_impossible_cells() -> None:
    """A known zero asks for as much as an impossible cell, and an interval of a rare cell for more."""
    counts = np.array([[0, 20, 12], [10, 40, 25]])
    values = {}
    for impossible in (None, counts == 0):
        known = OddsRatios.known(counts / counts.sum(), impossible)
        intervals = OddsRatios.confidence(counts, impossible=impossible)
        for name, odds in (("known", known), ("intervals", intervals)):
            optimum = optimal_association(odds, 0.8)
            assert optimum.status == "optimal"
            assert association_epsilon(optimum.channel, odds) <= 0.8 * (1 + 1e-12)
            values[name, impossible is None] = optimum.value
            assert optimum.value <= association_bound(odds, 0.8, 100)
    assert values["known", False] == pytest.approx(values["known", True], rel=2e-3)
    assert values["intervals", False] > 1.01 * values["intervals", True]


def test_closed_forms() -> None:
    one = optimal_association(OddsRatios.confidence([[5, 9, 2]]), 0.1)
    assert one.value == pytest.approx(entropy(np.array([5, 9, 2]) / 16))
    odds = OddsRatios.confidence(COUNTS)
    zero = optimal_association(odds, 0.0)
    assert (zero.status, zero.value, zero.bound) == ("optimal", 0.0, 0.0)
    assert optimal_association(odds, 0.01, max_nodes=0).value < 1e-3
    independent = optimal_association(OddsRatios.known(np.outer([0.5, 0.5], [0.25, 0.75])), 0.0)
    assert independent.value == pytest.approx(entropy(np.array([0.25, 0.75])))


@pytest.mark.parametrize(
    ("pair", "epsilon", "known", "intervals"),
    [
        (("sex", "race"), 1.0, 0.5089, 0.4917),
        (("sex", "race"), 2.0, 0.6862, 0.6724),
        pytest.param(("sex", "race"), 0.3, 0.2483, 0.1665, marks=pytest.mark.long),
        pytest.param(("income", "relationship"), 2.0, 0.6978, 0.6613, marks=pytest.mark.long),
        pytest.param(("income", "relationship"), 1.0, 0.3749, 0.3284, marks=pytest.mark.long),
        pytest.param(("income", "relationship"), 0.3, 0.0553, 0.0452, marks=pytest.mark.long),
    ],
)
def test_adult(pair: tuple[str, str], epsilon: float, known: float, intervals: float) -> None:
    """Normalized mutual information, which the bound exceeds by at most a share of 1e-3."""
    counts = adult_counts(*pair)
    prior = counts / counts.sum()
    for odds, least in (
        (OddsRatios.known(prior), known),
        (OddsRatios.confidence(counts, method="scheffe"), intervals),
    ):
        optimum = optimal_association(odds, epsilon)
        assert optimum.status == "optimal"
        assert least <= optimum.value / entropy(prior) <= least + 2e-4
        assert association_epsilon(optimum.channel, odds) <= epsilon


def test_only_the_promise_for_all_odds_ratios_of_f_implies_the_guarantee_over_it() -> None:
    counts = adult_counts("sex", "race")
    ball = RenyiBall.confidence(counts)
    of_counts, of_set = (
        optimal_association(odds, 1.0, max_nodes=0).channel
        for odds in (OddsRatios.confidence(counts), OddsRatios.over(ball))
    )
    assert ball.worst_case_epsilon(of_counts) > 1.05
    assert ball.worst_case_epsilon(of_set) <= 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("pair", "epsilon", "least", "most"),
    [
        (("education", "marital-status"), 1.0, 0.18, 0.25),
        (("education", "marital-status"), 2.0, 0.40, 0.4905),
        (("occupation", "education"), 1.0, 0.07, 0.17),
        (("occupation", "education"), 2.0, 0.20, 0.45),
    ],
)
def test_large_tables_of_adult(pair: tuple[str, str], epsilon: float, least: float, most: float) -> None:
    """More than the optimum under every distribution: .0449, .1646, .0290 and .1117 in this order."""
    counts = adult_counts(*pair)
    odds = OddsRatios.known(counts / counts.sum())
    optimum = optimal_association(odds, epsilon)
    h = entropy(odds.prior)
    assert least <= optimum.value / h <= optimum.bound / h <= most
    assert association_epsilon(optimum.channel, odds) <= epsilon * (1 + 1e-12)


def test_tiny_odds_ratios_make_no_cut_that_excludes_a_column_inside() -> None:
    low = np.full((3, 3, 3, 3), 1e-10)
    for i in range(3):
        low[i, i] = low[:, :, i, i] = 1.0
    cone = AssociationCone(OddsRatios(np.full((3, 3), 1 / 9), low), 0.5)
    # Staircase columns are private for everybody, and many have the largest ratio that is allowed.
    inside = np.where(np.random.default_rng(0).random((200, 9)) < 0.5, math.exp(0.5), 1.0)
    shares = cone.worst_shares(inside)
    assert (shares.of_t <= 1.0).all()
    assert cone.violation(inside) <= 1e-15
    assert BaseCone.violation(cone, inside) <= 1e-15
    outside = np.random.default_rng(1).uniform(1.0, 2.0, (200, 9))
    assert cone.violation(outside) == pytest.approx(BaseCone.violation(cone, outside), rel=1e-12)


@pytest.mark.parametrize("level", [0.3, 1.0, 3.0])
def test_randomized_response_attains_what_y_may_tell_of_s_given_u(level: float) -> None:
    """It is the best one for two values of S, and tells no more than allowed for three."""
    for groups in (2, 3):
        prior = np.random.default_rng(groups).dirichlet(np.ones(4 * groups)).reshape(groups, 4)
        told = math.fsum(
            p * mutual_information(column / p, randomized_response(groups, level))
            for p, column in zip(prior.sum(axis=0), prior.T, strict=True)
        )
        bound = sensitive_bound(prior, level)
        assert bound >= told
        if groups == 2:
            assert bound == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("joint", [[[0.3, 0.2], [0.1, 0.4]], [[0.05, 0.45], [0.3, 0.2]]])
def test_the_law_of_small_levels(joint: list[list[float]]) -> None:
    """It is eps^2 / 2 times the variance of 1[S = t] + 2 coth(|log rho| / 4) 1[U = u], to first order."""
    prior = np.array(joint)
    odds = OddsRatios.known(prior)
    # Where t and u occur together more rarely than if they were independent.
    t = int(prior[1, 0] < prior[1].sum() * prior[:, 0].sum())
    steep = 2.0 / math.tanh(abs(math.log(odds.low[0, 1, 0, 1])) / 4.0)
    delta = (np.arange(2)[:, None] == t) + steep * np.array([1.0, 0.0])
    law = 0.5 * float((prior * (delta - (prior * delta).sum()) ** 2).sum())
    small, twice = (optimal_association(odds, e, tolerance=1e-4).value / e**2 for e in (0.01, 0.02))
    # Half of the deviation at twice the level is gone.
    assert small == pytest.approx(law, rel=0.03)
    assert 2.0 * small - twice == pytest.approx(law, rel=2e-3)


def test_a_mechanism_of_a_search_is_taken_up_to_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """One millionth above it secret randomized response is left."""
    odds, best = OddsRatios.confidence([[70, 30, 20], [26, 57, 40]]), Channel(np.eye(6))
    found = replace(uninformative(6), channel=best)
    monkeypatch.setattr(association, "optimal_unconditional", lambda *_, **__: found)
    for level in (1.0 + 1e-6, 1.0 - 1e-6):
        monkeypatch.setattr(
            association, "association_epsilon", lambda q, _, own=level: own if q is best else 0.5
        )
        searched, _ = association._searched(odds, 1.0, False, 1, 1e-2)
        assert (searched is best) == (level < 1.0)
