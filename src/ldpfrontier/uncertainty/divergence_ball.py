r"""Balls {P : D_f(P || centre) <= radius} of total variation and chi-squared, and least means over classes.

A class is closed, convex, and known by the least mean of a vector q over its members, and a member that
attains it:

- over the hull of some distributions it is the least of their means;
- in total variation, mass up to the radius moves from the largest q to the least;
- of chi-squared, sum_x (P_x - c_x)^2 / c_x, members with the least mean are c_x (1 - t (q_x - m)) / c(S) on a
  set S of the least q, with c(S) the mass of S, m the mean of q given S, and V its variance given S; the
  radius is met at t^2 = (c(S) (1 + radius) - 1) / V;
- a `RenyiBall` has D_order(centre || P) <= radius, centre first (`uncertainty.divergence`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.arguments import as_distribution, as_number, as_numbers, check_choice
from ldpfrontier.uncertainty.divergence import minimizers
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

BallKind = Literal["tv", "chi2"]


@dataclass(frozen=True, eq=False)
class DivergenceBall:
    """The distributions within a total variation or chi-squared divergence of a centre.

    Parameters
    ----------
    centre : array_like, shape (k,)
        A distribution.
    radius : float
        0 or more: the largest ``sum_x |P_x - c_x| / 2``, or ``sum_x (P_x - c_x)^2 / c_x``.
    kind : {"tv", "chi2"}

    Raises
    ------
    ValueError
        If the centre is not a distribution, the radius is negative, or the kind is unknown.
    """

    centre: FloatArray
    radius: float
    kind: BallKind = "tv"

    def __post_init__(self) -> None:
        centre = as_distribution(self.centre, "The centre of the ball").ravel()
        object.__setattr__(self, "centre", centre / centre.sum())
        radius = as_number(self.radius, "The radius of the ball", "a finite number, 0 or more", least=0.0)
        object.__setattr__(self, "radius", radius)
        check_choice(self.kind, "kind", get_args(BallKind))

    def least_member(self, q: FloatArray) -> FloatArray:
        """Return a member with the least mean of q, shape (k,)."""
        return self._moved(q) if self.kind == "tv" else self._tilted(q)

    def _moved(self, q: FloatArray) -> FloatArray:
        moved, left = self.centre.copy(), self.radius
        least = int(q.argmin())
        for x in np.argsort(-q, kind="stable"):
            if x != least:
                share = min(left, moved[x])
                moved[x] -= share
                left -= share
        moved[least] = max(1.0 - math.fsum(np.delete(moved, least)), 0.0)
        return moved

    def _tilted(self, q: FloatArray) -> FloatArray:
        # Differences keep their digits where q is nearly the same throughout.
        z = (q - q.min()) / max(float(np.ptp(q)), 1e-300)
        order = np.argsort(z, kind="stable")
        order = order[self.centre[order] > 0.0]
        best = self.centre.copy()
        for size in range(order.size, 0, -1):
            inside = order[:size]
            mass = float(self.centre[inside].sum())
            # With all of the alphabet the mass is 1 but for rounding.
            spare = self.radius if size == order.size else mass * (1.0 + self.radius) - 1.0
            if spare < 0.0:
                break
            given = self.centre[inside] / mass
            apart = z[inside] - given @ z[inside]
            variance = float(given @ apart**2)
            tilt = math.sqrt(spare / variance) if variance > 0.0 else 0.0
            member = given * (1.0 - tilt * apart)
            best = np.zeros(q.size)
            best[inside] = np.maximum(member, 0.0)
            if member.min() >= 0.0:
                break
        best /= best.sum()
        known = self.centre > 0.0
        reached = float(((best - self.centre)[known] ** 2 / self.centre[known]).sum())
        if reached > self.radius:  # by rounding
            best = self.centre + math.sqrt(self.radius / reached) * (best - self.centre)
        return np.asarray(best)


#: A class of distributions: a ball, or the hull of the rows of an array.
DistributionClass = DivergenceBall | RenyiBall | FloatArray


def as_class(given: ArrayLike | DivergenceBall | RenyiBall, name: str) -> DistributionClass:
    """Return a class of distributions; an array is one distribution, or some whose hull is meant."""
    if isinstance(given, (DivergenceBall, RenyiBall)):
        return given
    rows = as_numbers(given, name)
    if rows.ndim not in (1, 2) or rows.size == 0:
        raise ValueError(
            f"{name} has shape {rows.shape}; it must be a ball, a distribution (k,), or some of them (m, k)."
        )
    members = np.array([as_distribution(row, name) for row in np.atleast_2d(rows)])
    return np.asarray(members / members.sum(axis=1, keepdims=True))


def letters_of(members: DistributionClass) -> int:
    """Return the number of letters of a class."""
    return members.shape[1] if isinstance(members, np.ndarray) else members.centre.size


def least_member(members: DistributionClass, q: FloatArray) -> FloatArray:
    """Return a member of a class with the least mean of q, to rounding, shape (k,)."""
    if isinstance(members, np.ndarray):
        return np.asarray(members[int((members @ q).argmin())])
    if isinstance(members, DivergenceBall):
        return members.least_member(q)
    centre, radius = members.centre.reshape(1, -1), np.array([members.radius])
    return np.asarray(minimizers(centre, q[None].copy(), radius, members.order).R[0])
