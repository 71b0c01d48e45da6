"""A call of every public name that does, with arguments that show what each may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ldpfrontier as l

COUNTS = np.array([[15, 5, 10], [10, 35, 25]])
PRIOR = np.array([0.2, 0.3, 0.5])
PAIR = np.array([[0.2, 0.8], [0.6, 0.4]])

#: What its users make of others: results, and an error.
RESULTS = {"BudgetSplit", "Calibration", "Cone", "Intractable", "Optimum", "RepeatedReports", "ReportLevels"}
#: An error, and a context, which says so where it is entered.
RESULTS |= {"TimeIsUp", "time_limit", "Lot", "QuestionnaireMechanism", "QuestionnaireOptimum"}
RESULTS |= {"DeviatingEstimate", "DistributedTest", "RobustTest"}
METHODS = {
    "RenyiBall.confidence",
    "RenyiBall.worst_case_epsilon",
    "OddsRatios.known",
    "OddsRatios.over",
    "OddsRatios.confidence",
    "OddsRatios.widened",
}
NAMES = sorted(({*l.__all__} | METHODS) - RESULTS)


def bound(name: str, arguments: dict[str, Any]) -> tuple[Callable[..., object], dict[str, Any]]:
    """Return what a public name calls, a method of its `self` if there is one, and the other arguments."""
    *of, last = name.split(".")
    owner = arguments.get("self", getattr(l, of[0]) if of else l)
    return getattr(owner, last), {key: value for key, value in arguments.items() if key != "self"}


def good_calls() -> dict[str, dict[str, Any]]:
    """Return a call of every public name that does, by its name; what is left out has its default."""
    ball, utility = l.RenyiBall.confidence(COUNTS), l.MutualInformation(PRIOR)
    small = l.RenyiBall.confidence(COUNTS[:, :2])
    channel, square = l.randomized_response(3, 1.0), l.randomized_response(6, 1.0)
    return {
        "Channel": {"matrix": np.eye(2)},
        "MutualInformation": {"prior": PRIOR},
        "FDivergence": {"p0": PAIR[0], "p1": PAIR[1], "kind": "kl"},
        "RenyiBall": {"centre": COUNTS / 100.0, "radius": 0.1, "order": 2.0},
        "RenyiBall.confidence": {"counts": COUNTS, "beta": 0.05, "order": 2.0},
        "RenyiBall.worst_case_epsilon": {"self": ball, "channel": square, "tol": 1e-10},
        "SourceSet": {"distributions": PAIR},
        "entropy": {"p": PRIOR, "bits": False},
        "mutual_information": {"prior": PRIOR, "channel": channel, "bits": False},
        "ldp_epsilon": {"channel": channel},
        "least_delta": {"channel": channel, "epsilon": 1.0},
        "conditional_epsilon": {"channel": square, "shape": (2, 3)},
        "unconditional_epsilon": {"channel": square, "shape": (2, 3)},
        "rldp_epsilon": {"channel": square, "conditionals": ball.conditionals},
        "randomized_response": {"k": 3, "epsilon": 1.0},
        "geometric_mechanism": {"k": 3, "epsilon": 1.0},
        "binary_mechanism": {"utility": utility, "epsilon": 1.0},
        "quaternary_mechanism": {"epsilon": 1.0, "delta": 0.1},
        "secret_randomized_response": {"a1": 2, "a2": 3, "epsilon": 1.0},
        "subset_selection": {"k": 3, "epsilon": 1.0, "size": 2},
        "hadamard_response": {"k": 3, "epsilon": 1.0},
        "projective_geometry_response": {"k": 3, "epsilon": 1.0},
        "block_design_response": {"k": 3, "epsilon": 1.0},
        "composition": {"channels": [channel, channel]},
        "levels_of_reports": {
            "channels": [square, square],
            "shape": (2, 3),
            "odds": l.OddsRatios.confidence(COUNTS),
            "ball": ball,
        },
        "optimal_repeated": {
            "odds": l.OddsRatios.confidence(COUNTS[:, :2]),
            "epsilon": 1.0,
            "reports": 2,
            "tolerance": 1e-2,
        },
        "Questionnaire": {"sizes": (2, 3), "tables": ((0,), (0, 1))},
        "optimal_questionnaire": {"sizes": [2, 3], "epsilon": 1.0, "order": 2, "tables": None, "asked": 2},
        "questionnaire_errors": {"questionnaire": l.Questionnaire((2, 3), ((0, 1),)), "epsilon": 1.0},
        "OddsRatios.widened": {"self": l.OddsRatios.confidence(COUNTS), "level": 0.5},
        "optimal_ldp": {
            "utility": utility,
            "epsilon": 1.0,
            "tolerance": 1e-9,
            "max_rounds": 9,
            "start": channel,
        },
        "optimal_nonrobust": {
            "estimate": ball.centre,
            "epsilon": 1.0,
            "observed": "both",
            "tolerance": 1e-9,
            "max_rounds": 9,
        },
        "optimal_unconditional": {
            "prior": ball.centre,
            "epsilon": 1.0,
            "tolerance": 1e-9,
            "max_rounds": 9,
            "start": square,
        },
        "optimal_polyopt": {
            "ball": ball,
            "epsilon": 1.0,
            "tolerance": 1e-3,
            "max_rounds": 9,
            "start": square,
        },
        "optimal_robust": {
            "ball": ball,
            "epsilon": 1.0,
            "envelope": "simplex",
            "observed": "both",
            "least": False,
            "tolerance": 1e-6,
            "max_rounds": 9,
            "max_nodes": 0,
            "start": square,
        },
        "AverageUtility": {
            "utilities": [l.FDivergence(*PAIR), l.FDivergence(*PAIR[::-1])],
            "weights": [0.3, 0.7],
        },
        "optimal_distributed_test": {
            "p0": np.array([[0.4, 0.1], [0.1, 0.4]]),
            "p1": np.full((2, 2), 0.25),
            "epsilon": 1.0,
            "kind": "kl",
            "tolerance": 1e-9,
        },
        "DivergenceBall": {"centre": PRIOR, "radius": 0.1, "kind": "tv"},
        "optimal_robust_test": {
            "null": PAIR[0],
            "alternative": PAIR[1],
            "epsilon": 1.0,
            "kind": "kl",
            "tolerance": 1e-6,
            "max_rounds": 9,
        },
        "ColumnUtility": {"prior": PRIOR, "function": lambda v: v.max(axis=1), "unit": "1"},
        "PolyhedralCone": {"inequalities": [[1.0, -2.0, 0.0]], "table": (1, 3)},
        "local_cone": {"inputs": 3, "epsilon": 1.0},
        "conditional_cone": {"shape": (2, 3), "epsilon": 1.0},
        "unconditional_cone": {"shape": (2, 3), "epsilon": 1.0},
        "polyopt_cone": {"lower": ball.lower_bounds, "epsilon": 1.0, "pairs": "distinct"},
        "least_information": {"ball": ball, "channel": square, "tolerance": 1e-2},
        "robust_cone": {"ball": ball, "epsilon": 1.0},
        "unasked_cone": {"cone": l.robust_cone(ball, 1.0)},
        "association_cone": {"odds": l.OddsRatios.known(ball.centre), "epsilon": 1.0},
        "extreme_rays": {"inequalities": [[1.0, -2.0, 0.0]], "max_rays": 9},
        "binary_threshold": {"utility": l.FDivergence(*PAIR)},
        "binary_domination_threshold": {"pair": l.FDivergence(*PAIR)},
        "randomized_response_threshold": {"utility": utility},
        "robust_bound": {"ball": small, "epsilon": 1.0, "max_nodes": 1},
        "optimal_conditional": {"prior": ball.centre, "epsilon": 1.0, "tolerance": 1e-6},
        "optimal_conditional_estimation": {
            "prior": ball.centre,
            "epsilon": 1.0,
            "target": None,
            "tolerance": 1e-2,
            "max_rounds": 9,
        },
        "with_united_outputs": {"channel": channel, "prior": PRIOR, "target": None, "lost": 0.1},
        "level_certificate": {
            "counts": [[1, 2]],
            "rows": [[1, 3], [3, 1]],
            "levels": {"local privacy": 2.0},
            "ball": None,
            "odds": None,
        },
        "optimal_mechanism": {
            "utility": utility,
            "cone": l.local_cone(3, 1.0),
            "tolerance": 1e-3,
            "max_nodes": 10,
        },
        "optimal_estimation": {
            "prior": PRIOR,
            "cone": l.local_cone(3, 1.0),
            "target": np.eye(3),
            "tolerance": 1e-3,
            "max_rounds": 9,
        },
        "optimal_deviating": {
            "prior": PRIOR,
            "cone": l.local_cone(3, 1.0),
            "deviating": 0.05,
            "people": 1000,
            "target": np.eye(3),
            "tolerance": 1e-3,
            "max_rounds": 9,
        },
        "deviating_estimate": {
            "channel": channel,
            "prior": PRIOR,
            "deviating": 0.05,
            "people": 1000,
            "target": np.eye(3),
        },
        "rate_target": {"prior": np.array([[0.25, 0.1], [0.25, 0.4]])},
        "logit_coefficients": {"prior": np.array([[0.25, 0.1], [0.25, 0.4]]), "design": [[1, 0], [1, 1]]},
        "logit_target": {"prior": np.array([[0.25, 0.1], [0.25, 0.4]]), "design": [[1, 0], [1, 1]]},
        "estimation_error": {"channel": channel, "prior": PRIOR, "target": np.eye(3)},
        "worst_estimation_error": {
            "channel": l.randomized_response(6, 1.0),
            "ball": ball,
            "target": np.eye(6),
        },
        "OddsRatios": {"prior": ball.centre, "low": np.ones((2, 2, 3, 3))},
        "OddsRatios.known": {"distribution": ball.centre},
        "OddsRatios.over": {"ball": ball},
        "OddsRatios.confidence": {"counts": [[15, 5, 10], [10, 35, 25]], "beta": 0.05, "method": "exact"},
        "association_epsilon": {"channel": square, "odds": l.OddsRatios.known(ball.centre)},
        "optimal_association": {
            "odds": l.OddsRatios.known(small.centre),
            "epsilon": 1.0,
            "observed": "both",
            "tolerance": 1e-3,
            "max_nodes": 10,
            "max_rounds": 2,
        },
        "association_certificate": {
            "optimum": l.optimal_unconditional(ball.centre, 1.0),
            "odds": l.OddsRatios.known(ball.centre),
            "epsilon": 1.0,
        },
        "ldp_certificate": {"optimum": l.optimal_ldp(utility, 1.0), "utility": utility, "epsilon": 1.0},
        "nonrobust_certificate": {
            "optimum": l.optimal_nonrobust(ball.centre, 1.0),
            "estimate": ball.centre,
            "epsilon": 1.0,
        },
        "robust_certificate": {"optimum": l.optimal_robust(ball, 1.0), "ball": ball, "epsilon": 1.0},
        "independent_reporting": {"ball": ball, "epsilon": 1.0, "distance": "published"},
        "budget_split": {"ball": ball, "epsilon": 1.0, "distance": "published"},
        "calibrated": {
            "family": lambda level: l.randomized_response(6, level),
            "ball": l.RenyiBall(ball.centre, 0.0),  # whose levels are found at once
            "epsilon": 1.0,
            "tol": 1e-2,
        },
        "optimal_leakage": {"hypotheses": PAIR, "leakage": 0.1, "order": 1.0, "max_rounds": 9},
        "hamming_leakage": {
            "sources": l.SourceSet(PAIR),
            "distortion": 0.2,
            "tolerance": 1e-9,
            "max_rounds": 9,
        },
        "least_distortion": {
            "sources": l.SourceSet(PAIR),
            "distortion": [[0, 1, 2], [2, 1, 0]],
            "epsilon": 1.0,
            "tolerance": 1e-9,
        },
        "distortion_leakage": {
            "sources": PAIR,
            "distortion": [[0, 1, 2], [2, 1, 0]],
            "limit": 0.4,
            "tolerance": 1e-6,
            "max_rounds": 9,
        },
        "information_leakage": {"sources": PAIR, "distortion": 0.2, "tolerance": 1e-9, "max_rounds": 9},
    }
