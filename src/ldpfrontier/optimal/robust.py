"""PolyOpt: the optimal robustly private mechanism over a polyhedral envelope (lopuhaa2024, section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt import polyopt_distinct, polyopt_published
from ldpfrontier.optimum import Optimum, certified, checked_epsilon
from ldpfrontier.renyi_ball import RenyiBall

Pairs = Literal["all", "distinct"]


def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    pairs: Pairs = "all",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    known: Channel | None = None,
) -> Optimum:
    r"""Find the best mechanism of the PolyOpt class for an uncertainty set, with a certificate.

    Every mechanism of the class satisfies (eps, F)-RLDP (lopuhaa2024, Theorem 2). The class is larger with
    ``pairs="distinct"``: the guarantee compares s with s' != s only, and so do the inequalities.

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, > 0.
    pairs : {"all", "distinct"}
        The published class, or the larger one.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most restricted LPs to solve; when they are used up the result has status "bounded".
    known : Channel, optional
        With ``pairs="distinct"``, a mechanism of the class to do at least as well as, such as the optimum of
        the published class; on large tables that is computed if it is not given.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, Theorem 3).

    Raises
    ------
    Intractable
        If more than 20 public values occur together with one sensitive value.
    ValueError
        If epsilon is not a positive finite number, or `pairs` is neither of the two.
    """
    checked_epsilon(epsilon)
    if epsilon == 0:
        raise ValueError("epsilon is 0; it must be positive for PolyOpt.")
    if pairs not in ("all", "distinct"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'distinct'.")
    if pairs == "distinct" and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance)
    centre, lower = ball.centre, ball.lower_bounds
    if pairs == "all":
        return polyopt_published(centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    return polyopt_distinct(centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, known=known)
