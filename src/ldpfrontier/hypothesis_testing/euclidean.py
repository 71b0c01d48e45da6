r"""Euclidean information-theoretic (E-IT) approximation of hypothesis testing under leakage (liao2017).

Around the constant channel with rows w_0, write W = W_0 + A [sqrt(w_0)]. To second order D(p_k W || p_1 W) is
1/2 ||(p_k - p_1) A||^2 and I(p_k, W) is 1/2 sum_i p_ki ||A_i||^2 (Proposition 1), in nats; both in bits here,
the factor log2(e) included. Maximizing the least of the former under limits of the latter is a semidefinite
program in B = A A^T (Lemma 3), with closed forms for two hypotheses (Theorem 2) and for two letters (44).
The rows of A have to be orthogonal to sqrt(w_0), for which one more output than the rank of B is enough
(Theorem 3).

The approximation does not know that probabilities are in [0, 1]: W may leave it and then is not a channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit

from ldpfrontier.base.extras import extra
from ldpfrontier.base.types import FloatArray
from ldpfrontier.hypothesis_testing.hypotheses import as_hypotheses, as_limits
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS
from ldpfrontier.numerics.arguments import as_distribution
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: What the interior point method is asked for; the program is scaled to numbers near one.
SDP_TOLERANCE = 1e-9

#: Eigenvalues of B below this share of the largest one are the solver's rounding.
RANK_TOLERANCE = 1e-7

#: A limit this close to its leakage, relatively, is active.
ACTIVE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Perturbation:
    """An optimal direction in which to leave the constant channel.

    Attributes
    ----------
    factor : ndarray, shape (M, l)
        B = factor factor^T with l = rank(B); A is `factor` times l orthonormal rows.
    value : float
        Least E-IT utility over k >= 2, bits.
    leakages : ndarray, shape (m,)
        E-IT leakages, bits.
    active : tuple of int
        Numbers k of the hypotheses, from 1, whose limit is met with equality.
    """

    factor: FloatArray
    value: float
    leakages: FloatArray
    active: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The rank l of B; W' needs l + 1 outputs."""
        return int(self.factor.shape[1])

    def scaled(self, factor: float) -> Perturbation:
        """Return the solution for all limits multiplied by a factor >= 0: A grows with its square root."""
        return replace(
            self,
            factor=self.factor * math.sqrt(factor),
            value=self.value * factor,
            leakages=self.leakages * factor,
        )

    def matrix(self, w0: ArrayLike) -> FloatArray:
        """Return W' = W_0 + A [sqrt(w_0)] (Theorem 3), which need not be a channel, shape (M, N), N > rank.

        The rows that A is made of are minus those of the reflection that maps the last unit vector to
        sqrt(w_0): for two outputs v = (sqrt(w_02), -sqrt(w_01)). The other sign of v exchanges the outputs
        and the entries of w_0. Rows sum to 1; entries may be outside [0, 1]. ValueError if `w0` is not a
        distribution with positive entries, or has too few of them.
        """
        w, step = self._step(w0)
        return w + step

    def _step(self, w0: ArrayLike) -> tuple[FloatArray, FloatArray]:
        w = as_distribution(w0, "w_0")
        if w.ndim != 1 or w.min() <= 0:
            raise ValueError("w_0 must be a vector with positive entries: a point inside the simplex.")
        if w.size <= self.rank:
            raise ValueError(
                f"w_0 has {w.size} entries; this perturbation has rank {self.rank} and needs {self.rank + 1}."
            )
        root = np.sqrt(w)
        mirror = root - np.eye(w.size)[-1]
        # root_N = 1 only for one output, where there is nothing to perturb.
        scale = 2.0 / (mirror @ mirror) if w.size > 1 else 0.0
        rows = -(np.eye(w.size) - scale * np.outer(mirror, mirror))[: self.rank]
        return w, np.asarray(self.factor @ rows * root)

    def reach(self, w0: ArrayLike) -> float:
        """Return the largest factor on all limits for which W' is a channel; inf if there is none.

        A grows with the square root of the limits, so W' leaves [0, 1] once and for all.
        """
        w, step = self._step(w0)
        with np.errstate(divide="ignore", over="ignore"):
            return float(np.square(np.where(step < 0, w / -step, math.inf)).min(initial=math.inf))

    def channel(self, w0: ArrayLike) -> Channel:
        """Return W' as a channel; if it has an entry outside [0, 1], the error says what would be allowed."""
        matrix = self.matrix(w0)
        if matrix.min() < -NUMERICS.negative_tolerance:
            x, y = np.unravel_index(int(matrix.argmin()), matrix.shape)
            raise ValueError(
                f"W' has the entry {matrix.min():.6g} in row {x}, column {y} and is not a channel; with this"
                f" w_0 the leakage may be {self.reach(w0):.6g} times what was asked for."
            )
        return Channel(np.clip(matrix, 0.0, 1.0))


def euclidean(hypotheses: ArrayLike, leakage: ArrayLike) -> Perturbation:
    """Solve the E-IT problem: in closed form if there are two hypotheses or two letters, else as an SDP.

    Hypotheses are the rows, the first of which is told apart from the others. Limits of leakage are finite,
    in bits; one for all or one each.
    """
    shape = np.shape(hypotheses)
    if len(shape) == 2 and shape[0] == 2:
        return euclidean_binary(hypotheses, leakage)
    if len(shape) == 2 and shape[1] == 2:
        return euclidean_bernoulli(hypotheses, leakage)
    return euclidean_sdp(hypotheses, leakage)


def euclidean_binary(hypotheses: ArrayLike, leakage: ArrayLike) -> Perturbation:
    """Solve the E-IT problem of two hypotheses in closed form (liao2017, Theorem 2), as `euclidean`.

    a* is proportional to (p_2 - p_1) / (eta_1 p_1 + eta_2 p_2). Only the ratio of eta_1 and eta_2 matters:
    0 or infinity if a single limit is active, else the root of one increasing function.
    """
    p, limits = _checked(hypotheses, leakage)
    if len(p) != 2:
        raise ValueError(f"There are {len(p)} hypotheses; the closed form of Theorem 2 is for two.")
    kept = _kept(p, limits)
    difference, rows = (p[1] - p[0])[kept], p[:, kept]

    def direction(log_odds: float) -> FloatArray:
        mixture = expit(log_odds) * rows[0] + expit(-log_odds) * rows[1]
        quotient = np.divide(difference, mixture, out=np.zeros_like(difference), where=difference != 0)
        return np.asarray(quotient)

    def excess(log_odds: float) -> float:
        first, second = rows @ np.square(direction(log_odds))
        with np.errstate(divide="ignore"):
            return float(np.log(first) - np.log(second) - np.log(limits[0]) + np.log(limits[1]))

    # Beyond these odds a limit is active alone to all digits.
    far = 300.0
    a = np.zeros(p.shape[1])
    if difference.any():
        if limits[0] == 0 or (limits[1] > 0 and rows[0].any() and excess(-far) <= 0):
            a[kept] = direction(-math.inf) if rows[1][difference != 0].min() > 0 else direction(-far)
        elif limits[1] == 0 or excess(far) >= 0:
            a[kept] = direction(math.inf) if rows[0][difference != 0].min() > 0 else direction(far)
        else:
            a[kept] = direction(float(brentq(excess, -far, far, xtol=1e-14, rtol=1e-14)))
    return _perturbation(p, limits, a[:, None])


def euclidean_bernoulli(hypotheses: ArrayLike, leakage: ArrayLike) -> Perturbation:
    """Solve the E-IT problem of any number of hypotheses on two letters in closed form (liao2017, (44)).

    The differences p_k - p_1 are collinear, so the shortest is the least utility whatever A is. The squares
    of a = (a_1, a_2) satisfy linear limits: one of them is active, or two are, and all these cases are tried.
    """
    p, limits = _checked(hypotheses, leakage)
    if p.shape[1] != 2:
        raise ValueError(f"The hypotheses have {p.shape[1]} letters; the closed form (44) is for two.")
    kept = _kept(p, limits)
    rows, budgets = np.where(kept, p, 0.0), 2.0 * limits
    used = np.flatnonzero((rows > 0).any(axis=1) & (limits > 0))
    candidates = []
    if kept.sum() == 1:
        with np.errstate(divide="ignore"):
            candidates.append(np.where(kept, (budgets[used, None] / rows[used]).min(axis=0), 0.0))
    for k in used:
        if kept.all() and rows[k].min() > 0:
            candidates.append(budgets[k] * rows[k, ::-1] / rows[k])
    for pair in combinations(used, 2):
        if kept.all() and abs(np.linalg.det(rows[list(pair)])) > 1e-14:
            candidates.append(np.linalg.solve(rows[list(pair)], budgets[list(pair)]))
    best = np.zeros(2)
    for squares in candidates:
        fits = squares.min() >= 0 and (rows[used] @ squares <= budgets[used] * (1.0 + 1e-12)).all()
        if fits and np.sqrt(squares).sum() > np.sqrt(best).sum():
            best = squares
    return _perturbation(p, limits, (np.sqrt(best) * [1.0, -1.0])[:, None])


def euclidean_sdp(hypotheses: ArrayLike, leakage: ArrayLike) -> Perturbation:
    """Solve the E-IT problem as the semidefinite program (36) of liao2017, as `euclidean`.

    The factor is made of the eigenvectors of B*, each times the root of its eigenvalue (Theorem 3).
    RuntimeError if the solver reports no optimum.
    """
    p, limits = _checked(hypotheses, leakage)
    kept = _kept(p, limits)
    differences = (p[1:] - p[0])[:, kept]
    if not differences.any(axis=1).all():
        return _perturbation(p, limits, np.zeros((p.shape[1], 0)))
    # Imported here because it loads slowly and the closed forms do not need it.
    with extra("euclidean"):
        import cvxpy as cp

    # In these units all numbers of the program are near one.
    root = np.sqrt(p[:, kept].mean(axis=0))
    differences = differences / root
    norms = np.linalg.norm(differences, axis=1)
    directions, shares = differences / norms[:, None], np.square(norms.min() / norms)
    bounded = (limits > 0) & p[:, kept].any(axis=1)
    rows = p[bounded][:, kept] / root**2 * (limits[bounded].min() / limits[bounded])[:, None]
    gram, least = cp.Variable((len(root), len(root)), PSD=True), cp.Variable()
    constraints = [d @ gram @ d >= share * least for d, share in zip(directions, shares, strict=True)]
    constraints += [sum(x * gram[i, i] for i, x in enumerate(row)) <= 1.0 for row in rows]
    problem = cp.Problem(cp.Maximize(least), constraints)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), SDP_TOLERANCE)
    problem.solve(solver=cp.CLARABEL, **tight)  # type: ignore[no-untyped-call]
    if gram.value is None:
        raise RuntimeError(f"The solver stopped with status {problem.status!r}; expected 'optimal'.")
    eigenvalues, vectors = np.linalg.eigh((gram.value + gram.value.T) / 2.0)
    large = eigenvalues > RANK_TOLERANCE * eigenvalues.max()
    factor = np.zeros((p.shape[1], int(large.sum())))
    factor[kept] = (vectors[:, large] * np.sqrt(eigenvalues[large]) / root[:, None])[:, ::-1]
    return _perturbation(p, limits, factor)


def _checked(hypotheses: ArrayLike, leakage: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the hypotheses, shape (m, M), and the limits in nats, shape (m,)."""
    p = as_hypotheses(hypotheses)
    return p, as_limits(leakage, len(p), finite=True)


def _kept(p: FloatArray, limits: FloatArray) -> NDArray[np.bool_]:
    """Tell which rows of A may differ from zero: letters that occur, and need not stay secret altogether."""
    return np.asarray((p > 0).any(axis=0) & ~(p[limits == 0] > 0).any(axis=0))


def _perturbation(p: FloatArray, limits: FloatArray, factor: FloatArray) -> Perturbation:
    """Scale to the limits, in nats, and measure."""
    factor = factor / max(float(np.abs(factor).max(initial=0.0)), 1e-300)
    leakages = p @ np.square(factor).sum(axis=1) / 2.0
    used = leakages > 0
    if not used.any():
        return Perturbation(np.zeros((p.shape[1], 0)), 0.0, leakages, ())
    # Least probabilities leave more room than there are numbers.
    with np.errstate(over="ignore"):
        scale = min(float((limits[used] / leakages[used]).min()), 1e300)
    factor, leakages = factor * math.sqrt(scale), leakages * scale
    value = float(np.square((p[1:] - p[0]) @ factor).sum(axis=1).min()) / 2.0
    active = np.flatnonzero(leakages >= limits * (1.0 - ACTIVE_TOLERANCE)) + 1
    return Perturbation(factor, value * BITS, leakages * BITS, tuple(int(k) for k in active))
