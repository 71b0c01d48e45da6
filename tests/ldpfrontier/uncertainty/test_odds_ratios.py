"""Odds ratios: their intervals, and the level for those who know something about U against brute force."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import get_args

import numpy as np
import pytest
from scipy.special import gammaln, xlogy
from scipy.stats import contingency

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import conditional_epsilon, rldp_epsilon, unconditional_epsilon
from ldpfrontier.uncertainty.odds_ratios import IntervalMethod, OddsRatios, association_epsilon

COUNTS = np.array([[12, 7, 30], [25, 9, 4], [3, 11, 16]])


def random_channel(rng: np.random.Generator, inputs: int) -> Channel:
    """A channel with entries of all sizes, and zeros in every third one."""
    matrix = rng.random((inputs, 4)) ** rng.choice([1, 4, 12]) + 1e-300
    if rng.random() < 0.3:
        matrix[rng.random(matrix.shape) < 0.2] = 0.0
        matrix[:, 0] += 1e-3
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def two_cell_level(x: FloatArray, y: FloatArray, rho: float) -> float:
    """The largest log ratio of means of two cells, by search over the odds r of their weights given s."""

    def level(logs: FloatArray) -> FloatArray:
        r = np.exp(logs)
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (r * x[0] + x[1]) / (r + 1.0), (r * rho * y[0] + y[1]) / (r * rho + 1.0)
            return np.where(first > 0.0, np.log(first) - np.log(second), 0.0)

    low, high = -300.0, 300.0
    best = 0.0
    for _ in range(12):
        grid = np.linspace(low, high, 401)
        values = level(grid)
        best = max(best, float(values.max()))
        centre, step = grid[values.argmax()], grid[1] - grid[0]
        low, high = centre - step, centre + step
    return best


def between(low: float, high: float) -> OddsRatios:
    """An odds ratio of a 2 x 2 table in an interval."""
    ends = np.ones((2, 2, 2, 2))
    ends[0, 1, 0, 1] = ends[1, 0, 1, 0] = low
    ends[0, 1, 1, 0] = ends[1, 0, 0, 1] = 1 / high
    return OddsRatios(np.full((2, 2), 0.25), ends)


def test_the_closed_form_is_the_worst_weight(long: bool) -> None:
    rng = np.random.default_rng(0)
    interior = 0
    for _ in range(10_000 if long else 200):
        rho = math.exp(-rng.exponential() * rng.choice([0.01, 1.0, 8.0]))
        v = np.exp(-rng.exponential(size=(2, 2)) * rng.choice([0.3, 2.0, 8.0]))
        if rng.random() < 0.1:
            v[:, 1] = 0.0  # the worst weight is a limit
        odds = between(rho, rho)
        channel = Channel(np.column_stack([v.ravel() / 2, 1 - v.ravel() / 2]))
        found = association_epsilon(channel, odds)
        blocks = channel.matrix.reshape(2, 2, 2)
        worst = max(
            two_cell_level(blocks[s, :, y], blocks[1 - s, :, y], rho if s == 0 else 1 / rho)
            for s in range(2)
            for y in range(2)
        )
        assert found == pytest.approx(worst, rel=1e-9, abs=1e-12)
        interior += found > conditional_epsilon(channel, (2, 2)) * (1 + 1e-9)
    assert interior > 20


def test_two_values_of_u_are_enough() -> None:
    """Random weights of all values never find more than the level, and random pairs come close to it."""
    rng = np.random.default_rng(1)
    close = []
    for _ in range(20):
        joint = rng.dirichlet(np.ones(8)).reshape(2, 4)
        odds, channel = OddsRatios.known(joint), random_channel(rng, 8)
        level = association_epsilon(channel, odds)
        assert conditional_epsilon(channel, (2, 4)) <= level * (1 + 1e-12)
        assert level <= unconditional_epsilon(channel, (2, 4)) * (1 + 1e-12)
        weights = rng.random((2_000, 4)) ** rng.choice([1, 4, 16], size=(2_000, 1))
        weights[::2] *= [rng.permutation(4) < 2 for _ in weights[::2]]
        tilted = joint * weights[:, None, :]
        found = rldp_epsilon(channel, tilted / tilted.sum(axis=2, keepdims=True)).max()
        assert found <= level * (1 + 1e-9)
        if math.isfinite(level):
            close.append(found / level)
    assert len(close) > 10
    assert np.median(close) > 0.95


def free_in_one_pair(values: int) -> FloatArray:
    """Least odds ratios that are 1, but for those of the first and last value of U, which may be anything."""
    low = np.ones((2, 2, values, values))
    for s, u in ((0, 0), (0, -1), (1, 0), (1, -1)):
        low[s, 1 - s, u, -1 - u] = 0.0
    return low


def test_intervals_imply_each_other() -> None:
    """Ends that no distribution has count for nothing: S and U are independent, whatever one says."""
    tells_u = Channel(np.tile([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], (2, 1)))
    odds = OddsRatios(np.full((2, 3), 1 / 6), free_in_one_pair(3))
    assert odds.low == pytest.approx(np.ones((2, 2, 3, 3)), abs=1e-8)
    assert association_epsilon(tells_u, odds) == pytest.approx(0.0, abs=1e-8)
    # And over s: values of S and U are exchanged.
    swapped = OddsRatios(np.full((3, 2), 1 / 6), free_in_one_pair(3).transpose(2, 3, 0, 1))
    assert swapped.low == pytest.approx(np.ones((3, 3, 2, 2)), abs=1e-8)


def test_closed_intervals_lose_no_distribution(long: bool) -> None:
    """Random ends around a distribution, and others with odds ratios in all intervals, up to the ends."""
    rng = np.random.default_rng(11)
    moved, near = 0, []
    for trial in range(60 if long else 8):
        shape = [(2, 3), (3, 2), (3, 3), (2, 4)][trial % 4]
        prior = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape)
        known = OddsRatios.known(prior).low
        spread = rng.exponential(size=known.shape) * rng.choice([0.1, 1.0, 20.0], size=known.shape)
        spread = np.minimum(spread, spread.transpose(1, 0, 3, 2))
        spread[known == 1.0] = 0.0
        low = known * np.exp(-spread)
        odds = OddsRatios(prior, low)
        assert (odds.low >= low).all()
        moved += int((odds.low > low * (1 + 1e-9)).sum())
        assert OddsRatios(prior, odds.low).low == pytest.approx(odds.low, rel=1e-8)
        channel = random_channel(rng, math.prod(shape))
        level = association_epsilon(channel, odds)
        log, step, found = np.log(prior), 1.0, 0.0
        for _ in range(200):
            other = log + step * rng.normal(size=shape) * (rng.random(shape) < 0.5)
            ratios = OddsRatios.known(np.exp(other) / np.exp(other).sum()).low
            inside = (ratios >= low * (1 - 1e-12)).all()
            step *= 1.1 if inside else 0.9
            if inside:
                log = other
                assert (ratios >= odds.low * (1 - 1e-9)).all()
                found = max(
                    found, association_epsilon(channel, OddsRatios.known(np.exp(other) / np.exp(other).sum()))
                )
        assert found <= level * (1 + 1e-9)
        near.append(found / level)
    assert moved > 20
    assert max(near) > 0.8


def test_known_odds_ratios_are_closed(long: bool) -> None:
    """Rounding makes no cycle, however many values there are, and cells without samples imply nothing."""
    rng = np.random.default_rng(12)
    for shape in [(15, 16), (2, 40), *([(30, 30)] if long else [])]:
        counts = rng.multinomial(30_000, rng.dirichlet(np.full(math.prod(shape), 0.2))).reshape(shape)
        assert (counts == 0).sum() > 5
        prior = counts / counts.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            u, w = prior[:, None, :, None], prior[:, None, None, :]
            expected = (u.swapaxes(0, 1) * w) / (w.swapaxes(0, 1) * u)
        low = OddsRatios.known(prior).low
        defined = np.isfinite(expected) & (expected > 0.0)
        assert low[defined] == pytest.approx(expected[defined], rel=1e-11)
        assert (low[expected == 0.0] == 0.0).all()
        assert (low[np.isposinf(expected)] == math.inf).all()
        intervals = OddsRatios.confidence(counts, method="bonferroni")
        assert (intervals.low <= low * (1 + 1e-9)).all()


def test_intervals_without_a_common_distribution_are_refused() -> None:
    low = np.ones((2, 2, 3, 3))
    for u, w in ((0, 1), (1, 2), (2, 0)):
        low[0, 1, u, w] = low[1, 0, w, u] = 2.0
        low[0, 1, w, u] = low[1, 0, u, w] = 0.25
    with pytest.raises(ValueError, match="the least ones multiply to more than 1"):
        OddsRatios(np.full((2, 3), 1 / 6), low)


def test_zeros_and_ends() -> None:
    x = Channel(np.array([[0.4, 0.6], [0.1, 0.9], [0.3, 0.7], [0.2, 0.8]]))
    anything = OddsRatios(np.full((2, 2), 0.25), np.eye(2)[:, :, None, None] * np.ones((2, 2)) + 0.0)
    assert association_epsilon(x, anything) == pytest.approx(unconditional_epsilon(x, (2, 2)))
    independent = OddsRatios.known(np.outer([0.25, 0.75], [0.5, 0.5]))
    assert association_epsilon(x, independent) == conditional_epsilon(x, (2, 2))
    # A value of S that one value of U rules out: only one direction becomes unconditional.
    rare = OddsRatios.known([[0.5, 0.0], [0.25, 0.25]])
    rho = rare.low[0, 1, 1, 0]
    assert rho == math.inf
    assert rare.low[0, 1, 0, 1] == 0.0
    assert rare.high[0, 1, 0, 1] == 0.0
    assert association_epsilon(x, rare) == pytest.approx(math.log(0.4 / 0.2))
    assert math.isinf(association_epsilon(Channel(np.eye(4)), rare))


def test_both_ends_of_an_interval_count() -> None:
    """Each end alone is the stricter one for some channel, and an interval asks for both."""
    v = np.array([0.45, 0.3, 0.35, 0.2])
    levels = []
    for column in (v, v[[1, 0, 3, 2]]):
        channel = Channel(np.column_stack([column, 1 - column]))
        levels.append([association_epsilon(channel, between(*ends)) for ends in ((0.5, 1), (1, 4), (0.5, 4))])
    for lower, upper, both in levels:
        assert both == max(lower, upper)
    assert levels[0][0] > levels[0][1]
    assert levels[1][0] < levels[1][1]


def test_wald_intervals_by_hand() -> None:
    s, t, u, w = 0, 2, 1, 2
    log = math.log(11 * 30 / (16 * 7))
    error = math.sqrt(1 / 11 + 1 / 30 + 1 / 16 + 1 / 7)
    scheffe, bonferroni = (OddsRatios.confidence(COUNTS, method=m) for m in ("scheffe", "bonferroni"))
    # The 95% quantile of chi-squared with 8 degrees of freedom, and that of the normal for nine odds ratios.
    z = NormalDist().inv_cdf(1 - 0.05 / 18)
    assert scheffe.low[s, t, u, w] == pytest.approx(math.exp(log - math.sqrt(15.50731306) * error))
    assert bonferroni.high[s, t, u, w] == pytest.approx(math.exp(log + z * error))
    # The same shares as sums of weights, for a third of the people.
    third = OddsRatios.confidence(7.7 * COUNTS, method="bonferroni", effective=COUNTS.sum() / 3)
    assert third.high[s, t, u, w] == pytest.approx(math.exp(log + z * math.sqrt(3.0) * error))


def test_exact_intervals_are_those_of_scipy() -> None:
    odds = OddsRatios.confidence(COUNTS)
    for s, t, u, w in [(0, 1, 0, 1), (0, 2, 1, 2), (2, 1, 0, 2)]:
        table = [[COUNTS[t, u], COUNTS[t, w]], [COUNTS[s, u], COUNTS[s, w]]]
        expected = contingency.odds_ratio(table).confidence_interval(1 - 0.05 / 9)
        assert odds.low[s, t, u, w] == pytest.approx(expected.low, rel=1e-6)
        assert odds.high[s, t, u, w] == pytest.approx(expected.high, rel=1e-6)


def test_empty_cells_have_open_ends() -> None:
    counts = np.array([[0, 5], [9, 4]])
    exact, wald = OddsRatios.confidence(counts), OddsRatios.confidence(counts, method="bonferroni")
    assert exact.high[0, 1, 0, 1] == math.inf
    assert 0.0 < exact.low[0, 1, 0, 1] < math.inf
    assert wald.high[0, 1, 0, 1] == math.inf
    assert wald.low[0, 1, 0, 1] == 0.0


def level_in_population(channel: Channel, joint: FloatArray, weights: FloatArray) -> float:
    """The level of S for those who know of U what weights say, among the sensitive values that are left."""
    tilted = joint * weights
    left = tilted.sum(axis=1) > 0.0
    conditionals = tilted[left] / tilted[left].sum(axis=1, keepdims=True)
    rows = np.repeat(left, joint.shape[1])
    return rldp_epsilon(Channel(channel.matrix[rows]), conditionals) if left.sum() > 1 else 0.0


def test_what_impossible_cells_leave_of_the_condition(long: bool) -> None:
    """The level is the largest over populations without them; mechanisms may do anything there."""
    rng = np.random.default_rng(5)
    impossible = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=bool)
    close = []
    for _ in range(30 if long else 6):
        joint = np.where(impossible, 0.0, rng.dirichlet(np.ones(12)).reshape(3, 4))
        joint /= joint.sum()
        channel = random_channel(rng, 12)
        level = association_epsilon(channel, OddsRatios.known(joint, impossible))
        found = 0.0
        for n in range(400):
            weights = np.exp(rng.normal(size=4) * rng.choice([1, 4, 12]))
            if n % 2:
                weights *= rng.permutation(4) < 2
            found = max(found, level_in_population(channel, joint, weights))
        assert found <= level * (1 + 1e-9)
        close += [found / level] if math.isfinite(level) else []
        # Nothing that happens at impossible cells counts.
        other = channel.matrix.copy()
        other[impossible.ravel()] = np.eye(4)[0]
        assert association_epsilon(Channel(other), OddsRatios.known(joint, impossible)) == level
        # Rare cells count for no less.
        assert level <= association_epsilon(channel, OddsRatios.known(joint)) * (1 + 1e-12)
    assert np.median(close) > 0.9


def test_impossible_cells_need_no_interval() -> None:
    counts = np.array([[0, 7, 30], [25, 9, 4], [3, 11, 16]])
    impossible = counts == 0
    for method in get_args(IntervalMethod):
        less = OddsRatios.confidence(counts, method=method, impossible=impossible)
        every = OddsRatios.confidence(counts, method=method)
        # Odds ratios of possible cells: fewer of them are estimated, so that intervals are narrower.
        assert every.low[1, 2, 0, 1] < less.low[1, 2, 0, 1] < less.high[1, 2, 0, 1] < every.high[1, 2, 0, 1]
        assert less.low[0, 1, 0, 1] == less.high[0, 1, 0, 1] == math.inf
        assert every.low[0, 1, 0, 1] < 100.0
        assert every.contains(less)
    # Five of nine tables of four cells are left, whose intervals have a fifth of beta each.
    five = contingency.odds_ratio([[25, 9], [3, 11]]).confidence_interval(1 - 0.05 / 5)
    exact = OddsRatios.confidence(counts, impossible=impossible)
    assert exact.high[1, 2, 0, 1] == pytest.approx(1 / five.low, rel=1e-6)
    # Both impossible in one row or column: no comparison of these two values is left.
    row = OddsRatios.confidence([[0, 0, 5], [4, 6, 3]], impossible=[[True, True, False], [False] * 3])
    assert row.low[0, 1, 0, 1] == row.high[0, 1, 0, 1] == 1.0
    assert row.low[0, 1, 0, 2] == row.high[0, 1, 0, 2] == math.inf
    column = OddsRatios.known([[0.0, 0.5], [0.0, 0.5]], [[True, False], [True, False]])
    assert (column.low == 1.0).all()


def all_tables(samples: int, cells: int) -> FloatArray:
    """All tables of counts of some cells, (tables, cells)."""
    bars = np.array(list(itertools.combinations(range(samples + cells - 1), cells - 1)))
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), samples + cells - 1)])
    return np.diff(ends, axis=1) - 1.0


#: The least probability that all odds ratios are in their intervals (docs/beyond/theorems.md).
COVERAGE = {"exact": 0.98, "bonferroni": 0.95, "scheffe": 0.98}


@pytest.mark.parametrize("method", get_args(IntervalMethod))
def test_coverage_by_enumeration(method: IntervalMethod, long: bool) -> None:
    """All tables of 2 x 2 cells and 14 samples, or 2 x 3 cells and 12: the probability is a sum."""
    rng = np.random.default_rng(7)
    least = 1.0
    for shape, samples in [((2, 2), 14), *([((2, 3), 12)] if long else [])]:
        tables = all_tables(samples, math.prod(shape))
        lows = np.array([OddsRatios.confidence(n.reshape(shape), method=method).low for n in tables])
        ways = gammaln(samples + 1) - gammaln(tables + 1).sum(axis=1)
        for truth in [np.ones(shape) / math.prod(shape), *rng.dirichlet(np.ones(math.prod(shape)), 15)]:
            known = OddsRatios.known(np.reshape(truth, shape)).low
            chances = np.exp(ways + xlogy(tables, np.ravel(truth)).sum(axis=1))
            assert chances.sum() == pytest.approx(1.0)
            covered = (lows <= known * (1 + 1e-12)).all(axis=(1, 2, 3, 4))
            least = min(least, float(chances[covered].sum()))
    assert least >= COVERAGE[method]


def test_intervals_of_one_value_and_of_many_samples() -> None:
    assert (OddsRatios.confidence([[3, 4, 5]]).low == 1.0).all()
    assert (OddsRatios.confidence([[3], [4]]).low == 1.0).all()
    many = OddsRatios.confidence(1000 * COUNTS, method="exact")
    wald = OddsRatios.confidence(1000 * COUNTS, method="bonferroni")
    assert many.low == pytest.approx(wald.low, rel=1e-3)
    with pytest.raises(Intractable, match="at most 1,000,000 are supported"):
        OddsRatios.confidence([[10**7, 10**7], [10**7, 10**7]])
