"""Mechanisms in closed form, such as randomized response, subset selection and the binary mechanism."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import checked_epsilon
from ldpfrontier.model.utility import FDivergence, MutualInformation, check_utility
from ldpfrontier.numerics.arguments import as_count

#: Largest alphabet of a square channel: 800 MB.
MAX_LETTERS = 10_000

#: Most subsets that subset selection lists, and blocks of a design: each is a column of a dense matrix.
MAX_SUBSETS = 10_000


def randomized_response(k: int, epsilon: float) -> Channel:
    """Make randomized response on k letters (RR in kairouz2016, GRR in lopuhaa2024).

    The letter itself with probability e^epsilon / (k - 1 + e^epsilon), every other with probability
    1 / (k - 1 + e^epsilon): exactly epsilon-LDP.

    Parameters
    ----------
    k : int
        Size of the alphabet, 1 to 10,000.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.

    Returns
    -------
    Channel
        Inputs and outputs 0..k-1.

    Raises
    ------
    Intractable
        If `k` is above 10,000.
    ValueError
        If `k` or `epsilon` is out of range.
    """
    k = checked_letters(k, "k")
    return unlimited_response(k, checked_epsilon(epsilon))


def subset_selection(k: int, epsilon: float, size: int | None = None) -> Channel:
    """Make subset selection: a report is a set of d letters, often with the input (Ye and Barg 2018).

    All sets of d letters are outputs. One with the input has e^epsilon times the probability of one without:
    exactly epsilon-LDP for d < k. At d near k / (e^epsilon + 1) the largest mean square error of estimated
    frequencies is the least of all epsilon-LDP mechanisms up to a factor that goes to 1 as k grows (M. Ye and
    A. Barg, Optimal schemes for discrete distribution estimation under locally differential privacy, IEEE
    Transactions on Information Theory 64(8), 2018). d = 1 is randomized response.

    Parameters
    ----------
    k : int
        Size of the alphabet, 1 or more.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.
    size : int, optional
        d, from 1 to k; by default the one with the least error at the uniform distribution.

    Returns
    -------
    Channel
        Outputs are the sets in lexicographic order.

    Raises
    ------
    Intractable
        If there are more than 10,000 such sets.
    ValueError
        If `k`, `epsilon` or `size` is out of range.
    """
    k = checked_letters(k, "k")
    epsilon = checked_epsilon(epsilon)
    if size is not None:
        size = as_count(size, "size", f"a whole number of letters, 1 to {k}", least=1, most=k)
    d = size or min(_best_sizes(k, epsilon), key=lambda d: _size_error(k, epsilon, d))
    if (number := math.comb(k, d)) > MAX_SUBSETS:
        raise Intractable(
            f"Subset selection of {d} of {k} letters has {number:,} outputs; at most {MAX_SUBSETS:,} are"
            " listed."
        )
    inside = np.array([[x in chosen for chosen in itertools.combinations(range(k), d)] for x in range(k)])
    Q = np.where(inside, 1.0, math.exp(-epsilon))
    return Channel(Q / Q.sum(axis=1, keepdims=True))


def uniform_error(k: int, epsilon: float, size: int | None = None) -> float:
    """Return n MSE of k frequencies at their uniform distribution by subset selection, or its least value.

    With d letters in a set it is (k - 1)^2 (1 + t d / k)^2 / (t^2 d (1 - d / k)), t = e^epsilon - 1, k >= 2.
    For the best d, the default, no epsilon-LDP mechanism has less: by symmetry the error depends on one
    number that is linear in the mechanism, and columns of the two values e^epsilon and 1 suffice (Ye and Barg
    2018).
    """
    t = -math.expm1(-epsilon)
    sizes = _best_sizes(k, epsilon) if size is None else [size]
    return min((k - 1) ** 2 * _size_error(k, epsilon, d) for d in sizes) / t / t


def _best_sizes(k: int, epsilon: float) -> list[int]:
    """Return sizes of sets of which one has the least error, in rising order."""
    near = k / (math.exp(epsilon) + 1.0)
    return sorted({max(1, min(d, k - 1)) for d in (math.floor(near), math.ceil(near))})


def _size_error(k: int, epsilon: float, d: int) -> float:
    """Return the error of sets of d letters, but for a factor of k and epsilon."""
    share = d / k
    return (math.exp(-epsilon) * (1.0 - share) + share) ** 2 / (d * (1.0 - share)) if d < k else math.inf


def binary_mechanism(utility: MutualInformation | FDivergence, epsilon: float) -> Channel:
    """Make the binary mechanism, which is optimal at high privacy (kairouz2016, (18), (29), Theorems 5, 12).

    The bit says whether the input lies in T, and is told truly with probability e^eps / (1 + e^eps). For an
    f-divergence T is where P0 >= P1, for mutual information a set with P(T) closest to 1/2.

    Parameters
    ----------
    utility : MutualInformation or FDivergence
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.

    Returns
    -------
    Channel
        Output 0 stands for T.

    Raises
    ------
    Intractable
        For mutual information, if more than 40 inputs have positive probability and no set of probability 1/2
        is found among them (`ldpfrontier.numerics.subset_sums.balanced_set`).
    ValueError
        If `epsilon` is out of range.
    """
    check_utility(utility, own=False)
    lie = math.exp(-checked_epsilon(epsilon))
    inside = utility.p0 >= utility.p1 if isinstance(utility, FDivergence) else utility.balanced
    Q = np.where(inside[:, None] == np.array([True, False]), 1.0, lie)
    return Channel(Q / (1.0 + lie))


def secret_randomized_response(a1: int, a2: int, epsilon: float) -> Channel:
    """Make secret randomized response on pairs (s, u) (lopuhaa2024, Definition 4).

    Probabilities proportional to e^epsilon for the pair itself, e^-epsilon for the same s and another u, 1
    for another s: private at level epsilon for every distribution of (S, U) (Lemma 2).

    Parameters
    ----------
    a1, a2 : int
        Numbers of sensitive and of other values, at least 1; their product is at most 10,000.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300.

    Returns
    -------
    Channel
        Inputs and outputs are the pairs in row-major order.

    Raises
    ------
    Intractable
        If there are more than 10,000 pairs.
    ValueError
        If a size or `epsilon` is out of range.
    """
    a1, a2 = checked_letters(a1, "a1"), checked_letters(a2, "a2")
    checked_letters(a1 * a2, "a1 * a2")
    # Everything divided by e^epsilon: no overflow.
    other = math.exp(-checked_epsilon(epsilon))
    same_group = np.kron(np.eye(a1), np.ones((a2, a2)))
    Q = np.where(same_group > 0, other**2, other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + other**2 * (a2 - 1) + other * (a1 - 1) * a2))


def checked_letters(k: int, name: str) -> int:
    """Return the size of an alphabet as an int; Intractable if it is above 10,000."""
    size = as_count(k, name, "a whole number of letters, 1 or more", least=1)
    if size > MAX_LETTERS:
        raise Intractable(f"{name} is {size}; a channel is made for at most {MAX_LETTERS:,} letters.")
    return size


def unlimited_response(k: int, epsilon: float) -> Channel:
    """Randomized response for epsilon in [0, inf]; inf is the identity."""
    other = math.exp(-epsilon)
    Q = np.full((k, k), other)
    np.fill_diagonal(Q, 1.0)
    return Channel(Q / (1.0 + (k - 1) * other))
