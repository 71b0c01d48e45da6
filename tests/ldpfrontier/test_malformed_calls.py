"""Malformed arguments of the public functions: refused with a sentence of this package, or answered."""

import inspect
import math
import traceback
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpfrontier as l

PACKAGE = Path(l.__file__).parent
COUNTS = np.array([[15, 5, 10], [10, 35, 25]])
PRIOR = np.array([0.2, 0.3, 0.5])
PAIR = np.array([[0.2, 0.8], [0.6, 0.4]])


class Strange:
    """Something that is no number and no sequence, and says nothing of use about itself."""

    __array__ = None


#: In the place of any argument.
HOSTILE = {
    "None": None,
    "True": True,
    "a text": "abc",
    "an empty text": "",
    "bytes": b"ab",
    "NaN": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-1": -1,
    "-1.5": -1.5,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "10^400": 10**400,
    "-10^400": -(10**400),
    "a fraction": Fraction(10**400, 3),
    "a complex number": 1 + 2j,
    "an empty list": [],
    "a list of None": [None],
    "a list of lists of texts": [["a"], ["b"]],
    "rows of different lengths": [[0.5], [0.25, 0.25]],
    "NaN in an array": np.array([[np.nan, 1.0], [0.5, 0.5]]),
    "a complex array": np.eye(2) + 1j,
    "an array of truth values": np.eye(2, dtype=bool),
    "an array of objects": np.array([object(), object()], dtype=object),
    "an array without dimensions": np.array(0.5),
    "a masked array": np.ma.masked_array([0.5, 0.5], mask=[False, True]),
    "four dimensions": np.full((1, 2, 1, 2), 0.25),
    "no rows": np.zeros((0, 3)),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
    "a structured array": np.zeros(2, dtype=[("a", float)]),
    "a set": {0.5},
    "a dictionary": {"a": 0.5},
    "a generator": iter([0.5, 0.5]),
    "a function": len,
    "a class": l.Channel,
    "a strange object": Strange(),
    "a table of texts": pd.DataFrame({"a": ["x", "y"]}),
    "a series with a gap": pd.Series([0.5, None]),
    "pandas.NA": pd.NA,
    "NaT": pd.NaT,
    "a category": pd.Categorical(["a", "b"]),
}


#: Out of the range of every number that has one; and what else is out of the range of an argument.
NEVER = ["1", math.nan, -math.inf, -1.0, -(10**400), Fraction(-1, 3), True, 1j, [1.0], pd.Series([3.0])]
WHOLE = ["9", -1, 1.5, math.nan, True, [1]]
REFUSED = {
    "epsilon": [*NEVER, math.inf, 300.5, 1e300],
    "tolerance": ["1", math.nan, -math.inf, -1.0, True, [1.0]],
    "tol": ["1", math.nan, -math.inf, -1.0, True, [1.0]],
    "most": [*NEVER, math.inf],
    "distortion": [*NEVER, math.inf, 0.0, 1e-12, 1.0, 2.0],
    "leakage": [math.nan, -math.inf, -1.0],
    "delta": [*NEVER, math.inf, 1.5],
    "beta": [*NEVER, 0.0, 1.0, 2.0],
    "order": [*NEVER, math.inf, 0.0, 1000.0],
    "radius": NEVER,
    "max_seconds": NEVER,
    **{size: [*WHOLE, 0] for size in ("k", "a1", "a2")},
    **dict.fromkeys(("max_rounds", "max_nodes", "size"), WHOLE),
}


@pytest.fixture(scope="module")
def good():
    """Return a call of every public name that does, by its name; what is left out has its default."""
    ball, utility = l.RenyiBall.confidence(COUNTS), l.MutualInformation(PRIOR)
    small = l.RenyiBall.confidence(COUNTS[:, :2])
    channel, square = l.randomized_response(3, 1.0), l.randomized_response(6, 1.0)
    return {
        "Channel": {"matrix": np.eye(2), "inputs": ("a", "b"), "outputs": ("c", "d")},
        "MutualInformation": {"prior": PRIOR},
        "FDivergence": {"p0": PAIR[0], "p1": PAIR[1], "kind": "kl"},
        "RenyiBall": {"centre": COUNTS / 100.0, "radius": 0.1, "order": 2.0},
        "RenyiBall.confidence": {"counts": COUNTS, "beta": 0.05, "order": 2.0},
        "RenyiBall.worst_case_epsilon": {"self": ball, "channel": square, "tol": 1e-10},
        "SourceSet": {"distributions": PAIR},
        "entropy": {"p": PRIOR, "bits": False},
        "mutual_information": {"prior": PRIOR, "channel": channel, "bits": False},
        "ldp_epsilon": {"channel": channel},
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
        "optimal_nonrobust": {"estimate": ball.centre, "epsilon": 1.0, "tolerance": 1e-9, "max_rounds": 9},
        "optimal_unconditional": {
            "prior": ball.centre,
            "epsilon": 1.0,
            "tolerance": 1e-9,
            "max_rounds": 9,
            "start": square,
        },
        "optimal_robust": {
            "ball": ball,
            "epsilon": 1.0,
            "envelope": "simplex",
            "tolerance": 1e-6,
            "max_rounds": 9,
            "max_nodes": 0,
            "start": square,
        },
        "ColumnUtility": {"prior": PRIOR, "function": lambda v: v.max(axis=1), "unit": "1"},
        "PolyhedralCone": {"inequalities": [[1.0, -2.0, 0.0]], "table": (1, 3)},
        "local_cone": {"inputs": 3, "epsilon": 1.0},
        "conditional_cone": {"shape": (2, 3), "epsilon": 1.0},
        "unconditional_cone": {"shape": (2, 3), "epsilon": 1.0},
        "polyopt_cone": {"lower": ball.lower_bounds, "epsilon": 1.0, "pairs": "distinct"},
        "robust_cone": {"ball": ball, "epsilon": 1.0, "envelope": "simplex", "pairs": "all"},
        "association_cone": {"odds": l.OddsRatios.known(ball.centre), "epsilon": 1.0},
        "extreme_rays": {"inequalities": [[1.0, -2.0, 0.0]], "max_rays": 9},
        "binary_threshold": {"utility": l.FDivergence(*PAIR)},
        "binary_domination_threshold": {"pair": l.FDivergence(*PAIR)},
        "randomized_response_threshold": {"utility": utility},
        "robust_bound": {"ball": small, "epsilon": 1.0, "max_nodes": 1},
        "optimal_label": {"prior": ball.centre, "epsilon": 1.0, "tolerance": 1e-6},
        "optimal_label_estimation": {
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
        "rate_target": {"prior": np.array([[0.25, 0.1], [0.25, 0.4]])},
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
        "information_leakage": {"sources": PAIR, "distortion": 0.2, "tolerance": 1e-9, "max_rounds": 9},
    }


#: Of these any value is taken, and called or asked whether it is true.
HOOKS = {"progress", "sampler", "simultaneous"}

#: What its users make of others: results, and an error.
RESULTS = {"BudgetSplit", "Calibration", "Cone", "Intractable", "Optimum", "RepeatedReports", "ReportLevels"}
#: An error, and a context, which says so where it is entered.
RESULTS |= {"TimeIsUp", "time_limit", "Lot", "QuestionnaireMechanism", "QuestionnaireOptimum"}
METHODS = {
    "RenyiBall.confidence",
    "RenyiBall.worst_case_epsilon",
    "OddsRatios.known",
    "OddsRatios.over",
    "OddsRatios.confidence",
    "OddsRatios.widened",
}
NAMES = sorted(({*l.__all__} | METHODS) - RESULTS)


def test_every_public_name_is_attacked(good):
    assert set(NAMES) == set(good)


def allowed(function, argument, value):
    """Tell whether an argument may have a value: its default, or a function that fails by itself."""
    if value is None:
        return inspect.signature(function).parameters[argument].default is None
    return argument in ("f", "family", "source") and callable(value)


def hostile(name):
    """A value of its own for every call, as a generator is used up."""
    return iter([0.5, 0.5]) if name == "a generator" else HOSTILE[name]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_malformed_arguments(good, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, function = dict(good[name]), l
    for part in name.split("."):
        function = getattr(function, part)
    if "self" in arguments:
        function = getattr(arguments.pop("self"), name.split(".")[1])
    parameters = inspect.signature(function).parameters.values()
    defaults = {x.name: x.default for x in parameters if x.default is not x.empty and x.name not in HOOKS}
    arguments = defaults | arguments
    function(**arguments)
    wrong, refused = [], 0
    for argument in arguments:
        for what in HOSTILE:
            if allowed(function, argument, value := hostile(what)):
                continue
            try:
                function(**{**arguments, argument: value})
            except (ValueError, l.Intractable, OSError) as error:
                refused += 1
                inner = traceback.extract_tb(error.__traceback__)[-1].filename
                if not isinstance(error, OSError) and (
                    "ldpfrontier" not in inner or not str(error).endswith(".")
                ):
                    wrong.append(f"{argument} = {what}: {error!r} of {inner}")
            except Exception as error:
                wrong.append(f"{argument} = {what}: {error!r}")
        for value in REFUSED.get(argument, ()):
            with pytest.raises(ValueError, match=r"(?s)[.]$"):
                function(**{**arguments, argument: value})
    assert not wrong
    assert refused > 0
