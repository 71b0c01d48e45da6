r"""A bound on mechanisms against acquaintances, by the chain rule.

It is I(S, U; Y) = I(U; Y) + I(S; Y | U). The mechanism is eps-LDP for S given any u, so that
I(S; Y | U) <= sum_u P(u) OPT_LDP(P_{S|u}, eps) (kairouz2016). And I(U; Y) is the utility of the averages of
its columns ::

    w_u = sum_s P(s|u) v_su.

Their cone is known by cuts a . w <= 0. For two values u and u' of U, the largest w_u / w_u' is that of the
cone of tables with these two values alone, since every condition is one of two values. More cuts come from
the optimum over the cone of the cuts so far: for the gradient g of the reduced cost at one of its columns, ::

    g . w <= h P_U . w,      h the largest g . w over all averages w with P_U . w = 1.

Linear programs over the columns bound both from above (`association_program`), which is all that a cut needs.
The cone has as many variables as there are useful values, and I(U; Y) is at most its optimum.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.columns.association_program import AssociationProgram
from ldpfrontier.engines.columns.settings import SETTINGS
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.cones import PolyhedralCone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import Optimum, recorded_failure
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import nonrobust_bound
from ldpfrontier.uncertainty.odds_ratios import OddsRatios


def association_bound(odds: OddsRatios, epsilon: float, max_nodes: int) -> float:
    """Return an upper bound on the utility of all mechanisms of the promise, in nats.

    Where the intervals contain the odds ratios of the estimate, mechanisms are private under it, so that the
    bound of NR holds, too. Every useful value has a positive probability. The nodes of branch and bound are
    those per pricing of the averages.
    """
    prior = odds.prior
    bounds = [_of_useful(odds, epsilon, max_nodes) + sensitive_bound(prior, epsilon), entropy(prior)]
    if odds.contains(OddsRatios.known(prior, odds.impossible)):
        bounds.append(nonrobust_bound(prior, epsilon))
    return min(bounds)


def sensitive_bound(prior: FloatArray, level: float) -> float:
    """Return an upper bound on I(S; Y | U) under a prior, (a1, a2), at a conditional level, in nats."""
    bounds = [
        p * optimal_ldp(MutualInformation(column / p), level).upper_bound
        for p, column in zip(prior.sum(axis=0), prior.T, strict=True)
        if p > 0.0
    ]
    return math.fsum(bounds)


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
    if a2 > LIMITS.max_joint_cells:
        largest = float(most[~np.eye(a2, dtype=bool)].max())
        return entropy(useful) if math.isinf(largest) else optimal_ldp(utility, math.log(largest)).upper_bound
    rows = [np.eye(a2)[u] - most[u, w] * np.eye(a2)[w] for u, w in np.argwhere(finite)]
    program = AssociationProgram(AssociationCone(odds, epsilon), odds.prior)
    given, bound = odds.prior / useful, entropy(useful)
    with recorded_failure("a bound by fewer cuts", ArithmeticError, RuntimeError, Intractable):
        for number in range(SETTINGS.cut_rounds):
            listed = number == 0 and bool(rows) and a2 <= LIMITS.max_ray_inputs
            cone = PolyhedralCone(np.array(rows).reshape(-1, a2))
            # Relative gap of the bound by mechanisms that see u alone.
            found = optimal_mechanism(utility, cone, tolerance=1e-3, max_nodes=None if listed else max_nodes)
            bound = min(bound, found.upper_bound)
            if time_is_up():
                break
            new = _gradient_cuts(program, given, useful, found)
            rows += new
            if not new:
                break
    return bound


def _gradient_cuts(
    program: AssociationProgram, given: FloatArray, useful: FloatArray, found: Optimum
) -> list[FloatArray]:
    """Return cuts that hold for all averages and that columns of an optimum violate, shape (a2,) each.

    The program has columns with P-hat . v = 1, `given` is P-hat of s given u, (a1, a2), and `useful` that of
    U.
    """
    cuts = list[FloatArray]()
    for column in found.channel.matrix.T:
        w = column / (column @ useful)
        g = useful * (np.log(np.maximum(w, NUMERICS.gradient_floor)) + 1.0) - found.prices
        h = program.upper_bound((given * g).ravel(), GENERATION.usual_rounds)
        # The constant column is in the cone, and programs have tolerances.
        h = max(h, float(g.sum())) + SETTINGS.ratio_margin
        if g @ w > h + 1e-4:  # relative to the scale P_U . w = 1
            cuts.append(g - h * useful)
    return cuts


def largest_ratio(odds: OddsRatios, epsilon: float, u: int, w: int) -> float:
    """Return an upper bound on the ratio of the averages of columns at u and at w; inf if there is none."""
    a1, both = len(odds.prior), [u, w]
    table = odds.prior[:, both] / odds.prior[:, both].sum(axis=0)
    pair = OddsRatios(table / 2.0, odds.low[:, :, both][..., both])
    scale, cost = np.zeros((a1, 2)), np.zeros((a1, 2))
    cost[:, 0], scale[:, 1] = table[:, 0], table[:, 1]
    program = AssociationProgram(AssociationCone(pair, epsilon), scale, SETTINGS.largest_ratio)
    found = math.inf
    with recorded_failure("no bound on a ratio", RuntimeError):
        found = program.upper_bound(cost.ravel(), GENERATION.usual_rounds)
    # The box of the program counts for nothing where it does not bind.
    return math.inf if math.isinf(found) or program.reaches_box else found * (1.0 + SETTINGS.ratio_margin)
