"""Certificates whose bounds are proved by trees of boxes."""

from __future__ import annotations

from typing import Any

from ldpfrontier.certificates.association import association_certificate
from ldpfrontier.certificates.robust import robust_certificate
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

Document = dict[str, Any]


def boxes_over_f(ball: RenyiBall, epsilon: float, excess: float) -> Document:
    """Return the certificate of an optimum over F with a bound by boxes."""
    optimum = optimal_robust(ball, epsilon, envelope="exact", tolerance=excess / 4)
    return robust_certificate(optimum, ball, epsilon, excess=excess)


def boxes_of_odds(odds: OddsRatios, epsilon: float, excess: float) -> Document:
    """Return the certificate of an optimum for acquaintances with a bound by boxes."""
    optimum = optimal_association(odds, epsilon, tolerance=excess / 4)
    return association_certificate(optimum, odds, epsilon, excess=excess)
