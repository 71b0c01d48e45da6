"""Certificate documents for optima that protect S from acquaintances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.boxes import boxes_claim, checked_excess
from ldpfrontier.certificates.document import JsonClaim, JsonDocument, assembled, checked_optimum
from ldpfrontier.certificates.nonrobust import information_under, nonrobust_claim
from ldpfrontier.certificates.numbers import level_text, ratio_texts, text, text_above, text_below
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.numerics.arguments import as_instance
from ldpfrontier.uncertainty.odds_ratios import OddsRatios

#: What no checker can prove of a level that depends on odds ratios.
ASSUMED_ODDS = (
    "Assumed, and not proved: no odds ratio of the population is below the one in this file, at the"
    " confidence for which intervals of them were chosen."
)


def association_claim(odds: OddsRatios, epsilon: float) -> dict[str, Any]:
    """Return the claim that a channel is private for acquaintances.

    It has the least odds ratios rho(s, t, u, w), rounded down, and at most 1, as larger ones are no
    conditions: for every s < t a row for each u, and in it a number for each w.
    """
    return {
        "kind": "privacy for all who know something about U",
        "epsilon": level_text(epsilon),
        "t": ratio_texts(epsilon)[0],
        "odds": _odds_texts(odds, _below),
    }


@dataclass(frozen=True, eq=False)
class OddsCuts:
    """The cuts of `AssociationCone`, as documents have them (`boxes.Cuts`); the level is above 0."""

    odds: OddsRatios
    epsilon: float

    @cached_property
    def _cone(self) -> AssociationCone:
        return AssociationCone(self.odds, self.epsilon)

    @property
    def claim(self) -> JsonClaim:
        """The kind of the claim, and the least odds ratios, rounded up."""
        return {"kind": "association bound", "odds": _odds_texts(self.odds, text_above)}

    def worst(self, column: FloatArray) -> list[tuple[JsonClaim, FloatArray]]:
        """Return the cuts that are least true of a column, as `boxes.Cuts`."""
        cone, t, compared = self._cone, math.exp(self.epsilon), self.odds.comparisons
        shares = cone.worst_shares(column[None])
        means = cone.means(column[None], shares)[0]
        excess = means[:, 0] - t * means[:, 1]
        places = zip(
            compared.s, compared.t, compared.u, compared.w, compared.rho, shares.of_s[0], strict=True
        )
        found = [*zip(excess.tolist(), places, strict=True)]
        v = column.reshape(self.odds.shape)
        for s, other in itertools.permutations(range(len(v)), 2):
            beyond = (v[s] - t * v[other]).tolist()
            found += [(above, (s, other, w, w, 1.0, 0.0)) for w, above in enumerate(beyond)]
        # Of all cuts that the search meets, few are used, and all slow it down.
        return [self._written(*cut) for _, cut in sorted(found, key=lambda cut: -cut[0])[:2]]

    def _written(
        self, s: int, other: int, u: int, w: int, rho: float, share: float
    ) -> tuple[JsonClaim, FloatArray]:
        """Return a cut as a document has it, and its coefficients."""
        written = text(min(share, 1.0 - SETTINGS.least_share), SETTINGS.cut_digits)
        a, t = float(written), math.exp(self.epsilon)
        row = np.zeros(self.odds.shape)
        row[s, u] += (total := rho * a + 1.0 - a) * a
        row[s, w] += total * (1.0 - a)
        row[other, u] -= t * rho * a
        row[other, w] -= t * (1.0 - a)
        places = {"s": str(s), "s'": str(other), "u": str(u), "w": str(w)}
        return {**places, "share": written}, row.ravel()


def _odds_texts(odds: OddsRatios, written: Callable[[float], str]) -> list[list[list[str]]]:
    """Write the least odds ratios, at most 1: for every s < t a row for each u, with a number for each w."""
    least = odds.low.clip(max=1.0)
    tables = [least[s, t].tolist() for s, t in itertools.combinations(range(len(odds.prior)), 2)]
    return [[[written(rho) for rho in row] for row in table] for table in tables]


def _below(rho: float) -> str:
    """Write an odds ratio, rounded down; 0 if it is tiny."""
    # Odds ratio below which 0 is written, near the least positive float; a lower one is safe.
    return text_below(rho) if rho > 1e-300 else "0"


def association_certificate(
    optimum: Optimum, odds: OddsRatios, epsilon: float, *, excess: float | None = None
) -> JsonDocument:
    """Return a document that proves the level and the utility of an optimum of `optimal_association`.

    It also has a bound, if the intervals contain the odds ratios of the estimate: that of NR, on all
    mechanisms that are private at the estimate, which is above the one that was computed. If an excess is
    given, the bound is one on the mechanisms of this promise, proved by a tree of boxes (`boxes`).

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_association`, or another mechanism for acquaintances.
    odds : OddsRatios
        With at least two sensitive values.
    epsilon : float
        In nats, as given to `optimal_association`.
    excess : float, optional
        By how much that bound is above the value of the optimum, relative: more than the gap of the optimum.
        On tables of 2 x 5 and 2 x 6 values 0.005 takes up to a minute.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`; ValueError also if there is one sensitive value only, or the optimum has no
        prices for an excess, and Intractable if its gap is not below the excess, or the tree is too large.
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    epsilon = checked_optimum(optimum, odds.prior.size, epsilon)
    if len(odds.prior) < 2:
        raise ValueError("There is nothing to prove with one sensitive value.")
    about, matrix = information_under(odds.prior), optimum.channel.matrix
    claim, prior = association_claim(odds, epsilon), odds.prior.ravel()
    estimated = odds.contains(OddsRatios.known(odds.prior, odds.impossible))
    if excess is not None:
        bounds = [
            boxes_claim(about, prior, optimum, epsilon, OddsCuts(odds, epsilon), checked_excess(excess))
        ]
    else:
        bounds = [nonrobust_claim(odds.prior, epsilon)] if estimated else []
    return assembled(about, bounds, matrix, lambda _: [claim]) | {"note": ASSUMED_ODDS}
