"""Certificate documents for the mechanisms from whose reports a table is estimated with the least error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import verify
from ldpfrontier.certificates.document import Claim, Document, assembled, bound_level, level_claim, proved
from ldpfrontier.certificates.numbers import Rows, text, text_above, text_below, weight_texts
from ldpfrontier.cones import Cone, PolyhedralCone
from ldpfrontier.numerics.arguments import are_counts, as_distribution, as_instance, as_number, as_numbers
from ldpfrontier.optimal.estimation.settings import SETTINGS as ESTIMATION
from ldpfrontier.optimal.estimation.solve import checked_problem, solved
from ldpfrontier.optimal.estimation.weights import Prices, Problem
from ldpfrontier.optimal.general.double_description import irredundant
from ldpfrontier.optimal.general.solve import listed_rays
from ldpfrontier.optimal.general.staircase_rays import local_ratio
from ldpfrontier.optimum import MAX_EPSILON, Optimum
from ldpfrontier.types import FloatArray, Intractable


def estimation_certificate(
    optimum: Optimum,
    prior: ArrayLike,
    cone: Cone,
    target: ArrayLike | None = None,
    *,
    epsilon: float | None = None,
) -> Document:
    """Return a document that proves an optimum of `optimal_estimation` to `ldp-frontier verify`.

    It has the mechanism in whole numbers, that its columns are in the cone, its error, and a bound on that of
    all mechanisms of the cone. The bound is computed once more.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_estimation`, or another mechanism of the cone.
    prior : array_like, any shape
        The distribution, or counts of records, which the document then has as they are.
    cone : Cone
        One whose extreme rays are listed, or of local differential privacy up to about 18 inputs.
    target
        As given to `optimal_estimation`.
    epsilon : float, optional
        In nats, as given to `local_cone`, to which it belongs; it is not given for other cones.

    Raises
    ------
    Intractable
        If the checker would have to go through too many columns, or the cone is not polyhedral.
    ValueError
        If an argument is of another kind, arguments do not agree, or the mechanism is not in the cone.
    """
    as_instance(optimum, Optimum, "The optimum")
    weights = as_numbers(prior, "The prior")
    if not (are_counts(weights) and weights.sum() > 0):
        weights = as_distribution(prior, "The prior")
    problem, size = checked_problem(weights, cone, target)
    if optimum.channel.n_inputs != problem.p.size:
        raise ValueError(
            f"The optimum has {optimum.channel.n_inputs} inputs and the prior {problem.p.size} entries; they"
            " must agree."
        )
    target = [[text(x) for x in row] for row in problem.rows * size]
    kind = {"kind": verify.MEAN_SQUARE_ERROR, "target": target}
    about: Document = kind | _weights(weights, cone)
    local, matrix = local_ratio(cone), optimum.channel.matrix
    levels: Callable[[Rows], list[Claim]]
    if local is not None:
        level = _level(epsilon, local)
        if (len(problem.rows) + 2) << min(problem.p.size, 64) > verify.MAX_TERMS:
            raise Intractable("The proof would have too many columns for the checker.")
        claim: Claim = {"kind": "ldp estimation bound", **bound_level(level)}
        levels = level_claim("local privacy", level)
    else:
        if epsilon is not None:
            raise ValueError("epsilon is given, but the cone is none of local differential privacy.")
        if not isinstance(cone, PolyhedralCone) or listed_rays(cone) is None:
            raise Intractable("A bound is proved only over cones whose extreme rays are listed.")
        needed = irredundant(cone.inequalities)
        needed = needed[np.lexsort(needed.T[::-1])]
        claim = {"kind": "cone estimation bound", "inequalities": _exact(needed)}
        kept: Claim = {"kind": "inequalities", "inequalities": _exact(cone.inequalities)}

        def levels(_: Rows) -> list[Claim]:
            return [kept]

    effort = ESTIMATION.max_rounds, ESTIMATION.max_nodes
    found, _ = solved(problem, cone, ESTIMATION.proved_tolerance, *effort)
    assert found.prices is not None
    prices = found.prices

    def bound(slacks: Sequence[float]) -> Claim:
        own = prices.raised(slacks[0] * float(prices.lam.sum()), problem.p)
        return claim | _proof(problem, size, own)

    try:
        return assembled(about, [proved(about, bound)], matrix, levels)
    except verify.Unproved as error:
        raise ValueError(f"The mechanism has no error to prove: {error}.") from None
    except verify.Malformed as error:
        raise Intractable(f"The checker does not take so large a proof: {error}.") from None


def _weights(weights: FloatArray, cone: Cone) -> Document:
    """Return the weights of a document: a table, if inputs are pairs of two values."""
    if cone.shape[0] == 1:
        return {"prior": weight_texts(weights)}
    return {"table": [weight_texts(row) for row in weights.reshape(cone.shape)]}


def _level(epsilon: float | None, ratio: float) -> float:
    """Return the level of a cone with this ratio.

    Raises
    ------
    ValueError
        If it is missing, or another one.
    """
    if epsilon is None:
        raise ValueError("epsilon is missing; the cone is of local differential privacy.")
    level = as_number(
        epsilon, "epsilon", f"a number of nats, 0 to {MAX_EPSILON:g}", least=0.0, most=MAX_EPSILON
    )
    if abs(np.expm1(level) - (ratio - 1.0)) > 1e-12 * (ratio - 1.0) + 4e-16 * ratio:
        raise ValueError(f"epsilon is {epsilon}, but the cone has the level {np.log(ratio):.12g}.")
    return level


def _exact(rows: FloatArray) -> list[list[str]]:
    """Write floats as the decimals that they are."""
    return [[text(Decimal(x), 400) for x in row] for row in rows.tolist()]


def _proof(problem: Problem, size: float, prices: Prices) -> Claim:
    """Return prices, W, and a bound that is at least as small as what they prove."""
    return {
        "bound": text_below(problem.bound(prices, 0.0) * size**2 * (1.0 - ESTIMATION.rank)),
        "prices": [text_above(c) for c in prices.lam],
        "matrix": [[text(x) for x in row] for row in prices.W],
    }
