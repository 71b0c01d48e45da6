"""Certificate documents for optima that protect S from all who know something about U."""

from __future__ import annotations

import itertools
from typing import Any

from ldpfrontier.certificates.document import Document, assembled, checked_optimum
from ldpfrontier.certificates.numbers import level_text, ratio_texts, text_below
from ldpfrontier.certificates.robust import information_under, nonrobust_claim
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.numerics.arguments import as_instance
from ldpfrontier.optimum import Optimum
from ldpfrontier.uncertainty.odds_ratios import OddsRatios

#: What no checker can prove of a level that depends on odds ratios.
ASSUMED_ODDS = (
    "Assumed, and not proved: no odds ratio of the population is below the one in this file, at the"
    " confidence for which intervals of them were chosen."
)


def association_claim(odds: OddsRatios, epsilon: float) -> dict[str, Any]:
    """Return the claim that a channel is private for all who know something about U.

    It has the least odds ratios rho(s, t, u, w), rounded down, and at most 1, as larger ones are no
    conditions: for every s < t a row for each u, and in it a number for each w.

    Parameters
    ----------
    odds : OddsRatios
    epsilon : float
        In nats.
    """
    least = odds.low.clip(max=1.0)
    tables = [least[s, t].tolist() for s, t in itertools.combinations(range(len(odds.prior)), 2)]
    return {
        "kind": "privacy for all who know something about U",
        "epsilon": level_text(epsilon),
        "t": ratio_texts(epsilon)[0],
        "odds": [[[_below(rho) for rho in row] for row in table] for table in tables],
    }


def _below(rho: float) -> str:
    """Write an odds ratio, rounded down; 0 if it is tiny."""
    return text_below(rho) if rho > SETTINGS.least_odds_ratio else "0"


def association_certificate(optimum: Optimum, odds: OddsRatios, epsilon: float) -> Document:
    """Return a document that proves the level and the utility of an optimum of `optimal_association`.

    It also has a bound, if the intervals contain the odds ratios of the estimate: that of NR, on all
    mechanisms that are private at the estimate, which is above the one that was computed.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_association`, or another mechanism for all who know something about U.
    odds : OddsRatios
        With at least two sensitive values.
    epsilon : float
        In nats, as given to `optimal_association`.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`; ValueError also if there is one sensitive value only.
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    epsilon = checked_optimum(optimum, odds.prior.size, epsilon)
    if len(odds.prior) < 2:
        raise ValueError("There is nothing to prove with one sensitive value.")
    estimated = odds.contains(OddsRatios.known(odds.prior, odds.impossible))
    bounds = [nonrobust_claim(odds.prior, epsilon)] if estimated else []
    claim = association_claim(odds, epsilon)
    about, matrix = information_under(odds.prior), optimum.channel.matrix
    return assembled(about, bounds, matrix, lambda _: [claim]) | {"note": ASSUMED_ODDS}
