"""Mechanisms in closed form: randomized response and variants, binary, geometric, quaternary, independent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .channel import Channel, FloatArray, as_distribution
from .information import relative_excess
from .optimal.blocks import subset_sums
from .optimal.master import Intractable
from .optimal.utility import FDivergence, MutualInformation
from .uncertainty import RenyiBall

_Function = Callable[[FloatArray], FloatArray]
Distance = Literal["published", "tight"]

#: A number partition lists the subset sums of both halves: 2^20 each here.
MAX_PARTITION = 40


def randomized_response(k: int, epsilon: float) -> Channel:
    """Generalized randomized response on k letters (kairouz2016; GRR in lopuhaa2024).

    The letter itself with probability e^epsilon / (k - 1 + e^epsilon), every other with probability
    1 / (k - 1 + e^epsilon): exactly epsilon-LDP.

    Parameters
    ----------
    k : int
        Size of the alphabet, at least 1.
    epsilon : float
        Privacy level in nats, finite and at least 0.

    Returns
    -------
    Channel
        Inputs and outputs 0..k-1.

    Raises
    ------
    ValueError
        If `k` or `epsilon` is out of range.
    """
    _check_size(k, "k")
    return _randomized_response(k, _checked_epsilon(epsilon))


def binary_mechanism(utility: MutualInformation | FDivergence, epsilon: float) -> Channel:
    """Report one bit about the input, optimal at high privacy (kairouz2016, (18), (29), Theorems 5 and 12).

    The bit says whether the input lies in T, and is told truly with probability e^eps / (1 + e^eps). For an
    f-divergence T is where P0 >= P1, for mutual information a set with P(T) closest to 1/2.

    Parameters
    ----------
    utility : MutualInformation or FDivergence
    epsilon : float
        Privacy level in nats, finite and at least 0.

    Returns
    -------
    Channel
        Output 0 stands for T.

    Raises
    ------
    Intractable
        For mutual information, if more than 40 inputs have positive probability.
    ValueError
        If `epsilon` is out of range.
    """
    lie = math.exp(-_checked_epsilon(epsilon))
    inside = utility.p0 >= utility.p1 if isinstance(utility, FDivergence) else balanced_set(utility.prior)
    Q = np.where(inside[:, None] == np.array([True, False]), 1.0, lie)
    return Channel(Q / (1.0 + lie))


def balanced_set(prior: ArrayLike) -> NDArray[np.bool_]:
    """Find a set T of inputs whose probability is closest to 1/2 (kairouz2016, (30)), exactly.

    A number partition, by meeting in the middle: for every subset sum of one half of the inputs, the best
    partners among the sorted subset sums of the other half.

    Parameters
    ----------
    prior : array_like, any shape
        Distribution of X, flattened row-major.

    Returns
    -------
    ndarray of bool, shape (k,)
        Inputs of probability 0 are outside.

    Raises
    ------
    Intractable
        If more than 40 inputs have positive probability.
    """
    p = as_distribution(prior, "The prior").ravel()
    support = np.flatnonzero(p > 0)
    if support.size > MAX_PARTITION:
        raise Intractable(
            f"The prior has {support.size} inputs of positive probability; an exact partition into halves is"
            f" supported up to {MAX_PARTITION}."
        )
    left, right = support[: support.size // 2], support[support.size // 2 :]
    near, far = subset_sums(p[left]), subset_sums(p[right])
    order = np.argsort(far, kind="stable")
    target = 0.5 * p.sum() - near
    above = np.clip(np.searchsorted(far[order], target), 0, far.size - 1)
    partners = np.stack([np.maximum(above - 1, 0), above])
    which, i = np.unravel_index(int(np.abs(far[order][partners] - target).argmin()), partners.shape)
    j = order[partners[which, i]]
    inside = np.zeros(p.size, dtype=bool)
    inside[left] = int(i) >> np.arange(left.size) & 1
    inside[right] = int(j) >> np.arange(right.size) & 1
    return inside


def geometric_mechanism(k: int, epsilon: float) -> Channel:
    """Add geometric noise to a number and fold the tails onto the ends (kairouz2016, section 3.4).

    (1 - q) / (1 + q) q^|y - x| with q = e^(-epsilon / (k - 1)) over all integers y, what falls beyond 0 or
    k - 1 counted there: exactly epsilon-LDP. (The paper prints epsilon for e^-epsilon.)

    Parameters
    ----------
    k : int
        Size of the alphabet, at least 1.
    epsilon : float
        Privacy level in nats, finite and at least 0.

    Returns
    -------
    Channel
        Inputs and outputs 0..k-1.

    Raises
    ------
    ValueError
        If `k` or `epsilon` is out of range.
    """
    _check_size(k, "k")
    if k == 1:
        return Channel(np.ones((1, 1)))
    rate = _checked_epsilon(epsilon) / (k - 1)
    x = np.arange(k)
    Q = np.exp(-rate * np.abs(x[:, None] - x))
    Q[:, 1:-1] *= -math.expm1(-rate)
    return Channel(Q / (1.0 + math.exp(-rate)))


def quaternary_mechanism(epsilon: float, delta: float) -> Channel:
    """Dominate all (epsilon, delta)-LDP mechanisms on a binary alphabet (kairouz2016, (38), Theorem 18).

    With probability delta the input is revealed (outputs 0 and 1); else randomized response tells it truly
    with probability e^eps / (1 + e^eps) (output 3 stands for input 0, output 2 for input 1).

    Parameters
    ----------
    epsilon : float
        Nats, finite and at least 0.
    delta : float
        In [0, 1].

    Returns
    -------
    Channel
        Shape (2, 4).

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    lie = math.exp(-_checked_epsilon(epsilon))
    if not 0.0 <= delta <= 1.0:
        raise ValueError(f"delta is {delta}; it must be a probability, from 0 to 1.")
    truth = (1.0 - delta) / (1.0 + lie)
    return Channel(np.array([[delta, 0.0, lie * truth, truth], [0.0, delta, truth, lie * truth]]))


def secret_randomized_response(a1: int, a2: int, epsilon: float) -> Channel:
    """Secret randomized response on pairs (s, u) (lopuhaa2024, Definition 4).

    Probabilities proportional to e^epsilon for the pair itself, e^-epsilon for the same s and another u, 1
    for another s: private at level epsilon for every distribution of (S, U) (Lemma 2).

    Parameters
    ----------
    a1, a2 : int
        Numbers of sensitive and of other values, at least 1.
    epsilon : float
        Privacy level in nats, finite and at least 0.

    Returns
    -------
    Channel
        Inputs and outputs are the pairs in row-major order.

    Raises
    ------
    ValueError
        If a size or `epsilon` is out of range.
    """
    _check_size(a1, "a1")
    _check_size(a2, "a2")
    # Everything divided by e^epsilon: no overflow.
    other = math.exp(-_checked_epsilon(epsilon))
    same_group = np.kron(np.eye(a1), np.ones((a2, a2)))
    Q = np.where(same_group > 0, other**2, other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + other**2 * (a2 - 1) + other * (a1 - 1) * a2))


@dataclass(frozen=True, eq=False)
class IndependentReport:
    """The independent-reporting mechanism and the parameters it was built with.

    Attributes
    ----------
    channel : Channel
        Kronecker product of randomized response on S at `epsilon_1` and on U at `delta_2`.
    epsilon_1, epsilon_2 : float
        The split of the budget, nats.
    delta_2 : float
        LDP level of the report of U, nats; inf if U is released as it is.
    distance : float
        The d of lopuhaa2024, Theorem 5: a bound on ||P_{U|s} - P_{U|s'}||_1 over the ball.
    information : float
        Mutual information at the prior that the split maximises, nats.
    """

    channel: Channel
    epsilon_1: float
    epsilon_2: float
    delta_2: float
    distance: float
    information: float


def independent_reporting(
    ball: RenyiBall,
    epsilon: float,
    distance: Distance = "published",
    prior: ArrayLike | None = None,
) -> IndependentReport:
    """Report S and U separately by randomized response, with the best split of the budget.

    S at level epsilon_1 = epsilon - epsilon_2, U at delta_2 = log(1 + 2 (e^epsilon_2 - 1) / d), where d
    bounds the l1 distance of the conditionals of two groups over the ball (lopuhaa2024, Theorem 5).
    epsilon_2 in [0, epsilon] maximises I(X; Y): all local maxima of a grid that is fine both in epsilon_2 and
    in delta_2 are refined, so the ends and the steep rise near 0 at small d are covered.

    Parameters
    ----------
    ball : RenyiBall
        Uncertainty set of the distribution of (S, U).
    epsilon : float
        Privacy level in nats, finite and at least 0.
    distance : {"published", "tight"}
        "published": d = min(2, max_s 2 d_s + max_{s,s'} ||P-hat_{U|s} - P-hat_{U|s'}||_1), the d_s being
        the bounds of Proposition 2. "tight": d = min(2, max over pairs s != s' of rad_s + rad_s' + ||.||_1)
        with the exact radii: the same guarantee with a smaller d.
    prior : array_like, shape (a1, a2), optional
        Distribution of (S, U) at which the information counts; the ball's centre by default.

    Returns
    -------
    IndependentReport

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    epsilon = _checked_epsilon(epsilon)
    p = as_distribution(ball.centre if prior is None else prior, "The prior")
    if p.shape != ball.centre.shape:
        raise ValueError(f"The prior has shape {p.shape}; the ball is over {ball.centre.shape}.")
    d = _distance(ball, distance)

    def information(epsilon_2: FloatArray) -> FloatArray:
        return _report_information(p, epsilon - epsilon_2, _delta(epsilon_2, d))

    best = _maximise(information, epsilon, d)
    delta = float(_delta(np.array([best]), d)[0])
    a1, a2 = p.shape
    channel = _randomized_response(a1, epsilon - best).kron(_randomized_response(a2, delta))
    return IndependentReport(channel, epsilon - best, best, delta, d, float(information(np.array([best]))[0]))


def _check_size(k: int, name: str) -> None:
    if k < 1 or k != int(k):
        raise ValueError(f"{name} is {k}; an alphabet has a whole number of letters, 1 or more.")


def _checked_epsilon(epsilon: float) -> float:
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon is {epsilon}; a privacy level is a finite number, 0 or more.")
    return float(epsilon)


def _randomized_response(k: int, epsilon: float) -> Channel:
    """Randomized response for epsilon in [0, inf]; inf is the identity."""
    other = math.exp(-epsilon)
    Q = np.full((k, k), other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + (k - 1) * other))


def _distance(ball: RenyiBall, distance: Distance) -> float:
    R = ball.conditionals
    apart = np.abs(R[:, None] - R[None]).sum(axis=2)
    if distance == "published":
        return float(min(2.0, 2.0 * ball.radius_bounds.max() + apart.max()))
    if distance == "tight":
        pairs = apart + ball.radii[:, None] + ball.radii[None]
        return float(min(2.0, pairs[~np.eye(len(R), dtype=bool)].max(initial=0.0)))
    raise ValueError(f'distance is {distance!r}; allowed are "published" and "tight".')


def _delta(epsilon_2: FloatArray, d: float) -> FloatArray:
    """delta_2 of lopuhaa2024, Theorem 5; U says nothing about S if d = 0, and may be released as it is."""
    if d == 0:
        return np.full(np.shape(epsilon_2), np.inf)
    # The second branch is for an epsilon_2 whose exponential overflows.
    with np.errstate(over="ignore"):
        x = 2.0 * np.expm1(epsilon_2) / d
    return np.where(np.isfinite(x), np.log1p(x), epsilon_2 + math.log(2.0 / d))


def _report_information(p: FloatArray, epsilon_1: FloatArray, delta_2: FloatArray) -> FloatArray:
    """I(X; Y) of independent reporting for arrays of splits, shape (m,), in nats.

    Randomized response is the identity with probability l and uniform otherwise, so the output's relative
    excess over uniform is a combination of those of p, p_S and p_U. With D the divergence from uniform and
    rows of equal entropy, I = D(row of R1) + D(row of R2) - D(output), each D a sum of non-negative terms.
    """
    a1, a2 = p.shape
    l1, l2 = (-np.expm1(-e) / (1.0 + (k - 1) * np.exp(-e)) for k, e in ((a1, epsilon_1), (a2, delta_2)))
    joint = (a1 * a2 * p - 1.0).ravel()
    first = np.repeat(a1 * p.sum(axis=1) - 1.0, a2)
    second = np.tile(a2 * p.sum(axis=0) - 1.0, a1)
    m1, m2 = l1[:, None], l2[:, None]
    output = relative_excess(m1 * m2 * joint + m1 * (1 - m2) * first + (1 - m1) * m2 * second).mean(axis=1)
    rows = [
        (relative_excess((k - 1) * weight) + (k - 1) * relative_excess(-weight)) / k
        for k, weight in ((a1, l1), (a2, l2))
    ]
    return np.asarray(rows[0] + rows[1] - output)


def _maximise(function: _Function, epsilon: float, d: float) -> float:
    """Return a global maximiser on [0, epsilon], by a grid and zooming in on each of its local maxima."""
    if epsilon == 0 or d == 0:
        return 0.0
    even = np.linspace(0.0, epsilon, 129)
    last = float(_delta(np.array([epsilon]), d)[0])
    with np.errstate(over="ignore"):
        steep = np.log1p(0.5 * d * np.expm1(np.linspace(0.0, last, 129)[:-1]))
    grid = np.unique(np.clip(np.concatenate([even, steep[np.isfinite(steep)]]), 0.0, epsilon))
    values = function(grid)
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    best, top = float(grid[values.argmax()]), float(values.max())
    for i in (int(peak) for peak in peaks):
        lo, hi = grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)]
        for _ in range(8):
            zoom = np.linspace(lo, hi, 17)
            heights = function(zoom)
            j = int(heights.argmax())
            if heights[j] > top:
                best, top = float(zoom[j]), float(heights[j])
            lo, hi = zoom[max(j - 1, 0)], zoom[min(j + 1, zoom.size - 1)]
    return best
