"""Optimal robustly private mechanisms: PolyOpt (lopuhaa2024, section 5), and classes with more utility."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.optimal.degenerate_inputs import (
    FINE,
    MENDED,
    NOISE,
    best_known,
    guarded,
    mended,
    moved,
    scaled_down,
)
from ldpfrontier.optimal.exact.separation import Pairs
from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt.solve import allowed, check_class, polyopt_distinct, polyopt_published
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.budget_multiplier import level_over, shared_budget_mechanism
from ldpfrontier.optimal.projections.solve import frontier_bound, projected_mechanism
from ldpfrontier.optimum import Optimum, certified, check_start, checked_epsilon, uninformative
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

#: Part of epsilon that the mechanisms made of blocks leave unused, so that rounding is on the safe side.
MARGIN = 1e-12

#: Cells of a table up to which columns are found jointly; boxes per pricing there; its finest relative gap.
SMALL, NODES, JOINT_TOLERANCE = 16, 20_000, 1e-4

#: Largest privacy level, nats; levels and orders between which more than the simplex is looked for.
LARGEST, JOINT_LEVELS, JOINT_ORDERS = 30.0, (0.01, 15.0), (0.25, 4.0)

#: Most cells of a table; most sensitive values, and subsets of public ones, between which more than the
#: published class is looked for.
MOST_CELLS, MOST_SENSITIVE, MOST_SUBSETS = 1_000, 30, 2**20

Envelope = Literal["simplex", "projections", "exact"]


def optimal_robust(
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    pairs: Pairs = "all",
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    max_nodes: int | None = None,
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
        Privacy level in nats, 0 to 30.
    envelope : {"simplex", "projections", "exact"}
    pairs : {"all", "distinct"}
        The published class, or the larger one.
    tolerance : float
        Relative gap at which to stop, 0 or more.
    max_rounds : int
        Most LPs over joint columns to solve, or times that they are priced; when they are used up the result
        has status "bounded".
    max_nodes : int, optional
        How much work the bound may take, where the envelope is not the simplex. On tables of up to 16 cells,
        boxes per pricing: by default 20,000, which mostly certify 1e-3 within seconds. On larger ones, cells
        of the blocks' covers: by default none; 100,000 take 10 to 20 s, and minutes with distinct pairs.
        Without, the bound is that of `optimal_nonrobust`, which holds for every robust mechanism. On larger
        tables the exact envelope gives a mechanism whose groups share the budget of F at a few prices
        (`shared_budget`), and with cells a bound on every robust mechanism that is below.
    start : Channel, optional
        A mechanism of the class at this epsilon, whose columns are among the first, so that the result does
        at least as well: with distinct pairs the published optimum, say. Of no use, and only its size is
        checked, where no LP is solved: at epsilon 0, at radius 0 (see `optimal_nonrobust`), with distinct
        pairs of one sensitive value.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, Theorem 3).

    Raises
    ------
    Intractable
        If the table has more than 1000 cells, or more than 20 public values occur together with one
        sensitive value.
    ValueError
        If a number is out of range, `envelope` or `pairs` is none of those named, or `start` has another
        number of inputs or is not in the class.

    Notes
    -----
    What is beyond the published class is looked for on tables of up to 30 sensitive values, and up to 2^20
    subsets of public values in all; beyond the simplex, at levels from 0.01 to 15 and orders from 1/4 to 4
    besides. Elsewhere, and where linear programs fail because cells of the table differ by more than about
    1e9, the mechanism is the best that is known to be in the class, and the bound is that of
    `optimal_nonrobust`. Below 1e-4 nats mechanism and bound are scaled from that level (`edges`), to a gap of
    about 1e-3.
    """
    as_instance(ball, RenyiBall, "The ball")
    epsilon = checked_epsilon(epsilon, LARGEST)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    max_rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    if max_nodes is not None:
        max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    if start is not None:
        as_instance(start, Channel, "The start")
    check_start(start, ball.centre.size)
    if pairs not in ("all", "distinct"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'distinct'.")
    if envelope not in ("simplex", "projections", "exact"):
        raise ValueError(f"envelope is {envelope!r}; it must be 'simplex', 'projections' or 'exact'.")
    if envelope == "exact":
        pairs = "distinct"
    if ball.centre.size > MOST_CELLS:
        raise Intractable(
            f"The table has {ball.centre.shape[0]} x {ball.centre.shape[1]} cells; at most {MOST_CELLS:,} are"
            " supported, as each is a row of a linear program."
        )
    if pairs == "distinct" and ball.centre.shape[0] == 1:
        # With one sensitive value there is nothing to hide: the identity is best.
        h = entropy(ball.centre)
        return certified(Channel(np.eye(ball.centre.size)), h, h, tolerance)
    if ball.radius == 0:
        return optimal_nonrobust(ball.centre, epsilon, tolerance=tolerance, max_rounds=max_rounds)
    if epsilon == 0:
        return uninformative(ball.centre.size)
    lower, distinct = ball.lower_bounds, pairs == "distinct"
    if envelope != "simplex":
        _check_level(start, ball, epsilon, envelope)
        (low, high), (least, most) = JOINT_LEVELS, JOINT_ORDERS
        if low <= epsilon <= high and least <= ball.order <= most and _within_reach(ball):
            found = guarded(
                lambda: _beyond_simplex(
                    ball, epsilon, envelope, pairs, tolerance, max_rounds, max_nodes, start
                ),
                lambda channel: _check_level(channel, ball, epsilon, envelope),
            )
            if found is not None:
                return found
    elif start is not None:
        check_class(start, lower, epsilon, distinct=distinct)
    larger = None
    if (smaller := moved(lower, -1)) is not None:
        larger, lower = moved(lower, 1), smaller
    simplex = _simplex(
        ball.centre, lower, epsilon, distinct and _within_reach(ball), tolerance, max_rounds,
        start if envelope == "simplex" else None,
    )  # fmt: skip
    bound = math.inf
    if larger is not None and envelope == "simplex" and (not distinct or _within_reach(ball)):
        outer = _simplex(ball.centre, larger, epsilon, distinct, tolerance, max_rounds, None)
        bound = math.inf if outer is None else outer.upper_bound
    elif simplex is not None and envelope == "simplex" and (not distinct or _within_reach(ball)):
        return simplex
    known = [] if start is None else [start]
    if simplex is not None:
        known.append(simplex.channel)
    else:
        known += _mended(ball.centre, lower, epsilon, distinct, tolerance, max_rounds)
    return best_known(ball.centre, epsilon, known, distinct=distinct, tolerance=tolerance, bound=bound)


def _within_reach(ball: RenyiBall) -> bool:
    """Whether a table is small enough for more than the published class."""
    occupied = (ball.centre > 0).sum(axis=1)
    return len(occupied) <= MOST_SENSITIVE and int((2 ** np.minimum(occupied, 40)).sum()) <= MOST_SUBSETS


def _check_level(
    channel: Channel | None, ball: RenyiBall, epsilon: float, envelope: Literal["projections", "exact"]
) -> None:
    """Refuse a mechanism that is not private over the projections, or over F itself."""
    if channel is None:
        return
    limit = allowed(epsilon)
    level, over = ball.projected_epsilon(channel), "the projections"
    if level > limit and envelope == "exact":
        # Over F itself the level is less, and takes longer to find.
        level, over = level_over(ball, channel, epsilon), "the uncertainty set"
    if level > limit:
        raise ValueError(f"The start is private at level {level:.9g} over {over}; epsilon is {epsilon:.9g}.")


def _simplex(
    centre: FloatArray,
    lower: FloatArray,
    epsilon: float,
    distinct: bool,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> Optimum | None:
    """Solve PolyOpt at any level; None where its linear programs fail."""
    polyopt = polyopt_distinct if distinct else polyopt_published

    def at(level: float, first: Channel | None) -> Optimum | None:
        return guarded(
            lambda: polyopt(centre, lower, level, tolerance=tolerance, max_rounds=max_rounds, start=first),
            lambda channel: check_class(channel, lower, level, distinct=distinct),
        )

    if epsilon >= FINE:
        found = at(epsilon, start)
        if found is None:
            return None
        return certified(
            found.channel, found.value, found.upper_bound, tolerance, found.iterations, noise=NOISE
        )
    fine = at(FINE, None)
    if fine is None:
        return None
    scaled, bound = scaled_down(fine, centre, lower, epsilon, distinct=distinct)
    utility = MutualInformation(centre)
    channel = max((c for c in (scaled, start) if c is not None), key=utility)
    return certified(channel, utility(channel), bound, tolerance, fine.iterations)


def _mended(
    centre: FloatArray, lower: FloatArray, epsilon: float, distinct: bool, tolerance: float, max_rounds: int
) -> list[Channel]:
    """Solve PolyOpt for distributions whose cells are less far apart; the class does not depend on them."""
    solved = (
        _simplex(mended(centre, floor), lower, epsilon, pairs, tolerance, max_rounds, None)
        for floor in MENDED
        for pairs in {False, distinct}
    )
    return [optimum.channel for optimum in solved if optimum is not None]


def _beyond_simplex(
    ball: RenyiBall,
    epsilon: float,
    envelope: Literal["projections", "exact"],
    pairs: Pairs,
    tolerance: float,
    max_rounds: int,
    max_nodes: int | None,
    start: Channel | None,
) -> Optimum:
    """Solve the class of the exact projections or of F itself: by blocks, then jointly on small tables."""
    small = ball.centre.size <= SMALL
    products = BallFamily(ball, epsilon * (1.0 - MARGIN), distinct=pairs == "distinct")
    work = 0 if small or max_nodes is None else max_nodes
    channel, bound, rounds = projected_mechanism(
        products,
        tolerance=tolerance,
        max_rounds=max_rounds,
        max_nodes=work if envelope == "projections" else 0,
        start=start,
    )
    if small:
        return joint_optimum(
            ball,
            epsilon,
            oracle=envelope,
            pairs=pairs,
            tolerance=max(tolerance, JOINT_TOLERANCE),
            max_nodes=NODES if max_nodes is None else max_nodes,
            start=channel,
        )
    if envelope == "exact":
        channel, more = shared_budget_mechanism(
            ball, products.epsilon, tolerance=tolerance, max_rounds=max_rounds, start=channel
        )
        rounds += more
        bound = frontier_bound(ball, epsilon, work) if work > 0 else math.inf
    value = MutualInformation(ball.centre)(channel)
    bound = min(bound, optimal_nonrobust(ball.centre, epsilon).upper_bound)
    return certified(channel, value, bound, tolerance, rounds)
