r"""Hamming distortion over a source set (kalantari2018): least DP and MI leakage, exact, with certificates.

X has M letters and a distribution in a source set; a channel Q on the same letters has the distortions
D_i = 1 - Q[i, i] and must keep sum_i P_i D_i <= D for every P of the set, hence of its convex hull. The
least leakage log max Q[i, y] / Q[i', y] (DP) or max_P I(P; Q) (MI) under that rule is computed here for any
finite list of distributions, in nats. Two reductions, to 2M numbers instead of M^2, carry the module.

**DP.** Fix t = e^eps. A t-private channel with the diagonal q exists iff there are column minima m >= 0, of
sum mu in [1/t, 1], with m_i <= q_i <= min(t m_i, 1 - mu + m_i). *Necessary*: row i holds q_i and at least
m_y in every other column; a row sums to 1, between mu and t mu; outputs beyond the M letters can be merged
into one of them (Lemma 3). *Sufficient*: raise every q_i to that minimum (distortion only falls) and give
the rest of row i to the other columns in proportion to m: ``Q[i, y] = s_i m_y``, s_i = (1 - q_i)/(mu - m_i).
Then 1 <= s_i because q_i <= 1 - mu + m_i; and s_i <= t, as 1 <= t mu if q_i = t m_i, and s_i = 1 else. So ::

    v(t) = max { min_P sum_i P_i q_i : q_i <= t m_i, q_i <= 1 - mu + m_i, 1/t <= mu <= 1 }

is an LP, increasing in t, and eps*(D) is the log of the least t with v(t) >= 1 - D.

**Converse.** By LP duality v(t) is the minimum over p in the hull of v_p(t). For one prior p the dual is a
minimum over one number, with the solution v_p(t) = max_n H_n t / (t + n - 1), H_n the sum of the n largest
p_i: randomized response on the n most likely letters (`known_prior_leakage`). Hence ::

    eps*(p, D) = min over n with T_n < D of log (n - 1)(1 - D) / (D - T_n),     T_n = 1 - H_n,
    eps*(hull, D) = sup over p of eps*(p, D).

Every p of the hull certifies a lower bound by that formula, and the iteration t -> eps*(p(t), D), with p(t)
the worst mixture at t (duals of the LP), climbs to the optimum from below (`hamming_leakage`). As a matrix
game v(t) also says that some mixture of randomized responses on subsets of the letters is optimal.

**MI.** For a given diagonal and output distribution r, the rest of row i is best spread in proportion to r,
which leaves a convex program in (q, r) with an explicit dual (`information_leakage`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr, xlogy

from ldpfrontier.channel import Channel, FloatArray, IntArray, as_distribution
from ldpfrontier.lp import new_lp, solve
from ldpfrontier.privacy import ldp_epsilon

#: Probabilities closer than this count as equal, in orders and in "the hull contains uniform".
EQUAL = 1e-9

#: Distortion a channel may have beyond the one asked for: rounding.
_SLACK = 1e-13

#: Absolute gap of eps*_I at which the barrier method stops, nats.
_GAP = 2e-11


# Source sets ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SourceSet:
    """A source set: a finite list of distributions, standing for its convex hull (kalantari2018, Lemma 2).

    Parameters
    ----------
    distributions : array_like, shape (J, M) or (M,)
        One distribution on the same M >= 2 letters per row.

    Raises
    ------
    ValueError
        If the list is empty, a row is not a distribution, or the rows differ in length.
    """

    distributions: FloatArray

    def __post_init__(self) -> None:
        rows = [np.asarray(row, dtype=np.float64) for row in self.distributions]
        if rows and all(row.ndim == 0 for row in rows):
            rows = [np.array(rows)]
        if not rows:
            raise ValueError("The source set is empty; it needs at least one distribution.")
        for j, row in enumerate(rows):
            if row.ndim != 1 or row.size != rows[0].size:
                raise ValueError(
                    f"Distribution {j} of the source set has {row.size} entries and distribution 0 has"
                    f" {rows[0].size}; all must be on the same letters."
                )
        if rows[0].size < 2:
            raise ValueError("The source set has 1 letter; there must be at least 2.")
        P = np.array(
            [as_distribution(row, f"Distribution {j} of the source set") for j, row in enumerate(rows)]
        )
        P /= P.sum(axis=1, keepdims=True)
        P.flags.writeable = False
        object.__setattr__(self, "distributions", P)

    @property
    def letters(self) -> int:
        """Size M of the alphabet."""
        return int(self.distributions.shape[1])

    @cached_property
    def contains_uniform(self) -> bool:
        """Whether the convex hull contains the uniform distribution.

        By one LP: min over the hull of max_i p_i, which is v(1), is 1/M at the uniform distribution only.
        """
        return _Game(self).solve(1.0)[0] <= 1.0 / self.letters + EQUAL

    @cached_property
    def order(self) -> IntArray | None:
        """A permutation T with P_T(1) >= ... >= P_T(M) for every P of the set, or None; shape (M,)."""
        # A common order orders the mean too, and where the mean ties all distributions do.
        T = _falling(self.distributions.mean(axis=0))
        return T if _ordered(self.distributions[:, T]) else None

    @cached_property
    def kind(self) -> str:
        """The class of Definition 1: "I", "II" or "III"."""
        if self.contains_uniform:
            return "I"
        return "III" if self.order is None else "II"

    @cached_property
    def folds(self) -> dict[tuple[int, ...], FloatArray]:
        """The folded equivalents of Definition 6: folding permutation -> its distributions in falling order.

        A distribution with ties has several folding permutations and belongs to several parts; it is put
        into one that another distribution needs anyway, if there is one, so that the union stays disjoint.
        """
        found: dict[tuple[int, ...], list[FloatArray]] = {}
        ties = [int((np.diff(np.sort(p)) <= EQUAL).sum()) for p in self.distributions]
        for j in np.argsort(ties, kind="stable"):
            p = self.distributions[j]
            own = tuple(int(i) for i in _falling(p))
            T = next((T for T in found if _ordered(p[None, list(T)])), own)
            found.setdefault(T, []).append(p[list(T)])
        return {T: np.array(rows) for T, rows in sorted(found.items())}

    @property
    def folding_permutations(self) -> tuple[tuple[int, ...], ...]:
        """T_P of Definition 5, letters counted from 0: p[T] falls for some p of the set."""
        return tuple(self.folds)

    @property
    def folded_union(self) -> FloatArray:
        """Generators of the folded union (15), shape (J, M), each row falling."""
        return np.concatenate(list(self.folds.values()))

    @cached_property
    def folds_intersect(self) -> bool:
        """Whether the hulls of the folded parts have a common point, the folded intersection of (15)."""
        parts, M = list(self.folds.values()), self.letters
        count = sum(map(len, parts))
        A, start = np.zeros((len(parts), M + 1, count + M)), 0
        for k, part in enumerate(parts):
            A[k, :M, start : start + len(part)] = part.T
            A[k, :M, count:] = -np.eye(M)
            A[k, M, start : start + len(part)] = 1.0
            start += len(part)
        right = np.tile(np.append(np.zeros(M), 1.0), len(parts))
        return _lp(np.zeros(count + M), A.reshape(-1, count + M), right, right) is not None

    def thresholds(self) -> FloatArray:
        """D^(k) of (9), k = 0, ..., M: the largest probability of the last k letters, shape (M + 1,).

        Raises
        ------
        ValueError
            If the distributions have no common order.
        """
        tails = np.cumsum(self.distributions[:, self._ordering()[::-1]], axis=1).max(axis=0)
        return np.append(0.0, tails)

    def distortion(self, channel: Channel) -> float:
        """Return the largest expected Hamming distortion of a channel over the set."""
        if channel.n_inputs != self.letters or channel.n_outputs != self.letters:
            raise ValueError(
                f"The channel is {channel.n_inputs} x {channel.n_outputs}; Hamming distortion on"
                f" {self.letters} letters needs {self.letters} x {self.letters}."
            )
        return float((self.distributions @ (1.0 - np.diag(channel.matrix))).max())

    def _ordering(self) -> IntArray:
        if self.order is None:
            raise ValueError("The distributions of the source set have no common order; a Class II set does.")
        return self.order


def _falling(p: FloatArray) -> IntArray:
    # Rounded, so that letters that tie keep their places.
    return np.argsort(-np.round(p, 12), kind="stable")


def _ordered(P: FloatArray) -> bool:
    return bool((np.diff(P, axis=1) <= EQUAL).all())


def _as_sources(sources: SourceSet | ArrayLike) -> SourceSet:
    return sources if isinstance(sources, SourceSet) else SourceSet(sources)  # type: ignore[arg-type]


def _checked_distortion(distortion: float) -> float:
    D = float(distortion)
    if not 0.0 < D < 1.0:
        raise ValueError(
            f"The distortion is {D:g}; it must lie strictly between 0 (where leakage is infinite) and 1."
        )
    return D


def _lp(
    cost: FloatArray,
    matrix: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    least: FloatArray | None = None,
    most: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray] | None:
    """Maximize cost.x, lower <= matrix x <= upper, least (0) <= x <= most (inf); None if infeasible."""
    rows, columns = matrix.shape
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows, columns
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = cost
    model.row_lower_, model.row_upper_ = lower, upper
    model.col_lower_ = np.zeros(columns) if least is None else least
    model.col_upper_ = np.full(columns, np.inf) if most is None else most
    row, column = np.nonzero(matrix)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
    model.a_matrix_.index_ = column.astype(np.int32)
    model.a_matrix_.value_ = matrix[row, column]
    lp = new_lp()
    lp.passModel(model)
    lp.run()
    if lp.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return None
    return solve(lp)


# DP leakage -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Leakage:
    """The least leakage at a distortion, between a channel and a converse, in nats.

    Attributes
    ----------
    channel : Channel
        Meets the distortion, within 1e-13, for every distribution of the hull.
    value : float
        What `channel` leaks: an upper bound on the least leakage.
    lower_bound : float
        No channel that meets the distortion leaks less.
    prior : ndarray, shape (M,)
        The distribution of the hull that certifies `lower_bound`: to know it exactly would not help.
    distortion : float
        Largest expected distortion of `channel` over the set.
    iterations : int
        LPs solved (DP), or Newton steps (MI).
    """

    channel: Channel
    value: float
    lower_bound: float
    prior: FloatArray
    distortion: float
    iterations: int

    @property
    def gap(self) -> float:
        """Distance of `value` from `lower_bound`, nats."""
        return self.value - self.lower_bound


class _Game:
    """The LP for v(t) of the module docstring, over u = t m, q and the value w."""

    def __init__(self, sources: SourceSet) -> None:
        P = sources.distributions
        J, M = P.shape
        self._sources, self._shape = P, (J, M)
        eye = np.eye(M)
        self._A = np.zeros((J + 2 * M + 1, 2 * M + 1))
        self._A[:J, M:-1], self._A[:J, -1] = P, -1.0
        self._A[J : J + M, :M], self._A[J : J + M, M:-1] = eye, -eye
        self._A[J + M : -1, M:-1] = eye
        self._A[-1, :M] = 1.0
        self._rows, self._columns = slice(J + M, J + 2 * M), slice(0, M)
        self._cost = np.append(np.zeros(2 * M), 1.0)

    def solve(self, t: float) -> tuple[float, FloatArray, FloatArray]:
        """Return v(t), the worst mixture p, shape (M,), and the column minima m, shape (M,)."""
        J, M = self._shape
        self._A[self._rows, self._columns] = (1.0 - np.eye(M)) / t
        lower = np.concatenate([np.zeros(J + M), np.full(M, -np.inf), [1.0]])
        upper = np.concatenate([np.full(J + M, np.inf), np.ones(M), [t]])
        found = _lp(self._cost, self._A, lower, upper)
        if found is None:  # pragma: no cover - uniform m is feasible
            raise ArithmeticError(f"The LP at t = {t} has no solution.")
        value, x, duals = found
        weights = np.abs(duals[:J])
        m = np.maximum(x[:M], 0.0) / t
        return value, weights / weights.sum() @ self._sources, m


def _from_minima(m: FloatArray, t: float) -> Channel:
    """Build the t-private channel with column minima m and the largest diagonal."""
    mu = m.sum()
    if t == 1.0:
        return Channel(np.tile(m / mu, (len(m), 1)))
    m = m * min(max(1.0, 1.0 / (t * mu)), 1.0 / mu)
    rest = m.sum() - m
    q = np.minimum(t * m, 1.0 - rest)
    Q = np.divide(1.0 - q, rest, out=np.zeros_like(q), where=rest > 0)[:, None] * m
    np.fill_diagonal(Q, q)
    return Channel(Q)


def known_prior_leakage(prior: ArrayLike, distortion: float) -> float:
    """Least DP leakage for one known distribution, in nats: max(0, min_n log (n - 1)(1 - D) / (D - T_n)).

    T_n < D is the probability of all but the n most likely letters; the best channel is randomized response
    on those n. Not in kalantari2018, where this case is the LP of Theorem 2. It bounds the leakage of every
    source set whose hull contains `prior` from below.

    *Proof.* With prices lambda_i for q_i <= t m_i and p_i - lambda_i for q_i <= 1 - mu + m_i, the dual of
    v_p(t) is to minimize c + (1 - 1/t) (1 - sum lambda - c)^+ over c >= max p and lambda_i <= p_i with
    p_i + (t - 1) lambda_i <= c. The largest lambda is best, which leaves max{c, max_n H_n - (n - 1) c / t}:
    the rising c meets the falling lines at the largest of H_n t / (t + n - 1).

    Parameters
    ----------
    prior : array_like, shape (M,)
    distortion : float
        In (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    p = as_distribution(prior, "The prior").ravel()
    return math.log(_known_prior(p, _checked_distortion(distortion)))


def _known_prior(p: FloatArray, D: float) -> float:
    tails = np.append(np.cumsum(np.sort(p))[-2::-1], 0.0)
    n = np.arange(len(p))  # n - 1, in fact
    room = D - tails
    if room[0] >= 0.0:
        return 1.0
    possible = room > 0.0
    return max(1.0, float((n[possible] * (1.0 - D) / room[possible]).min()))


def hamming_leakage(sources: SourceSet | ArrayLike, distortion: float, *, tolerance: float = 1e-9) -> Leakage:
    """Least DP leakage eps*_DP(P, D) of any source set, Class III included (kalantari2018, (4)), in nats.

    Climbs from below: at t = e^eps an LP in 2M + 1 variables gives the mixture p that is worst there, and
    eps*(p, D), a formula, is the next eps. Every step is a certified lower bound, and the last t has a
    channel that meets the distortion.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions; the set is their convex hull.
    distortion : float
        Largest expected Hamming distortion, in (0, 1).
    tolerance : float
        Gap, in nats, above which the result is an error.

    Returns
    -------
    Leakage

    Raises
    ------
    ValueError
        If the sources or the distortion are not valid.
    ArithmeticError
        If the gap stays above the tolerance.
    """
    return hamming_leakages(sources, [distortion], tolerance=tolerance)[0]


def hamming_leakages(
    sources: SourceSet | ArrayLike, distortions: Sequence[float], *, tolerance: float = 1e-9
) -> list[Leakage]:
    """Solve `hamming_leakage` on a grid, each solution the start of the next; results in the grid's order."""
    sources = _as_sources(sources)
    grid = [_checked_distortion(D) for D in distortions]
    game = _Game(sources)
    found: dict[int, Leakage] = {}
    start: list[FloatArray] = list(sources.distributions)
    for k in np.argsort(grid, kind="stable"):
        found[int(k)] = result = _climb(sources, game, grid[k], start, tolerance)
        start = [*sources.distributions, result.prior]
    return [found[k] for k in range(len(grid))]


def _climb(
    sources: SourceSet, game: _Game, D: float, start: Sequence[FloatArray], tolerance: float
) -> Leakage:
    t, prior = max(((_known_prior(p, D), p) for p in start), key=lambda pair: pair[0])
    nudge = 0.0
    for iteration in range(1, 200):
        # The nudge absorbs the rounding of p and of the LP, which counts where eps*(p, D) jumps in p.
        level = t * (1.0 + nudge)
        _, worst, m = game.solve(level)
        channel = _from_minima(m, level)
        realized = sources.distortion(channel)
        better = _known_prior(worst, D)
        if better > t:
            t, prior = better, worst
        if realized <= D + _SLACK:
            value, bound = ldp_epsilon(channel), math.log(t)
            if value - bound > tolerance:
                break
            return Leakage(channel, max(value, bound), bound, prior, realized, iteration)
        if better <= level:
            nudge = max(2.0 * nudge, 1e-14)
    raise ArithmeticError(f"The leakage at distortion {D:g} was not certified to {tolerance:g} nats.")


# The formulas of the paper --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Formula:
    """What a formula of kalantari2018 gives.

    Attributes
    ----------
    value : float
        Nats.
    distortions : ndarray, shape (M,)
        D_1, ..., D_M at the minimum, in the order of the (folded) distributions; 1 for a silent letter.
    """

    value: float
    distortions: FloatArray


def class_one_leakage(letters: int, distortion: float) -> float:
    """Theorem 1, Class I: log (M - 1)(1 - D)/D below D = (M - 1)/M, else 0, in nats."""
    D = _checked_distortion(distortion)
    return max(0.0, math.log((letters - 1) * (1.0 - D) / D))


def class_two_leakage(sources: SourceSet | ArrayLike, distortion: float, *, ordered: bool = True) -> Formula:
    """Least DP leakage of a set with a common order (kalantari2018, Theorem 2), in nats.

    The linear-fractional program (11), which Charnes and Cooper's substitution y = D_i / D_1, tau = 1 / D_1
    makes an LP. The minimum over l in (10) is that at l = 0: what (11) admits with l letters silent it admits
    with l = 0 and D_i = 1 for those, at the same objective. So one LP is all of Theorem 2 below D^(M-1).

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
    distortion : float
        In (0, 1).
    ordered : bool
        Demand D_1 <= D_i, which the proof uses and (11) omits. Without it the value can be too small.

    Returns
    -------
    Formula

    Raises
    ------
    ValueError
        If an argument is not valid, or the distributions have no common order.
    """
    sources, D = _as_sources(sources), _checked_distortion(distortion)
    P = sources.distributions[:, sources._ordering()]
    if sources.thresholds()[-2] <= D:
        return Formula(0.0, np.append(0.0, np.ones(sources.letters - 1)))
    return _fractional([P], D, ordered=ordered)


def class_two_channel(sources: SourceSet | ArrayLike, formula: Formula) -> Channel:
    """Build the mechanism (48): Q[i, j] = D_i (1 - D_j) / sum_{k != i} (1 - D_k) off the diagonal."""
    order = _as_sources(sources)._ordering()
    q = 1.0 - formula.distortions
    others = q.sum() - q
    share = np.divide(formula.distortions, others, out=np.zeros_like(q), where=others > 0)
    Q = share[:, None] * q
    np.fill_diagonal(Q, q)
    place = np.argsort(order)
    return Channel(Q[np.ix_(place, place)])


def class_three_bounds(sources: SourceSet | ArrayLike, distortion: float) -> tuple[float, float]:
    """Lower and upper bound of Theorem 3 on the DP leakage of a source set, in nats.

    The upper bound is Theorem 2 for the folded union with D_T(i) = D_i for every folding permutation T; the
    lower bound the same for the folded intersection or, where that is empty, the largest leakage of a folded
    part (Remark 4). The symmetry is without loss if the folding permutations form a group. The paper does not
    ask for that, and where they do not, its lower bound can exceed the truth (and Corollary 1 fail).

    Returns
    -------
    lower, upper : float
    """
    sources, D = _as_sources(sources), _checked_distortion(distortion)
    if 1.0 - 1.0 / sources.letters <= D:
        return 0.0, 0.0
    parts, symmetric = list(sources.folds.values()), sources.folding_permutations
    upper = _fractional([sources.folded_union], D, symmetric=symmetric).value
    if sources.folds_intersect:
        return _fractional(parts, D, symmetric=symmetric).value, upper
    return max(class_two_leakage(part, D).value for part in parts), upper


def _fractional(
    parts: list[FloatArray], D: float, *, ordered: bool = True, symmetric: Sequence[tuple[int, ...]] = ()
) -> Formula:
    """Solve (11) or (18) at l = 0 for the intersection of the hulls of the parts, all in falling order.

    Variables y_1..y_M, tau, and one d_T in R^M and one charge per part, with sum_T d_T = y: by LP duality the
    largest p.y over the intersection is the least sum over T of max over part T of p.d_T.
    """
    M, K = parts[0].shape[1], len(parts)
    width = M + 1 + K * (M + 1)
    eye = np.eye(width)
    y, tau, d = eye[:M], eye[M], eye[M + 1 :].reshape(K, M + 1, width)
    zero = [y - d[:, :M].sum(axis=0)]
    zero += [y[list(T)] - y for T in symmetric]
    positive = [tau - y, [(M - 1) * tau - y.sum(axis=0)], [D * tau - d[:, M].sum(axis=0)]]
    positive += [d[k, M] - part @ d[k, :M] for k, part in enumerate(parts)]
    if ordered:
        positive.append(y[1:] - y[0])
    A = np.vstack(zero + positive)
    high = np.full(len(A), np.inf)
    high[: sum(map(len, zero))] = 0.0
    least, most = np.full(width, -np.inf), np.full(width, np.inf)
    least[: M + 1] = 0.0
    least[0] = most[0] = 1.0
    found = _lp(y[1:].sum(axis=0) - (M - 1) * tau, A, np.zeros(len(A)), high, least, most)
    if found is None:  # pragma: no cover - all D_i = min(D, 1 - 1/M) is feasible
        raise ArithmeticError(f"The formula at distortion {D:g} has no solution.")
    negative, x, _ = found
    # Rounding alone can take the ratio below 1; as printed it can be 0.
    with np.errstate(divide="ignore"):
        value = float(np.log(max(-negative, 1.0 if ordered else 0.0)))
    return Formula(value, np.minimum(x[:M] / x[M], 1.0))


# MI leakage -----------------------------------------------------------------------------------------------


def class_one_information(letters: int, distortion: float) -> float:
    """Lemma 5, MI leakage of Class I: log M - H(D) - D log(M - 1) below (M - 1)/M, else 0, in nats."""
    D = _checked_distortion(distortion)
    if 1.0 - 1.0 / letters <= D:
        return 0.0
    return math.log(letters) + float(xlogy(D, D) + xlogy(1 - D, 1 - D)) - D * math.log(letters - 1)


def information_leakage(
    sources: SourceSet | ArrayLike, distortion: float, *, tolerance: float = 1e-9
) -> Leakage:
    r"""Least MI leakage eps*_I(P, D) = min_Q max_P I(P; Q) of any source set (kalantari2018, (21)), in nats.

    By the log-sum inequality a row with the diagonal q_i has D(Q_i || r) >= d(q_i || r_i), attained by
    Q[i, y] = (1 - q_i) r_y / (1 - r_i); and I(P; Q) = min_r sum_i P_i D(Q_i || r). So the leakage is ::

        min over q, r of max_P sum_i P_i d(q_i || r_i),   sum_i P_i q_i >= 1 - D for all P,

    convex in 2M numbers, solved by a barrier method. Its multipliers, a mixture p of the sources and prices
    a_i of the distortions (alpha_j per source, a = sum alpha_j P_j), give the lower bound ::

        min_r -sum_i p_i log(e^(-a_i/p_i) + r_i (1 - e^(-a_i/p_i))) - D sum_j alpha_j,

    valid for any such p and alpha: the Lagrangian minimized over q in closed form, over r by water-filling.

    Parameters
    ----------
    sources : SourceSet or array_like, shape (J, M)
        Distributions; the set is their convex hull.
    distortion : float
        Largest expected Hamming distortion, in (0, 1).
    tolerance : float
        Absolute gap, in nats, above which the result is an error.

    Returns
    -------
    Leakage

    Raises
    ------
    ValueError
        If the sources or the distortion are not valid.
    ArithmeticError
        If the gap stays above the tolerance.
    """
    sources, D = _as_sources(sources), _checked_distortion(distortion)
    P = sources.distributions
    least, prior, m = _Game(sources).solve(1.0)
    if least >= 1.0 - D - _SLACK:
        silent = _from_minima(m, 1.0)
        return Leakage(silent, 0.0, 0.0, prior, sources.distortion(silent), 0)
    barrier = _Barrier(P, D)
    value, bound, channel, steps = math.inf, 0.0, Channel(np.eye(sources.letters)), 0
    while value - bound > _GAP and barrier.sharpen():
        steps += 1
        q, r, weights, prices = barrier.point()
        attained = float((P @ _binary_divergence(q, r)).max())
        if attained < value:
            value = attained
            Q = ((1.0 - q) / (1.0 - r))[:, None] * r
            np.fill_diagonal(Q, q)
            channel = Channel(Q)
        certified = _information_bound(weights @ P, prices @ P, r) - D * float(prices.sum())
        if certified > bound:
            bound, prior = certified, weights @ P
    if value - bound > tolerance:
        raise ArithmeticError(
            f"The MI leakage at distortion {D:g} was certified to {value - bound:.1e} nats only."
        )
    return Leakage(channel, max(value, bound), bound, prior, sources.distortion(channel), barrier.steps)


def _binary_divergence(q: FloatArray, r: FloatArray) -> FloatArray:
    return np.asarray(rel_entr(q, r) + rel_entr(1.0 - q, 1.0 - r))


def _information_bound(p: FloatArray, a: FloatArray, r: FloatArray) -> float:
    """Return the minimum over r of -sum p log(e^-b + r (1 - e^-b)), b = a/p, less its rounding."""
    used = p > 0
    p, b = p[used], a[used] / p[used]
    # r_i = (p_i / theta - 1 / (e^b_i - 1))^+; letters enter in the falling order of p_i (e^b_i - 1).
    with np.errstate(over="ignore"):
        growth = np.expm1(b)
    order = np.argsort(-p * growth, kind="stable")
    with np.errstate(divide="ignore"):
        theta = np.cumsum(p[order]) / (1.0 + np.cumsum(1.0 / growth[order]))
        r = np.maximum(p / theta.max() - 1.0 / growth, 0.0)
    r = r / r.sum()
    inside = np.exp(-b) - r * np.expm1(-b)
    slope = p * -np.expm1(-b) / inside
    # Convexity: the minimum is at least the value here less the most the slope allows.
    return float(-p @ np.log(inside) - max(slope.max() - slope @ r, 0.0))


class _Barrier:
    """A log-barrier Newton method for the convex program of `information_leakage`, over z = (q, r, w)."""

    def __init__(self, P: FloatArray, D: float) -> None:
        self._P, self._D = P, D
        M = P.shape[1]
        q, r = np.full(M, 1.0 - D / 2.0), np.full(M, 1.0 / M)
        self._z = np.concatenate([q, r, [float((P @ _binary_divergence(q, r)).max()) + 1.0]])
        self._sharpness, self.steps = 1.0, 0

    def point(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return q, r, the weights of the sources, shape (J,), and their prices alpha, shape (J,)."""
        q, r, w = self._split(self._z)
        r = r / r.sum()
        weights = 1.0 / (w - self._P @ _binary_divergence(q, r))
        return q, r, weights / weights.sum(), 1.0 / (self._sharpness * (self._P @ q - (1.0 - self._D)))

    def sharpen(self) -> bool:
        """Centre at the next sharpness; False when double precision is exhausted."""
        if self._sharpness > 1e14:
            return False
        self._sharpness *= 8.0
        M = self._P.shape[1]
        for _ in range(60):
            gradient, hessian = self._derivatives()
            system = np.zeros((2 * M + 2, 2 * M + 2))
            system[:-1, :-1] = hessian
            system[M : 2 * M, -1] = system[-1, M : 2 * M] = 1.0
            # Scaled to a unit diagonal: variables that vanish have curvatures of 1e20.
            scale = np.append(1.0 / np.sqrt(np.diag(hessian)), 1.0)
            scale[-1] = 1.0 / np.linalg.norm(scale[M : 2 * M])
            right = np.append(-gradient, 1.0 - self._z[M : 2 * M].sum())
            step = (scale * np.linalg.solve(scale[:, None] * system * scale, scale * right))[:-1]
            self.steps += 1
            decrement = float(-gradient @ step)
            length, here = 1.0, self._potential(self._z)
            while self._potential(self._z + length * step) > here - 0.1 * length * decrement + 1e-12 * abs(
                here
            ):
                length /= 2.0
                if length < 1e-8:
                    return self._sharpness > 1e9
            self._z = self._z + length * step
            if decrement < 1e-6:
                break
        return True

    def _split(self, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        M = self._P.shape[1]
        return z[:M], z[M : 2 * M], float(z[-1])

    def _potential(self, z: FloatArray) -> float:
        q, r, w = self._split(z)
        if not (min(q.min(), r.min()) > 0.0 and max(q.max(), r.max()) < 1.0):
            return math.inf
        slack = np.concatenate([w - self._P @ _binary_divergence(q, r), self._P @ q - (1.0 - self._D)])
        if slack.min() <= 0.0:
            return math.inf
        return self._sharpness * w - float(np.log(np.concatenate([slack, q, 1.0 - q, r])).sum())

    def _derivatives(self) -> tuple[FloatArray, FloatArray]:
        P, (q, r, w) = self._P, self._split(self._z)
        M = P.shape[1]
        dq, dr = np.log(q / r) - np.log((1.0 - q) / (1.0 - r)), (r - q) / (r * (1.0 - r))
        loose = 1.0 / (w - P @ _binary_divergence(q, r))
        room = 1.0 / (P @ q - (1.0 - self._D))
        # Rows: the gradient of f_j - w in z, times 1/slack.
        F = loose[:, None] * np.concatenate([P * dq, P * dr, -np.ones((len(P), 1))], axis=1)
        R = np.concatenate([room[:, None] * P, np.zeros((len(P), M + 1))], axis=1)
        gradient = F.sum(axis=0) - R.sum(axis=0)
        gradient[:M] += 1.0 / (1.0 - q) - 1.0 / q
        gradient[M : 2 * M] -= 1.0 / r
        gradient[-1] += self._sharpness
        hessian = F.T @ F + R.T @ R
        p = loose @ P
        i, k = np.arange(M), np.arange(M, 2 * M)
        hessian[i, i] += p / (q * (1.0 - q)) + 1.0 / q**2 + 1.0 / (1.0 - q) ** 2
        hessian[k, k] += p * (q / r**2 + (1.0 - q) / (1.0 - r) ** 2) + 1.0 / r**2
        hessian[i, k] -= p / (r * (1.0 - r))
        hessian[k, i] -= p / (r * (1.0 - r))
        return gradient, hessian


__all__ = [
    "Formula",
    "Leakage",
    "SourceSet",
    "class_one_information",
    "class_one_leakage",
    "class_three_bounds",
    "class_two_channel",
    "class_two_leakage",
    "hamming_leakage",
    "hamming_leakages",
    "information_leakage",
    "known_prior_leakage",
]
