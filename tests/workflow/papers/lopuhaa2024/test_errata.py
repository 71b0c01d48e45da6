"""Printed statements of lopuhaa2024 that are wrong or unclear, each against what is right."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from ldpfrontier.model.information import mutual_information, renyi_divergence
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.reports.two_reports import independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

COUNTS = np.array([[7, 10], [26, 57]])


def test_the_radius_takes_the_upper_quantile():
    radius = RenyiBall.confidence(COUNTS, beta=0.05).radius
    assert radius == pytest.approx(math.log1p(chi2.ppf(0.95, 3) / 100)) == pytest.approx(0.0752, abs=5e-5)
    assert math.log1p(chi2.ppf(0.05, 3) / 100) == pytest.approx(0.0035, abs=5e-5)


def test_divergence_of_order_2():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])
    distance = float(((p - q) ** 2 / q).sum())
    assert renyi_divergence(p, q, 2.0) == pytest.approx(math.log1p(distance), rel=1e-12)
    assert renyi_divergence(p, q, 2.0) > math.log(distance)


@pytest.mark.parametrize("prior", [[[0.3, 0.3], [0.4, 0.0]], [[0.5, 0.2, 0.0], [0.1, 0.1, 0.1]]])
def test_srr_is_never_optimal_with_an_empty_cell(prior):
    P = np.array(prior)
    for epsilon in (2.0, 5.0, 10.0):
        srr = mutual_information(P, secret_randomized_response(*P.shape, epsilon))
        # Of the order of the reports that are spent on the empty cell.
        assert optimal_unconditional(P, epsilon).value > srr + 0.03 * math.exp(-epsilon)


def test_the_matrix_of_section_8_1():
    inequalities, without_signs = 240**2 + 240, 240**2
    sizes = [8 * without_signs**2 / 2**30, 8 * inequalities**2 / 2**30, 8 * inequalities**2 / 1e9]
    assert inequalities == 57_840
    assert sizes == pytest.approx([24.7, 24.9, 26.8], abs=0.05)


def test_the_lead_of_polyopt_is_largest_at_low_levels():
    ball = RenyiBall.confidence(COUNTS)
    lead = []
    for epsilon in (0.1, 0.5, 3.0):
        others = (independent_reporting(ball, epsilon), secret_randomized_response(2, 2, epsilon))
        best = max(mutual_information(ball.centre, channel) for channel in others)
        lead.append(optimal_robust(ball, epsilon).value / best)
    assert min(lead[:2]) > 4 * lead[2]


def test_grr_is_optimal_at_low_privacy():
    utility = MutualInformation(np.arange(1.0, 13.0) / 78.0)
    shares = [
        utility(randomized_response(12, epsilon)) / optimal_ldp(utility, epsilon).value
        for epsilon in (0.1, 10.0)
    ]
    assert shares[0] < 1 / 3
    assert shares[1] == pytest.approx(1.0, abs=1e-9)
