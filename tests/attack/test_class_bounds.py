"""Bounds over F and its projections on tables above 16 cells, against an independent search.

With ``--long`` 200 random tables and the large pairs of Adult; otherwise a few small ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from attack.bounds import (
    LEVEL,
    Instance,
    adult_instance,
    attack,
    cone_of,
    effort_of,
    quantiles,
    random_instance,
)
from ldpfrontier.channel import Channel
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.column_search import Cone, best_mechanism
from oracles.conic import conic_level
from support.tables import random_ball


def check(instance: Instance, **effort: int):
    row, found = attack(instance, **effort)
    assert row.above_level <= LEVEL * min(1.0, instance.epsilon), row
    assert not row.is_void, row
    # The search starts from the mechanism of the library, and loses rounding alone.
    assert row.best >= row.library * (1.0 - 1e-6), row
    return row, found


@pytest.mark.parametrize(("number", "envelope"), [(0, "projections"), (2, "projections"), (6, "exact")])
def test_no_mechanism_found_exceeds_the_bound_of_its_class(number, envelope):
    instance = random_instance(number, most_cells=20)
    instance.envelope, instance.max_nodes = envelope, 500
    instance.pairs = "distinct" if envelope == "exact" else instance.pairs
    row, found = check(instance, starts=12, rounds=2, steps=3)
    # The library computes the same level.
    channel = Channel(found.columns.reshape(len(found.columns), -1).T)
    level = instance.ball.worst_case_epsilon(channel) if envelope == "exact" else found.level
    assert level <= row.epsilon * (1.0 + 1e-9)


@pytest.mark.long
def test_no_mechanism_found_exceeds_the_bound_of_its_class_on_200_tables(capsys):
    rows = []
    for number in [*range(-4, 0), *range(200)]:
        instance = random_instance(number) if number >= 0 else adult_instance(number)
        rows.append(check(instance, **effort_of(number))[0])
        with capsys.disabled():
            print(rows[-1], flush=True)
    with capsys.disabled():
        print(quantiles(rows))


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_levels_over_the_uncertainty_set_are_those_of_conic_programs(order):
    ball, _ = random_ball((3, 3), 5, order)
    cone = Cone(np.array(ball.centre), ball.radius, order, 0.7, distinct=True, exact=True)
    V = cone.moved(np.random.default_rng(0).exponential(size=(4, 3, 3)))
    for v in V:
        levels = [
            conic_level(ball.centre, ball.radius, order, s, v[s], t, v[t])
            for s in range(3) for t in range(3) if s != t
        ]  # fmt: skip
        # Columns without a zero are moved to the end of the cone.
        assert max(levels) <= 0.7 + 1e-7
        assert max(levels) == pytest.approx(0.7, abs=1e-5) or v.min() == 0.0


def test_levels_over_the_projections_are_those_of_the_library():
    for order in (0.5, 1.0, 3.0):
        ball, _ = random_ball((3, 4), 7, order)
        rng = np.random.default_rng(1)
        matrix = rng.dirichlet(np.ones(5), 12)
        cone = Cone(np.array(ball.centre), ball.radius, order, 1.0, distinct=True)
        own = cone.level(matrix.T.reshape(5, 3, 4)).max()
        assert own == pytest.approx(ball.projected_epsilon(Channel(matrix)), abs=1e-9)


def test_the_search_finds_what_the_library_does_from_nothing():
    instance = random_instance(1, most_cells=18)
    instance.ball = RenyiBall.confidence(
        np.array([[40, 30, 9, 70, 5, 6], [9, 20, 60, 33, 12, 8], [50, 9, 9, 9, 20, 40]])
    )
    instance.epsilon, instance.envelope, instance.pairs, instance.max_nodes = 1.5, "projections", "all", 0
    row, _ = attack(instance, starts=12, rounds=1, steps=3)
    alone = best_mechanism(
        cone_of(instance), np.ones((1, 3, 6)), np.random.default_rng(0), starts=60, rounds=14
    )
    assert alone.value >= 0.98 * row.library


def test_a_bound_of_a_level_that_is_too_low_is_exceeded():
    instance = random_instance(0)
    instance.max_nodes = 2_000
    row, _ = attack(instance, starts=8, rounds=1, steps=2)
    cone = cone_of(instance)
    larger = Cone(cone.P, cone.radius, cone.order, 1.1 * cone.epsilon, cone.distinct)
    found = best_mechanism(
        larger, np.ones((1, *cone.P.shape)), np.random.default_rng(0), starts=60, rounds=14
    )
    assert found.value > row.bound
    assert found.level > 1.05 * instance.epsilon
