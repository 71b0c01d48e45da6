r"""The best mechanisms of several people whose data are correlated, for a test of two joint distributions.

Each person i reports alone by an eps-LDP mechanism Q_i (kairouz2016, section 6)::

    maximize   D_f(M0 || M1)   over Q_1, ..., Q_n,     M_h = P_h (Q_1 x ... x Q_n).

Staircase columns suffice for each person, whatever the others do, and D_f is linear in the weights of the
columns of one person. So all but one of them may have vertices of the polytope of weights, of which there are
few, and the last one has the optimum of an f-divergence of the joint distribution of all other reports and
her own value: one linear program for each choice.

A vertex is a minimal balanced collection: sets of inputs with weights such that those with an input add up
to 1, whichever it is, and no sets to spare. There are 1, 5, 41 and 1,291 for 2 to 5 inputs (Peleg 1965, who
counts the set of all inputs as well).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.registry import LIMITS, choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.column_utility import ColumnUtility
from ldpfrontier.model.optimum import (
    NO_ERROR,
    Optimum,
    certified,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.model.utility import FDivergence, Kind
from ldpfrontier.numerics.arguments import as_distribution, check_choice
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.promises.ldp import optimal_ldp

#: Inputs of a person whose vertices are listed, and choices of vertices, with a program each.
MAX_VERTEX_INPUTS, MAX_CHOICES = 5, 2_000


@dataclass(frozen=True, eq=False)
class DistributedTest(Optimum):
    """The mechanisms of several people; `channel` is their product, inputs and outputs in row-major order.

    Attributes
    ----------
    channels : tuple of Channel
        The mechanism of each person.
    """

    channels: tuple[Channel, ...] = ()


@records_fallbacks
@keeps_time_limit
def optimal_distributed_test(
    p0: ArrayLike,
    p1: ArrayLike,
    epsilon: float,
    kind: Kind = "kl",
    *,
    tolerance: float = 1e-9,
    max_seconds: float | None = None,
) -> DistributedTest:
    """Find the eps-LDP mechanisms of several people whose reports best tell two joint distributions apart.

    Parameters
    ----------
    p0, p1 : array_like, shape (k_1, ..., k_n)
        Joint distributions of the values of n people, an axis for each, such as a table and the product of
        its marginals. All but the largest axis have at most 5 values, and that one 20.
    epsilon : float
        Privacy level of each person in nats, 0, or 0.001 to 300.
    kind : {"kl", "tv", "chi2", "hellinger"}
        The divergence D_f(M0 || M1) of all reports together.
    tolerance : float
        Relative gap at which to stop.
    max_seconds : float, optional
        Seconds after which the best mechanisms found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    DistributedTest

    Raises
    ------
    Intractable
        If there are more values, or more than 2,000 choices of vertices.
    ValueError
        If an argument is out of range, or both distributions differ in shape.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpfrontier import optimal_distributed_test
    >>> alike = 0.6 * np.eye(3) / 3 + 0.4 / 9
    >>> independent = np.full((3, 3), 1 / 9)
    >>> round(optimal_distributed_test(alike, independent, 1.0).value, 6)
    0.006798
    """
    joints = [as_distribution(p, name) for p, name in ((p0, "p0"), (p1, "p1"))]
    shape = joints[0].shape
    if joints[1].shape != shape or not shape:
        raise ValueError(
            f"p0 has the shape {shape} and p1 {joints[1].shape}; they must agree, with an axis for each"
            " person."
        )
    epsilon = checked_epsilon(epsilon)
    check_choice(kind, "kind", get_args(Kind))
    tolerance, _ = checked_effort(tolerance, 0)
    pair = FDivergence(joints[0].ravel(), joints[1].ravel(), kind)
    method = choose("people").method("products of locally differentially private mechanisms")
    last = int(np.argmax(shape))
    first = [axis for axis in range(len(shape)) if axis != last]
    if (
        max((shape[axis] for axis in first), default=0) > MAX_VERTEX_INPUTS
        or max(shape) > LIMITS.max_listed_inputs
    ):
        raise Intractable(
            f"The people have {shape} values; all but one may have at most {MAX_VERTEX_INPUTS}, of which all"
            f" vertices are listed, and one at most {LIMITS.max_listed_inputs}."
        )
    lists = [[_nothing(shape[axis])] if epsilon == 0 else vertices(shape[axis], epsilon) for axis in first]
    if (choices := math.prod(map(len, lists))) > MAX_CHOICES:
        raise Intractable(
            f"The people have {choices:,} choices of vertices; at most {MAX_CHOICES:,} are tried."
        )
    value, bound, best = -1.0, 0.0, tuple[Channel, ...]()
    for chosen in product(*lists):
        if best and time_is_up():
            bound = pair.divergence()  # nothing tells more than the values themselves
            break
        utility = _of_the_last(pair, shape, last, chosen)
        found = optimal_ldp(utility, epsilon, tolerance=tolerance)
        bound = max(bound, found.bound)
        if found.value > value:
            channels = list(chosen)
            channels.insert(last, found.channel)
            value, best = found.value, tuple(channels)
    matrix = np.ones((1, 1))
    for channel in best:
        matrix = np.asarray(np.kron(matrix, channel.matrix), dtype=np.float64)
    optimum = certified(
        Channel(matrix), value, bound, tolerance, choices, unit=pair.unit, error=NO_ERROR, method=method
    )
    return DistributedTest(**{**vars(optimum), "channels": best})


def _nothing(inputs: int) -> Channel:
    return Channel(np.ones((inputs, 1)))


def vertices(inputs: int, epsilon: float) -> list[Channel]:
    """Return the eps-LDP mechanisms of which, with others that tell less, all are made by lot."""
    if inputs == 1:
        return [_nothing(1)]
    floor = math.exp(-epsilon)
    return [
        Channel(np.where(sets, 1.0, floor) * weights / (1.0 - floor + floor * weights.sum()))
        for sets, weights in balanced_collections(inputs)
    ]


@lru_cache(maxsize=MAX_VERTEX_INPUTS)
def balanced_collections(inputs: int) -> list[tuple[FloatArray, FloatArray]]:
    """Return the minimal balanced collections of 2 to 5 inputs: sets, (inputs, m), and weights, (m,)."""
    sets = (np.arange(1, 2**inputs - 1)[:, None] >> np.arange(inputs) & 1).astype(float)
    bases = np.array(list(combinations(range(len(sets)), inputs)))
    matrices = sets[bases].transpose(0, 2, 1)
    regular = np.abs(np.linalg.det(matrices)) > 0.5  # it is a whole number
    bases, matrices = bases[regular], matrices[regular]
    weights = np.linalg.solve(matrices, np.ones((len(bases), inputs, 1)))[:, :, 0]
    found = dict[tuple[int, ...], FloatArray]()
    for basis, shares in zip(bases, weights, strict=True):
        if shares.min() > -1e-9:
            used = shares > 1e-9
            found[tuple(basis[used].tolist())] = shares[used]
    return [(sets[list(chosen)].T, shares) for chosen, shares in found.items()]


def _of_the_last(
    pair: FDivergence, shape: tuple[int, ...], last: int, chosen: tuple[Channel, ...]
) -> ColumnUtility:
    """Return the utility of the last person's columns, given the mechanisms of all others."""
    parts = []
    for measure in (pair.p1, pair.difference, pair.p0):
        # The axis in front is contracted with the next mechanism, whose outputs come last.
        left = np.moveaxis(measure.reshape(shape), last, 0)
        for channel in chosen:
            left = np.tensordot(left, channel.matrix, axes=(1, 0))
        parts.append(left.reshape(shape[last], -1))
    marginal = (parts[0] + parts[2]).sum(axis=1)

    def function(columns: FloatArray) -> FloatArray:
        z1, difference, z0 = (columns @ part for part in parts)
        occurs = z1.max(axis=0) > 0.0
        values = pair.perspective(z1[:, occurs], difference[:, occurs], z0[:, occurs])
        return np.asarray(values.sum(axis=1))

    return ColumnUtility(marginal / marginal.sum(), function, unit=pair.unit)
