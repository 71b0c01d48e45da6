"""Certificate documents for optima over F, with a bound that a tree of boxes proves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.boxes import boxes_claim, checked_excess
from ldpfrontier.certificates.document import JsonClaim, JsonDocument
from ldpfrontier.certificates.nonrobust import (
    checked_over_set,
    document_over_set,
    information_under,
    nonrobust_claim,
)
from ldpfrontier.certificates.numbers import text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


def robust_certificate(
    optimum: Optimum, ball: RenyiBall, epsilon: float, *, excess: float | None = None
) -> JsonDocument:
    """Return a document that proves the level and the utility of an optimum of `optimal_robust`, and a bound.

    The bound is on all mechanisms that are private over F: that of NR, which is above the one that was
    computed, or if an excess is given and NR is not as near, one that a tree of boxes proves (`boxes`).

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_robust`, of any class.
    ball : RenyiBall
        F, of an order above 1 and a finite radius.
    epsilon : float
        In nats, as given to `optimal_robust`.
    excess : float, optional
        By how much that bound is above the value of the optimum, relative: more than the gap of the optimum,
        which must be that over F itself (``envelope="exact"``). On tables of 2 x 5 and 2 x 6 values 0.005
        takes some seconds.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`. With an excess, ValueError also if the optimum is not over F itself or has no
        prices, and Intractable if its gap is not below the excess, or the tree is too large.
    """
    epsilon = checked_over_set(optimum, ball, epsilon)
    bound = nonrobust_claim(ball.centre, epsilon)
    if excess is not None and float(bound["bound"]) > optimum.value * (1.0 + checked_excess(excess)):
        about, prior = information_under(ball.centre), ball.centre.ravel()
        bound = boxes_claim(about, prior, optimum, epsilon, MemberCuts(ball, epsilon), excess)
    return document_over_set(optimum, ball, epsilon, bound)


@dataclass(frozen=True, eq=False)
class MemberCuts:
    """The cuts of the cone of F, as documents have them (`boxes.Cuts`): each is that of a member of F."""

    ball: RenyiBall
    epsilon: float

    @cached_property
    def _cone(self) -> Oracle:
        return Oracle(self.ball, self.epsilon)

    @property
    def claim(self) -> JsonClaim:
        """The kind of the claim, and F."""
        order, radius = text(self.ball.order, 40), text(self.ball.radius, 40)
        return {"kind": "robust bound", "order": order, "radius": radius}

    def worst(self, column: FloatArray) -> list[tuple[JsonClaim, FloatArray]]:
        """Return the cuts that are least true of a column, as `boxes.Cuts`."""
        return [self._written(row) for row in self._cone.separate(column[None])[0]]

    def _written(self, row: FloatArray) -> tuple[JsonClaim, FloatArray]:
        """Return the cut of the member of F that a cut is about, and its coefficients.

        Its two sensitive values have the conditionals of the cut, all others those of the centre. Of the
        distributions with these conditionals the one that is nearest to the centre has the marginal
        p_s e^(g D_s), up to a factor (docs/beyond/theorems.md, statement 3).
        """
        ball, blocks = self.ball, row.reshape(self.ball.centre.shape)
        s, other = int(blocks.sum(axis=1).argmax()), int(blocks.sum(axis=1).argmin())
        r, alpha = ball.conditionals, ball.order
        R = r.copy()
        for i in (s, other):
            R[i] = blocks[i] / blocks[i].sum()
        # Share by which a member of F that a cut has is mixed with the centre, so that rounding leaves it in
        # F.
        R += 1e-6 * (r - R)
        # e^(g D) of the conditionals.
        distance = (r**alpha * R ** (1.0 - alpha)).sum(axis=1) ** (1.0 / alpha)
        member = (ball.sensitive * distance)[:, None] * R
        texts = [[text(q, SETTINGS.cut_digits) for q in own] for own in (member / member.sum()).tolist()]
        weights, cut = np.array([[*map(float, own)] for own in texts]), np.zeros(blocks.shape)
        cut[s] = weights[s] * weights[other].sum()
        cut[other] = -math.exp(self.epsilon) * weights[other] * weights[s].sum()
        return {"s": str(s), "s'": str(other), "member": texts}, cut.ravel()
