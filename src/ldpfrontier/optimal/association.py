r"""The most informative mechanism that is private for all who know anything about U alone.

The cone of its columns is that of `exact.association_cone`, and the column program over it is solved by the
general engine (`general.solve`), with a certificate, for tables with few cells. Two cases have a closed form:
with one sensitive value nothing is protected, and at the level 0 a mechanism sees no more of U than what no
odds ratio tells apart.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.optimal.exact.association_cone import AssociationCone
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.optimal.general.solve import optimal_mechanism
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimal.settings import SETTINGS
from ldpfrontier.optimum import (
    LEAST_OPTIMAL_EPSILON,
    Optimum,
    certified,
    checked_epsilon,
    limited,
    records_fallbacks,
)
from ldpfrontier.small_levels import telling_nothing
from ldpfrontier.types import Intractable
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.utility import MutualInformation


@records_fallbacks
@limited
def optimal_association(
    odds: OddsRatios,
    epsilon: float,
    *,
    tolerance: float = 1e-3,
    max_nodes: int | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the best mechanism that protects S from all who know anything about U alone, with a certificate.

    A report changes the odds of two values of S by at most e^eps for everybody whose knowledge Z of the
    person concerns U alone, Z - U - S: those who know nothing, those who know U, and all between them,
    whatever the marginal distributions of S and U are (docs/beyond.md, statement 11). Utility is I(S, U; Y)
    under the estimate.

    Parameters
    ----------
    odds : OddsRatios
        Intervals of the odds ratios, with the estimate.
    epsilon : float
        Privacy level in nats, 0 to 30.
    tolerance : float
        Relative gap at which to stop, 0 or more; 1e-4 is the finest one.
    max_nodes : int, optional
        Nodes of branch and bound per pricing, 200,000 by default.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order. Its level is `association_epsilon`.

    Raises
    ------
    Intractable
        If the table has more than 16 cells.
    ValueError
        If an argument is something else or out of range, or the estimate has a useful value without any
        probability.

    Examples
    --------
    >>> from ldpfrontier import OddsRatios, optimal_association
    >>> odds = OddsRatios.confidence([[30, 20], [10, 40]])
    >>> optimal_association(odds, 1.0).status
    'optimal'
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    a1, a2 = odds.shape
    utility = MutualInformation(odds.prior)
    empty = odds.prior.sum(axis=0) == 0.0
    if empty.any():
        raise ValueError(
            f"Useful value {int(empty.argmax())} has no probability in the estimate; every value of U must"
            " occur, as what is not seen has no utility."
        )
    if a1 == 1 or epsilon == 0.0:
        channel = Channel(np.eye(a2)) if a1 == 1 else _without_any_difference(odds)
        value = utility(channel)
        return certified(channel, value, value, tolerance)
    if a1 * a2 > LIMITS.max_joint_cells:
        raise Intractable(
            f"The table has {a1} x {a2} cells; at most {LIMITS.max_joint_cells} are supported against those"
            " who know something about U, as all entries of a column are found together."
        )
    if epsilon < LEAST_OPTIMAL_EPSILON:
        least = optimal_association(odds, LEAST_OPTIMAL_EPSILON, tolerance=tolerance, max_nodes=max_nodes)
        return telling_nothing(least)
    nodes = EXACT.association_nodes if max_nodes is None else max_nodes
    return optimal_mechanism(utility, AssociationCone(odds, epsilon), tolerance=tolerance, max_nodes=nodes)


def _without_any_difference(odds: OddsRatios) -> Channel:
    """Return the channel that tells apart the values of U whose odds ratios are all 1, and nothing else."""
    linked = np.asarray((odds.low < 1.0).any(axis=(0, 1)), dtype=np.bool_)
    number, kinds = connected_components(linked, directed=False)
    return Channel(np.tile(np.eye(number)[kinds], (len(odds.prior), 1)))
