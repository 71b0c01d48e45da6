"""Several independent reports of one person: their channel, their levels, and mechanisms for them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    OddsRatios,
    RenyiBall,
    association_epsilon,
    composition,
    entropy,
    levels_of_reports,
    mutual_information,
    optimal_association,
    optimal_repeated,
    optimal_robust,
)
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.optimum import uninformative
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.promises import repeated
from support.grids import few

# UCI Adult: sex by race, and income by relationship, over everybody aged 17 or more.
SEX_RACE = np.array([[119, 346, 1555, 109, 8642], [192, 693, 1569, 162, 19174]])


def products(*channels: Channel) -> Channel:
    """The channel of one report by each of several channels with the same inputs."""
    columns = [np.prod(chosen, axis=0) for chosen in itertools.product(*(c.matrix.T for c in channels))]
    return Channel(np.transpose(columns))


def conditionals(joint: FloatArray) -> FloatArray:
    return joint / joint.sum(axis=1, keepdims=True)


def worst_attacker(channel: Channel, joint: FloatArray, rng: np.random.Generator) -> float:
    """The largest level among attackers who know something about U: random weights, and pairs of values."""
    a2 = joint.shape[1]
    weights = [*np.eye(a2), np.ones(a2), *rng.random((60, a2)) ** 6]
    weights += [
        w * np.eye(a2)[list(p)].sum(axis=0) for p in itertools.combinations(range(a2), 2) for w in weights
    ]
    given = np.array([w * joint / (w * joint).sum(axis=1, keepdims=True) for w in weights if w.sum() > 0.0])
    return float(np.max(rldp_epsilon(channel, given)))


def random_table(rng: np.random.Generator) -> FloatArray:
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    joint = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape) + 1e-4
    return np.asarray(joint / joint.sum())


def test_levels_of_reports_by_random_mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the products of columns, by attackers; and bounds of them if that is too large."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        joint = random_table(rng)
        odds, shape = OddsRatios.known(joint), (joint.shape[0], joint.shape[1])
        channels = [Channel(rng.dirichlet(np.full(3, 8.0), joint.size)) for _ in range(rng.integers(1, 3))]
        channels += channels[:1]
        both = products(*channels)
        level = levels_of_reports(channels, shape, odds=odds)
        assert level.exact
        assert level.acquaintances is not None
        assert level.acquaintances == pytest.approx(association_epsilon(both, odds), rel=1e-9)
        assert worst_attacker(both, joint, rng) <= level.acquaintances * (1 + 1e-9)
        blocks = both.matrix.reshape(*shape, -1)
        pairs = list(itertools.permutations(range(shape[0]), 2))
        given = max(np.log(blocks[s] / blocks[t]).max() for s, t in pairs)
        anyone = max(np.log(blocks[s].max(axis=0) / blocks[t].min(axis=0)).max() for s, t in pairs)
        assert (level.insiders, level.anyone) == pytest.approx((given, anyone), rel=1e-9)
        with monkeypatch.context() as patch:
            patch.setattr("ldpfrontier.reports.several_reports.MOST_ENTRIES", 0)
            bound = levels_of_reports(channels, shape, odds=odds)
        assert not bound.exact
        assert bound.acquaintances is not None
        assert level.acquaintances <= bound.acquaintances * (1 + 1e-9)
        assert bound.acquaintances <= level.insiders + math.log(odds.high.max()) + 1e-9


def test_a_bound_for_outsiders_holds_where_the_product_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        ball = RenyiBall.confidence(rng.integers(20, 200, (2, 3)))
        channels = [Channel(rng.dirichlet(np.full(3, 8.0), 6)) for _ in range(2)]
        exact = levels_of_reports(channels, (2, 3), ball=ball)
        assert exact.outsiders == pytest.approx(ball.worst_case_epsilon(products(*channels)), rel=1e-9)
        with monkeypatch.context() as patch:
            patch.setattr("ldpfrontier.reports.several_reports.MOST_ENTRIES", 0)
            bound = levels_of_reports(channels, (2, 3), ball=ball)
        assert not bound.exact
        assert exact.outsiders is not None
        assert bound.outsiders is not None
        assert exact.outsiders <= bound.outsiders * (1 + 1e-9)


@pytest.mark.parametrize("shape", few([[2, 2], [2, 3]], more=[[3, 2], [3, 3]]))
def test_widened_intervals_add_up(shape: list[int]) -> None:
    """Optima of two levels, the second over intervals that the first one may lead to; by attackers."""
    rng = np.random.default_rng(shape)
    joint = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape)
    odds = OddsRatios.known(joint)
    first, second = rng.uniform(0.2, 1.0, 2)
    one = optimal_association(odds, first).channel
    other = optimal_association(odds.widened(2.0 * first), second).channel
    both = products(one, other)
    assert association_epsilon(both, odds) <= (first + second) * (1 + 1e-9)
    assert worst_attacker(both, joint, rng) <= (first + second) * (1 + 1e-9)


def of_level(channel: Channel, odds: OddsRatios, epsilon: float) -> Channel:
    """A mixture of a channel and its mean row, as much of the former as a level for acquaintances allows."""
    mean = channel.matrix.mean(axis=0)
    low, high = 0.0, 1.0
    for _ in range(12):
        share = 0.5 * (low + high)
        mixed = Channel(share * channel.matrix + (1.0 - share) * mean)
        low, high = (share, high) if association_epsilon(mixed, odds) <= epsilon else (low, share)
    return Channel(low * channel.matrix + (1.0 - low) * mean)


def random_mechanism(rng: np.random.Generator, odds: OddsRatios, epsilon: float, *, best: bool) -> Channel:
    """An optimum, or a channel of the level that tells of U more or less."""
    if best:
        return optimal_association(odds, epsilon, tolerance=0.05, max_nodes=100).channel
    a1, a2 = odds.shape
    noise = rng.dirichlet(np.full(3, 0.5), a1 * a2)
    of_u = np.tile(rng.dirichlet(np.full(3, 0.3), a2), (a1, 1))
    share = rng.uniform(0.0, 0.5)
    return of_level(Channel(share * noise + (1.0 - share) * of_u), odds, epsilon)


@pytest.mark.parametrize("part", few([2], more=[0, 1, 3, 4]))
def test_levels_of_pairs_of_mechanisms_add_up_as_far_as_is_said(part: int) -> None:
    """On 40 tables: exactly with widened intervals, even if the first report chooses the second mechanism.

    Without widening, the largest odds ratio comes on top at most.
    """
    rng = np.random.default_rng(part)
    for number in range(40):
        joint = random_table(rng)
        odds = OddsRatios.known(joint)
        first, second = rng.uniform(0.1, 1.5, 2)
        best = number % 10 == 0 and joint.size <= 6  # larger ones take seconds
        one = random_mechanism(rng, odds, first, best=best)
        # A mechanism for each of the reports that may come first, adapted to it.
        widened = odds.widened(2.0 * first)
        others = [random_mechanism(rng, widened, second, best=best and y == 0) for y in range(one.n_outputs)]
        blocks = [one.matrix[:, [y]] * other.matrix for y, other in enumerate(others)]
        assert worst_attacker(Channel(np.hstack(blocks)), joint, rng) <= (first + second) * (1 + 1e-9)

        plain = products(one, random_mechanism(rng, odds, second, best=best))
        assert worst_attacker(plain, joint, rng) <= first + second + math.log(odds.high.max()) + 1e-9


def test_reports_without_a_level_together() -> None:
    # A fair coin U, independent of S: a report of U and one of U xor S.
    coin = np.full((2, 2), 0.25)
    tells_u = Channel([[1, 0], [0, 1], [1, 0], [0, 1]])
    tells_sum = Channel([[1, 0], [0, 1], [0, 1], [1, 0]])
    for one in (tells_u, tells_sum):
        assert np.max(rldp_epsilon(one, conditionals(coin))) == 0.0
    assert math.isinf(np.max(rldp_epsilon(composition([tells_u, tells_sum]), conditionals(coin))))

    ball = RenyiBall.confidence(SEX_RACE)
    polyopt = optimal_robust(ball, 0.3, envelope="simplex").channel
    assert ball.worst_case_epsilon(polyopt) <= 0.3
    together = levels_of_reports([polyopt, polyopt], (2, 5), ball=ball)
    assert together.outsiders == together.insiders == math.inf


def test_levels_of_acquaintances_nearly_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    odds = OddsRatios.known(SEX_RACE / SEX_RACE.sum())
    assert math.log(odds.high.max()) == pytest.approx(0.788, abs=1e-3)
    best = optimal_association(odds, 0.3, max_nodes=500).channel
    levels = [levels_of_reports([best] * m, (2, 5), odds=odds).acquaintances for m in (1, 2, 3)]
    assert levels == pytest.approx([0.3, 0.656, 1.023], abs=3e-3)
    # Where the product is too large, the bound counts what the first report changes: 0.6 would be too low.
    monkeypatch.setattr("ldpfrontier.reports.several_reports.MOST_ENTRIES", 0)
    bound = levels_of_reports([best] * 2, (2, 5), odds=odds)
    assert not bound.exact
    assert levels[1] <= bound.acquaintances <= 0.6 + math.log(odds.high.max()) + 1e-9


@pytest.mark.parametrize(
    ("adaptive", "each", "told"), few([(False, 0.460, 0.441)], more=[(True, 0.5, 0.243)])
)
def test_two_reports_at_the_level_1(adaptive: bool, each: float, told: float) -> None:
    odds = OddsRatios.known(SEX_RACE / SEX_RACE.sum())
    two = optimal_repeated(odds, 1.0, 2, adaptive=adaptive, tolerance=1e-2)
    assert two.level <= 1.0 + 1e-9
    assert two.epsilon == pytest.approx(each, abs=5e-3)
    share = mutual_information(odds.prior, two.together) / entropy(odds.prior)
    assert share == pytest.approx(told, abs=2e-3)


def test_a_composition_has_a_limit() -> None:
    channel = Channel(np.full((30, 30), 1 / 30))
    assert composition([channel] * 2).n_outputs == math.comb(31, 2)
    with pytest.raises(Intractable):
        composition([channel] * 8)


def test_many_reports_need_a_level_each() -> None:
    odds = OddsRatios.known(np.full((2, 2), 0.25))
    for adaptive in (False, True):
        with pytest.raises(
            ValueError, match=r"20 reports, which leaves 0\.0005 nats to each; .* 0\.02 or more"
        ):
            optimal_repeated(odds, 0.01, 20, adaptive=adaptive)
    # The search goes below the level that each may have; the widened intervals have it.
    few = optimal_repeated(OddsRatios.known([[0.4, 0.1], [0.1, 0.4]]), 0.002, 2)
    assert few.epsilon >= 0.001 * (1 - 1e-9)
    assert few.level <= 0.002 * (1 + 1e-9)


@pytest.mark.parametrize(("chance", "number"), [(1e-4, 100), (0.2, 171)])
def test_what_the_machine_cannot_compose_is_bounded(chance, number):
    """Probabilities of all reports below 1e-308, and numbers of orders above 1e308."""
    rows = [[chance, 1.0 - chance]] * 2 + [[1.05 * chance, 1.0 - 1.05 * chance]] * 2
    found = levels_of_reports(
        [Channel(rows)] * number, (2, 2), odds=OddsRatios.confidence([[30, 20], [10, 40]])
    )
    assert not found.exact
    assert found.insiders - 1e-9 <= found.acquaintances <= found.anyone + 1e-9


def test_reports_are_at_a_level_at_which_all_keep_theirs(monkeypatch):
    """One millionth above it at every level that is tried, intervals are widened, which needs no search."""
    odds, made = OddsRatios.known([[0.4, 0.1], [0.1, 0.4]]), list[OddsRatios]()

    def silent(over, level, **_):
        made.append(over)
        return uninformative(4)

    monkeypatch.setattr(repeated, "optimal_association", silent)
    for factor in (1.0 + 1e-6, 1.0 - 1e-6):
        monkeypatch.setattr(repeated, "association_epsilon", lambda *_, factor=factor: factor)
        optimal_repeated(odds, 1.0, 2)
        assert (made[-1] is odds) == (factor < 1.0)
