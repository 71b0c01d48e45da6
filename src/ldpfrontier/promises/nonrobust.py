r"""NR, the optimal mechanism if the distribution P of (S, U) is known exactly (lopuhaa2024, section 8).

**Theorem.** The largest I(S, U; Y) of an (eps, {P})-RLDP mechanism is H(U|S) + OPT_LDP(P_S, eps).

*At most*: given S, the output can reveal at most H(U|S) more, and as a channel from S it is eps-LDP. *At
least*: take the staircase optimum on S with columns c, and in every column let each s reveal one u, with
density c_s / P(u|s), coupled over s in any way. The coupling here is monotone, which needs at most
a1 (a2 - 1) + 1 outputs per staircase column.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.listed.simplex_columns import SimplexColumns
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_distribution, check_choice
from ldpfrontier.numerics.deadline import TimeIsUp, check_time
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.listed_rays import listed_optimum

Observed = Literal["both", "useful"]

#: Which mechanisms do not ask S, in words.
SEEN = "mechanisms that see the useful value alone,"


def check_observed(observed: str, start: Channel | None = None) -> bool:
    """Return whether the useful value alone is observed; refuse another word, and a start where it is."""
    check_choice(observed, "observed", get_args(Observed))
    if observed == "useful" and start is not None:
        raise ValueError(
            'A start was given, which sees both values; with observed="useful" there must be none.'
        )
    return observed == "useful"


def told_as_it_is(prior: FloatArray, tolerance: float, mechanisms: str) -> Optimum:
    """Return the optimum if nothing has to be hidden: U itself."""
    useful = prior.sum(axis=0)
    value = entropy(useful)
    method = choose("closed form").method(f"{SEEN} {mechanisms}")
    return certified(Channel(np.eye(useful.size)), value, value, tolerance, method=method)


@records_fallbacks
@keeps_time_limit
def optimal_nonrobust(
    estimate: ArrayLike,
    epsilon: float,
    *,
    observed: Observed = "both",
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    r"""Find the best (eps, {P})-RLDP mechanism for a single known distribution P.

    Its value is H(U|S) + OPT_LDP(P_S, eps). Rows of cells with probability 0 carry no information; they
    repeat the average row of their s, so that the mechanism does not react to them.

    Parameters
    ----------
    estimate : array_like, shape (a1, a2)
        Joint distribution of (S, U), rows = sensitive.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    observed : {"both", "useful"}
        What the mechanism sees: S and U, or U alone, where S is not asked (docs/beyond/theorems.md, statement
        18). Then an output reveals at most a1 values of U, and a2 is at most 60.
    tolerance : float
        Relative gap of the staircase optimum on S, or of that on U.
    max_rounds : int
        Most LPs to solve for it; when they are used up the result has status "bounded".
    start : Channel, optional
        A staircase mechanism on S alone, with a1 inputs, for `optimal_ldp`.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; inputs u if U alone is observed, and the utility is I(U; Y).

    Raises
    ------
    Intractable
        If U alone is observed, with more than 60 values or 30,000 extreme rays.
    ValueError
        If the estimate is not a two-dimensional distribution, epsilon or `max_seconds` is out of range, or
        `start` has another number of inputs.
    """
    joint = as_distribution(estimate, "The estimate")
    if joint.ndim != 2:
        raise ValueError(f"The estimate has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    sensitive = joint.sum(axis=1)
    epsilon = checked_epsilon(epsilon)
    if check_observed(observed, start):
        tolerance, _ = checked_effort(tolerance, max_rounds)
        return unasked_nonrobust(joint, epsilon, tolerance)
    staircase = optimal_ldp(
        MutualInformation(sensitive), epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start
    )
    rest, bound = _rest_and_bound(joint, staircase.upper_bound)
    utility = MutualInformation(joint)
    try:
        channel, complete = _reveal(joint, staircase.channel)
        value = rest + staircase.value
        if not complete:
            value = min(value, utility(channel))
    except TimeIsUp:  # what tells of S alone needs no coupling
        channel, value = Channel(np.repeat(staircase.channel.matrix, joint.shape[1], axis=0)), staircase.value
    method = replace(
        staircase.method,
        mechanisms="mechanisms private if the estimate is the true distribution",
        engine=f"a useful value revealed given S, beside the LDP optimum on S: {staircase.method.engine}",
    )
    return certified(
        channel, value, bound, float(tolerance), staircase.iterations, error=NO_ERROR, method=method
    )


def unasked_nonrobust(joint: FloatArray, epsilon: float, tolerance: float) -> Optimum:
    """Return the optimum if a distribution of (S, U), (a1, a2), is known."""
    mechanisms = "private if the estimate is the true distribution"
    known = joint[joint.sum(axis=1) > 0.0]
    if len(known) == 1:
        return told_as_it_is(joint, tolerance, mechanisms)
    cone = SimplexColumns(known / known.sum(axis=1, keepdims=True), epsilon)
    useful = MutualInformation(joint.sum(axis=0))
    try:
        found = listed_optimum(useful, cone, tolerance)
    except TimeIsUp:  # no mechanism tells more than U itself
        channel = cone.mix_inside(Channel(np.eye(useful.prior.size)))
        method = choose("any cone", Call(listed=True)).method()
        found = certified(channel, useful(channel), entropy(useful.prior), tolerance, method=method)
    if found is None:
        raise Intractable(
            f"The estimate has {joint.shape[0]} x {joint.shape[1]} cells; mechanisms that see useful values"
            f" alone are found for up to {LIMITS.max_known_inputs} of these and {LIMITS.max_rays:,} extreme"
            " rays, of which there are more."
        )
    return replace(found, method=replace(found.method, mechanisms=f"{SEEN} {mechanisms}"))


def nonrobust_bound(joint: FloatArray, epsilon: float) -> float:
    """Return the bound of `optimal_nonrobust` without its mechanism, which takes gigabytes on tall tables."""
    return _rest_and_bound(joint, optimal_ldp(MutualInformation(joint.sum(axis=1)), epsilon).upper_bound)[1]


def _rest_and_bound(joint: FloatArray, secret_bound: float) -> tuple[float, float]:
    """Return H(U|S), and a bound on NR from one on the utility of S, raised by its error; both in nats."""
    rest = _conditional_entropy(joint) / math.fsum(joint.ravel())
    # Operations of sums over a row; of the logarithms, where one counts 1.5 times, and of their sum.
    of_sums, of_entropy = gamma(a2 := joint.shape[1]), gamma(joint.size + 6.0 * a2 + 20.0)
    bound = rest + secret_bound
    return rest, bound + (of_entropy * rest + 2.0 * of_sums * secret_bound + gamma(16) * bound)


def _conditional_entropy(joint: FloatArray) -> float:
    """Return H(U|S) in nats, with all digits where one u has nearly all of a row."""
    total = joint.sum(axis=1, keepdims=True)
    total[total == 0] = 1.0
    others = np.where(np.eye(joint.shape[1], dtype=bool), 0.0, joint[:, None, :]).sum(axis=2) / total
    share = joint / total
    logs = np.where(share > 0.5, np.log1p(-np.minimum(others, 0.5)), np.log(np.where(share > 0, share, 1.0)))
    return -float((joint * logs).sum()) + 0.0


def _reveal(joint: FloatArray, secret: Channel) -> tuple[Channel, bool]:
    """Extend a channel on S to one on (S, U) that reveals, in every output, one u for each s.

    Outputs so unlikely that their probabilities underflow are joined to others. The second value says whether
    no output had to be.
    """
    a1, a2 = joint.shape
    share, widths = _coupling(joint.shape, joint.tobytes())
    # Least probability of an output of NR, well above the numbers that underflow.
    kept = widths * secret.matrix[secret.matrix > 0].min() > 1e-290
    starts = np.flatnonzero(kept)
    starts[0] = 0
    matrix = np.einsum("sy,suc->suyc", secret.matrix, np.add.reduceat(share, starts, axis=2))
    return Channel(matrix.reshape(a1 * a2, -1)), bool(kept.all())


@lru_cache(maxsize=1)
def _coupling(shape: tuple[int, int], data: bytes) -> tuple[FloatArray, FloatArray]:
    """Return the monotone coupling of the rows of a joint distribution, the same for every epsilon.

    The shares, (a1, a2, pieces), are those of (s, u) that lie in a piece of [0, 1], which belongs to one
    letter u of every s; the widths, (pieces,), are those of the pieces.
    """
    a1, a2 = shape
    joint = np.frombuffer(data).reshape(shape)
    # Exactly, in units of which every row has the same number: a likely letter of one row can end within the
    # rounding of an unlikely one of another.
    ratios = [[float(x).as_integer_ratio() for x in (row if row.any() else np.ones(a2))] for row in joint]
    rows = [[n * (max(d for _, d in row) // d) for n, d in row] for row in ratios]
    unit, ends = math.prod(map(sum, rows)), list[list[int]]()
    for row in rows:
        check_time()
        ends.append(list(accumulate(n * (unit // sum(row)) for n in row)))
    cuts = sorted({end for row in ends for end in row if end > 0})
    share = np.zeros((a1, a2, len(cuts)))
    lengths = [high - low for low, high in pairwise([0, *cuts])]
    for s, row in enumerate(ends):
        check_time()
        for y, (cut, length) in enumerate(zip(cuts, lengths, strict=True)):
            u = bisect_left(row, cut)
            share[s, u, y] = length / (row[u] - row[u - 1] if u else row[0])
    widths = np.array([length / unit for length in lengths])
    share[~share.any(axis=2)] = widths
    for array in (share, widths):
        array.flags.writeable = False
    return share, widths
