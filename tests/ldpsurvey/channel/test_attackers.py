"""Levels for attackers of different knowledge, from whole numbers."""

import itertools
import math
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier import Channel, RenyiBall, association_epsilon, rldp_epsilon, secret_randomized_response
from ldpfrontier.model.privacy import unconditional_epsilon
from ldpsurvey import CountTable
from ldpsurvey.base.sampling import sampled_channel, whole_weights
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel import attackers
from ldpsurvey.channel.attackers import Levels, levels_of, population_of


def ratio(weights, pairs) -> Fraction | float:
    """Return the largest ratio of two entries of a column over some pairs of rows, exactly."""
    worst = Fraction(1)
    for x, z in pairs:
        for high, low in zip(weights[x].tolist(), weights[z].tolist(), strict=True):
            if high and not low:
                return math.inf
            if high:
                worst = max(worst, Fraction(high, low))
    return worst


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(1, 3), st.integers(1, 4))
def test_levels_of_whole_numbers_are_not_below_those_of_fractions(seed, a1, a2, outputs):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(outputs, 0.5), size=a1 * a2)
    matrix[rng.random(matrix.shape) < 0.1] = 0.0
    matrix[matrix.sum(axis=1) == 0, 0] = 1.0
    weights = whole_weights(matrix / matrix.sum(axis=1, keepdims=True))
    counts = rng.integers(0, 50, (a1, a2)) + np.eye(a1, a2, dtype=int)
    names = [tuple((f"{i}",) for i in range(n)) for n in (a1, a2)]
    table = CountTable(("s",), ("u",), *names, counts)
    population = population_of(table)
    levels, ball = levels_of(weights, table, population), RenyiBall.confidence(counts)
    rows = list(itertools.permutations(range(a1 * a2), 2))
    apart = [(x, z) for x, z in rows if x // a2 != z // a2]
    given_u = [(x, z) for x, z in apart if x % a2 == z % a2]
    for level, pairs in ((levels.insider, given_u), (levels.anyone, apart), (levels.record, rows)):
        exact = ratio(weights, pairs)
        if exact == math.inf:
            assert level == math.inf
        else:
            # log1p keeps the digits of a ratio near 1.
            assert level == pytest.approx(math.log1p(float(exact - 1)), rel=1e-12, abs=3e-15)
            assert level >= math.log1p(float(exact - 1))
    assert levels.outsider <= levels.anyone <= levels.record
    assert levels.insider <= levels.acquaintance <= levels.anyone
    # Another path: of the same chances as floats.
    channel, odds = sampled_channel(weights), population.odds(table)
    worst = association_epsilon(channel, odds)
    assert min(worst, levels.anyone) <= levels.acquaintance <= max(worst, levels.insider) + 1e-9
    chances = levels_of(channel.matrix, table, population)
    assert astuple(chances) == pytest.approx(astuple(levels), rel=1e-9, abs=1e-9)
    # What somebody knows, as a vector of weights of the values of U, under the estimate.
    known = ball.centre * rng.dirichlet(np.full(a2, 0.3), size=20)[:, None]
    given_known = known[(known.sum(axis=2) > 0).all(axis=1)]
    conditionals = given_known / given_known.sum(axis=2, keepdims=True)
    if len(conditionals):
        assert rldp_epsilon(sampled_channel(weights), conditionals).max() <= levels.acquaintance + 1e-9
    assert levels.outsider >= min(ball.worst_case_epsilon(channel), levels.anyone)


def test_searches_that_lack_what_they_may_make_no_level_too_low(monkeypatch):
    """What a search for the worst distribution may lack is added, whoever the attacker is."""
    counts = np.array([[260, 310, 570], [70, 30, 100]])
    table = CountTable(("s",), ("u",), (("a",), ("b",)), (("x",), ("y",), ("z",)), counts)
    population = population_of(table)
    weights = whole_weights(np.array(np.random.default_rng(0).dirichlet(np.full(4, 3.0), size=6)))
    channel, (ball, odds) = sampled_channel(weights), (population.ball(table), population.odds(table))
    outsider, acquaintance = ball.worst_case_epsilon(channel), association_epsilon(channel, odds)
    lacking = SETTINGS.level_error

    def lacks(value):
        return value - lacking * min(1.0, value)

    monkeypatch.setattr(RenyiBall, "worst_case_epsilon", lambda *_: lacks(outsider))
    monkeypatch.setattr(attackers, "association_epsilon", lambda *_: lacks(acquaintance))
    levels = levels_of(weights, table, population)
    assert outsider <= levels.outsider < outsider + 1e-12 < levels.anyone
    assert acquaintance <= levels.acquaintance <= acquaintance + lacking
    assert levels.insider < levels.acquaintance < levels.anyone
    # An acquaintance may know the value of U, as an insider does.
    monkeypatch.setattr(attackers, "association_epsilon", lambda *_: 0.5 * levels.insider)
    assert levels_of(weights, table, population).acquaintance == levels.insider


def test_the_strongest_attacker_for_whom_a_level_holds():
    levels = Levels(outsider=1.0, insider=0.5, acquaintance=1.5, anyone=2.0, record=3.0)
    found = [levels.strongest(epsilon) for epsilon in (0.4, 0.9, 1.0, 1.5, 2.0)]
    assert found == [None, "insider-only", "outsider", "acquaintance", "anyone"]
    assert levels.strongest(2.0 - 1e-6) == "acquaintance"
    assert Levels(1.0, 2.0, 2.0, 2.0, 3.0).strongest(1.5) == "outsider"


def test_without_useful_values_all_levels_are_one():
    weights = whole_weights(np.array([[0.75, 0.25], [0.25, 0.75]]))
    levels = levels_of(weights, CountTable(("s",), (), (("a",), ("b",)), ((),), [[1], [1]]), None)
    assert levels == Levels(*[levels.record] * 5)
    assert levels.record == pytest.approx(math.log(3))


def test_levels_for_anyone_of_reports_of_pairs_add_up():
    """As own-data.md says of channels for (S, U) and (S, V): both reports, or one that is drawn by lot."""
    first = secret_randomized_response(2, 3, 0.4).matrix.reshape(2, 3, 1, -1)
    second = secret_randomized_response(2, 4, 0.7).matrix.reshape(2, 1, 4, -1)
    both = (first[..., :, None] * second[..., None, :]).reshape(24, -1)
    assert unconditional_epsilon(Channel(both), (2, 12)) == pytest.approx(1.1)
    alone = [np.broadcast_to(one, (2, 3, 4, one.shape[-1])).reshape(24, -1) for one in (first, second)]
    drawn = np.hstack([0.3 * alone[0], 0.7 * alone[1]])
    assert unconditional_epsilon(Channel(drawn), (2, 12)) == pytest.approx(0.7)
