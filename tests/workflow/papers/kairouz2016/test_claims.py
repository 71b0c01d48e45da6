"""The claims of kairouz2016: what tables must say for which verdict."""

import math

import numpy as np
import pytest

from falsified.kairouz2016 import LEDGER, minima, ratios
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from reproduction.ledger import claims
from reproduction.ledger.claims import ANOTHER_READING, NOT_CHECKABLE, NOT_REPRODUCED, REPRODUCED


def decide(claim, table, populations=None):
    tables = {LEDGER[claim].tables[0]: table}
    if populations is not None:
        tables["populations"] = populations
    finding = claims.decide(LEDGER[claim], tables)
    assert finding.verdict == REPRODUCED or finding.explanation
    return finding


def verdict(claim, table, populations=None):
    return decide(claim, table, populations).verdict


FIG3 = {("6", "rr"): (0.11, 0.14), ("6", "binary"): (0.15, 0.35)}
FIG6 = {("6", "rr"): (0.36, 0.41), ("6", "binary"): (0.39, 0.405)}
FIG4 = {("6", "mixed"): (0.6, 0.8), ("12", "mixed"): (0.5, 0.65)}


def test_minima_of_figure_3():
    rows = ratios(0.13, 0.17, "kl")
    # Which population the figure has is chance, and decides nothing.
    assert verdict("K-F3a", ratios(0.5, 0.5, "kl"), minima("kl", FIG3)) == REPRODUCED
    assert verdict("K-F3a", rows, minima("kl", FIG3, number=38)) == NOT_CHECKABLE
    assert verdict("K-F3a", rows, minima("kl", FIG3, drawn=False)) == NOT_CHECKABLE
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", instances=10), minima("kl", FIG3)) == NOT_CHECKABLE
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", sizes=("3",)), minima("kl", FIG3)) == NOT_CHECKABLE


def test_text_and_caption_of_figure_6():
    rows = ratios(0.38, 0.40, "mutual_information")
    finding = decide("K-F6", rows, minima("mutual_information", FIG6))
    assert finding.verdict == ANOTHER_READING
    assert finding.explanation.endswith("Outside the range of minima is binary 35% of the caption.")
    lower = FIG6 | {("6", "binary"): (0.34, 0.36)}
    finding = decide("K-F6", rows, minima("mutual_information", lower))
    assert finding.verdict == NOT_REPRODUCED
    assert "(binary 40%)" in finding.explanation


@pytest.mark.parametrize("claim", ["K-F4", "K-F7"])
def test_better_of_two(claim):
    utility = LEDGER[claim].arguments["utility"]
    first, second = LEDGER[claim].arguments["stated"].values()
    rows = ratios(0.2, 0.72, utility, sizes=("6", "12"))

    def with_(low, high):
        values = {
            ("6", "mixed"): (first + low, first + high),
            ("12", "mixed"): (second - 0.02, second + 0.03),
        }
        return verdict(claim, rows, minima(utility, values))

    assert with_(-0.05, 0.1) == REPRODUCED
    # As a minimum over some population, but not over most.
    assert with_(-0.1, 0.03) == ANOTHER_READING
    # "At most" instead of "at least", and far more than stated.
    assert with_(-0.3, -0.1) == NOT_REPRODUCED
    assert with_(0.1, 0.2) == NOT_REPRODUCED
    assert verdict(claim, ratios(0.2, 0.72, utility), minima(utility, FIG4)) == NOT_CHECKABLE


def test_rr_is_never_optimal_with_a_letter_that_never_occurs():
    prior, pair = [0.6, 0.4, 0.0], ([0.6, 0.4, 0.0], [0.1, 0.9, 0.0])
    for measure in (MutualInformation(prior), FDivergence(*pair, "kl")):
        for epsilon in (1.0, 5.0, 10.0):
            best = optimal_ldp(measure, epsilon).value
            # The share of reports that name the letter.
            share = 1 / (math.exp(epsilon) + 2)
            assert measure(randomized_response(3, epsilon)) < best - 0.1 * share * best


def test_the_second_bound_on_the_type_two_error():
    """Randomized response loses less than the printed G says, also as ε grows."""
    p0, p1 = np.array([0.99, 0.01]), np.array([0.9, 0.1])
    pair = FDivergence(p0, p1, "kl")
    printed = float((1.0 - p0) @ np.log(p1 / p0))
    for epsilon in (10.0, 14.0, 18.0):
        lost = (pair.divergence() - pair(randomized_response(2, epsilon))) * math.exp(epsilon)
        assert 1.54 < lost < 1.56 < 0.9 * printed


def test_the_effective_sample():
    p0, p1 = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    pair = FDivergence(p0, p1, "kl")
    share = optimal_ldp(pair, 1e-3).value / pair.divergence()
    assert share == pytest.approx(1e-6 * 0.3**2 / (2 * pair.divergence()), rel=2e-3)
    assert share < 1e-6 / 4
