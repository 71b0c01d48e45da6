r"""Mechanisms whose reports are blocks of a design: subset selection with few outputs.

A report is a set of inputs, its block. A block that contains the person's input has e^eps times the
probability of one that does not. If every input is in r of b blocks, each row of the channel has the same
sum, and it is exactly eps-LDP. If moreover every two inputs are together in the same number of blocks, which
all have d inputs (a balanced incomplete block design), then at the uniform distribution of k inputs

    n MSE = (k - 1)^2 (1 + t d / k)^2 / (t^2 d (1 - d / k)),   t = e^eps - 1,

which is that of subset selection, all sets of d inputs (Park, Nam and Lee 2023), and for the best d the
least error of all eps-LDP mechanisms (`ldpfrontier.model.mechanisms.uniform_error`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import (
    MAX_SUBSETS,
    checked_letters,
    randomized_response,
    subset_selection,
    uniform_error,
)
from ldpfrontier.model.optimum import checked_epsilon
from ldpfrontier.numerics.finite_field import FiniteField, prime_power


def hadamard_response(k: int, epsilon: float) -> Channel:
    """Make Hadamard response: blocks are halves of the rows of Hadamard matrices (Acharya, Sun, Zhang 2019).

    The inputs are dealt into B groups, B the largest power of two below min(e^epsilon, 2 k). Each group has
    b outputs of its own, b the least power of two above k / B; an input prefers the outputs at which its row
    of the Hadamard matrix of order b is 1 (J. Acharya, Z. Sun and H. Zhang, Hadamard response: estimating
    distributions privately, efficiently, and with little communication, AISTATS 2019). Exactly epsilon-LDP.

    Arguments and errors are those of `randomized_response`, and more than 10,000 outputs are refused, too.
    There are b B outputs, fewer than 4 (k + B).
    """
    k, epsilon = checked_letters(k, "k"), checked_epsilon(epsilon)
    if k == 1:
        return Channel(np.ones((1, 1)))
    limit = min(math.exp(min(epsilon, 30.0)), 2.0 * k)
    groups = 2 ** max(math.ceil(math.log2(limit)) - 1, 0)
    order = 2 ** math.ceil(math.log2(k / groups + 1.0))
    _check_outputs(groups * order, "Hadamard response", k)
    x, y = np.arange(k), np.arange(order)
    group, row = x % groups, x // groups + 1  # The first row of the matrix is constant.
    common = row[:, None] & y
    odd = np.zeros_like(common)
    while common.any():
        odd ^= common & 1
        common >>= 1
    inside = np.zeros((k, groups, order), dtype=np.bool_)
    inside[x, group] = odd == 0
    return _response(inside.reshape(k, -1), epsilon)


def projective_geometry_response(k: int, epsilon: float) -> Channel:
    """Make projective geometry response: inputs are points, reports hyperplanes (Feldman et al. 2022).

    Over the field of q elements, q the prime power nearest to e^epsilon + 1, and in the least dimension with
    k points; of the points beyond k none is an input. A point is on about one of q hyperplanes (V. Feldman,
    J. Nelson, H. Nguyen and K. Talwar, Private frequency estimation via projective geometry, ICML 2022).
    Where q + 1 points are more than k, q is lowered as far as k points allow. Exactly epsilon-LDP.

    Arguments and errors are those of `randomized_response`, and more than 10,000 outputs are refused, too.
    There are (q^m - 1) / (q - 1) outputs.
    """
    k, epsilon = checked_letters(k, "k"), checked_epsilon(epsilon)
    if k <= 3:
        return randomized_response(k, epsilon)
    most = next(q for q in itertools.count(k - 1) if prime_power(q))
    aim = min(math.exp(min(epsilon, 30.0)) + 1.0, float(most))
    q = min((q for q in range(2, most + 1) if prime_power(q)), key=lambda q: abs(q - aim))
    dimension = next(m for m in itertools.count(2) if (q**m - 1) // (q - 1) >= k)
    _check_outputs((q**dimension - 1) // (q - 1), "Projective geometry response", k)
    field = FiniteField(q)
    points = np.array(
        [
            (0,) * zeros + (1, *rest)
            for zeros in range(dimension - 1, -1, -1)
            for rest in itertools.product(range(q), repeat=dimension - zeros - 1)
        ]
    )
    product = np.zeros((k, len(points)), dtype=np.int64)
    for a, b in zip(points[:k].T, points.T, strict=True):
        product = field.plus(product, field.times(a[:, None], b[None, :]))
    return _response(product == 0, epsilon)


def block_design_response(k: int, epsilon: float) -> Channel:
    """Make the response with blocks of a design, of nearly the best size (Park, Nam and Lee 2023).

    Inputs are elements of the least finite field with q >= k, and blocks are the images of one set under all
    affine maps x -> a x + b. Every two elements are together in equally many of them, as these maps carry any
    two into any two. The set is a union of cosets of a multiplicative group of m elements, with or without 0,
    so that there are q (q - 1) / m blocks; it has the size of the least error whose blocks can be listed. At
    the uniform distribution of k = q inputs the error is that of subset selection with this size, and nearly
    so where q - k elements are no inputs (S.-Y. Park, S.-H. Nam and S.-H. Lee, Exactly optimal and
    communication-efficient private estimation via block designs, IEEE Journal on Selected Areas in
    Information Theory 5, 2024; for the orbits, T. Beth, D. Jungnickel and H. Lenz, Design Theory, 1999).

    Exactly epsilon-LDP. Arguments and errors are those of `randomized_response`, and designs of more than
    10,000 blocks are refused, too.
    """
    k, epsilon = checked_letters(k, "k"), checked_epsilon(epsilon)
    if k <= 2:
        return randomized_response(k, epsilon)
    q = next(q for q in itertools.count(k) if prime_power(q))
    # A block of d elements, with or without 0, is a union of cosets of a group of the order m.
    orders = {d: max(math.gcd(q - 1, d), math.gcd(q - 1, d - 1)) for d in range(1, q)}
    sizes = [d for d, m in orders.items() if q * (q - 1) // m <= MAX_SUBSETS]
    if not sizes:
        raise Intractable(f"Every design of {k} letters has more than {MAX_SUBSETS:,} blocks.")
    if epsilon == 0:
        return randomized_response(k, epsilon)
    d = min(sizes, key=lambda size: uniform_error(q, epsilon, size))
    field, m = FiniteField(q), orders[d]
    step = (q - 1) // m
    coset = field.powers.reshape(m, step).T  # row i: the powers i, i + step, ...
    block = coset[: d // m].ravel() if d % m == 0 else np.append(coset[: (d - 1) // m].ravel(), 0)
    images = field.times(field.powers[:step, None], block[None, :])
    inside = np.zeros((step, q, q), dtype=np.bool_)
    for mask, image in zip(inside, images, strict=True):
        np.put_along_axis(mask, field.plus(image[None, :], np.arange(q)[:, None]), True, axis=1)
    return _response(inside.reshape(-1, q)[:, :k].T, epsilon)


def listed_subset_selection(k: int, epsilon: float) -> Channel:
    """Make subset selection with the size of the least error at the uniform distribution that can be listed.

    Parameters, result and errors are those of `subset_selection`; there is a size for every k up to 10,000.
    """
    k, epsilon = checked_letters(k, "k"), checked_epsilon(epsilon)
    if k == 1 or epsilon == 0:
        return subset_selection(k, epsilon)
    sizes = [d for d in range(1, k) if math.comb(k, d) <= MAX_SUBSETS]
    return subset_selection(k, epsilon, min(sizes, key=lambda d: uniform_error(k, epsilon, d)))


#: Mechanisms of epsilon-LDP with an estimate of all frequencies, which take the numbers of inputs and nats.
LARGE_ALPHABETS: dict[str, Callable[[int, float], Channel]] = {
    "subset selection": listed_subset_selection,
    "Hadamard response": hadamard_response,
    "projective geometry response": projective_geometry_response,
    "response with a block design": block_design_response,
}


def _check_outputs(outputs: int, name: str, k: int) -> None:
    if outputs > MAX_SUBSETS:
        raise Intractable(
            f"{name} of {k} letters has {outputs:,} outputs; at most {MAX_SUBSETS:,} are listed."
        )


def _response(inside: NDArray[np.bool_], epsilon: float) -> Channel:
    """Return the channel of blocks, (inputs, blocks), equally many in each row; equal ones once."""
    blocks, number = np.unique(inside, axis=1, return_counts=True)
    Q = np.where(blocks, 1.0, math.exp(-epsilon)) * number
    return Channel(Q / Q.sum(axis=1, keepdims=True))
