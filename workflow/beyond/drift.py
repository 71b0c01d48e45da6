"""Information against the drift of the population that a mechanism survives.

A mechanism for F is private for the distributions that the sample makes plausible. Where the population has
moved further away since, its level may be above epsilon. A larger F survives more and tells less, and so does
a class whose guarantee is wider than F: the classes are compared at the share of distributions around P-hat
that they survive.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.catalogue import ACQUAINTANCES, ASSOCIATION, DRIFTS, MARGINALS
from beyond.solutions import solve
from beyond.summaries import DRIFT
from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import place_of

#: Iterations of proportional fitting, and the relative error of marginals at which it ends.
_FITS, _FITTED = 1000, 1e-10
#: Distributions whose levels are computed at once: as many as memory allows on large tables.
_AT_ONCE = 2000
#: By how much a level may exceed epsilon by rounding.
_ROUNDING = 1e-9

_log = logging.getLogger(__name__)


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def drift(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    factors: Sequence[float],
    shares: Sequence[float],
    truths: int,
    mechanisms: Sequence[str] = ("polyopt", "exact"),
    beta: float = 0.05,
    order: float = 2.0,
    seed: int,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute classes of mechanisms on one table of counts, and the share of drifted truths they survive.

    Mechanisms are made for F with its radius times every one of `factors`. Truths are drawn around P-hat with
    the spread of a sample of n times each of `shares`. Beside `mechanisms` there is, on tables of up to 16
    cells, the optimum against acquaintances, which is private for all odds ratios of distributions in F.
    Other arguments are as of `optima.mechanisms`; what is out of reach has no row.
    """
    table = np.asarray(counts, dtype=float)
    drawn = {
        (kind, share): drifted_conditionals(table, kind, share, truths, seed)
        for kind in DRIFTS
        for share in shares
    }
    rows = []
    for factor in factors:
        ball = RenyiBall.confidence(table, beta=beta, order=order, factor=factor)
        found = [
            (solution.epsilon, solution.mechanism, solution.channel)
            for solution in solve(ball, epsilons, mechanisms, tolerance=tolerance, max_rounds=max_rounds)
            if solution.channel is not None
        ]
        if table.size <= LIMITS.max_joint_cells:
            odds = OddsRatios.over(ball)
            for epsilon in epsilons:
                # The mechanism alone is of interest, and not a bound of its information.
                best = optimal_association(odds, epsilon, tolerance=tolerance, max_nodes=0)
                found.append((epsilon, ACQUAINTANCES, best.channel))
        for epsilon, mechanism, channel in found:
            for (kind, share), conditionals in drawn.items():
                pieces = np.array_split(conditionals, -(-truths // _AT_ONCE))
                levels = np.concatenate([rldp_epsilon(channel, piece) for piece in pieces])
                survived = float((levels <= epsilon * (1.0 + _ROUNDING)).mean())
                rows.append(
                    {
                        **place_of("drift", instance, beta, ball),
                        "epsilon": epsilon,
                        "mechanism": mechanism,
                        "factor": factor,
                        "drift": kind,
                        "records": float(np.rint(table.sum() * share)),
                        "nmi": mutual_information(ball.centre, channel) / entropy(ball.centre),
                        "survived": survived,
                        "standard_error": math.sqrt(survived * (1.0 - survived) / truths),
                        "median": float(np.median(levels)),
                    }
                )
            _log.info("%s, factor %g, epsilon %g: %s", instance, factor, epsilon, mechanism)
    return DRIFT.table(rows)


def drifted_conditionals(table: FloatArray, kind: str, share: float, number: int, seed: int) -> FloatArray:
    """Draw conditionals of U given S, shape (number, a1, a2), around those of a table of counts.

    The distribution is drawn from Dirichlet(share times the counts), the spread of so many records; a cell
    without records stays empty. By its `kind`, one of `catalogue.DRIFTS`, its marginals or its odds ratios
    are then those of the table.
    """
    # The name of the stream is that of the folder where this was first, so that numbers stay.
    rng = generator(seed, f"lopuhaa2024 drift {kind} {share:g}", table.size, 0)
    gammas = rng.gamma(share * table, size=(number, *table.shape))
    P = gammas / gammas.sum(axis=(1, 2), keepdims=True)
    if kind == MARGINALS:
        P = proportional_fit(np.broadcast_to(table / table.sum(), P.shape), P)
    elif kind == ASSOCIATION:
        P = proportional_fit(P, np.broadcast_to(table / table.sum(), P.shape))
    mass = P.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(P, mass, out=np.zeros_like(P), where=mass > 0))


def proportional_fit(association: FloatArray, marginals: FloatArray) -> FloatArray:
    """Return distributions, (m, a1, a2), with the odds ratios of some and the marginals of others.

    By iterative proportional fitting, which scales rows and columns in turns and so leaves odds ratios.
    """
    P: FloatArray = association.copy()
    rows, columns = (marginals.sum(axis=axis, keepdims=True) for axis in (2, 1))
    for _ in range(_FITS):
        for axis, wanted in ((2, rows), (1, columns)):
            sums = P.sum(axis=axis, keepdims=True)
            P *= np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        if np.abs(P.sum(axis=2, keepdims=True) - rows).max() <= _FITTED:
            break
    return P
