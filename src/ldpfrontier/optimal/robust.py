"""PolyOpt: the optimal robustly private mechanism over a polyhedral envelope (lopuhaa2024, section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt import check_class, polyopt_distinct, polyopt_published
from ldpfrontier.optimum import Optimum, certified, check_start, checked_epsilon, uninformative
from ldpfrontier.renyi_ball import RenyiBall

Pairs = Literal["all", "distinct"]


def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    pairs: Pairs = "all",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    start: Channel | None = None,
) -> Optimum:
    r"""Find the best mechanism of the PolyOpt class for an uncertainty set, with a certificate.

    Every mechanism of the class satisfies (eps, F)-RLDP (lopuhaa2024, Theorem 2). The class is larger with
    ``pairs="distinct"``: the guarantee compares s with s' != s only, and so do the inequalities.

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, at least 0.
    pairs : {"all", "distinct"}
        The published class, or the larger one.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most LPs over joint columns to solve; when they are used up the result has status "bounded". With
        distinct pairs on a table too large for joint columns it is one.
    start : Channel, optional
        A mechanism of the class at this epsilon, whose columns are among the first, so that the result does
        at least as well: with distinct pairs the published optimum, say, which on tables too large for joint
        columns is computed if no start is given. Of no use, and only its size is checked, where no LP is
        solved: at epsilon 0, at radius 0 (see `optimal_nonrobust`), with distinct pairs of one sensitive
        value.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, Theorem 3).

    Raises
    ------
    Intractable
        If more than 20 public values occur together with one sensitive value.
    ValueError
        If epsilon is out of range, `pairs` is neither of the two, or `start` has another number of inputs or
        is not in the class.
    """
    epsilon = checked_epsilon(epsilon)
    check_start(start, ball.centre.size)
    if pairs not in ("all", "distinct"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'distinct'.")
    if pairs == "distinct" and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if epsilon == 0:
        return uninformative(ball.centre.size)
    lower = ball.lower_bounds
    if start is not None:
        check_class(start, lower, epsilon, distinct=pairs == "distinct")
    polyopt = polyopt_published if pairs == "all" else polyopt_distinct
    return polyopt(ball.centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start)
