r"""A pool of cuts of a convex cone, and the linear programs over it.

The cone C = {v : a . v <= 0 for all a of an infinite family} is known by the cuts a that its separation
oracle has returned so far. The programs are ::

    maximize cost . v   subject to   scale . v = 1,  lo <= v <= hi,  a . v <= 0 for all a of the pool,

a relaxation of the same one over C (Kelley's cutting planes). Cuts that no program needed for long are
forgotten, which leaves every bound valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.engines.joint.settings import SETTINGS
from ldpfrontier.model.cones import Cone
from ldpfrontier.numerics.dual_simplex import Pool, Space, maximize


@dataclass(eq=False)
class CutPool:
    """Linear programs over {v : scale . v = 1, a . v <= 0 for all cuts a in the pool}."""

    scale: FloatArray  # (n,)
    slack: float = 0.0  # violations up to this are ignored
    # Cuts at work in a linear program before unused ones are left out: every step looks at all of them.
    working: int = 192
    permanent: int = 0  # first cuts of the pool that are never forgotten
    kept: int = SETTINGS.max_cuts[0]  # most cuts in the pool before unused ones are forgotten
    _pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.scale)
        self._pool = Pool(
            self.scale.copy(),  # one that cannot be written would compile another kernel
            np.zeros((n, 0)),
            np.zeros(0, dtype=np.int64),
            np.zeros(self.working, dtype=np.int64),
            np.zeros((n, self.working)),
            np.zeros(self.working),
            np.zeros(3, dtype=np.int64),
            Space.of(n),
        )

    @property
    def solved(self) -> int:
        """The number of calls of `maximize`."""
        return int(self._pool.counts[2])

    @property
    def cuts(self) -> FloatArray:
        """All cuts, the largest coefficient of each 1, shape (cuts, n)."""
        return self._pool.rows[:, : self._pool.counts[0]].T

    @property
    def used(self) -> IntArray:
        """The numbers of the cuts that the last program used, and of some that it looked at."""
        return np.flatnonzero(self._pool.needed[: self._pool.counts[0]] == self.solved)

    def add(self, cuts: FloatArray) -> None:
        """Add cuts a . v <= 0, shape (cuts, n), and forget those not needed for long if there are many."""
        pool, count = self._pool, self._pool.counts[0]
        if count > self.kept:
            needed = pool.needed[:count].copy()
            needed[: self.permanent] = np.iinfo(np.int64).max
            kept = np.argsort(-needed, kind="stable")[: max(self.kept // 2, self.permanent)]
            count = pool.counts[0] = len(kept)
            pool.rows[:, :count], pool.needed[:count] = pool.rows[:, kept], pool.needed[kept]
            pool.counts[1] = working = min(count, self.working // 2)
            pool.working[:working] = np.arange(working)
            pool.copied[:, :working] = pool.rows[:, :working]
        if (total := count + len(cuts)) > len(pool.needed):
            room = ((0, 2 * total - len(pool.needed)),)
            self._pool = pool = pool._replace(
                rows=np.pad(pool.rows, ((0, 0), *room)),
                needed=np.pad(pool.needed, room),
            )
        pool.rows[:, count:total] = (cuts / np.abs(cuts).max(axis=1, keepdims=True)).T
        pool.needed[count:total] = self.solved
        pool.counts[0] = total

    def maximize(
        self, cost: FloatArray, lo: FloatArray, hi: FloatArray, enough: float = -math.inf
    ) -> tuple[float, FloatArray, FloatArray] | None:
        """Return bound, solution and reduced costs as `dual_simplex.maximize`; None if there is no such v."""
        found = maximize(self._pool, cost, lo, hi, self.slack, enough)
        return None if found[0] == -math.inf else found


class Box(NamedTuple):
    """The points in a box, lo <= v <= hi: a node of branch and bound, ordered by falling bounds."""

    negative_bound: float
    number: int  # in order of creation
    v: FloatArray  # where the bound is attained
    lo: FloatArray
    hi: FloatArray
    cuts: int = 0  # how often it was bounded again with new cuts

    def halves(self, x: int) -> list[tuple[FloatArray, FloatArray]]:
        """Return the ends of the parts below and above entry x of v: near it, of a quarter at least."""
        below, above = self.hi.copy(), self.lo.copy()
        # Secants are exact at the ends of boxes.
        below[x] = above[x] = 0.5 * self.v[x] + 0.25 * (self.lo[x] + self.hi[x])
        return [(self.lo, below), (above, self.hi)]


def violations(cone: Cone, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return cuts of columns, (m, any, n), and the weight of the constant column that each asks for."""
    cuts = cone.separate(columns)
    excess = np.maximum(np.einsum("mkx,mx->mk", cuts, columns), 0.0)
    slack = np.maximum(cone.constant_slack(cuts), 0.0)
    return cuts, excess / (excess + slack + 1e-300)  # 0 where both are 0


def cut_down(
    lo: FloatArray, hi: FloatArray, reduced: FloatArray, above: float
) -> tuple[FloatArray, FloatArray]:
    """Return the part of a box where values may be `above` less than the bound of a program at most.

    The reduced costs, (n,), are those of the bound, as `CutPool.maximize` returns them.
    """
    # Moving a variable from its end costs its reduced cost: beyond `reach` the bound is below the threshold.
    with np.errstate(divide="ignore"):
        reach = above / np.abs(reduced)
    return (
        np.where(reduced > 0, np.maximum(lo, hi - reach), lo),
        np.where(reduced < 0, np.minimum(hi, lo + reach), hi),
    )
