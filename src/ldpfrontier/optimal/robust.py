"""Optimal robustly private mechanisms: PolyOpt (lopuhaa2024, section 5), and classes with more utility."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.optimal.body_products import BodyProducts
from ldpfrontier.optimal.cone import Pairs
from ldpfrontier.optimal.joint import joint_optimum
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt import START_ROUNDING, check_class, polyopt_distinct, polyopt_published
from ldpfrontier.optimal.projections import frontier_bound, projected_mechanism
from ldpfrontier.optimum import Optimum, certified, check_start, checked_epsilon, uninformative
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

#: Part of epsilon that the mechanisms made of blocks leave unused, so that rounding is on the safe side.
MARGIN = 1e-12

#: Cells of a table up to which columns are found jointly; boxes per pricing there; its finest relative gap.
SMALL, NODES, JOINT_TOLERANCE = 16, 5_000, 1e-4

Envelope = Literal["simplex", "projections", "exact"]


def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    pairs: Pairs = "all",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    cells: int | None = None,
    start: Channel | None = None,
) -> Optimum:
    r"""Find the best robustly private mechanism of a class for an uncertainty set, with a certificate.

    Every mechanism of every class satisfies (eps, F)-RLDP (lopuhaa2024, Theorem 2). The classes grow with the
    envelope, which stands for what is known of the conditional distributions R_s of U:

    - ``"simplex"``: every R_s lies in a simplex around its projection F_{U|s}: PolyOpt as published;
    - ``"projections"``: every R_s lies in F_{U|s} itself;
    - ``"exact"``: every pair of R_s and R_s' lies in what F allows the two: all mechanisms that are private.

    They are larger, too, with ``pairs="distinct"``: the guarantee compares s with s' != s only, and so do the
    inequalities. The exact envelope always does.

    Parameters
    ----------
    ball : RenyiBall
        The uncertainty set F around the estimate P-hat, under which the utility I(X;Y) is measured.
    epsilon : float
        Privacy level in nats, at least 0.
    envelope : {"simplex", "projections", "exact"}
    pairs : {"all", "distinct"}
        The published class, or the larger one.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most LPs over joint columns to solve; when they are used up the result has status "bounded". With
        distinct pairs on a table too large for joint columns it is one.
    cells : int, optional
        How much work the bound may take, where the envelope is not the simplex. On tables of up to 16 cells,
        boxes per pricing: by default 5,000, which mostly certify 1e-3 within seconds. On larger ones, cells
        of the blocks' covers: by default none; 100,000 take 10 to 20 s. Without, the bound is that of
        `optimal_nonrobust`, which holds for every robust mechanism. On larger tables the exact envelope gives
        the mechanism of the projections, and with cells a bound on every robust mechanism that is below.
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
        If epsilon is out of range, `envelope` or `pairs` is none of those named, or `start` has another
        number of inputs or is not in the class.
    """
    epsilon = checked_epsilon(epsilon)
    check_start(start, ball.centre.size)
    if pairs not in ("all", "distinct"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'distinct'.")
    if envelope not in ("simplex", "projections", "exact"):
        raise ValueError(f"envelope is {envelope!r}; it must be 'simplex', 'projections' or 'exact'.")
    if envelope == "exact":
        pairs = "distinct"
    if pairs == "distinct" and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if epsilon == 0:
        return uninformative(ball.centre.size)
    if envelope != "simplex":
        return _beyond_simplex(ball, epsilon, envelope, pairs, tolerance, max_rounds, cells, start)
    lower = ball.lower_bounds
    if start is not None:
        check_class(start, lower, epsilon, distinct=pairs == "distinct")
    polyopt = polyopt_published if pairs == "all" else polyopt_distinct
    return polyopt(ball.centre, lower, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start)


def _beyond_simplex(
    ball: RenyiBall,
    epsilon: float,
    envelope: Literal["projections", "exact"],
    pairs: Pairs,
    tolerance: float,
    max_rounds: int,
    cells: int | None,
    start: Channel | None,
) -> Optimum:
    """Solve the class of the exact projections or of F itself: by blocks, then jointly on small tables."""
    realized = ball.projected_epsilon if envelope == "projections" else ball.worst_case_epsilon
    if start is not None and (level := realized(start)) > epsilon + START_ROUNDING:
        over = "the projections" if envelope == "projections" else "the uncertainty set"
        raise ValueError(f"The start is private at level {level:.9g} over {over}; epsilon is {epsilon:.9g}.")
    small = ball.centre.size <= SMALL
    products = BodyProducts(ball, epsilon * (1.0 - MARGIN), distinct=pairs == "distinct")
    work = 0 if small or cells is None else cells
    channel, bound, rounds = projected_mechanism(
        products,
        tolerance=tolerance,
        max_rounds=max_rounds,
        cells=work if envelope == "projections" else 0,
        start=start,
    )
    if small:
        return joint_optimum(
            ball,
            epsilon,
            oracle=envelope,
            pairs=pairs,
            tolerance=max(tolerance, JOINT_TOLERANCE),
            nodes=NODES if cells is None else cells,
            start=channel,
        )
    value = MutualInformation(ball.centre)(channel)
    if envelope == "exact" and work > 0:
        bound = frontier_bound(ball, epsilon, work)
    bound = min(bound, optimal_nonrobust(ball.centre, epsilon).upper_bound)
    return certified(channel, value, bound, tolerance, rounds)
