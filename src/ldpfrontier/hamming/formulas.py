"""The formulas of kalantari2018 for the least leakage, by the class of the source set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hamming.sources import SourceSet, as_sources, checked_distortion
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.highs import maximize


@dataclass(frozen=True, eq=False)
class Formula:
    """The value of a formula of kalantari2018 in nats, with the distortions D_1, ..., D_M of its channel.

    They are in the order of the (folded) distributions, and 1 for a silent letter.
    """

    value: float
    distortions: FloatArray


def class_one_leakage(letters: int, distortion: float) -> float:
    """Theorem 1, Class I: log (M - 1)(1 - D)/D below D = (M - 1)/M, else 0, in nats."""
    D = checked_distortion(distortion)
    return max(0.0, math.log((letters - 1) * (1.0 - D) / D))


def class_one_channel(letters: int, distortion: float) -> Channel:
    """Theorem 1, Class I: Q[i, i] = 1 - D, the rest of the row uniform; has `class_one_leakage`.

    All its distortions are D, so it meets D for every source set; above (M - 1)/M it is constant.
    """
    D = min(checked_distortion(distortion), 1.0 - 1.0 / letters)
    Q = np.full((letters, letters), D / (letters - 1))
    np.fill_diagonal(Q, 1.0 - D)
    return Channel(Q)


def class_two_leakage(sources: SourceSet | ArrayLike, distortion: float, *, ordered: bool = True) -> Formula:
    """Least DP leakage of a set with a common order (kalantari2018, Theorem 2), in nats.

    The linear-fractional program (11), which Charnes and Cooper's substitution y = D_i / D_1, tau = 1 / D_1
    makes an LP. The minimum over l in (10) is that at l = 0: what (11) admits with l letters silent it admits
    with l = 0 and D_i = 1 for those, at the same objective. So one LP is all of Theorem 2 below D^(M-1).

    If `ordered`, D_1 <= D_i is demanded, which the proof uses and (11) omits. Without it the value can be too
    small. ValueError if the distributions have no common order.
    """
    sources, D = as_sources(sources), checked_distortion(distortion)
    P = sources.distributions[:, sources.common_order()]
    if sources.thresholds()[-2] <= D:
        return Formula(0.0, np.append(0.0, np.ones(sources.letters - 1)))
    return _fractional([P], D, ordered=ordered)


def class_two_channel(sources: SourceSet | ArrayLike, formula: Formula) -> Channel:
    """Build the mechanism (48): Q[i, j] = D_i (1 - D_j) / sum_{k != i} (1 - D_k) off the diagonal."""
    order = as_sources(sources).common_order()
    q = 1.0 - formula.distortions
    others = q.sum() - q
    share = np.divide(formula.distortions, others, out=np.zeros_like(q), where=others > 0)
    Q = share[:, None] * q
    np.fill_diagonal(Q, q)
    place = np.argsort(order)
    return Channel(Q[np.ix_(place, place)])


def class_three_bounds(sources: SourceSet | ArrayLike, distortion: float) -> tuple[float, float]:
    """Return the lower and the upper bound of Theorem 3 on the DP leakage of a source set, in nats.

    The upper bound is Theorem 2 for the folded union with D_T(i) = D_i for every folding permutation T; the
    lower bound the same for the folded intersection or, where that is empty, the largest leakage of a folded
    part (Remark 4). The symmetry is without loss if the folding permutations form a group. The paper does not
    ask for that, and where they do not, its lower bound can exceed the truth (and Corollary 1 fail).
    """
    sources, D = as_sources(sources), checked_distortion(distortion)
    if 1.0 - 1.0 / sources.letters <= D:
        return 0.0, 0.0
    parts, symmetric = list(sources.folds.values()), list(sources.folds)
    upper = _fractional([np.concatenate(parts)], D, symmetric=symmetric).value
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
    solution = maximize(y[1:].sum(axis=0) - (M - 1) * tau, A, np.zeros(len(A)), high, least, most)
    if solution is None:  # pragma: no cover - all D_i = min(D, 1 - 1/M) is feasible
        raise ArithmeticError(f"The formula at distortion {D:g} has no solution.")
    negative, x, _ = solution
    # Rounding alone can take the ratio below 1; as printed it can be 0.
    with np.errstate(divide="ignore"):
        value = float(np.log(max(-negative, 1.0 if ordered else 0.0)))
    return Formula(value, np.minimum(x[:M] / x[M], 1.0))


def class_one_information(letters: int, distortion: float) -> float:
    """Lemma 5, MI leakage of Class I: log M - H(D) - D log(M - 1) below (M - 1)/M, else 0, in nats."""
    D = checked_distortion(distortion)
    if 1.0 - 1.0 / letters <= D:
        return 0.0
    return math.log(letters) + float(xlogy(D, D) + xlogy(1 - D, 1 - D)) - D * math.log(letters - 1)
