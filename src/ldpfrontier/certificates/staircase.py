r"""Prices and trees for the staircase columns of mutual information under local differential privacy.

Prices c with mu(v) <= c . v for all staircase columns prove that no mechanism has more than their sum
(`ldpfrontier.verify.ldp_bound`). Those of the converse are taken if they are as good as the bound; else they
solve the dual program over the columns of the mechanism, and over those that a search for a tree finds ::

    minimize lam   subject to   beta(T) + e^-eps lam >= g(T) for these sets T,   sum(beta) = (1 - e^-eps) lam,

c = beta / (1 - e^-eps), where g is mu of the column with 1 on T and e^-eps off it. What is wrong with prices
is added to them in proportion to the prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.certificates.two_valued import Sides, TwoValued, proved_prices, search_tree
from ldpfrontier.engines.listed.converse import converse
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.highs import maximize


def staircase_proof(
    prior: FloatArray, epsilon: float, channel: Channel, bound: float, slacks: Sequence[float]
) -> tuple[FloatArray, list[str]]:
    """Return prices and a tree that prove that no mechanism has much more than a bound, in nats.

    Columns of the channel are those to begin with. The slacks are by how much of the bound prices may be
    raised: the least is tried first. Intractable if the proof would be too large.
    """
    family = TwoValued(prior, epsilon)
    limit = converse(prior, epsilon).duals
    for slack in slacks:
        try:
            if limit.sum() <= bound * (1.0 + slack):
                prices, raised = limit, slack / 10.0 * bound
            else:
                prices, raised = _solved(family, epsilon, channel, slack * bound), slack * bound
            return proved_prices(family, prices, raised)
        except Intractable:
            pass
    raise Intractable("The proof of this bound is too large.")


def _solved(family: TwoValued, epsilon: float, channel: Channel, slack: float) -> FloatArray:
    """Return prices that solve the dual program to a small excess."""
    k = len(family.prior)
    if k > SETTINGS.max_program_inputs:
        raise Intractable(f"The prior has {k} inputs; prices are found for {SETTINGS.max_program_inputs}.")
    matrix = channel.matrix[:, channel.matrix.any(axis=0)]
    middle = (matrix.max(axis=0) + matrix.min(axis=0)) / 2.0
    sides = np.vstack([(matrix > middle).T, np.eye(k, dtype=bool)])
    for _ in range(SETTINGS.program_rounds):
        sides = np.unique(sides[sides.any(axis=1)], axis=0)
        prices = _dual_prices(family, sides, epsilon)
        tree = search_tree(family, prices + slack / 2.0 * family.prior, slack / 4.0)
        if not tree.better:
            break
        better = sorted(tree.better, key=lambda found: -found[1])[: 4 * k]
        sides = np.vstack([sides, *(side for side, _ in better)])
    return prices


def _dual_prices(family: TwoValued, sides: Sides, epsilon: float) -> FloatArray:
    """Return the prices of the program over some sets."""
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k, values = len(family.prior), floor * family.values(sides)
    unit = float(values.max()) / 100.0
    matrix = np.zeros((k + 1, 1 + len(sides)))
    matrix[:k, 0], matrix[k, 0] = -1.0, share
    matrix[:k, 1:], matrix[k, 1:] = sides.T, floor
    right = np.append(np.zeros(k), 1.0)
    solved = maximize(np.append(0.0, values / unit), matrix, right, right)
    assert solved is not None
    beta, lam = solved[2][:k] * unit, float(solved[2][k]) * unit
    return np.asarray((beta + (share * lam - float(beta.sum())) / k) / share)
