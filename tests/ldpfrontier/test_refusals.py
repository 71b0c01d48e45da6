"""Numbers of the right type that do not fit: refused with the word that says what is wrong.

`test_malformed_calls.py` gives values of other types, and numbers out of range, to every public name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpfrontier as l
from ldpfrontier.hamming.formulas import class_two_leakage
from ldpfrontier.hypothesis_testing.euclidean import euclidean, euclidean_bernoulli, euclidean_binary
from ldpfrontier.model.block_designs import LARGE_ALPHABETS
from ldpfrontier.model.information import kl_divergence, renyi_divergence, total_variation
from ldpfrontier.model.privacy import error_region
from ldpfrontier.promises.unconditional import response_excess, response_threshold

TABLE = np.array([[15, 5, 10], [10, 35, 25]])
HALF, PRIOR, PAIR = [0.5, 0.5], [0.2, 0.3, 0.5], [[0.2, 0.8], [0.6, 0.4]]
BALL, INFORMATION = l.RenyiBall.confidence(TABLE), l.MutualInformation(PRIOR)
SQUARE, ONES = np.full((2, 2), 0.25), np.ones((2, 2, 2, 2))
BELOW = np.where(np.arange(16).reshape(2, 2, 2, 2) == 5, 0.5, 1.0)  # and its mirror image is 1
IDENTITY, RESPONSE = l.Channel(np.eye(2)), l.randomized_response(3, 1.0)

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: l.Channel(HALF), "two-dimensional"),
    (lambda: l.Channel([[1.0, 0.0], [1.2, -0.2]]), "negative"),
    (lambda: l.Channel([[1.0, 0.0], [0.5, 0.4]]), r"sums to 0\.9"),
    (lambda: l.mutual_information(PRIOR, IDENTITY), "3 entries"),
    (lambda: l.MutualInformation([]), "empty"),
    (lambda: l.MutualInformation([1.5, -0.5]), "negative"),
    (lambda: l.MutualInformation([0.5, 0.4]), r"sums to 0\.9"),
    (lambda: l.FDivergence(HALF, [1.0]), "p1 has 1"),
    (lambda: l.FDivergence(HALF, HALF, "js"), "allowed are kl"),  # type: ignore[arg-type]
    (lambda: l.FDivergence(HALF, HALF, f=lambda t: t), r"f\(1\)"),
    (lambda: l.FDivergence(HALF, HALF, f=lambda t: -((t - 1) ** 2)), "not convex"),
    (lambda: l.FDivergence(HALF, HALF, f=lambda t: t * np.log(t)), "must map"),
    (lambda: l.FDivergence(HALF, HALF, f=lambda t: 0.0), "must map"),  # type: ignore[arg-type,return-value]
    (lambda: l.ColumnUtility(HALF, lambda v: v[:, 0] ** 2), "homogeneous"),
    (lambda: l.ColumnUtility(HALF, lambda v: v.min(axis=1)), "not convex"),
    (lambda: l.ColumnUtility(HALF, lambda v: v), "must map"),
    (lambda: total_variation(HALF, PRIOR), "q has 3"),
    (lambda: renyi_divergence([1.0], [1.0], -1), "order"),
    (lambda: kl_divergence([1.0], [0.5]), "q sums"),
    (lambda: l.rldp_epsilon(l.Channel(np.eye(4)), np.full((3, 2), 0.5)), r"shape \(3, 2\)"),
    (lambda: l.rldp_epsilon(l.Channel(np.eye(4)), [HALF, [0.5, 0.4]]), r"sums to 0\.9"),
    (lambda: l.conditional_epsilon(l.Channel(np.eye(4)), (2, 3)), "shape"),
    (lambda: l.unconditional_epsilon(l.Channel(np.eye(4)), (-2, -2)), "shape"),
    (lambda: error_region(RESPONSE), "two"),
    # Uncertainty.
    (lambda: l.RenyiBall(HALF, 1.0), "shape"),
    (lambda: l.RenyiBall([[0.5, 0.4]], 1.0), r"sums to 0\.9"),
    (lambda: l.RenyiBall.confidence([[0.2, 0.8]]), "whole numbers"),
    (lambda: l.RenyiBall.confidence([[2, -1]]), "whole numbers"),
    (lambda: l.RenyiBall.confidence([[0, 0]]), "all 0"),
    (lambda: l.RenyiBall.confidence([[1e300, 2]]), r"2\^53"),
    (lambda: l.RenyiBall.confidence([[1, 2], [3]]), "different lengths"),
    (lambda: l.RenyiBall.confidence(TABLE, method="exact"), "asymptotic"),  # type: ignore[arg-type]
    (lambda: l.RenyiBall.confidence(TABLE, method="finite", order=3.0), "order"),
    (lambda: l.RenyiBall.confidence(TABLE, factor=0), "factor"),
    (lambda: l.RenyiBall.confidence([[0.5, 1.5]], effective=0.5), "1 or more"),
    (lambda: l.RenyiBall.confidence([[0.5, -1.5]], effective=9.0), "must be numbers, 0 or more"),
    (lambda: l.RenyiBall.confidence(TABLE, method="finite", effective=9.0), "counts of samples"),
    (lambda: l.OddsRatios.confidence(TABLE, effective=9.0), "weighted shares"),
    (lambda: BALL.contains(2 * BALL.centre), "sums to 2"),
    (lambda: BALL.support(2, [[1, 0, 0]]), "from 0 to 1"),
    (lambda: BALL.support(0, [[1, 0, 1e200]]), "1e150"),
    (lambda: BALL.support(0, np.ones((2, 4))), "shape"),
    (lambda: BALL.divergence(np.ones(4) / 4), "shape"),
    (lambda: BALL.projected_epsilon(RESPONSE), "3 inputs"),
    (lambda: l.OddsRatios(np.full(4, 0.25), ONES), "shape"),
    (lambda: l.OddsRatios(SQUARE, ONES[0]), "must be"),
    (lambda: l.OddsRatios(SQUARE, -ONES), "0 or more"),
    (lambda: l.OddsRatios(SQUARE, BELOW), r"0\.5 at \(s, t, u, w\) = \(0, 1, 0, 1\)"),
    (lambda: l.OddsRatios.known(HALF), "shape"),
    (lambda: l.OddsRatios.known(SQUARE, impossible=[[0, 1], [0, 0]]), "truth values"),  # type: ignore[list-item]
    (lambda: l.OddsRatios.confidence(TABLE, method="wald"), "scheffe"),  # type: ignore[arg-type]
    (lambda: l.OddsRatios.confidence([[0.5, 1], [2, 3]]), "whole numbers"),
    (lambda: l.OddsRatios.confidence([[3, 4], [5, 6]], impossible=SQUARE == [[0, 0.25]] * 2), "impossible"),
    (lambda: l.OddsRatios.over(l.RenyiBall(SQUARE, 0.1, 0.5)), "orders of 1"),
    (lambda: l.association_epsilon(RESPONSE, l.OddsRatios.known(SQUARE)), "product is 3"),
    # Cones.
    (lambda: l.PolyhedralCone([[1.0, -0.5]]), "constant column"),
    (lambda: l.PolyhedralCone([[1.0, -math.inf]]), "finite"),
    (lambda: l.PolyhedralCone([[1.0, -1.0]], (2, 2)), "2 x 2"),
    (lambda: l.local_cone(0, 1.0), "inputs is 0"),
    (lambda: l.conditional_cone((2, 0), 1.0), "shape"),
    (lambda: l.polyopt_cone([[0.9, 0.9]], 1.0), "lower bounds"),
    (lambda: l.local_cone(3, 1.0) & l.local_cone(4, 1.0), "3 and 4"),
    (lambda: l.robust_cone(BALL, 0.0), "epsilon is 0"),
    # Mechanisms and optima.
    (lambda: l.subset_selection(5, 1.0, 6), "1 to 5"),
    (lambda: l.subset_selection(40, 0.01), "137,846,528,820"),
    *((lambda make=make: make(10_001, 1.0), "10,000") for make in LARGE_ALPHABETS.values()),
    (lambda: l.hadamard_response(9999, 0.5), "16,384"),
    (lambda: l.projective_geometry_response(9000, 0.1), "16,383"),
    (lambda: l.block_design_response(9990, 0.1), "more than 10,000"),
    (lambda: l.optimal_ldp(INFORMATION, 1.0, start=IDENTITY), "2 inputs"),
    (lambda: l.optimal_nonrobust(HALF, 1.0), "rows"),
    (lambda: l.optimal_unconditional(HALF, 1.0), r"\(a1, a2\)"),
    (lambda: l.optimal_robust(l.RenyiBall.confidence(np.ones((2, 21))), 1.0), "21 useful"),
    (lambda: response_excess(np.full((3, 7), 1 / 21), 1.0), "subsets"),
    (lambda: response_threshold([HALF], largest=31.0), "30"),
    (lambda: l.optimal_robust(BALL, 1.0, envelope="ball"), "exact"),  # type: ignore[arg-type]
    (lambda: l.optimal_association(l.OddsRatios.known([[0.5, 0.0], [0.5, 0.0]]), 1.0), "no probability"),
    (lambda: l.optimal_mechanism(INFORMATION, l.local_cone(4, 1.0)), "4"),
    (lambda: l.calibrated(lambda level: RESPONSE, BALL, 1.0), "2 x 3"),
    (lambda: l.calibrated(lambda level: RESPONSE, BALL, 1.0, conditional_epsilon=301.0), "300"),
    (lambda: l.budget_split(BALL, 1.0, distance="exact"), "allowed"),  # type: ignore[arg-type]
    (lambda: l.independent_reporting(BALL, 1.0, prior=np.full(4, 0.25)), "shape"),
    # Estimates.
    (lambda: l.estimation_error(IDENTITY, PRIOR), "3 entries"),
    (lambda: l.estimation_error(IDENTITY, HALF, "cells"), "sensitive"),
    (lambda: l.estimation_error(IDENTITY, HALF, "useful"), "pairs"),
    (lambda: l.estimation_error(IDENTITY, HALF, np.eye(3)), "shape"),
    (lambda: l.rate_target(HALF), "table"),
    (lambda: l.rate_target([[0.5, 0.0], [0.5, 0.0]]), "probability 0"),
    (lambda: l.logit_target(HALF, [[1.0]]), "table with a row for each sensitive"),
    (lambda: l.logit_target([[0.2, 0.3], [0.2, 0.3]], [[1.0]]), "a row for each of the 2 useful"),
    (lambda: l.logit_target([[0.2, 0.3], [0.2, 0.3]], [[1.0, 2.0], [1.0, 2.0]]), "not independent"),
    (lambda: l.logit_coefficients([[0.5, 0.0], [0.0, 0.5]], [[1, 0], [1, 1]]), "grows without limit"),
    (lambda: l.optimal_estimation(HALF, l.local_cone(3, 1.0)), "3 inputs"),
    (lambda: l.worst_estimation_error(l.randomized_response(6, 1.0), BALL, "both"), "target"),
    # Tests and leakage.
    (lambda: euclidean(PAIR, math.inf), "finite"),
    (lambda: euclidean(PAIR, [0.1] * 3), "one per hypothesis"),
    (lambda: euclidean(HALF, 0.1), "a row per hypothesis"),
    (lambda: euclidean([HALF, [0.5, 0.4]], 0.1), "sums to"),
    (lambda: euclidean_binary(np.eye(3), 0.1), "two"),
    (lambda: euclidean_bernoulli(np.eye(3), 0.1), "two"),
    (lambda: l.optimal_leakage(PAIR, 0.1, outputs=3), "outputs"),  # type: ignore[arg-type]
    (lambda: l.optimal_leakage([PRIOR, PRIOR[::-1]], 0.1, outputs=2), "two only"),
    (lambda: l.optimal_leakage(PAIR, 0.1, outputs=2, start=IDENTITY), "no start"),
    (lambda: l.optimal_leakage(PAIR, 1e-11), "1e-09"),
    (lambda: l.optimal_leakage([HALF], 0.1), "m >= 2"),
    (lambda: l.optimal_leakage([np.arange(1, 7) / 21, np.arange(6, 0, -1) / 21], 0.1), "at most 5"),
    (lambda: l.optimal_leakage([[1e-300, 1.0], HALF], 0.1, order=2.0), "689"),
    (lambda: l.hamming_leakage([], 0.2), "empty"),
    (lambda: l.hamming_leakage([HALF, [1.2, -0.2]], 0.2), "negative"),
    (lambda: l.hamming_leakage([HALF, PRIOR], 0.2), "3 entries"),
    (lambda: l.hamming_leakage([[1.0]], 0.2), "at least 2"),
    (lambda: l.least_distortion(PRIOR, np.ones((2, 3)), 1.0), "3 rows"),
    (lambda: l.least_distortion(PRIOR, np.ones(3), 1.0), "must be a matrix"),
    (lambda: l.least_distortion(PRIOR, 1.0 - 2.0 * np.eye(3), 1.0), "entry -1"),
    (lambda: l.least_distortion(PRIOR, np.full((3, 2), np.inf), 1.0), "entry inf"),
    (lambda: l.least_distortion(PRIOR, np.ones((3, 4000)), 1.0), "10,000 entries"),
    (lambda: l.least_distortion(PRIOR, np.eye(3), 1e-9), "0.001"),
    (lambda: l.distortion_leakage(PRIOR, np.eye(3), -0.1), "limit of the distortion is -0.1"),
    (lambda: l.distortion_leakage(PRIOR, 2.0 - np.eye(3), 0.9), "at least 1, the least"),
    (lambda: l.distortion_leakage(PRIOR, 1.0 - np.eye(3), 0.0), "1e-09 times"),
    (lambda: class_two_leakage([[0.6, 0.4], [0.3, 0.7]], 0.2), "order"),
]


#: What takes a utility.
OF_UTILITIES: list[Callable[[Any], object]] = [
    l.binary_threshold,
    l.randomized_response_threshold,
    lambda utility: l.binary_mechanism(utility, 1.0),
    lambda utility: l.optimal_ldp(utility, 1.0),
    lambda utility: l.optimal_mechanism(utility, l.local_cone(2, 1.0)),
]


@pytest.mark.parametrize("call", OF_UTILITIES, ids=range(len(OF_UTILITIES)))
def test_a_refusal_names_the_utilities_that_are_taken(call: Callable[[Any], object]) -> None:
    utilities = [
        l.MutualInformation(HALF),
        l.FDivergence(HALF, [0.9, 0.1]),
        l.ColumnUtility(HALF, lambda v: (v**2 @ [0.5, 0.5]) / (v @ [0.5, 0.5])),
    ]
    for other in (HALF, BALL):
        with pytest.raises(ValueError, match="The utility is a") as refused:
            call(other)
        for utility in utilities:
            if type(utility).__name__ in str(refused.value):
                call(utility)
            else:
                with pytest.raises(ValueError, match="The utility is a"):
                    call(utility)


@pytest.mark.parametrize(("call", "word"), CALLS, ids=range(len(CALLS)))
def test_what_does_not_fit_is_refused(call: Callable[[], object], word: str) -> None:
    with pytest.raises((ValueError, l.Intractable), match=rf"(?s){word}.*\.$"):
        call()
