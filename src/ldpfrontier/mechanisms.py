"""Mechanisms in closed form: randomized response and variants, binary, geometric, quaternary, secret."""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.channel import Channel
from ldpfrontier.combinatorics import balanced_set
from ldpfrontier.optimum import checked_epsilon
from ldpfrontier.utility import FDivergence, MutualInformation


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
    return unlimited_response(k, checked_epsilon(epsilon))


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
        For mutual information, if more than 40 inputs have positive probability and no set of probability 1/2
        is found among them (`ldpfrontier.combinatorics.balanced_set`).
    ValueError
        If `epsilon` is out of range.
    """
    lie = math.exp(-checked_epsilon(epsilon))
    inside = utility.p0 >= utility.p1 if isinstance(utility, FDivergence) else balanced_set(utility.prior)
    Q = np.where(inside[:, None] == np.array([True, False]), 1.0, lie)
    return Channel(Q / (1.0 + lie))


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
    rate = checked_epsilon(epsilon) / (k - 1)
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
    lie = math.exp(-checked_epsilon(epsilon))
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
    other = math.exp(-checked_epsilon(epsilon))
    same_group = np.kron(np.eye(a1), np.ones((a2, a2)))
    Q = np.where(same_group > 0, other**2, other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + other**2 * (a2 - 1) + other * (a1 - 1) * a2))


def _check_size(k: int, name: str) -> None:
    if k < 1 or k != int(k):
        raise ValueError(f"{name} is {k}; an alphabet has a whole number of letters, 1 or more.")


def unlimited_response(k: int, epsilon: float) -> Channel:
    """Randomized response for epsilon in [0, inf]; inf is the identity."""
    other = math.exp(-epsilon)
    Q = np.full((k, k), other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + (k - 1) * other))
