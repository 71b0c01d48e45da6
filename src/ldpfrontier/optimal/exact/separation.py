"""Cones of columns private under an uncertainty set, by their inequalities; linear programs over these.

A column v is allowed if ::

    R_s . v_s <= e^eps R_s' . v_s'

for all conditionals (R_s, R_s') that count: for s != s' those that some P in F has (``oracle="exact"``; the
budget identity in `ldpfrontier.uncertainty.renyi_ball` says which these are), or all of the two
projections of F
(``oracle="projections"``, a smaller cone). Of these infinitely many inequalities an oracle gives the most
violated ones; those seen so far make a polyhedron around the cone.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.numerics.dual_simplex import Pool, maximize
from ldpfrontier.optimal.exact.fast_separation import rough_cuts
from ldpfrontier.privacy import log_ratio
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.worst_case import falling

Conditionals = Literal["exact", "projections"]
Pairs = Literal["all", "distinct"]

#: Columns are pulled to this far (nats) below epsilon, so that rounding does not lift them above it.
SAFE = 2e-12

#: Inequalities known, and at work in a linear program, before unused ones are forgotten.
POOL, WORKING = 5_000, 192

#: Ends of the angles between which splits of the budget are searched. Accuracy of an angle: in general; below
#: order 1, where a group that may be anything from some share on makes a kink.
END, CLOSE, KINK = 1e-6, 1e-8, 1e-12


@dataclass(frozen=True, eq=False)
class Oracle:
    """The inequalities of a cone, found by their violation.

    Attributes
    ----------
    ball : RenyiBall
    epsilon : float
        Level e^epsilon of the inequalities, in nats.
    oracle : {"exact", "projections"}
        Whether two sensitive values share the budget or each has all of it.
    pairs : {"all", "distinct"}
        Whether a sensitive value is also compared with itself, both sides at full budget.
    """

    ball: RenyiBall
    epsilon: float
    oracle: Conditionals = "exact"
    pairs: Pairs = "distinct"

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        a1 = range(len(self.ball.centre))
        chosen = [(s, t) for s, t in itertools.product(a1, a1) if s != t or self.pairs == "all"]
        return tuple(np.array(chosen, dtype=np.intp).reshape(-1, 2).T)  # type: ignore[return-value]

    def worst(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Find the most violated inequality of every column and pair of sensitive values.

        Parameters
        ----------
        columns : ndarray, shape (m, a1 a2)

        Returns
        -------
        levels : ndarray, shape (m, pairs)
            Largest log R_s . v_s - log R_s' . v_s', in nats.
        cuts : ndarray, shape (m, pairs, a1 a2)
            a with a . v <= 0 on the cone.
        """
        a1, a2 = self.ball.centre.shape
        m = len(columns)
        s, t = self._pairs
        blocks = columns.reshape(m, a1, a2)
        q1, q2 = blocks[:, s].reshape(-1, a2), blocks[:, t].reshape(-1, a2)
        rows_s, rows_t = np.tile(s, m), np.tile(t, m)
        high, low, top, bottom = self._best_split(rows_s, rows_t, q1, q2)
        cuts = np.zeros((len(q1), a1, a2))
        every = np.arange(len(q1))
        cuts[every, rows_s] = top
        cuts[every, rows_t] -= math.exp(self.epsilon) * bottom
        return log_ratio(high, low).reshape(m, -1), cuts.reshape(m, len(s), a1 * a2)

    def rough_cuts(self, columns: FloatArray) -> FloatArray:
        """Find nearly worst inequalities at little cost: the cuts of `worst`."""
        ball = self.ball
        a1, a2 = ball.centre.shape
        s, t = self._pairs
        cuts = rough_cuts(
            columns.reshape(-1, a1, a2),
            self._pairs,
            (s != t) & (self.oracle == "exact"),
            ball.conditionals,
            ball.sensitive,
            ball.radius,
            ball.order,
            math.exp(self.epsilon),
        )
        return np.asarray(cuts.reshape(-1, len(s), a1 * a2))

    def _best_split(
        self, s: NDArray[np.intp], t: NDArray[np.intp], q1: FloatArray, q2: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Largest R_s . q1 and least R_t . q2 at the split of the budget with the largest ratio; R_s, R_t.

        At the share sin^2 of group s and cos^2 of group t the log ratio has the derivative
        c1 cos - c2 sin, where c1 and c2 hardly depend on the angle if the budget is small: the root of
        atan(c1 / c2) - angle is found by secants in a bracket (quasi-concave: `worst_case_epsilon`).
        """
        # Below order 1/2 several local maxima are not excluded.
        grid = np.linspace(0.0, math.pi / 2, 17 if self.ball.order < 0.5 else 3)
        splits = [self._split(s, t, q1, q2, np.full(len(s), x)) for x in grid]
        peak = np.argmax([log_ratio(high, low) for high, low, *_ in splits], axis=0)
        every = np.arange(len(s))
        high, low, top, bottom = (np.array(part)[peak, every] for part in list(zip(*splits, strict=True))[:4])
        start = np.clip(peak, 1, len(grid) - 2)
        push = np.array([split[4] for split in splits])[start, every]
        angle, before = grid[start], grid[start]
        lo, hi = np.maximum(grid[start - 1], END), np.minimum(grid[start + 1], math.pi / 2 - END)
        rows = np.flatnonzero(push)
        pushed, target = push.copy(), angle + push
        close = CLOSE if self.ball.order >= 1 else KINK
        for step in range(100):
            x = angle[rows]
            new = np.clip(target[rows], lo[rows], hi[rows])
            lo[rows] = np.where(push[rows] > 0, x, lo[rows])
            hi[rows] = np.where(push[rows] > 0, hi[rows], x)
            outside = (target[rows] <= lo[rows]) & (lo[rows] == x) | (target[rows] >= hi[rows]) & (
                hi[rows] == x
            )
            # A kink defeats secants, hence some halves in the long run.
            new = np.where(outside | (step > 8 and step % 2 == 0), 0.5 * (lo[rows] + hi[rows]), new)
            moving = np.abs(new - x) > close
            rows, new = rows[moving], new[moving]
            if rows.size == 0:
                break
            before[rows], pushed[rows], angle[rows] = angle[rows], push[rows], new
            found = self._split(s[rows], t[rows], q1[rows], q2[rows], new)
            better = log_ratio(found[0], found[1]) >= log_ratio(high[rows], low[rows])
            for kept, value in zip((high, low, top, bottom), found, strict=False):
                kept[rows[better]] = value[better]
            push[rows] = found[4]
            change = push[rows] - pushed[rows]
            secant = -push[rows] * (new - before[rows]) / np.where(change < 0, change, -np.inf)
            target[rows] = new + np.where(change < 0, secant, push[rows])
        return high, low, top, bottom

    def _split(
        self, s: NDArray[np.intp], t: NDArray[np.intp], q1: FloatArray, q2: FloatArray, angle: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """As `_best_split`, at one angle, and atan(c1 / c2) - angle, the way to a better one."""
        ball, alone = self.ball, (s == t) | (self.oracle == "projections")
        x = np.where(alone, 1.0, np.sin(angle) ** 2)
        y = np.where(alone, 1.0, np.where(angle < math.pi / 2, 1.0 - x, 0.0))
        high, top, c1 = self._extremes(s, -q1, ball.radius_at(x, ball.sensitive[s]), np.sin(angle))
        low, bottom, c2 = self._extremes(t, q2, ball.radius_at(y, ball.sensitive[t]), np.cos(angle))
        with np.errstate(divide="ignore", invalid="ignore"):
            c1, c2 = np.nan_to_num(c1 / -high), np.nan_to_num(c2 / low)
        push = np.where(~alone & (c1 + c2 > 0), np.arctan2(c1, c2) - angle, 0.0)
        return -high, low, top, bottom, push

    def _extremes(
        self, s: NDArray[np.intp], q: FloatArray, B: FloatArray, root: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Least R . q within radius B, its R, and half of minus its derivative in the root of the share."""
        value, R, falls = falling(self.ball, s, q, B)
        return value, R, falls * root

    def levels(self, columns: FloatArray) -> FloatArray:
        """Realized levels of columns, nats, shape (m,)."""
        return np.asarray(self.worst(columns)[0].max(axis=1, initial=0.0))

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mix columns with the constant one, no more than needed for the level epsilon.

        Newton's method from outside: the weight is that of the most violated inequality.

        Returns
        -------
        columns : ndarray, shape (m, inputs)
        cuts : ndarray, shape (any, inputs)
            The inequalities met on the way.
        """
        inside, cuts = columns.copy(), []
        rows = np.arange(len(columns))
        for step in range(60):
            # Levels over a tiny set are noisy: a wider margin, should the usual one not do.
            margin = SAFE * 2.0 ** max(step - 8, 0)
            slack = -math.expm1(self.epsilon - margin)
            levels, found = self.worst(inside[rows])
            over = levels > self.epsilon - 0.5 * SAFE
            cuts.append(found[over])
            bad = over.any(axis=1)
            rows, levels, found = rows[bad], levels[bad], found[bad]
            if rows.size == 0:
                return inside, np.concatenate(cuts)
            v = inside[rows]
            # a . v at the level epsilon - margin: the negative part of a belongs to the smaller side.
            excess = np.einsum("mpx,mx->mp", np.where(found > 0, found, found * math.exp(-margin)), v)
            excess = np.maximum(excess.max(axis=1, keepdims=True), 0.0)
            weight = excess / (excess - slack)
            inside[rows] = (1.0 - weight) * v + weight
        inside[rows] = 1.0
        return inside, np.concatenate(cuts)


def column_levels(
    ball: RenyiBall, columns: ArrayLike, *, oracle: Conditionals = "exact", pairs: Pairs = "distinct"
) -> FloatArray:
    """Realized level of every column over F: sup of log R_s . v_s - log R_s' . v_s', in nats.

    Parameters
    ----------
    ball : RenyiBall
    columns : array_like, shape (m, a1 a2)
        Columns of a channel whose inputs are the pairs (s, u) in row-major order, scaled in any way.
    oracle, pairs
        As for `joint_optimum`.

    Returns
    -------
    ndarray, shape (m,)

    Raises
    ------
    ValueError
        If the columns have another size or a negative entry.
    """
    vectors = np.atleast_2d(np.asarray(columns, dtype=np.float64))
    if vectors.shape[1:] != (ball.centre.size,):
        raise ValueError(f"The columns have shape {vectors.shape}; it must be (m, {ball.centre.size}).")
    if not (vectors >= 0).all():
        raise ValueError("The columns have an entry that is not a number of 0 or more.")
    return Oracle(ball, 0.0, oracle, pairs).levels(vectors)


@dataclass(eq=False)
class Relaxation:
    """Linear programs over {v : scale . v = 1, a . v <= 0 for all inequalities a known so far}.

    Attributes
    ----------
    scale : ndarray, shape (n,)
    slack : float
        Violations up to this are ignored.
    working : int
        Inequalities that every step of a program looks at, more than n.
    """

    scale: FloatArray
    slack: float = 0.0
    working: int = WORKING
    _pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.scale)
        self._pool = Pool(
            self.scale,
            np.zeros((n, 0)),
            np.zeros(0, dtype=np.int64),
            np.zeros(self.working, dtype=np.int64),
            np.zeros((n, self.working)),
            np.zeros(self.working),
            np.zeros(3, dtype=np.int64),
        )

    @property
    def solved(self) -> int:
        """How often `maximize` was called."""
        return int(self._pool.counts[2])

    @property
    def pool(self) -> FloatArray:
        """All inequalities, the largest coefficient of each 1, shape (cuts, n)."""
        return self._pool.rows[:, : self._pool.counts[0]].T

    def add(self, cuts: FloatArray) -> None:
        """Add inequalities a . v <= 0 to the pool, which forgets those that were not needed for long."""
        pool, count = self._pool, self._pool.counts[0]
        if count > POOL:
            kept = np.argsort(-pool.needed[:count], kind="stable")[: POOL // 2]
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
        """As `dual_simplex.maximize`; None if there is no such v."""
        found = maximize(self._pool, cost, lo, hi, self.slack, enough)
        return None if found[0] == -math.inf else found
