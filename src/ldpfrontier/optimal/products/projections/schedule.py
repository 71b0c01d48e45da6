r"""Bounds on the class of the projections, by a sequence of certificates.

If no column of the class has a reduced cost above kappa per unit of Z at duals alpha, then ::

    utility of any mechanism of the class <= sum(alpha) + kappa

(`products.decomposition`). A certificate proves a kappa for all products of bodies, at every delta at once
(`large.over_set`). It is the cheaper, the larger the kappa; and every point that it finds above its affine
bounds is a better vertex, which changes the duals. So there are passes, each of which

1. updates the duals by the decomposition, refined once the coupling of its weights loses more than the gap;
2. searches for vertices along delta, at these duals;
3. fits affine bounds to them, with a slack that shrinks from pass to pass;
4. verifies these by branch and bound, and takes over the vertices found.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier.numerics.deadline import TimeIsUp, time_is_up
from ldpfrontier.numerics.rounding import sum_bound
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.products.decomposition import Decomposition
from ldpfrontier.optimal.products.projections.settings import SETTINGS
from ldpfrontier.types import FloatArray

if TYPE_CHECKING:
    from ldpfrontier.optimal.large.over_set.delta_sweep import DeltaSweep
    from ldpfrontier.optimal.large.over_set.dual_certificate import Certificate


@dataclass
class CertificateSchedule:
    """The progress of the passes of a certificate.

    Attributes
    ----------
    pass_nodes, nodes_left : int
        Nodes of a pass that does not close, and those left for all passes.
    slack : float
        How far the affine bounds of the next pass are above the vertices found, in all.
    passes_left : int
    bound : float
        In nats, the best so far.
    """

    pass_nodes: int
    nodes_left: int
    # Bound that the first pass aims at, above the vertices found.
    slack: float = 3e-2
    passes_left: int = SETTINGS.max_passes
    bound: float = math.inf

    def run(self, certificate: Certificate, aim: float) -> None:
        """Refine a certificate in portions of nodes, until it is near its aim or far from it for good."""
        # Equal portions of the nodes of a pass, after each of which it may end.
        excess, size, portion = math.inf, -1, math.ceil(self.pass_nodes / 8)
        is_final, closing = self.slack <= SETTINGS.final_slack, SETTINGS.closed_ratio * aim
        while size < certificate.node_count < self.nodes_left and not time_is_up():
            size = certificate.node_count
            excess = certificate.bound(min(portion, self.nodes_left - size))
            spent = certificate.node_count >= self.pass_nodes
            if excess <= closing and (spent or not is_final):
                break
            if spent and certificate.known_kappa > closing:
                break
        closed = excess <= closing
        bound = sum_bound(certificate.duals, excess, certificate.family.scale)
        self.bound, self.passes_left = min(self.bound, bound), self.passes_left - 1
        self.nodes_left -= certificate.node_count
        if self.nodes_left <= 0 or (closed and is_final):
            self.passes_left = 0
        if closed:
            # The slack is divided by this after a pass that closes.
            self.slack = max(self.slack / 3.0, SETTINGS.final_slack)


def certified_bound(family: BallFamily, decomposition: Decomposition, gap: float, max_nodes: int) -> float:
    """Bound the mechanisms of a class by certificates, in nats; inf where none is known.

    Parameters
    ----------
    family : BallFamily
    decomposition : Decomposition
        Of this family.
    gap : float
        Relative gap of the duals.
    max_nodes : int
        Nodes of a pass that does not close.
    """
    deltas = _covers_deltas(family)
    total = SETTINGS.total_ratio_distinct if deltas else SETTINGS.total_ratio_all_pairs
    schedule = CertificateSchedule(max_nodes, int(min(total * max_nodes, 2.0**62)))
    from ldpfrontier.optimal.large.over_set.delta_sweep import DeltaSweep

    sweep, repeats = DeltaSweep(family, SETTINGS.knots if deltas else 1), SETTINGS.max_passes
    with suppress(TimeIsUp):  # the bounds so far hold
        while schedule.passes_left > 0:
            duals = decomposition.solve_refined(family.explore, gap=gap)
            value = float(duals.sum())
            new = _search_deltas(sweep, duals, schedule.slack * value * _shares(family))
            # Duals of what was known before are not worth a certificate.
            if (new or sweep.excess > GENERATION.inner_share * schedule.slack * value) and repeats > 1:
                repeats -= 1
                continue
            certificate, aim = _certificate(family, sweep, duals, schedule.slack)
            schedule.run(certificate, aim)
            if sweep.add_violations(certificate):
                sweep.polish(duals)
    return schedule.bound


def _covers_deltas(family: BallFamily) -> bool:
    """Return whether the class has products at several deltas, for distinct pairs of sensitive values."""
    return family.distinct and len(family.ball.centre) > 1


def _search_deltas(sweep: DeltaSweep, duals: FloatArray, least_excess: FloatArray) -> bool:
    """Search for vertices along delta; return whether products are used that were not before."""
    tolerance = SETTINGS.final_slack
    sweep.search(duals, 0.1 * tolerance * float(duals.sum()), least_excess)
    return sweep.activate_products(duals, GENERATION.inner_share * tolerance * float(duals.sum()))


def _certificate(
    family: BallFamily, sweep: DeltaSweep, duals: FloatArray, slack: float
) -> tuple[Certificate, float]:
    """Return a certificate of affine bounds with a slack, and the reduced cost that they are to prove."""
    from ldpfrontier.optimal.large.over_set.dual_certificate import Certificate

    value, least_loss = float(duals.sum()), SETTINGS.final_slack if _covers_deltas(family) else 0.0
    room, bounds = slack * value, sweep.affine_bounds(max(GENERATION.inner_share * slack, least_loss) * value)
    aim = max(room, float(bounds.kappa().max()) + 0.5 * room)
    return Certificate(family, duals, bounds.with_slack(aim, _shares(family)), room / len(duals)), aim


def _shares(family: BallFamily) -> FloatArray:
    """Return the shares of the slack that sensitive values have, shape (a1,)."""
    shares = np.sqrt(family.ball.sensitive)
    return np.asarray(shares / shares.sum())
