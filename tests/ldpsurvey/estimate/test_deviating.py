"""People who do not follow the rule: sharp bounds, intervals that cover, and the share that reports need."""

import math
import re

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import binom

from ldpsurvey import estimate_bounds, table_of_values
from ldpsurvey.command.pictures import bounds_picture
from ldpsurvey.design.known_channels import classical_matrix, known_channel
from ldpsurvey.estimate.deviating import DeviatingReports
from support.grids import few
from support.owndata import ROOT, channel_of

#: Reports that are as good as exact.
MANY = 10**9


def known(matrix):
    """Return a channel of which all is sensitive."""
    values = [f"v{x}" for x in range(len(matrix))]
    return known_channel(table_of_values({"answer": values}, ["answer"]), np.asarray(matrix))


def exact(private, q, g, **more):
    """Return the fit of reports with the probabilities q."""
    return DeviatingReports(private, np.rint(MANY * np.asarray(q)), g, **more)


FORCED = classical_matrix("forced", {"yes": 1 / 6, "no": 1 / 6}, 2)[0]

#: The reports of a survey in Nigeria (Blair, Imai and Zhou 2015, data of the R package rr): 831 said "yes".
NIGERIA = np.array([1604, 831]) / 2435


def response(epsilon, k):
    return (np.eye(k) * math.expm1(epsilon) + 1.0) / (k + math.expm1(epsilon))


# Bounds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "q", "g", "expected"),
    [
        (FORCED, NIGERIA, 0.02, {1: (0.2417, 0.2723)}),
        (FORCED, NIGERIA, 0.05, {1: (0.2099, 0.2888)}),
        (FORCED, NIGERIA, 0.1, {1: (0.1521, 0.3188)}),
        (FORCED, NIGERIA, 0.2, {1: (0.0149, 0.3899)}),
        (response(math.log(5), 2), [0.8, 0.2] @ response(math.log(5), 2), 0.05, {1: (0.1447, 0.2237)}),
        (response(math.log(5), 2), [0.8, 0.2] @ response(math.log(5), 2), 0.1, {1: (0.0833, 0.25)}),
        (
            response(1.5, 4), [0.4, 0.3, 0.2, 0.1] @ response(1.5, 4), 0.05,
            {0: (0.3231, 0.4362), 1: (0.2178, 0.3309), 2: (0.1125, 0.2256), 3: (0.0073, 0.1204)},
        ),
    ],
)  # fmt: skip
def test_bounds_have_the_values_that_were_computed_by_hand(matrix, q, g, expected):
    fit = exact(known(matrix), q, g)
    for place, ends in expected.items():
        assert fit.bounds(np.eye(len(matrix))[place]) == pytest.approx(ends, abs=1e-4)


def test_the_page_has_the_bounds_of_the_survey_in_nigeria():
    page = (ROOT / "docs/survey/deviating.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)% \| (.*) \|$", page, re.MULTILINE)
    assert [g for g, _ in rows] == ["2", "5", "10", "20"]
    for g, shown in rows:
        own, all_people = (
            estimate_bounds(known(FORCED), [1604, 831], int(g) / 100, everybody=everybody).rows[1]
            for everybody in (False, True)
        )
        found = [own.least, own.most, own.low, own.high, all_people.low, all_people.high]
        assert [float(x) for x in re.findall(r"[\d.]+", shown)] == pytest.approx(
            100 * np.array(found), abs=0.06
        )


def test_if_some_always_say_no_the_estimate_is_the_least_share():
    """The share of those who follow the rule is (q / (1 - h) - 1/6) / (2/3), with h from 0 to g."""
    fit = exact(known(FORCED), NIGERIA, 0.05, always="y1")
    ends = [(NIGERIA[1] / (1 - h) - 1 / 6) * 1.5 for h in (0.0, 0.05)]
    assert fit.bounds(np.array([0.0, 1.0])) == pytest.approx(ends, abs=1e-4)
    everybody = exact(known(FORCED), NIGERIA, 0.05, always="y1", everybody=True)
    assert everybody.bounds(np.array([0.0, 1.0])) == pytest.approx([ends[0], 0.95 * ends[1] + 0.05], abs=1e-4)


def test_bounds_are_within_intervals_if_rounding_leaves_no_distribution(table):
    private = channel_of(table, "ir", 0.3)
    counts = np.full(len(private.outputs), MANY)
    for row in estimate_bounds(private, counts, 1e-9, always=private.outputs[0], check_fit=False).rows:
        assert row.low - 2e-4 <= row.least <= row.most + 2e-4 <= row.high + 4e-4


def attained(fit, q, g, rows, values):
    """Return how far a population with rows . p = values is from these reports, by least squares."""
    matrix = fit._matrix
    inputs, outputs = matrix.shape
    system = np.block([[(1 - g) * matrix.T, g * np.eye(outputs)], [rows, np.zeros((len(rows), outputs))],
                       [np.ones(inputs), np.zeros(outputs)]])  # fmt: skip
    return nnls(system, np.concatenate([q, values, [1.0]]))[1]


@pytest.mark.parametrize("seed", few(range(10), range(10, 200)))
def test_somebody_can_attain_both_ends_and_nobody_goes_beyond_them(seed):
    rng = np.random.default_rng(seed)
    inputs, g = rng.integers(2, 5), rng.uniform(0.01, 0.3)
    outputs = inputs + rng.integers(0, 4)
    matrix = rng.dirichlet(np.full(outputs, 0.7), size=inputs)
    p, r = rng.dirichlet(np.full(inputs, 0.7)), rng.dirichlet(np.full(outputs, 0.5))
    fit = exact(known(matrix), (1 - g) * p @ matrix + g * r, g)
    q = fit.counts / fit.records
    c = (rng.uniform(size=inputs) < 0.5).astype(float)
    c[:2] = 0.0, 1.0
    least, most = fit.bounds(c)
    assert least - 1e-6 <= c @ p <= most + 1e-6
    ends = {least: -1e-3, most: 1e-3}
    for end, beyond in ends.items():
        assert attained(fit, q, g, c[None], [end]) < 1e-6
        if 1e-3 < end < 1.0 - 1e-3:
            assert attained(fit, q, g, c[None], [end + beyond]) > 1e-6
    # A rate among people with a value, and among all people, of whom the others have any answers.
    part = c.copy()
    part[rng.integers(inputs)] = 1.0
    least, most = fit.rate_bounds(c, part)
    for end in (least, most):
        assert attained(fit, q, g, (c - end * part)[None], [0.0]) < 1e-6
    everybody = exact(known(matrix), q, g, everybody=True)
    assert everybody.bounds(c) == pytest.approx(
        ((1 - g) * fit.bounds(c)[0], (1 - g) * fit.bounds(c)[1] + g), abs=1e-6
    )


@pytest.mark.parametrize("seed", few(range(1), range(1, 20)))
def test_the_ends_of_a_difference_are_attained(table, seed):
    """The rate that is compared with takes the values of a grid; the other one has its bound there."""
    rng = np.random.default_rng(seed)
    private, g = channel_of(table, "subset", 3.0), 0.03
    cells = np.eye(6).reshape(2, 3, 6)
    one, other = (cells[1, 0], cells[:, 0].sum(axis=0)), (cells[1, 2], cells[:, 2].sum(axis=0))
    q = (1 - g) * rng.dirichlet(np.full(6, 5.0)) @ private.channel.matrix
    fit = exact(private, q + g * rng.dirichlet(np.ones(len(q))), g)
    q, found = fit.counts / fit.records, fit.most_difference(*one, *other)

    def distance(difference):
        least, most = fit.rate_bounds(*other)
        rates = np.linspace(least + 1e-6, most - 1e-6, 400)
        return min(
            attained(
                fit, q, g,
                np.array([one[0] - (rate + difference) * one[1], other[0] - rate * other[1]]), [0.0, 0.0],
            )
            for rate in rates
        )  # fmt: skip

    assert distance(found - 2e-3) < 1e-6
    assert distance(found + 2e-3) > 1e-6


# Intervals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("everybody", [False, True])
def test_an_interval_of_two_reports_covers_whatever_the_others_say(everybody):
    """The coverage is computed from all possible numbers of reports."""
    private, n, g, share = known(FORCED), 40, 0.1, 0.3
    base = DeviatingReports(private, [n, 0], g, everybody=everybody)
    low, high = np.transpose([
        [ends[1] for ends in (fit.intervals(fit.weights(0.025), 0.025))]
        for yes in range(n + 1)
        for fit in [DeviatingReports(private, [n - yes, yes], g, everybody=everybody, like=base)]
    ])  # fmt: skip
    for r in (0.0, 0.5, 1.0):
        q = (1 - g) * (share * FORCED[1, 1] + (1 - share) * FORCED[0, 1]) + g * r
        truth = (1 - g) * share + g * r if everybody else share
        covers = (low <= truth) & (truth <= high)
        assert covers @ binom.pmf(np.arange(n + 1), n, q) >= 0.95


@pytest.mark.parametrize("everybody", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_an_interval_covers_if_some_always_say_no(everybody, share):
    private, n, g = known(FORCED), 40, 0.2
    more = {"everybody": everybody, "always": "y1"}
    base = DeviatingReports(private, [n, 0], g, **more)
    fits = [DeviatingReports(private, [n - yes, yes], g, **more, like=base) for yes in range(n + 1)]
    low, high = np.transpose([[end[1] for end in fit.intervals(fit.weights(0.025), 0.025)] for fit in fits])
    for h in (0.0, 0.1, 0.2):
        q = (1 - h) * (share * FORCED[1, 1] + (1 - share) * FORCED[0, 1])
        for others in (0.0, 1.0):
            truth = (1 - h) * share + h * others if everybody else share
            assert ((low <= truth) & (truth <= high)) @ binom.pmf(np.arange(n + 1), n, q) >= 0.95


def test_with_many_reports_the_intervals_are_the_bounds(table):
    private, g = channel_of(table, "subset", 3.0), 0.02
    q = table.distribution.ravel() @ private.channel.matrix
    for row in estimate_bounds(private, np.rint(MANY * q), g).rows:
        slack = 3e-3 if row.measure == "frequency" else 1e-2
        assert row.least - slack <= row.low <= row.least + 1e-6
        assert row.most - 1e-6 <= row.high <= row.most + slack


def test_a_picture_has_a_band_for_each_number():
    """And needs two shares to draw a curve of."""
    private, counts = known(FORCED), [1604, 831]
    found = [
        [estimate_bounds(private, counts, g, everybody=everybody) for everybody in (False, True)]
        for g in (0.1, 0.0)
    ]
    first, second = bounds_picture(found).axes
    points = first.collections[0].get_paths()[0].vertices
    row = found[0][0].rows[0]
    for end in (row.least, row.most):
        assert np.abs(points - [10.0, end]).sum(axis=1).min() < 1e-9
    assert (first.get_title(), second.get_title()) == ("v0", "v1")
    with pytest.raises(ValueError, match="two or more shares"):
        bounds_picture(found[:1])


# The rule -------------------------------------------------------------------------------------------------


def test_the_reports_say_how_many_cannot_have_followed_the_rule():
    private = known(FORCED)
    fit = exact(private, [0.9, 0.1], 0.45)
    assert fit.needed == pytest.approx(0.4, abs=1e-6)
    assert 0.399 < fit.at_least(0.05) <= 0.4
    assert not fit.doubt
    with pytest.raises(
        ValueError, match="more than 20% of the people have not followed the rule: at least 3"
    ):
        estimate_bounds(private, [9000, 1000], 0.2)


@pytest.mark.parametrize("name", ["subset", "grr"])
def test_a_rule_that_all_follow_is_seldom_rejected(table, name):
    private = channel_of(table, name, 1.0)
    q = np.array([0.6, 0, 0, 0.4, 0, 0]) @ private.channel.matrix
    reports = np.random.default_rng(1).multinomial(500, q, size=60)
    base = DeviatingReports(private, reports[0], 0.0)
    weights, tails = base._detectors, 0
    assert (weights >= 0).all()
    assert (weights @ private.channel.matrix.T >= 1 - 1e-9).all()
    for counts in reports:
        fit = DeviatingReports(private, counts, 0.0, like=base)
        fit.__dict__["_detectors"] = weights
        tails += fit.at_least(0.05) > 0.0
    assert tails <= 6


@pytest.mark.parametrize("share", [-0.01, 1.0, math.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="it must be 0 or more and below 1"):
        estimate_bounds(known(FORCED), [60, 40], share)
