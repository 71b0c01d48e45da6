r"""A bound on mechanisms against those who know something about U, by the chain rule.

It is I(S, U; Y) = I(U; Y) + I(S; Y | U). The mechanism is eps-LDP for S given any u, so that
I(S; Y | U) <= sum_u P(u) OPT_LDP(P_{S|u}, eps) (kairouz2016). And I(U; Y) is the utility of the averages of
its columns ::

    w_u = sum_s P(s|u) v_su.

For two values u and u' of U, the largest w_u / w_u' over the cone, m(u, u'), is that of the cone of tables
with these two values alone, since every condition is one of two values: linear programs bound it from above
(`association_program`). So the averages are in the polyhedral cone of all w with w_u <= m(u, u') w_u', which
has as many variables as there are useful values, and I(U; Y) is at most its optimum.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress

import numpy as np

from ldpfrontier.cones import PolyhedralCone
from ldpfrontier.information import entropy
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.optimal.conditional.association_program import AssociationProgram
from ldpfrontier.optimal.conditional.bound import sensitive_bound
from ldpfrontier.optimal.conditional.settings import SETTINGS
from ldpfrontier.optimal.exact.association_cone import AssociationCone
from ldpfrontier.optimal.general.solve import optimal_mechanism
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.utility import MutualInformation


def association_bound(odds: OddsRatios, epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on the utility of all mechanisms of the promise, in nats.

    Where the intervals contain the odds ratios of the estimate, mechanisms are private under it, so that the
    bound of NR holds, too.

    Parameters
    ----------
    odds : OddsRatios
        Every useful value has a positive probability.
    epsilon : float
        In nats, > 0.
    max_nodes : int
        Nodes of branch and bound per pricing of the averages.
    """
    prior = odds.prior
    bounds = [_of_useful(odds, epsilon, max_nodes) + sensitive_bound(prior, epsilon), entropy(prior)]
    if odds.contains(OddsRatios.known(prior, odds.impossible)):
        bounds.append(nonrobust_bound(prior, epsilon))
    return min(bounds)


def _of_useful(odds: OddsRatios, epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on I(U; Y), in nats."""
    useful = odds.prior.sum(axis=0)
    a2 = len(useful)
    if a2 == 1:
        return 0.0
    most = np.full((a2, a2), math.inf)
    with suppress(TimeIsUp):  # ratios without a bound have no inequality
        for u, w in itertools.permutations(range(a2), 2):
            most[u, w] = largest_ratio(odds, epsilon, u, w)
    finite, utility = np.isfinite(most), MutualInformation(useful)
    if not finite.any():
        return entropy(useful)
    if a2 > LIMITS.max_joint_cells:
        largest = float(most[~np.eye(a2, dtype=bool)].max())
        return entropy(useful) if math.isinf(largest) else optimal_ldp(utility, math.log(largest)).upper_bound
    rows = [np.eye(a2)[u] - most[u, w] * np.eye(a2)[w] for u, w in np.argwhere(finite)]
    nodes = max_nodes if a2 > LIMITS.max_ray_inputs else None
    cone = PolyhedralCone(np.array(rows))
    found = optimal_mechanism(utility, cone, tolerance=SETTINGS.public_tolerance, max_nodes=nodes)
    return min(found.upper_bound, entropy(useful))


def largest_ratio(odds: OddsRatios, epsilon: float, u: int, w: int) -> float:
    """Return an upper bound on the ratio of the averages of columns at u and at w; inf if there is none.

    Parameters
    ----------
    odds : OddsRatios
    epsilon : float
        In nats, > 0.
    u, w : int

    Raises
    ------
    TimeIsUp
    """
    a1, both = len(odds.prior), [u, w]
    table = odds.prior[:, both] / odds.prior[:, both].sum(axis=0)
    pair = OddsRatios(table / 2.0, odds.low[:, :, both][..., both])
    scale, cost = np.zeros((a1, 2)), np.zeros((a1, 2))
    cost[:, 0], scale[:, 1] = table[:, 0], table[:, 1]
    program = AssociationProgram(AssociationCone(pair, epsilon), scale, SETTINGS.largest_ratio)
    found = program.upper_bound(cost.ravel(), SETTINGS.ratio_programs)
    # The box of the program counts for nothing where it does not bind.
    return math.inf if program.reaches_box else found * (1.0 + SETTINGS.ratio_margin)
