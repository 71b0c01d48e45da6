"""A bound on every robust mechanism, without a mechanism: for tables too large for the optimum over F.

It is the least of the bound of NR and of that of a larger class, which takes nodes of branch and bound:
mechanisms that are private over balls that F allows two groups at once (`engines.projections.pair_balls`).
"""

from __future__ import annotations

from ldpfrontier.engines.projections.pair_balls import pair_balls_bound
from ldpfrontier.model.optimum import checked_epsilon
from ldpfrontier.numerics.arguments import as_count, as_instance
from ldpfrontier.promises.nonrobust import nonrobust_bound
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def robust_bound(ball: RenyiBall, epsilon: float, *, max_nodes: int) -> float:
    """Bound I(S, U; Y) of every mechanism that is private over an uncertainty set, under its centre.

    Parameters
    ----------
    ball : RenyiBall
        At radius 0, and with one sensitive value, the bound is that of NR, which is the optimum there.
    epsilon : float
        Privacy level over the set in nats, 0, or 0.001 to 30.
    max_nodes : int
        Nodes of branch and bound per pass over the blocks; there are at most 13 passes, and as many again
        below order 1. With 0 the bound is that of NR.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    ArithmeticError, RuntimeError
        If a linear program fails.
    ValueError
        If an argument is of another kind or out of range.
    """
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 to 10^9", most=10**9)
    bound = nonrobust_bound(ball.centre, epsilon)
    if not nodes or epsilon == 0.0 or ball.radius == 0.0 or len(ball.centre) == 1:
        return bound
    return min(bound, pair_balls_bound(ball, epsilon, nodes))
