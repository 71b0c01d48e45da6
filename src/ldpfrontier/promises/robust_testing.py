r"""Robust hypothesis testing under LDP: the largest least divergence between two classes of distributions.

Sought is the saddle point of kairouz2016, section 6, with M_i = P_i Q the distributions of the report ::

    maximize over eps-LDP mechanisms Q   min over P0 in L0, P1 in L1 of   D_f(M0 || M1).

**Bound.** With some pairs (P0, P1) in place of all, the least is that of several utilities, whose bound
(`optimal_ldp`) is one on the saddle point.

**Value.** D_f is jointly convex. With f >= 0 and f'(1) = 0, which costs nothing, each output of Q has
tangents a_y, b_y with z1 f(z0 / z1) >= a_y z0 + b_y z1, at ratios of one's own choice. Hence ::

    min over L0, L1 of D_f(M0 || M1)  >=  min over L0 of P0 . Q a  +  min over L1 of P1 . Q b,

two least means over classes. The pair is found by linear programs over the hulls of the members so far, with
the tangents so far, whose duals mix tangents; the members that attain the least means are the next ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.registry import LIMITS, choose
from ldpfrontier.model.average_utility import MAX_UTILITIES
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.utility import FDivergence, Kind
from ldpfrontier.numerics.arguments import check_choice
from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.highs import maximize
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.uncertainty.divergence_ball import (
    DistributionClass,
    DivergenceBall,
    as_class,
    least_member,
    letters_of,
)
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_MECHANISMS = "locally differentially private mechanisms"

#: Linear programs for the least divergence of one mechanism.
_MOST_STEPS = 100

#: Share of the tolerance that the least divergence, and the bound of some pairs, may use up.
_INNER_SHARE = 0.1

#: Divergence up to which there is nothing but rounding, where the classes meet.
_NOTHING = 1e-15

#: Operations that the error of a least mean over a class is worth, as a share of the largest term.
_OPERATIONS = 1024


@dataclass(frozen=True, eq=False)
class RobustTest(Optimum):
    """A mechanism for a robust test: its value is the least divergence over two classes, proved from below.

    Attributes
    ----------
    pair : ndarray, shape (2, k)
        Members of both classes that are least favourable to the mechanism, to the tolerance.
    """

    pair: FloatArray = field(default_factory=lambda: np.empty((2, 0)))


@records_fallbacks
@keeps_time_limit
def optimal_robust_test(
    null: ArrayLike | DivergenceBall | RenyiBall,
    alternative: ArrayLike | DivergenceBall | RenyiBall,
    epsilon: float,
    kind: Kind = "kl",
    *,
    tolerance: float = 1e-6,
    max_rounds: int = MAX_UTILITIES,
    max_seconds: float | None = None,
) -> RobustTest:
    """Find the eps-LDP mechanism whose least divergence over two classes of distributions is largest.

    Parameters
    ----------
    null, alternative : DivergenceBall, RenyiBall or array_like
        Classes L0 and L1 of distributions on the same k inputs, at most 20. An array (k,) is one
        distribution, and an array (m, k) the hull of m of them. A `RenyiBall` contains the P with
        D_order(centre || P) at most its radius, over all entries of its table.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    kind : {"kl", "tv", "chi2", "hellinger"}
        The divergence D_f(M0 || M1) of the reports, M0 of a member of L0.
    tolerance : float
        Relative gap at which to stop.
    max_rounds : int
        Most pairs of members to bound the optimum by, 110 at most.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    RobustTest
        Where the classes meet, the value is 0, and the bound is rounding.

    Raises
    ------
    Intractable
        If there are more than 20 inputs.
    ValueError
        If an argument is out of range, or the classes have different numbers of inputs.

    Examples
    --------
    >>> from ldpfrontier import DivergenceBall, optimal_robust_test
    >>> null, other = DivergenceBall([0.6, 0.3, 0.1], 0.05), DivergenceBall([0.2, 0.3, 0.5], 0.05)
    >>> optimal_robust_test(null, other, 1.0).status
    'optimal'
    """
    classes = as_class(null, "The null"), as_class(alternative, "The alternative")
    epsilon = checked_epsilon(epsilon)
    check_choice(kind, "kind", get_args(Kind))
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    k, other = map(letters_of, classes)
    if k != other:
        raise ValueError(f"The null has {k} inputs and the alternative {other}; they must have as many.")
    inner = _LeastDivergence(classes, kind, _INNER_SHARE * tolerance)
    best = uninformative(k, "nats" if kind == "kl" else "1", choose("closed form").method(_MECHANISMS))
    if epsilon == 0 or k == 1:
        return _result(best, inner.pair)
    if k > LIMITS.max_listed_inputs:
        raise Intractable(
            f"The classes have {k} inputs; at most {LIMITS.max_listed_inputs} are supported, for which all"
            " columns are listed."
        )
    value, bound, channel, rounds = -1.0, math.inf, best.channel, 0
    pairs = [inner.least(randomized_response(k, epsilon))[1]]
    pair = pairs[0]
    while True:
        several = [FDivergence(p0, p1, kind) for p0, p1 in pairs]
        found = optimal_ldp(several, epsilon, tolerance=_INNER_SHARE * tolerance)
        rounds += 1
        bound = min(bound, found.bound)
        least, worst = inner.least(found.channel)
        if least > value:
            value, channel, pair = least, found.channel, worst
        known = any(np.array_equal(worst, each) for each in pairs)
        if bound - value <= max(tolerance * bound, _NOTHING) or known or time_is_up():
            break
        if rounds >= min(max_rounds, MAX_UTILITIES):
            break
        pairs.append(worst)
    best = certified(channel, value, bound, tolerance, rounds, unit=best.unit, error=NO_ERROR)
    return _result(replace(best, method=choose("classes").method(_MECHANISMS)), pair)


def least_divergence(
    channel: Channel,
    null: ArrayLike | DivergenceBall | RenyiBall,
    alternative: ArrayLike | DivergenceBall | RenyiBall,
    kind: Kind = "kl",
    tolerance: float = 1e-7,
) -> tuple[float, FloatArray]:
    """Return the least divergence of a channel's reports over two classes, from below, and such a pair.

    The channel has positive entries; arguments are those of `optimal_robust_test`.
    """
    classes = as_class(null, "The null"), as_class(alternative, "The alternative")
    return _LeastDivergence(classes, kind, tolerance).least(channel)


def _result(best: Optimum, pair: FloatArray) -> RobustTest:
    return RobustTest(**{**vars(best), "pair": pair})


def _tangents(kind: Kind, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the slopes a, b of z1 f(z0 / z1) at ratios z0 / z1, f >= 0 with f'(1) = 0 (any at 1, "tv")."""
    if kind == "tv":
        sign = np.where(ratio >= 1.0, 0.5, -0.5)
        return sign, -sign
    if kind == "kl":
        return np.log(ratio), 1.0 - ratio
    if kind == "chi2":
        return 2.0 * (ratio - 1.0), -(ratio - 1.0) * (ratio + 1.0)
    root = np.sqrt(ratio)
    return 0.5 * (root - 1.0) / root, 0.5 * (1.0 - root)


@dataclass(eq=False)
class _LeastDivergence:
    """The least divergence of a channel's reports over two classes; members found serve all channels."""

    classes: tuple[DistributionClass, DistributionClass]
    kind: Kind
    tolerance: float

    def __post_init__(self) -> None:
        self.members = [least_member(each, np.zeros(letters_of(each)))[None] for each in self.classes]
        #: The pair that was least favourable to the last channel, shape (2, k).
        self.pair = np.concatenate(self.members)

    def least(self, channel: Channel) -> tuple[float, FloatArray]:
        """Return a lower bound on the least divergence, and the pair that has about that, shape (2, k)."""
        channel = channel.merged()
        matrix, pair = channel.matrix, self.pair
        bound, divergence, tangents, stuck = 0.0, math.inf, list[FloatArray](), False
        for _ in range(_MOST_STEPS):
            reached = FDivergence(pair[0], pair[1], self.kind)(channel)
            if reached < divergence:
                divergence, self.pair = reached, pair
            ab = np.array(_tangents(self.kind, (pair[0] @ matrix) / (pair[1] @ matrix)))
            bound, added = self._bounded(matrix, ab, bound)
            tangents += [ab, -ab] if self.kind == "tv" else [ab]
            if divergence - bound <= self.tolerance * divergence or stuck:
                break
            try:
                pair, mixed = self._program(matrix, np.array(tangents), max(divergence, 1e-300))
            except (TimeIsUp, RuntimeError):  # what was found before holds
                break
            bound, more = self._bounded(matrix, mixed, bound)
            stuck = self.kind == "tv" and not (added or more)
        return bound, self.pair

    def _bounded(self, matrix: FloatArray, ab: FloatArray, bound: float) -> tuple[float, bool]:
        """Return the larger of two lower bounds, one by tangents (2, outputs); add the members found."""
        total, size, added = 0.0, 0.0, False
        for side, (each, slopes) in enumerate(zip(self.classes, ab, strict=True)):
            q = matrix @ slopes
            member = least_member(each, q)
            total += float(member @ q)
            size += float((matrix @ np.abs(slopes)).max())
            if (np.abs(self.members[side] - member).max(axis=1) > 1e-15).all():
                self.members[side] = np.vstack([self.members[side], member])
                added = True
        return max(bound, total - gamma(_OPERATIONS) * size), added

    def _program(
        self, matrix: FloatArray, tangents: FloatArray, unit: float
    ) -> tuple[FloatArray, FloatArray]:
        """Minimize the sum of the largest tangents over the hulls; return the pair and mixed tangents."""
        hulls = self.members
        sizes, outputs, steps = [len(hull) for hull in hulls], matrix.shape[1], len(tangents)
        z = [hull @ matrix for hull in hulls]  # (members, outputs) each
        # Rows: for every tangent and output, unit s_y - a z0 - b z1 >= 0; then both sums of weights.
        rows = np.zeros((steps * outputs + 2, sum(sizes) + outputs))
        for side, start in enumerate((0, sizes[0])):
            part = -tangents[:, side, None, :] * z[side] / unit  # (steps, members, outputs)
            rows[:-2, start : start + sizes[side]] = part.transpose(0, 2, 1).reshape(-1, sizes[side])
            rows[-2 + side, start : start + sizes[side]] = 1.0
        rows[:-2, sum(sizes) :] = np.tile(np.eye(outputs), (steps, 1))
        lower = np.append(np.zeros(steps * outputs), [1.0, 1.0])
        upper = np.append(np.full(steps * outputs, np.inf), [1.0, 1.0])
        cost = np.append(np.zeros(sum(sizes)), -np.ones(outputs))
        least = np.append(np.zeros(sum(sizes)), np.full(outputs, -np.inf))
        found = maximize(cost, rows, lower, upper, least)
        assert found is not None  # the first members are feasible
        _, solution, duals = found
        weights = np.split(np.maximum(solution[: sum(sizes)], 0.0), [sizes[0]])
        pair = np.array([w @ hull / w.sum() for w, hull in zip(weights, hulls, strict=True)])
        shares = np.maximum(-duals[:-2], 0.0).reshape(steps, outputs)
        total = shares.sum(axis=0)
        shares = np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), 1.0 / steps)
        return pair, np.einsum("jy,jiy->iy", shares, tangents)
