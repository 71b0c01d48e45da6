"""What the registry says is what runs, and every fallback has its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ldpfrontier
from ldpfrontier.engines import registry
from ldpfrontier.engines.columns import column_search
from ldpfrontier.engines.designs.branch_and_bound import ExcessBound
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.engines.listed import packing
from ldpfrontier.engines.products import product_optimum
from ldpfrontier.engines.products.decomposition import Decomposition
from ldpfrontier.engines.registry import LIMITS, REGIMES, Regime, choose
from ldpfrontier.model.cones import conditional_cone, local_cone
from ldpfrontier.model.optimum import Method, Optimum
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.promises import (
    association,
    closed_forms,
    conditional,
    distributed_testing,
    estimation,
    ldp,
    least,
    listed_rays,
    polyopt,
    robust,
    robust_testing,
    unconditional,
)
from ldpfrontier.promises import mechanism as general
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.conditional import optimal_conditional
from ldpfrontier.promises.distributed_testing import optimal_distributed_test
from ldpfrontier.promises.estimation import optimal_estimation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.promises.robust_testing import optimal_robust_test
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.reports.two_reports import BudgetSplit
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

PACKAGE = Path(ldpfrontier.__file__).parent
STATEMENTS = (Path(__file__).parents[3] / "docs/beyond/theorems.md").read_text(encoding="utf-8")
BALL = RenyiBall.confidence([[30, 10, 5], [10, 30, 9]])
WIDE = RenyiBall.confidence(np.random.default_rng(0).integers(5, 50, (3, 6)))
THREE = RenyiBall.confidence(np.random.default_rng(0).integers(5, 50, (3, 2)))
ODDS = OddsRatios.confidence([[30, 10, 5], [10, 30, 9]])
UNIFORM = {k: MutualInformation(np.full(k, 1 / k)) for k in (4, 22, 300)}
DRAWN = np.random.default_rng(0).dirichlet(np.ones(21), 2)

#: A small call of every entry, and the limits that make it one of that entry.
CALLS: dict[tuple[str, str], tuple[Callable[[], Optimum | BudgetSplit], dict[str, int]]] = {
    ("closed form", "closed form"): (lambda: optimal_polyopt(BALL, 0.0), {}),
    ("LDP", "partition"): (lambda: optimal_ldp(FDivergence(*DRAWN), 1.0), {}),
    ("LDP", "listed"): (lambda: optimal_ldp(UNIFORM[4], 1.0), {}),
    ("LDP", "packing"): (lambda: optimal_ldp(UNIFORM[22], 1.0), {}),
    ("approximate LDP", "listed"): (lambda: optimal_ldp(UNIFORM[4], 1.0, 0.1), {}),
    ("approximate LDP", "mixture"): (lambda: optimal_ldp(UNIFORM[22], 1.0, 0.1), {}),
    ("several", "least"): (
        lambda: optimal_ldp([UNIFORM[4], MutualInformation([0.1, 0.2, 0.3, 0.4])], 1.0),
        {},
    ),
    ("classes", "saddle"): (lambda: optimal_robust_test([0.2, 0.8], [0.6, 0.4], 1.0), {}),
    ("people", "vertices"): (lambda: optimal_distributed_test(np.eye(2) / 2, np.full((2, 2), 0.25), 1.0), {}),
    ("unconditional", "listed"): (lambda: optimal_unconditional(BALL.centre, 1.0), {}),
    ("unconditional", "products"): (
        lambda: optimal_unconditional(THREE.centre, 1.0),
        {"max_listed_inputs": 4},
    ),
    ("simplex", "coupled"): (lambda: optimal_robust(BALL, 1.0), {"max_master_cells": 5}),
    ("simplex", "exact"): (lambda: optimal_robust(BALL, 1.0), {}),
    ("over F", "joint"): (lambda: optimal_robust(BALL, 1.0, envelope="exact", max_nodes=5), {}),
    ("over F", "products"): (lambda: optimal_robust(BALL, 1.0, envelope="exact"), {"max_joint_cells": 5}),
    ("least over F", "members"): (lambda: optimal_robust(BALL, 1.0, least=True, tolerance=0.1), {}),
    ("conditional", "useful told"): (lambda: optimal_conditional(BALL.centre, 1.0), {}),
    ("association", "joint"): (lambda: optimal_association(ODDS, 1.0, max_nodes=10), {}),
    ("association", "search"): (lambda: optimal_association(ODDS, 1.0, max_rounds=2), {"max_joint_cells": 5}),
    ("estimates", "rays"): (lambda: optimal_estimation(UNIFORM[4].prior, local_cone(4, 1.0)), {}),
    ("estimates", "staircases"): (lambda: optimal_estimation(UNIFORM[22].prior, local_cone(22, 3.0)), {}),
    ("estimates", "branches"): (
        lambda: optimal_estimation(BALL.centre, robust_cone(BALL, 1.0), tolerance=0.3),
        {},
    ),
    ("estimates", "cuts"): (
        lambda: optimal_estimation(
            BALL.centre, robust_cone(BALL, 1.0) & conditional_cone((2, 3), 1.0), tolerance=0.3
        ),
        {},
    ),
    ("estimates", "programs"): (
        lambda: optimal_estimation(
            BALL.centre, robust_cone(BALL, 1.0) & conditional_cone((2, 3), 1.0), tolerance=0.3, max_rounds=3
        ),
        {"max_joint_cells": 5},
    ),
    ("any cone", "rays"): (lambda: optimal_mechanism(UNIFORM[4], local_cone(4, 1.0)), {}),
    ("any cone", "cuts"): (
        lambda: optimal_mechanism(MutualInformation(BALL.centre), robust_cone(BALL, 1.0)),
        {},
    ),
    ("any robust", "known"): (lambda: optimal_polyopt(BALL, 1.0), {}),
}

#: What an entry must call: a function of the engine, which the test counts.
CALLED: dict[tuple[str, str], tuple[object, str]] = {
    ("closed form", "closed form"): (polyopt, "uninformative"),
    ("LDP", "partition"): (ldp, "optimal_partition"),
    ("LDP", "listed"): (ldp, "optimal_exact_cover"),
    ("LDP", "packing"): (packing, "generate"),
    ("approximate LDP", "listed"): (ldp, "optimal_approximate"),
    ("approximate LDP", "mixture"): (ldp, "mixture_with_truth"),
    ("several", "least"): (ldp, "least_of"),
    ("classes", "saddle"): (robust_testing, "optimal_ldp"),
    ("people", "vertices"): (distributed_testing, "vertices"),
    ("unconditional", "listed"): (unconditional, "generate"),
    ("unconditional", "products"): (unconditional, "over_products"),
    ("simplex", "coupled"): (product_optimum, "_refined"),
    ("simplex", "exact"): (product_optimum, "generate"),
    ("over F", "joint"): (robust, "joint_optimum"),
    ("over F", "products"): (robust, "shared_budget_mechanism"),
    ("least over F", "members"): (least, "least_of"),
    ("conditional", "useful told"): (conditional, "optimal_ldp"),
    ("association", "joint"): (association, "optimal_mechanism"),
    ("association", "search"): (column_search, "searched_columns"),
    ("estimates", "rays"): (estimation, "_over_listed_rays"),
    ("estimates", "staircases"): (estimation, "_large_alphabet"),
    ("estimates", "branches"): (ExcessBound, "bound"),
    ("estimates", "cuts"): (estimation, "outer_bound"),
    ("estimates", "programs"): (estimation, "_large_table"),
    ("any cone", "rays"): (listed_rays, "generate"),
    ("any cone", "cuts"): (general, "solve_jointly"),
    ("any robust", "known"): (polyopt, "best_closed_form"),
}


@pytest.mark.parametrize("regime", REGIMES, ids=lambda r: f"{r.cone}: {r.name}")
def test_what_the_registry_says_is_what_runs(regime: Regime, monkeypatch: pytest.MonkeyPatch) -> None:
    key = (regime.cone, regime.name)
    if key == ("any robust", "known"):
        monkeypatch.setattr(closed_forms, "check_time", out_of_time)
    solve, limits = CALLS[key]
    changed = replace(LIMITS, **limits)
    for module in (registry, robust, association, packing, product_optimum, estimation):
        monkeypatch.setattr(module, "LIMITS", changed, raising=False)
    ran = list[str]()
    place, name = CALLED[key]
    function = getattr(place, name)

    def counted(*args: object, **kwargs: object) -> object:
        ran.append(name)
        return function(*args, **kwargs)

    monkeypatch.setattr(place, name, counted)
    method = solve().method
    assert (method.engine, method.regime) == (regime.engine, regime.size)
    assert method.mechanisms
    assert ran


def test_the_first_entry_of_a_class_that_serves_is_the_one() -> None:
    assert choose("LDP", registry.Call(20)).name == "listed"
    assert choose("LDP", registry.Call(21)).name == "packing"
    assert choose("over F", registry.Call(LIMITS.max_joint_cells + 1)).name == "products"
    # The last entry of every class serves all that is left, but the list of columns of other utilities.
    for cone in {regime.cone for regime in REGIMES}:
        last = [regime for regime in REGIMES if regime.cone == cone][-1]
        assert last.serves(registry.Call(10**6, 10**3, 10**9))


@pytest.mark.parametrize(
    ("solve", "limits", "step"),
    [
        (lambda: optimal_ldp(UNIFORM[22], 1.0), {"max_generation_inputs": 21}, (packing, "generate")),
        (
            lambda: optimal_robust(BALL, 1.0, envelope="exact"),
            {"max_joint_cells": 4, "max_search_cells": 5},
            (robust, "searched_mechanism"),
        ),
        (
            lambda: optimal_association(ODDS, 1.0),
            {"max_joint_cells": 4, "max_master_cells": 5},
            (column_search, "searched_columns"),
        ),
    ],
    ids=["packing", "over F", "association"],
)
def test_a_step_that_ends_at_a_size_is_not_taken_beyond_it(
    solve: Callable[[], Optimum],
    limits: dict[str, int],
    step: tuple[object, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (registry, robust, association, packing):
        monkeypatch.setattr(module, "LIMITS", replace(LIMITS, **limits))
    monkeypatch.setattr(*step, failing)
    assert solve().method.fallbacks == ()


@pytest.mark.parametrize("regime", REGIMES, ids=lambda r: f"{r.cone}: {r.name}")
def test_why_a_bound_holds_is_found_where_the_registry_says(regime: Regime) -> None:
    modules = re.findall(r"`([\w/]+\.py)`", regime.why)
    statements = re.findall(r"statements? ([\d and]+)", regime.why)
    assert all((PACKAGE / module).is_file() for module in modules)
    for number in re.findall(r"\d+", " ".join(statements)):
        assert f"\n### {number}. " in STATEMENTS


def test_the_optimum_of_nr_names_what_it_rests_on() -> None:
    method = optimal_nonrobust(BALL.centre, 1.0).method
    assert choose("LDP", registry.Call(2)).engine in method.engine
    assert "estimate" in method.mechanisms
    assert method.fallbacks == ()


def out_of_time() -> None:
    raise TimeIsUp("the time that was allowed is up")


def failing(*args: object, **kwargs: object) -> None:
    raise RuntimeError("HiGHS gave up.")


def test_a_failed_refinement_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "LIMITS", replace(LIMITS, max_exact_vertices=0))
    monkeypatch.setattr(Decomposition, "coupling_loss", lambda self: 1.0)
    monkeypatch.setattr(Decomposition, "refine", failing)
    method = optimal_robust(BALL, 1.0).method
    assert method.fallbacks == (
        "the coupling before its refinement, as a step failed: RuntimeError: HiGHS gave up",
    )


def test_another_class_in_place_of_the_one_asked_for_is_named() -> None:
    assert "PolyOpt in place of F itself" in optimal_robust(BALL, 20.0, envelope="exact").method.fallbacks[0]


def test_fallbacks_of_one_call_are_none_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(packing, "generate", failing)
        assert "packing alone" in optimal_ldp(UNIFORM[22], 1.0).method.fallbacks[0]
    assert optimal_ldp(UNIFORM[22], 1.0).method.fallbacks == ()


def test_a_method_is_one_line() -> None:
    assert str(Method()) == ""
    assert str(Method("a class", "an engine", "a size", ("x", "y"))) == (
        "a class: an engine (a size); fallback: x; fallback: y"
    )
