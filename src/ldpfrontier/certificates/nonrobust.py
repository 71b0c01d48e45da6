"""Certificate documents with the bound of NR: for NR itself, and for mechanisms that are private over F."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.document import (
    JsonClaim,
    JsonDocument,
    assembled,
    bound_level,
    checked_optimum,
    level_claim,
    priced,
    priced_tree,
    proved,
)
from ldpfrontier.certificates.numbers import WholeRows, text_above, weight_texts
from ldpfrontier.certificates.privacy import check_ball, uncertainty_claim
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


def nonrobust_certificate(optimum: Optimum, estimate: ArrayLike, epsilon: float) -> JsonDocument:
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


def checked_over_set(optimum: Optimum, ball: RenyiBall, epsilon: float) -> float:
    """Return the level, after checking what a document over F is about."""
    as_instance(ball, RenyiBall, "The ball")
    check_ball(ball)
    return checked_optimum(optimum, ball.centre.size, epsilon)


def document_over_set(
    optimum: Optimum, ball: RenyiBall, epsilon: float, bound: JsonClaim | None = None
) -> JsonDocument:
    """Return a document that proves the level over F and the utility of an optimum, with a bound.

    Without a bound it has that of NR. Other arguments and the errors are those of `robust_certificate`.
    """
    epsilon = checked_over_set(optimum, ball, epsilon)

    def levels(rows: WholeRows) -> list[JsonClaim]:
        return [uncertainty_claim(ball, epsilon, rows)]

    bounds = [nonrobust_claim(ball.centre, epsilon) if bound is None else bound]
    about = information_under(ball.centre)
    return assembled(about, bounds, optimum.channel.matrix, levels) | {"note": ASSUMED}


def nonrobust_claim(joint: FloatArray, epsilon: float) -> JsonClaim:
    """Return the claim that no mechanism that is private at a table has more than NR."""
    return deepcopy(_nonrobust_claim(joint.tobytes(), joint.shape, epsilon))


# At one level of one table, NR and the robust mechanisms have the same bound.
@lru_cache(4)
def _nonrobust_claim(cells: bytes, shape: tuple[int, ...], epsilon: float) -> JsonClaim:
    """Return the claim of `nonrobust_claim`, given the bytes of a table and its shape."""
    joint = np.frombuffer(cells).reshape(shape)
    table = joint[joint.any(axis=1)]
    sensitive = table.sum(axis=1)
    optimum = optimal_ldp(MutualInformation(sensitive), epsilon)
    with localcontext(verify.EXACT):
        rest = verify.conditional_entropy([[Decimal(w) for w in weight_texts(row)] for row in table])

    def bound(slacks: Sequence[float]) -> JsonClaim:
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


def information_under(joint: FloatArray) -> JsonDocument:
    """Return the mutual information under a table."""
    return {"kind": "mutual information", "table": [weight_texts(row) for row in joint]}


def checked_table(prior: ArrayLike) -> FloatArray:
    """Return a distribution of (S, U)."""
    joint = as_distribution(prior, "The distribution")
    if joint.ndim != 2:
        raise ValueError(f"The distribution has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    return joint
