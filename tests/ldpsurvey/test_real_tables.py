"""Designs on real tables: independent methods find the same levels, and estimates come near."""

import math
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

from ldpfrontier import RenyiBall
from ldpsurvey import CountTable, Design, design_channel
from ldpsurvey.base.sampling import Sampler
from ldpsurvey.estimate.distribution import inversion, quantities
from oracles.conic import duality_epsilon
from support.owndata import seeded
from support.realtables import NAMES, real_table

#: Tables that are designed for within seconds, against outsiders; the others are for --long.
QUICK = ("UCBAdmissions 2x2", "PreSex 2x2", "Titanic 2x4")


#: Most comparisons of two sensitive values at an output that there is time for.
MOST_COMPARISONS = 4_000

each_table = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in NAMES]
)


@cache
def design_of(name: str) -> Design:
    return design_channel(real_table(name), 1.0, against="outsider")


def solved(name):
    made = design_of(name)
    return [candidate for candidate in made.candidates if candidate.channel is not None]


# Levels ---------------------------------------------------------------------------------------------------


def listed_levels(matrix, shape) -> tuple[float, float, float]:
    """Return the levels given U, under every distribution and of all of a record, from all pairs of rows."""
    inputs = [(s, u) for s in range(shape[0]) for u in range(shape[1])]
    levels = [0.0, 0.0, 0.0]
    for (x, (s, u)), (z, (s2, u2)) in permutations(enumerate(inputs), 2):
        told = matrix[x] > 0
        with np.errstate(divide="ignore"):
            level = float(np.log(matrix[x, told] / matrix[z, told]).max())
        kinds = (s != s2 and u == u2, s != s2, True)
        levels = [max(old, level) if counts else old for old, counts in zip(levels, kinds, strict=True)]
    return tuple(levels)


def level_over_ball(table: CountTable, channel) -> float:
    """Return the level over F by weak duality, F from its definition."""
    n, k = table.records, table.counts.size
    return duality_epsilon(RenyiBall(table.distribution, math.log1p(chi2.isf(0.05, k - 1) / n), 2.0), channel)


@each_table
def test_all_levels_are_those_of_weak_duality_and_enumeration(name):
    table, compared = real_table(name), 0
    for c in solved(name):
        if c.channel.matrix.shape[1] * math.perm(len(table.rows), 2) <= MOST_COMPARISONS:
            compared += 1
            assert c.levels.outsider == pytest.approx(level_over_ball(table, c.channel), abs=1e-8), c.name
        found = listed_levels(c.channel.matrix, table.counts.shape)
        assert (c.levels.insider, c.levels.anyone, c.levels.record) == pytest.approx(found, abs=1e-12), c.name
    assert compared == len(solved(name)) if name in QUICK else compared >= 2


@each_table
def test_what_is_sampled_has_the_levels_that_the_file_states(name):
    """For the chosen mechanisms, after their probabilities became whole numbers."""
    table, made = real_table(name), design_of(name)
    for candidate in {made.best(), made.best("information")}:
        private = made.private(candidate)
        few = private.weights.shape[1] * math.perm(len(table.rows), 2) <= MOST_COMPARISONS
        stated, matrix = private.certificate.levels, private.weights / 2.0**62
        found = listed_levels(matrix, table.counts.shape)
        assert (stated.insider, stated.anyone, stated.record) == pytest.approx(found, abs=1e-12)
        if few or name in QUICK:
            over_ball = level_over_ball(table, private.channel)
            assert stated.outsider == pytest.approx(over_ball, abs=1e-8)
            assert over_ball <= 1.0 + 1e-9


# Estimates ------------------------------------------------------------------------------------------------


def simulated_reports(private, table: CountTable, repetitions: int):
    """Return counts of the reports of as many records as were counted, shape (repetitions, outputs)."""
    rng = np.random.default_rng(11)
    sampler = Sampler(private.weights, seeded(12))
    records = rng.multinomial(table.records, table.distribution.ravel(), size=repetitions)
    inputs = np.arange(table.counts.size)
    reports = [sampler.draw(np.repeat(inputs, counts)) for counts in records]
    return np.array([np.bincount(drawn, minlength=private.weights.shape[1]) for drawn in reports])


@each_table
def test_estimates_err_as_the_table_predicts(name):
    """Root mean square errors of 400 simulated surveys, within four standard errors of the prediction."""
    table, made = real_table(name), design_of(name)
    asked, vectors = quantities(table)
    truth = vectors @ table.distribution.ravel()
    groups = [
        np.array([quantity.attributes == group for quantity in asked])
        for group in (table.attributes, table.sensitive, table.useful)
    ]
    tried = 0
    for c in solved(name):
        if not c.private or c.channel.matrix.shape[1] > 300:
            continue
        private = made.private(c)
        counts = simulated_reports(private, table, 400)
        linear = inversion(private.channel.matrix, table)
        errors = (counts / table.records) @ linear.weights.T - truth
        for members, predicted in zip(groups, c.errors, strict=True):
            assert linear.shown[members].all() == math.isfinite(predicted)
            if math.isfinite(predicted):
                tried += 1
                squares = (errors[:, members] ** 2).mean(axis=1)
                doubt = 4.0 * squares.std() / math.sqrt(len(squares))
                assert squares.mean() == pytest.approx(predicted**2, abs=doubt), c.name
                assert doubt < 0.5 * predicted**2  # or nothing would have been tested
    assert tried >= 6
