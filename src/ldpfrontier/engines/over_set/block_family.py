r"""The blocks of a dual bound along delta: convex bodies whose bounds are linear in one parameter t.

With b = e^-delta from 1 to e^-eps, the columns of distinct pairs with special value s0 are products of ::

    {1 <= B(w), A(w) <= b e^eps} for s != s0,      {b <= B(w), A(w) <= e^eps} for s0,

A and B the largest and the least mean of w over the projection of s (`products.geometry.ball_body`). With
b = 1 - t (1 - e^-eps), the bounds of A and B are linear in t from 0 to 1. All pairs are the one product at
t = 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.over_set.ball_family import BallFamily
from ldpfrontier.engines.products.geometry.ball_body import Body

#: The values of a function that is linear in t at t = 0 and at t = 1.
Linear = tuple[float, float]


class BlockLabel(NamedTuple):
    """A sensitive value, and whether it is special: a block for all t."""

    s: int
    special: bool


class BlockPoints(NamedTuple):
    """Points of a block, m of them, and the slopes of the affine bounds that they were compared with."""

    t: FloatArray  # (m,)
    w: FloatArray  # (m, letters)
    lam: FloatArray  # (m,)

    def joined(self, other: BlockPoints) -> BlockPoints:
        """Return the points of both."""
        return BlockPoints(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def mean_bounds(epsilon: float, special: bool, knots: int = 2) -> tuple[Linear, Linear]:
    """Return the upper bound of A and the lower bound of B; with one knot, those of t = 0 for all t."""
    top, bottom = math.exp(epsilon), math.exp(-epsilon)
    if knots == 1:
        return (top, top), (1.0, 1.0)
    return ((top, top), (1.0, bottom)) if special else ((top, 1.0), (1.0, 1.0))


def interpolate(ends: Linear, t: FloatArray) -> FloatArray:
    """Return the values at t of a function that is linear in t."""
    return np.asarray(ends[0] + t * (ends[1] - ends[0]))


def body_between(family: BallFamily, s: int, top: float, bottom: float) -> Body:
    """Return the block {bottom <= B(w), A(w) <= top} of a sensitive value, with its listed vertices."""
    ball, base = family.ball, family.body(s)
    ratio = max(math.log(top / bottom), 0.0)
    return Body(ball.conditionals[s], base.radius, ball.order, ball.centre[s], ratio, bottom)
