r"""Prices and trees for mechanisms that are private under every distribution of (S, U).

Their columns are spanned by those of two families (`ldpfrontier.optimal.unconditional`): 1 or t everywhere,
which are not needed with two sensitive values, and 1 / t or t throughout one block and 1 in all others; here
the latter are multiplied by t. Prices solve the program over the columns of the mechanism, and over those
that a search for trees finds ::

    maximise sum_j theta_j mu(v_j)   subject to   sum_j theta_j v_j = 1,  theta >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.certificates.two_valued import TwoValued, proved_prices, search_tree
from ldpfrontier.channel import Channel
from ldpfrontier.numerics.highs import maximize
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.utility import MutualInformation


def unconditional_proof(
    joint: FloatArray, epsilon: float, channel: Channel, bound: float, slacks: Sequence[float]
) -> tuple[FloatArray, list[list[str]]]:
    """Return prices and trees that prove that no mechanism has much more than a bound.

    Parameters
    ----------
    joint : ndarray, shape (a1, a2)
        With at least two rows.
    epsilon : float
        In nats, > 0.
    channel : Channel
        A good mechanism, whose columns are among those to begin with.
    bound : float
        Of the solver, in nats.
    slacks : sequence of float
        By how much of the bound prices may be raised: the least is tried first.

    Raises
    ------
    Intractable
        If the proof would be too large.
    """
    families = _families(joint, math.exp(epsilon))
    for slack in slacks:
        try:
            prices = _solved(joint, families, channel, slack * bound)
            return proved_prices(families, prices, slack * bound)
        except Intractable:
            pass
    raise Intractable("The proof of this bound is too large.")


def _families(joint: FloatArray, t: float) -> list[TwoValued]:
    """Return the families in the order of the trees of a document."""
    prior, ones = joint.ravel(), np.ones(joint.shape)
    families = [TwoValued(prior, ones.ravel(), t * ones.ravel())] if len(joint) > 2 else []
    for s in range(len(joint)):
        smaller, larger = t * ones, t * ones
        smaller[s], larger[s] = 1.0, t * t
        families.append(TwoValued(prior, smaller.ravel(), larger.ravel()))
    return families


def _solved(joint: FloatArray, families: list[TwoValued], channel: Channel, slack: float) -> FloatArray:
    """Return prices that solve the program to a small excess."""
    utility = MutualInformation(joint)
    prior = utility.prior
    if len(prior) > SETTINGS.max_program_inputs:
        raise Intractable(f"The table has {len(prior)} cells; {SETTINGS.max_program_inputs} are supported.")
    vectors = channel.matrix[:, channel.matrix.any(axis=0)].T
    vectors = np.vstack([vectors, *(family.vectors(np.eye(len(prior), dtype=bool)) for family in families)])
    for _ in range(SETTINGS.program_rounds):
        columns = utility.columns(vectors)
        unit = float(columns.values.max()) / 100.0
        right = np.ones(len(prior))
        solved = maximize(columns.values / unit, columns.vectors.T, right, right)
        assert solved is not None
        prices = solved[2] * unit
        new = []
        for family in families:
            better = search_tree(family, prices + slack / 2.0 * prior, slack / 4.0).better
            better = sorted(better, key=lambda found: -found[1])[: len(prior)]
            new += [family.vectors(np.array([side for side, _ in better]))] if better else []
        if not new:
            break
        vectors = np.vstack([vectors, *new])
    return prices
