r"""Mechanisms that see U alone, and protect S through a table that links the two (statement 18).

Reports that do not ask the sensitive question: a column has an entry for every useful value, and must be
private as a column of (S, U) that is the same for all s (`engines.joint.unasked`). The utility I(S, U; Y) is
I(U; Y) then. `optimal_robust`, `optimal_association` and `optimal_nonrobust` with ``observed="useful"``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns, solve_jointly
from ldpfrontier.engines.joint.unasked import UnaskedCone
from ldpfrontier.engines.listed.simplex_columns import SimplexColumns
from ldpfrontier.engines.registry import LIMITS, Call, choose, is_in_range
from ldpfrontier.model.cones import Cone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import NO_ERROR, Optimum, certified, fell_back, one_line, uninformative
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import SEEN, told_as_it_is, unasked_nonrobust
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def unasked_optimum(
    prior: FloatArray, cone: Cone, tolerance: float, mechanisms: str, max_nodes: int | None = None
) -> Optimum:
    """Return the most informative mechanism on U of a cone of columns of U, at a prior of (S, U)."""
    useful = MutualInformation(prior.sum(axis=0))
    found = optimal_mechanism(useful, cone, tolerance=tolerance, max_nodes=max_nodes)
    return replace(found, method=replace(found.method, mechanisms=f"{SEEN} {mechanisms}"))


def unasked_robust(
    ball: RenyiBall, epsilon: float, tolerance: float, exact: bool, rounds: int, max_nodes: int | None
) -> Optimum:
    """Return the optimum over the simplices of PolyOpt, or over F itself, as `optimal_robust`."""
    private = "private over F" if exact else "private over the simplices of PolyOpt"
    if exact and len(ball.centre) == 1:
        return told_as_it_is(ball.centre, tolerance, private)
    if ball.radius == 0:
        return unasked_nonrobust(ball.centre, epsilon, tolerance)
    if epsilon == 0:
        return uninformative(ball.centre.shape[1], method=choose("closed form").method(f"{SEEN} {private}"))
    simplices = SimplexColumns(ball.lower_bounds, epsilon)
    rest = float((1.0 - ball.lower_bounds.sum(axis=1)).min())
    if rest < SETTINGS.least_rest and ball.centre.shape[1] > 1:
        raise Intractable(
            f"A simplex around a projection of F has the width 1 - S = {rest:.3g}; below"
            f" {SETTINGS.least_rest:g} rounding could cost privacy. A larger radius, or 0, is solved."
        )
    if not exact:
        return _bounded(unasked_optimum(ball.centre, simplices, tolerance, private), ball, epsilon, tolerance)
    if not (len(ball.centre) <= LIMITS.max_sensitive and is_in_range(ball.radius, ball.order, epsilon)):
        fell_back("PolyOpt in place of F itself, as radius, level, order or size is out of range")
        found = unasked_optimum(ball.centre, simplices, tolerance, private)
        known = unasked_nonrobust(ball.centre, epsilon, tolerance)
        return certified(found.channel, found.value, known.bound, tolerance, method=found.method)
    useful = MutualInformation(ball.centre.sum(axis=0))
    if useful.prior.size > LIMITS.max_joint_cells:
        raise Intractable(
            f"There are {useful.prior.size} useful values; over F itself mechanisms that see these alone are"
            f" found for at most {LIMITS.max_joint_cells}, by branch and bound."
        )
    start = None
    with suppress(TimeIsUp):
        if simplices.rays is not None:  # every mechanism over the simplices is private over F
            start = unasked_optimum(ball.centre, simplices, tolerance, private).channel
    nodes = JOINT.joint_nodes if max_nodes is None else max_nodes
    columns = JointColumns(UnaskedCone(Oracle(ball, epsilon)), useful, nodes)
    finest, most = max(tolerance, JOINT.joint_tolerance), min(rounds, GENERATION.usual_rounds)
    found = solve_jointly(columns, finest, most, start)
    if start is not None and useful(start) > found.value:
        found = certified(start, useful(start), found.bound, tolerance, found.iterations, error=NO_ERROR)
    method = choose("any cone", Call(inputs=useful.prior.size)).method(f"{SEEN} {private}")
    return _bounded(replace(found, method=method), ball, epsilon, tolerance)


def _bounded(found: Optimum, ball: RenyiBall, epsilon: float, tolerance: float) -> Optimum:
    """Return an optimum with the bound of U itself, or of the known distribution, if that is lower."""
    known = entropy(ball.centre.sum(axis=0))
    if found.status != "optimal":
        try:
            known = min(known, unasked_nonrobust(ball.centre, epsilon, tolerance).bound)
        except Intractable as error:
            fell_back(f"the bound of the program alone, without that of the estimate: {one_line(error)}")
    if known >= found.bound:
        return found
    lower = certified(found.channel, found.value, known, tolerance, found.iterations)
    return replace(lower, method=found.method)
