"""Numbers out of range: for every type of argument, all functions that take it refuse the same values.

`test_arguments.py` has what is no number, and `test_malformed_calls.py` gives any value to any public name.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.calibration import calibrated
from ldpfrontier.channel import Channel
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.hamming.formulas import class_one_leakage, class_three_bounds, class_two_leakage
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hypothesis_testing.euclidean import euclidean
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.kairouz_mechanisms import geometric_mechanism, quaternary_mechanism
from ldpfrontier.mechanisms import (
    binary_mechanism,
    randomized_response,
    secret_randomized_response,
    subset_selection,
)
from ldpfrontier.optimal.improved_reporting import improved_reporting
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.unconditional import optimal_unconditional, response_threshold
from ldpfrontier.priors import dirichlet
from ldpfrontier.privacy import delta_at
from ldpfrontier.two_reports import budget_split, independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import FDivergence, MutualInformation

BALL = RenyiBall.confidence([[15, 5, 10], [10, 35, 25]])
PRIOR, OTHER = [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]
UTILITY, SOURCES = MutualInformation(PRIOR), [[0.2, 0.8]]


def family(level):
    return randomized_response(6, level)


#: Out of the range of every number that has one.
NEVER = ["1", None, math.nan, -math.inf, -1.0, -(10**400), Fraction(-1, 3), True, 1j, [1.0], pd.Series([3.0])]

TO_300 = [
    lambda x: optimal_ldp(UTILITY, x),
    lambda x: optimal_ldp(FDivergence(PRIOR, OTHER), x),
    lambda x: optimal_nonrobust([PRIOR], x),
    lambda x: randomized_response(3, x),
    lambda x: subset_selection(3, x),
    lambda x: binary_mechanism(UTILITY, x),
    lambda x: geometric_mechanism(3, x),
    lambda x: quaternary_mechanism(x, 0.1),
    lambda x: secret_randomized_response(1, 3, x),
    lambda x: independent_reporting(BALL, x),
    lambda x: budget_split(BALL, x),
    lambda x: improved_reporting(BALL, x),
    lambda x: calibrated(family, BALL, x),
]
TO_30 = [
    lambda x: optimal_robust(BALL, x),
    lambda x: optimal_robust(BALL, x, envelope="exact"),
    lambda x: optimal_unconditional(BALL.centre, x),
]

#: Of every type of argument: a part of the sentence, values out of its range, and functions of it.
TYPES = {
    "a level": (
        r"^epsilon is .*; it must be 0, or a number from 0\.001 to \d+ nats\b",
        [*NEVER, math.inf],
        [*TO_300, *TO_30],
    ),
    "a level above 300": (
        r"^epsilon is .*; it must be 0, or a number from 0\.001 to 300 nats\b",
        [300.5, 5000.0],
        TO_300,
    ),
    "a level above 30": (
        r"^epsilon is .*; it must be 0, or a number from 0\.001 to 30 nats\b",
        [30.5, 745.0, 1e300],
        TO_30,
    ),
    "a level that may be infinite": (
        r"epsilon is .*; it must be a privacy level, 0 or more",
        [value for value in NEVER if value is not None],
        [
            lambda x: delta_at(Channel(np.eye(2)), x),
        ],
    ),
    "the largest nominal level": (
        "most is .*; it must be 0, or a number",
        [value for value in (*NEVER, math.inf) if value is not None],
        [lambda x: calibrated(family, BALL, 1.0, most=x)],
    ),
    "a distortion": (
        "^The distortion is .*strictly between 0",
        [*NEVER, math.inf, 0.0, 1.0, 2.0],
        [
            lambda x: hamming_leakage(SOURCES, x),
            lambda x: information_leakage(SOURCES, x),
            lambda x: class_one_leakage(4, x),
            lambda x: class_two_leakage(SOURCES, x),
            lambda x: class_three_bounds(SOURCES, x),
        ],
    ),
    "a distortion below the digits of its complement": (
        "the least that can be solved for is 1e-09",
        [1e-300, 1e-12],
        [lambda x: hamming_leakage(SOURCES, x), lambda x: information_leakage(SOURCES, x)],
    ),
    "a leakage": (
        "every limit must be",
        [-1.0, -math.inf, math.nan],
        [lambda x: optimal_leakage([PRIOR, OTHER], x), lambda x: euclidean([PRIOR, OTHER], x)],
    ),
    "a tolerance": (
        "tolerance is .*; it must be",
        ["1", None, math.nan, -1.0, -math.inf, True, [1.0]],
        [
            lambda x: optimal_ldp(UTILITY, 1.0, tolerance=x),
            lambda x: optimal_robust(BALL, 1.0, tolerance=x),
            lambda x: optimal_unconditional(BALL.centre, 1.0, tolerance=x),
            lambda x: hamming_leakage(SOURCES, 0.1, tolerance=x),
            lambda x: information_leakage(SOURCES, 0.1, tolerance=x),
        ],
    ),
    "a number of rounds": (
        "max_rounds is .*; it must be",
        ["9", 0, -1, 1.5, math.nan, True, [1]],
        [
            lambda x: optimal_robust(BALL, 1.0, max_rounds=x),
            lambda x: optimal_unconditional(BALL.centre, 1.0, max_rounds=x),
        ],
    ),
    "a size": (
        "is .*; it must be a whole number of letters, 1 or more",
        [0, -1, 2.5, None, "3", math.nan, True],
        [
            lambda x: randomized_response(x, 1.0),
            lambda x: geometric_mechanism(x, 1.0),
            lambda x: secret_randomized_response(x, 3, 1.0),
            lambda x: secret_randomized_response(3, x, 1.0),
        ],
    ),
    "a probability": (
        r"^delta is .*; it must be a probability",
        [*NEVER, 1.5, math.inf],
        [lambda x: quaternary_mechanism(1.0, x)],
    ),
    "a significance level": (
        r"^beta is .*significance level",
        [*NEVER, 0.0, 1.0, 2.0],
        [lambda x: RenyiBall.confidence([[1, 2]], x)],
    ),
    "an order of a ball": (
        "order of the ball is .*; it must be from 1/64 to 16",
        [*NEVER, 0.0, 17, math.inf],
        [lambda x: RenyiBall([PRIOR], 1.0, x), lambda x: RenyiBall.confidence([[1, 2]], 0.05, x)],
    ),
    "a radius": (
        "radius of the ball is .*; it must be 0 or more",
        NEVER,
        [lambda x: RenyiBall([PRIOR], x)],
    ),
    "a tolerance of membership, or of a threshold": (
        "is .*; it must be",
        NEVER,
        [lambda x: BALL.contains(BALL.centre, x), lambda x: response_threshold(BALL.centre, accuracy=x)],
    ),
    "a number of things": (
        "is .*; it must be",
        [*NEVER, 1.5, math.inf],
        [
            lambda x: BALL.support(x, [[1, 0, 0]]),
            lambda x: BALL.sample(np.random.default_rng(1), x),
            lambda x: improved_reporting(BALL, 1.0, splits=x),
        ],
    ),
    "a number of nodes": (
        "max_nodes is .*; it must be",
        ["9", -1, 1.5, math.nan, True, [1]],
        [lambda x: optimal_robust(BALL, 1.0, envelope="exact", max_nodes=x)],
    ),
    "a time limit": (
        r"^max_seconds is .*; it must be a number of seconds, 0 or more, or None for no limit\.$",
        [value for value in NEVER if value is not None],
        [
            lambda x: optimal_ldp(UTILITY, 1.0, max_seconds=x),
            lambda x: optimal_nonrobust([PRIOR], 1.0, max_seconds=x),
            lambda x: optimal_robust(BALL, 1.0, max_seconds=x),
            lambda x: optimal_unconditional(BALL.centre, 1.0, max_seconds=x),
            lambda x: improved_reporting(BALL, 1.0, max_seconds=x),
            lambda x: calibrated(family, BALL, 1.0, max_seconds=x),
            lambda x: optimal_leakage([PRIOR, OTHER], 0.1, max_seconds=x),
            lambda x: hamming_leakage(SOURCES, 0.1, max_seconds=x),
            lambda x: information_leakage(SOURCES, 0.1, max_seconds=x),
        ],
    ),
    "a seed": (
        "it must be",
        NEVER,
        [
            lambda x: next(dirichlet(x, "x", 3, 1)),
            lambda x: next(dirichlet(0, "x", x, 1)),
            lambda x: next(dirichlet(0, "x", 3, 1, concentration=x)),
        ],
    ),
    "an accuracy of a level": (
        "tol is .*; it must be 0 or more",
        [value for value in NEVER if value is not None],
        [lambda x: BALL.worst_case_epsilon(randomized_response(6, 1.0), tol=x)],
    ),
    "an accuracy of a calibration": (
        "tol is .*; it must .*strictly between 0 and 1",
        [-1.0, 0.0, 1.0, 2.0, math.nan],
        [lambda x: calibrated(family, BALL, 1.0, tol=x)],
    ),
    "an order of a leakage": (
        r"The order is .*; it must be a number from 0\.01 to 100",
        [*NEVER, 0.0, 1000, math.inf],
        [lambda x: optimal_leakage([PRIOR, OTHER], 0.1, order=x)],
    ),
}


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_out_of_range_is_refused(kind) -> None:
    sentence, values, functions = TYPES[kind]
    for function in functions:
        for value in values:
            with pytest.raises(ValueError, match=f"(?s){sentence}"):
                function(value)
