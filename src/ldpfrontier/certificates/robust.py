"""Certificate documents for optima that protect S: for NR and robust mechanisms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.boxes import boxes_claim, checked_excess
from ldpfrontier.certificates.document import (
    Claim,
    Document,
    assembled,
    bound_level,
    checked_optimum,
    level_claim,
    priced,
    priced_tree,
    proved,
)
from ldpfrontier.certificates.numbers import Rows, text, text_above, weight_texts
from ldpfrontier.certificates.privacy import check_ball, uncertainty_claim
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_distribution, as_instance
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: What no checker can prove of a level over F.
ASSUMED = (
    "Assumed, and not proved: the table is a sample of the population, and with this radius F has the true"
    " distribution in it, at the confidence for which the radius was chosen."
)


def nonrobust_certificate(optimum: Optimum, estimate: ArrayLike, epsilon: float) -> Document:
    """Return a document that proves an optimum of `optimal_nonrobust` to `ldp-frontier verify`.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_nonrobust`.
    estimate : array_like, shape (a1, a2)
    epsilon : float
        In nats, as given to `optimal_nonrobust`.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`.
    """
    joint = checked_table(estimate)
    epsilon = checked_optimum(optimum, joint.size, epsilon)
    claim = nonrobust_claim(joint, epsilon)
    matrix = optimum.channel.matrix
    levels = level_claim("privacy at the table", epsilon)
    return assembled(information_under(joint), [claim], matrix, levels, _uninformative_at(joint, matrix))


def robust_certificate(
    optimum: Optimum, ball: RenyiBall, epsilon: float, *, excess: float | None = None
) -> Document:
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
    as_instance(ball, RenyiBall, "The ball")
    check_ball(ball)
    joint = ball.centre
    epsilon = checked_optimum(optimum, joint.size, epsilon)

    def levels(rows: Rows) -> list[Claim]:
        return [uncertainty_claim(ball, epsilon, rows)]

    about, bound = information_under(joint), nonrobust_claim(joint, epsilon)
    if excess is not None and float(bound["bound"]) > optimum.value * (1.0 + checked_excess(excess)):
        bound = boxes_claim(about, joint.ravel(), optimum, epsilon, MemberCuts(ball, epsilon), excess)
    return assembled(about, [bound], optimum.channel.matrix, levels) | {"note": ASSUMED}


@dataclass(frozen=True, eq=False)
class MemberCuts:
    """The cuts of the cone of F, as documents have them (`boxes.Cuts`): each is that of a member of F."""

    ball: RenyiBall
    epsilon: float

    @cached_property
    def _cone(self) -> Oracle:
        return Oracle(self.ball, self.epsilon)

    @property
    def claim(self) -> Claim:
        """The kind of the claim, and F."""
        order, radius = text(self.ball.order, 40), text(self.ball.radius, 40)
        return {"kind": "robust bound", "order": order, "radius": radius}

    def worst(self, column: FloatArray) -> list[tuple[Claim, FloatArray]]:
        """Return the cuts that are least true of a column, as `boxes.Cuts`."""
        return [self._written(row) for row in self._cone.separate(column[None])[0]]

    def _written(self, row: FloatArray) -> tuple[Claim, FloatArray]:
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


def nonrobust_claim(joint: FloatArray, epsilon: float) -> Claim:
    """Return the claim that no mechanism that is private at a table has more than NR."""
    return deepcopy(_nonrobust_claim(joint.tobytes(), joint.shape, epsilon))


# At one level of one table, NR and the robust mechanisms have the same bound.
@lru_cache(4)
def _nonrobust_claim(cells: bytes, shape: tuple[int, ...], epsilon: float) -> Claim:
    """Return the claim of `nonrobust_claim`, given the bytes of a table and its shape."""
    joint = np.frombuffer(cells).reshape(shape)
    table = joint[joint.any(axis=1)]
    sensitive = table.sum(axis=1)
    optimum = optimal_ldp(MutualInformation(sensitive), epsilon)
    with localcontext(verify.EXACT):
        rest = verify.conditional_entropy([[Decimal(w) for w in weight_texts(row)] for row in table])

    def bound(slacks: Sequence[float]) -> Claim:
        prices, tree = priced_tree(sensitive, epsilon, optimum, slacks)
        with localcontext(verify.EXACT):
            total = text_above(rest + sum(map(Decimal, prices)))
        parts = {**bound_level(epsilon), **priced(prices), "bound": total, "trees": [tree]}
        return {"kind": "nonrobust bound", **parts}

    return proved(information_under(joint), bound)


def _uninformative_at(joint: FloatArray, matrix: FloatArray) -> FloatArray | None:
    """Return Q(y|s,u) P(y) / P(y|s), from which nothing is learnt of S if P is the truth.

    It is zero where the channel Q is. None if it is no channel: that of NR is one, as which value of U is
    told for each value of S does not depend on what is told of S.
    """
    blocks = matrix.reshape(*joint.shape, -1)
    told = np.einsum("su,suy->sy", joint, blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(joint.sum(axis=1)[:, None] * told.sum(axis=0) / told, posinf=0.0)
    constant = np.where((joint.sum(axis=1) > 0)[:, None, None], blocks * ratio[:, None, :], blocks)
    return None if abs(constant.sum(axis=2) - 1.0).max() > 1e-6 else constant.reshape(matrix.shape)


def information_under(joint: FloatArray) -> Document:
    """Return the mutual information under a table."""
    return {"kind": "mutual information", "table": [weight_texts(row) for row in joint]}


def checked_table(prior: ArrayLike) -> FloatArray:
    """Return a distribution of (S, U)."""
    joint = as_distribution(prior, "The distribution")
    if joint.ndim != 2:
        raise ValueError(f"The distribution has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    return joint
