"""Programs that go on from their last vertex, against SciPy from the beginning."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.numerics.deadline import TimeIsUp, time_limit
from ldpfrontier.numerics.warm_simplex import PERTURBATION, WIDTH, WarmSimplex


class Simplex:
    """A program over {x >= 0 : scale . x = 1}, and the inequalities that it has, as a dense matrix."""

    def __init__(self, n, room=400, seed=0):
        self.rng = np.random.default_rng(seed)
        self.scale = self.rng.uniform(0.5, 1.5, n)
        places, entries = np.repeat(np.arange(n)[:, None], 2, axis=1), np.tile([-1.0, 0.0], (n, 1))
        self.program = WarmSimplex(self.scale, places, entries, np.zeros(n), np.arange(1, n), room)
        self.dense, self.added = np.zeros((0, n)), []

    def add(self, number):
        """Add inequalities that the constant vector meets, some of them with fewer places."""
        n = len(self.scale)
        places = np.array([self.rng.permutation(n)[:WIDTH] for _ in range(number)])
        entries = self.rng.normal(size=(number, WIDTH)) * (self.rng.random((number, WIDTH)) < 0.8)
        entries[:, 0] -= entries.sum(axis=1) + self.rng.choice([0.0, 0.3], size=number)
        self.program.add(places, entries)
        self.added.append((places, entries))
        dense = np.zeros((number, n))
        np.put_along_axis(dense, places, entries, axis=1)
        self.dense = np.vstack([self.dense, dense])

    def add_again(self):
        """Add all of them once more."""
        for places, entries in self.added:
            self.program.add(places, entries)

    def best(self, cost, raised=0.0):
        """Return the value of the program by SciPy, with right sides raised."""
        rows = self.dense if len(self.dense) else None
        most = np.full(len(self.dense), raised) if len(self.dense) else None
        found = linprog(
            -cost, A_ub=rows, b_ub=most, A_eq=self.scale[None], b_eq=[1.0], bounds=(-raised, None)
        )
        assert found.status == 0
        return -found.fun


@pytest.mark.parametrize("seed", range(4))
def test_other_costs_and_more_inequalities(seed: int) -> None:
    own = Simplex(30, seed=seed)
    for _ in range(25):
        cost = own.rng.normal(size=30)
        x = own.program.maximize(cost).copy()
        for number in (0, 6, 6):
            if number:
                own.add(number)
                x = own.program.maximize()
            value = own.program.value
            assert own.best(cost) - 1e-8 <= value <= own.best(cost, PERTURBATION) + 1e-8
            assert cost @ x == pytest.approx(own.program.value, abs=1e-7)
            assert own.scale @ x == pytest.approx(1.0)
            assert x.min() >= -2.0 * PERTURBATION
            assert (own.dense @ x).max(initial=0.0) <= 2.0 * PERTURBATION


def test_what_does_not_bind_is_dropped() -> None:
    own = Simplex(30)
    for _ in range(10):
        own.add(8)
        cost = own.rng.normal(size=30)
        own.program.maximize(cost)
    value, added = own.program.value, own.program.added
    own.program.drop()
    assert 0 < own.program.added < added == len(own.dense)
    own.program.maximize()
    assert own.program.value == pytest.approx(value, abs=1e-9)
    other = own.rng.normal(size=30)
    own.program.maximize(other)
    assert own.program.value >= own.best(other) - 1e-8
    own.add_again()
    own.program.maximize()
    assert own.best(other) - 1e-8 <= own.program.value <= own.best(other, PERTURBATION) + 1e-8


def test_many_inequalities_at_one_vertex() -> None:
    """Ratios of all entries are limited: at the constant vector all of these inequalities meet."""
    n, rng = 20, np.random.default_rng(1)
    own = Simplex(n)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    places = np.zeros((len(first), WIDTH), dtype=np.int64)
    entries = np.zeros((len(first), WIDTH))
    places[:, 0], places[:, 1] = first, second
    entries[:, 0], entries[:, 1] = 1.0, -3.0
    own.program.add(places, entries)
    own.dense = np.eye(n)[first] - 3.0 * np.eye(n)[second]
    for _ in range(20):
        cost = rng.normal(size=n)
        own.program.maximize(cost)
        assert own.best(cost) - 1e-8 <= own.program.value <= own.best(cost, PERTURBATION) + 1e-8


def test_no_bound_and_no_time() -> None:
    # Nothing limits the second variable.
    places, entries = np.array([[1, 1]]), np.array([[-1.0, 0.0]])
    program = WarmSimplex(np.array([1.0, 0.0]), places, entries, np.zeros(1), np.array([0]), 5)
    assert program.maximize(np.array([1.0, -1.0])) == pytest.approx([1.0, 0.0], abs=1e-6)
    with pytest.raises(RuntimeError, match="no optimum"):
        program.maximize(np.array([0.0, 1.0]))
    assert program.maximize(np.array([2.0, -1.0])) @ [2.0, -1.0] == pytest.approx(2.0, abs=1e-6)
    with time_limit(0.0), pytest.raises(TimeIsUp):
        program.maximize(np.array([1.0, -1.0]))
