r"""The best mechanism for any promise and any utility, by one column program.

The program is ::

    maximize sum_j theta_j mu(v_j)   subject to   sum_j theta_j v_j = 1,  theta >= 0,  v_j in C,

over a convex cone C of columns that contains the constant one (`model.cones`), with a sublinear convex
mu (`model.utility`). For any prices c, no mechanism is worth more than sum(c) plus the largest reduced
cost mu(v) - c . v of a column with scale . v = 1, which is what an engine bounds:

- A polyhedral cone with few extreme rays is the set of their sums, and mu is largest at a ray. All are
  listed and priced (`listed_rays`).
- Every other cone is known by cuts, and reduced costs are bounded by spatial branch and bound (`joint`).

The least of several utilities is bounded by the optimum of an average of them (`column_generation.several`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.several import least_of
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns, solve_jointly
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.engines.listed.simplex_columns import SimplexColumns
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.average_utility import checked_utilities
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import Cone, PolyhedralCone, check_cone, check_inside
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    keeps_time_limit,
    recorded_failure,
    records_fallbacks,
)
from ldpfrontier.model.utility import SublinearUtility
from ldpfrontier.numerics.arguments import as_count, as_number
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.promises.listed_rays import MECHANISMS, listed_optimum, listed_rays


@records_fallbacks
@keeps_time_limit
def optimal_mechanism(
    utility: SublinearUtility | Sequence[SublinearUtility],
    cone: Cone,
    *,
    tolerance: float = SETTINGS.tolerance,
    max_nodes: int | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the best mechanism whose columns are all in a cone, with a certificate.

    Parameters
    ----------
    utility : SublinearUtility or sequence of them
        `MutualInformation`, `FDivergence`, an `AverageUtility`, or a function of one's own (`ColumnUtility`).
        A sequence means the least of its utilities: up to 110 on the same inputs and in the same unit.
    cone : Cone
        Such as a `PolyhedralCone`, those of `ldpfrontier.model.cones`, or the intersection ``a & b`` of two.
    tolerance : float
        Relative gap at which to stop, 0 or more; by spatial branch and bound, 1e-4 is the finest one.
    max_nodes : int, optional
        Most nodes of spatial branch and bound per pricing, by default 20,000, and 300,000 if the cone is
        polyhedral, of which they take some 20 s on 12 inputs. If it is given, branch and bound runs even
        where the extreme rays could be listed.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        `prices` are the dual prices of the bound.

    Raises
    ------
    Intractable
        If the cone has too many inputs or extreme rays for both engines, or branch and bound needs all
        probabilities to be above 0.
    ValueError
        If an argument is of another kind or out of range, or the two have different numbers of inputs.
    ArithmeticError
        If a column of the mechanism that was found is outside the cone, by the cuts of the cone itself: then
        the methods of a cone of one's own contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpfrontier import MutualInformation, local_cone, optimal_mechanism
    >>> utility = MutualInformation([0.2, 0.3, 0.5])
    >>> best = optimal_mechanism(utility, local_cone(3, 1.0))
    >>> best.status
    'optimal'
    """
    several = checked_utilities(utility if isinstance(utility, Sequence) else (utility,))
    check_cone(cone)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    nodes = JOINT.polyhedral_nodes if isinstance(cone, PolyhedralCone) else JOINT.joint_nodes
    if max_nodes is not None:
        nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    inputs = cone.shape[0] * cone.shape[1]
    if several[0].prior.size != inputs:
        raise ValueError(
            f"The utility has {several[0].prior.size} inputs and the cone has {inputs}; they must agree."
        )
    try:
        rays = listed_rays(cone) if max_nodes is None else None
    except TimeIsUp:
        return _quick(several, cone, tolerance)
    if len(several) == 1:
        return _optimum(several[0], cone, rays, tolerance, nodes)

    def allowed(channel: Channel) -> Channel:
        if isinstance(cone, PolyhedralCone | SimplexColumns):
            return cone.mix_inside(channel)
        check_inside(cone, channel)
        return channel

    each = GENERATION.inner_share * tolerance
    found = least_of(
        several,
        lambda utility: _optimum(utility, cone, rays, each, nodes),
        allowed,
        tolerance=tolerance,
        max_rounds=SETTINGS.max_rounds,
    )
    return replace(found, method=choose("several").method(MECHANISMS))


def _quick(utilities: Sequence[SublinearUtility], cone: Cone, tolerance: float) -> Optimum:
    """Return what is known without a search: no mechanism tells more than the inputs themselves."""
    inputs = cone.shape[0] * cone.shape[1]
    method = choose("any cone", Call(inputs=inputs, listed=True)).method(MECHANISMS)
    truth, channel = Channel(np.eye(inputs)), quick_mechanism(cone)
    most, value = (min(utility(each) for utility in utilities) for each in (truth, channel))
    return certified(channel, value, most, tolerance, unit=utilities[0].unit, method=method)


def _optimum(
    utility: SublinearUtility, cone: Cone, rays: FloatArray | None, tolerance: float, nodes: int
) -> Optimum:
    """Return the optimum of one utility over a cone, from its extreme rays if they are listed."""
    if rays is not None:
        try:
            listed = listed_optimum(utility, cone, tolerance, rays)
        except TimeIsUp:
            return _quick([utility], cone, tolerance)
        if listed is not None:
            return listed
    inputs = cone.shape[0] * cone.shape[1]
    method = choose("any cone", Call(inputs=inputs)).method(MECHANISMS)
    if inputs > LIMITS.max_joint_cells:
        raise Intractable(
            f"The cone has {inputs} inputs; at most {LIMITS.max_joint_cells} are supported by branch and"
            f" bound, and its extreme rays are listed up to {LIMITS.max_ray_inputs} inputs and"
            f" {LIMITS.max_rays:,} rays."
        )
    if cone.least_constant_slack == 0.0:
        raise Intractable(
            "The constant column meets an inequality of the cone with equality, so that columns cannot be"
            " moved into the cone by mixing; such cones are solved by their extreme rays alone."
        )
    columns = JointColumns(cone, utility, nodes)
    with recorded_failure(
        "the mechanism that tells nothing, below the utility of the input itself", RuntimeError
    ):
        found = solve_jointly(columns, max(tolerance, JOINT.joint_tolerance), GENERATION.usual_rounds)
        check_inside(cone, found.channel)
        return replace(found, method=method)
    most = utility(Channel(np.eye(inputs)))
    return certified(
        Channel(np.ones((inputs, 1))), 0.0, most, tolerance, unit=utility.unit, error=NO_ERROR, method=method
    )


def quick_mechanism(cone: Cone) -> Channel:
    """Return the inputs themselves, mixed with what tells nothing until all columns are in a cone."""
    inputs = cone.shape[0] * cone.shape[1]
    if not isinstance(cone, PolyhedralCone | SimplexColumns) or cone.least_constant_slack == 0.0:
        return Channel(np.ones((inputs, 1)))
    return cone.mix_inside(Channel(np.eye(inputs)))
