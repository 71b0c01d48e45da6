r"""A bound on the excess of the columns of a cone that is known by its cuts, by spatial branch and bound.

At prices lam and a matrix W, |W v|^2 - lam . v is to be maximized over the columns v of the cone with
p . v = 1. This is convex, and not separable in the entries of v. It is separable up to a concave part in the
values f_k . v of some forms: the entries, and a few eigenvectors of W'W where they are much larger than the
rest, such as the one that tells a sensitive value from another. With weights d_k >= 0 and a vector c::

    |W v|^2 = sum_k d_k (f_k . v)^2 - v' N v + (c . v)(p . v),    N positive semidefinite.

On a box of the values of the forms, each square is at most its secant, and v' N v is at least each of its
tangents, so that a linear program bounds the excess. The box with the largest bound is split where the secant
is farthest off. The weights are those with the least sum_k d_k r_k^2, for the ranges r_k of the forms, a
semidefinite program that the barrier method solves.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.designs.column_weights import Prices
from ldpfrontier.engines.designs.quadratic_utility import QuadraticUtility
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.joint.cut_pool import Box, CutPool, cut_down, violations
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.rounding import gamma

#: Nodes that are taken together; each is one or two boxes. Chosen, not tuned.
_AT_ONCE = 16


class Separable(NamedTuple):
    """|W v|^2 as weighted squares of forms, without a concave part."""

    forms: FloatArray  # (m, inputs), the entries first
    weights: FloatArray  # (m,)
    N: FloatArray  # (inputs, inputs), positive semidefinite up to rounding
    c: FloatArray  # (inputs,)
    #: How far |W v|^2 may be above the formula of this module, as a multiple of sum_x p_x v_x^2.
    error: float


def separable(W: FloatArray, p: FloatArray, forms: FloatArray, ranges: FloatArray) -> Separable:
    """Return |W v|^2 as weighted squares of forms, (m, inputs), whose values have these ranges, (m,)."""
    n, units, ones = p.size, np.sqrt(p), np.ones(p.size)
    G = W.T @ W
    across = np.linalg.svd(units[None])[2][1:]  # the directions orthogonal to p, in units of columns
    f, H = (forms / units) @ across.T, across @ (G / np.outer(units, units)) @ across.T
    weights = least_weights(f, H, ranges**2)
    N = (across.T @ ((f.T * weights) @ f - H) @ across) * np.outer(units, units)
    rest = G - (forms.T * weights) @ forms + N  # (p c' + c p') / 2
    sums = rest @ ones
    c = 2.0 * sums - p * sums.sum()
    lost = np.abs(rest - 0.5 * (np.outer(p, c) + np.outer(c, p)))
    sizes = np.abs(W).T @ np.abs(W) + (np.abs(forms).T * weights) @ np.abs(forms) + np.abs(N)
    lost += gamma(4 * (n + len(W) + len(forms)) + 64) * (sizes + 0.5 * np.abs(np.outer(p, c)))
    scaled = 0.5 * (N + N.T) / np.outer(units, units)
    negative = max(-float(np.linalg.eigvalsh(scaled)[0]), 0.0) + gamma(16 * n) * float(np.linalg.norm(scaled))
    error = float(np.linalg.norm(lost / np.outer(units, units))) + negative
    return Separable(forms, weights, 0.5 * (N + N.T), c, error)


def least_weights(f: FloatArray, H: FloatArray, costs: FloatArray) -> FloatArray:
    """Return weights d >= 0 with sum_k d_k f_k f_k' - H semidefinite and about the least costs . d.

    A barrier method with Newton steps: costs . d - tau (log det(sum_k d_k f_k f_k' - H) + sum_k log d_k). The
    rows of f, (m, r), span all r dimensions, H is positive semidefinite, and the costs, (m,), are positive.
    """
    m, r = f.shape

    def barrier(d: FloatArray, tau: float) -> float:
        try:
            root = np.linalg.cholesky((f.T * d) @ f - H)
        except np.linalg.LinAlgError:
            return np.inf
        return float(costs @ d - tau * (2.0 * np.log(np.diag(root)).sum() + np.log(d).sum()))

    d = 1.0 / costs
    root = np.linalg.inv(np.linalg.cholesky((f.T * d) @ f))
    d *= 1.5 * float(np.linalg.eigvalsh(root @ H @ root.T)[-1])
    tau = float(costs @ d) / (m + r)
    # Gap of the weights of squares, whose secants bound the excess: with any weights they do, less closely.
    while tau * (m + r) > 1e-3 * float(costs @ d):
        for _ in range(GENERATION.max_interior_steps):
            products = f @ np.linalg.solve((f.T * d) @ f - H, f.T)
            gradient = costs - tau * np.diag(products) - tau / d
            step = -np.linalg.solve(tau * (products * products.T + np.diag(1.0 / d**2)), gradient)
            gain, length, before = -float(gradient @ step), 1.0, barrier(d, tau)
            if (step < 0).any():
                length = min(1.0, SETTINGS.boundary * float((d[step < 0] / -step[step < 0]).min()))
            while length > 1e-10 and not barrier(d + length * step, tau) <= before - 0.1 * length * gain:
                length *= 0.5
            if length <= 1e-10:
                break
            d = d + length * step
            if gain <= SETTINGS.relaxation_centre * tau:
                break
        tau *= SETTINGS.relaxation_fall
    return d


@dataclass(eq=False)
class ExcessBound:
    """The largest excess of the columns of a cone at some prices, from above and from below.

    The points of boxes are (the entries of v, the values of the other forms, v' N v).
    """

    family: JointColumns  # the cone, with cuts; columns that are found are searched for in it
    prices: Prices
    target: float  # no bound below it is looked for
    known: FloatArray  # (m, inputs): columns near which v' N v should be exact
    best: float = 0.0  # the largest excess of the columns found
    #: Columns of the cone, (any, inputs), with an excess above the target, or found from such ones.
    found: list[FloatArray] = field(default_factory=list, init=False)
    nodes: int = field(default=1, init=False)  # how many there were
    _last_found: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        family, n = self.family, self.prices.lam.size
        self._utility = QuadraticUtility(family.scale, self.prices.W)
        self._count = itertools.count()
        self._choose_forms()
        _, weights, _, c, error = self._parts
        self._curvature = np.append(weights, 0.0)
        m = len(weights)
        self._lo = np.concatenate([np.zeros(n), self._ends[n:, 0], [0.0]])
        N, top = np.abs(self._parts.N), family.top
        self._hi = np.concatenate([top, self._ends[n:, 1], [2.0 * float(top @ N @ top) + 1e-300]])
        # sum_x p_x v_x^2 is at most the largest entry; costs of entries are sums that are rounded.
        linear = np.abs(c) + np.abs(self.prices.lam)
        self._error = error * float(top.max()) + gamma(16) * float(linear @ top)
        fixed = np.hstack([self._parts.forms[n:], -np.eye(m - n), np.zeros((m - n, 1))])
        permanent = np.vstack([fixed, -fixed, self._lifted(family.cone.inequalities)])
        self.pool = CutPool(np.append(family.scale, np.zeros(m - n + 1)), permanent=len(permanent))
        self.pool.add(permanent)
        self.pool.add(self._lifted(family.pool.cuts))
        self._add_tangents(self.known)

    def _range(self, form: FloatArray) -> tuple[float, float]:
        """Return the least and the largest value of a form over the columns, from outside."""
        pool, low = self.family.pool, np.zeros(form.size)
        ends = [pool.maximize(sign * form, low, self.family.top) for sign in (-1.0, 1.0)]
        least, most = (float("inf") if end is None else end[0] for end in ends)
        return -least, most

    def _choose_forms(self) -> None:
        """Choose the forms: entries, and eigenvectors as long as each makes secants much closer."""
        p, W = self.family.scale, self.prices.W
        n, units = p.size, np.sqrt(p)
        across = np.eye(n) - np.outer(units, units)
        _, vectors = np.linalg.eigh(across @ (W.T @ W / np.outer(units, units)) @ across)
        forms, least = np.eye(n), np.inf
        ends = np.column_stack([np.zeros(n), self.family.top])
        for k in range(n - 1, 0, -1):
            ranges = ends[:, 1] - ends[:, 0]
            parts = separable(W, p, forms, ranges)
            total = float(parts.weights @ ranges**2)
            if total > 0.8 * least:  # one more form makes every program larger
                break
            self._parts, self._ends, least = parts, ends, total
            form = vectors[:, k] * units
            forms, ends = np.vstack([forms, form]), np.vstack([ends, self._range(form)])

    def _lifted(self, cuts: FloatArray) -> FloatArray:
        """Return cuts on v, (m, inputs), as cuts on z."""
        lifted = np.zeros((len(cuts), len(self._curvature)))
        lifted[:, : cuts.shape[1]] = cuts
        return lifted

    def _add_tangents(self, columns: FloatArray) -> None:
        """Let v' N v be at least its tangents at columns, (m, inputs)."""
        N, p = self._parts.N, self.family.scale
        slopes, sizes = 2.0 * columns @ N, 2.0 * np.abs(columns) @ np.abs(N)
        values = 0.5 * (slopes * columns).sum(axis=1, keepdims=True)
        most = 0.5 * (sizes * np.abs(columns)).sum(axis=1, keepdims=True)
        cuts = slopes - values * p - gamma(4 * p.size + 16) * (sizes + most * p)
        rest = np.zeros((len(cuts), len(self._curvature) - p.size))
        rest[:, -1] = -1.0
        self.pool.add(np.hstack([cuts, rest]))

    def bound(self, max_nodes: int) -> float:
        """Return a bound on the excess, after at most so many nodes."""
        n, N = self.prices.lam.size, self._parts.N
        root = self._bounded(self._lo, self._hi)
        heap = [] if root is None else [root]
        while heap and -heap[0].negative_bound > self._cutoff():
            if self.nodes >= max_nodes or time_is_up():
                break
            # Nodes of branch and bound after the last column found, where it is too good for a bound.
            if self.best > 1.1 * self.target and self.nodes > self._last_found + 300:
                break  # nothing that helps will be proved at these prices
            if self.nodes > max_nodes / 4 and -heap[0].negative_bound > 8.0 * self._cutoff():
                break  # too far away for the other nodes
            # Several at a time: cuts are then looked for at once, which takes little longer than for one.
            batch = list[Box]()
            while heap and len(batch) < _AT_ONCE and -heap[0].negative_bound > self._cutoff():
                batch.append(heapq.heappop(heap))
            v = np.array([box.v[:n] for box in batch])
            outside = self._add_violated(v)
            below = ((v @ N) * v).sum(axis=1) - np.array([box.v[-1] for box in batch])
            # Error of a tangent, as a share of the excess that counts as none, above which there is one more.
            loose = below > 1e-2 * self.target
            if loose.any():
                self._add_tangents(v[loose])
            cut = outside | loose
            parts = [part for box, own in zip(batch, cut, strict=True) for part in self._split(box, own)]
            for lo, hi, cuts in parts:
                bounded = self._bounded(lo, hi, cuts)
                if bounded is not None:
                    heapq.heappush(heap, bounded)
            self.nodes += len(parts)
        return max(self._cutoff(), -heap[0].negative_bound) if heap else self._cutoff()

    def _split(self, box: Box, cut: bool) -> list[tuple[FloatArray, FloatArray, int]]:
        """Return the parts of a box, with 0; or the box, if new cuts help more, with how often they did."""
        gaps = self._curvature * (box.v - box.lo) * (box.hi - box.v)
        small = gaps.sum() < 0.5 * (-box.negative_bound - self._cutoff())
        # Times that cuts are tried before a box is split.
        if cut and small and box.cuts < 20:
            return [(box.lo, box.hi, box.cuts + 1)]
        return [(lo, hi, 0) for lo, hi in box.halves(int(gaps.argmax()))]

    def _cutoff(self) -> float:
        """Return the bound below which nodes are not looked at."""
        return self.target if self.best <= self.target else self.best + 0.1 * self.target

    def _add_violated(self, v: FloatArray) -> NDArray[np.bool_]:
        """Add the cuts that columns, (m, inputs), violate, and what they are inside; tell where any are."""
        family, lam = self.family, self.prices.lam
        cuts, shares = violations(family.cone, v)
        violated = shares > 1e-6  # what a cut must ask for
        self.pool.add(self._lifted(cuts[violated]))
        share = shares.max(axis=1, initial=0.0)[:, None]
        inside = self._utility.columns(family.cone.raised((1.0 - share) * v + share)).vectors
        own = self.prices.excess(inside)
        if own.max() > self.target:  # rarely: cuts found at little cost are not always the most violated ones
            inside, met = family.cone.pull(inside[own > self.target])
            inside = self._utility.columns(inside).vectors
            self.pool.add(self._lifted(met))
            own = self.prices.excess(inside)
            self.found.append(inside)
        if own.max() > self.best + 0.1 * self.target:
            columns = family.search(lam, inside[own.argmax()][None]).vectors
            self.pool.add(self._lifted(family.cone.separate(columns).reshape(-1, v.shape[1])))
            self.found.append(columns)
            self.best = max(self.best, float(self.prices.excess(columns).max()))
            self._last_found = self.nodes
        return np.asarray(violated.any(axis=1))

    def _bounded(self, lo: FloatArray, hi: FloatArray, cuts: int = 0) -> Box | None:
        """Return a box, cut down to where the excess may be above the cutoff; None if nowhere."""
        n, curvature = self.prices.lam.size, self._curvature
        enough = self._cutoff()
        costs = curvature * (lo + hi)
        ends = -curvature * lo * hi
        sizes = curvature * np.maximum(np.abs(lo), np.abs(hi)) ** 2
        constant = float(ends.sum()) + self._error + gamma(4 * len(lo)) * float(sizes.sum())
        costs[:n] += self._parts.c - self.prices.lam
        costs[-1] = -1.0
        found = self.pool.maximize(costs, lo, hi, enough - constant)
        if found is None or (bound := found[0] + constant) <= enough:
            return None
        _, z, reduced = found
        lo, hi = cut_down(lo, hi, reduced, bound - enough)
        return Box(-bound, next(self._count), np.clip(z, lo, hi), lo, hi, cuts)
