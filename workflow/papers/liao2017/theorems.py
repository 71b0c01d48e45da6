"""Theorems 1 to 3 and Lemma 2 of liao2017, checked on random hypotheses."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hypothesis_testing.euclidean import euclidean_bernoulli, euclidean_binary, euclidean_sdp
from ldpfrontier.model.information import BITS, kl_divergence, renyi_divergence
from papers.liao2017.random_hypotheses import LEMMA, PAPER
from papers.liao2017.summaries import FALL, LIMIT
from reproduction.data.populations import arrays
from reproduction.results.tables import CHECKS, Check, Row, select

#: Most that a quantity may be, by the claim it belongs to: a limit, and a tolerance for the solvers that it
#: is found with.
LIMITS = {
    ("Li-T1", "relative distance from the SDP"): (0.0, 1e-5),
    ("Li-T1", "relative distance from the direct program"): (0.0, 1e-4),
    ("Li-T1", "rank"): (1.0, 0.0),
    ("Li-T3", "relative distance of the construction's value from the SDP's"): (0.0, 1e-6),
    ("Li-T3", "relative leakage above the limit"): (0.0, 1e-6),
    ("Li-T3", "|A sqrt(w_0)|"): (0.0, 1e-9),
    ("Li-T3", "outputs over M + 1"): (1.0, 0.0),
    ("Li-T3", "minus the least entry of the channel"): (0.0, 0.0),
    ("Li-T3", "relative distance of (44) from the SDP"): (0.0, 1e-5),
}

_log = logging.getLogger(__name__)


def theorems(
    random_hypotheses: pd.DataFrame,
    *,
    order: float = 0.5,
    distances: Sequence[float] = (1e-1, 1e-2, 1e-3),
) -> pd.DataFrame:
    """Check Theorems 1 to 3 and Lemma 2 on random hypotheses.

    Rows are the worst over the instances, one row per number of hypotheses m and of letters M:

    - ``Li-T1`` (m = 2): relative distance of the closed form's value from the SDP's and from that of the
      convex program (62); rank of the SDP's solution;
    - ``Li-T3`` (m = 2, 3, 4): relative distance of the E-IT value of A from the SDP's; largest E-IT leakage
      of A over its limit, minus 1; largest entry of A sqrt(w_0); outputs over M + 1; minus the least entry of
      W' at limits of 1e-4 bits; with two letters also the relative distance of (44) from the SDP;
    - ``Li-L2``: (1 - order) D / (2^((1 - order) D_order) - 1) over log2(e) / order, minus 1, for random
      channels within every distance of a constant one. It must fall by a factor of 8 for a tenth of the
      distance, and be 0 by linear extrapolation.
    """
    rows: list[Row] = []
    pairs = arrays(select(random_hypotheses, population=LEMMA))
    note = f"worst of {len(pairs)} random instances"
    tested = random_hypotheses[random_hypotheses["population"] != LEMMA]
    for (_, M), drawn in tested.groupby(["population", "size"]):
        worst: dict[tuple[str, str], float] = {}
        for p, limits in zip(arrays(drawn), arrays(drawn, "limit")[:, :, 0], strict=True):
            for key, value in _theorem_instance(p, limits).items():
                # What is no number stays none.
                worst[key] = float(np.maximum(worst.get(key, -math.inf), value))
        for (claim, quantity), value in worst.items():
            limit, tolerance = LIMITS[claim, quantity]
            rows.append(
                Check(
                    PAPER, claim, "", quantity, value, "<=", limit,
                    tolerance=tolerance, size=f"{len(p)} x {M}", note=note,
                )
            )  # fmt: skip
        _log.info("%d hypotheses on %s letters", len(p), M)
    off = np.array([[_lemma_2(pair, order, distance) for pair in pairs] for distance in distances])
    row = partial(Check, PAPER, "Li-L2", order=order, parameter="distance from a constant channel", note=note)
    for k, (before, value) in enumerate(pairwise(np.abs(off).max(axis=1).tolist())):
        # The least factor by which it falls, for a tenth of the distance.
        factor = (before / value) ** (1.0 / math.log10(distances[k] / distances[k + 1]))
        name, at = f"{distances[k]:g} to {distances[k + 1]:g}", distances[k + 1]
        rows.append(row(name, FALL, factor, ">=", 8.0, at=at))
    step = distances[-2] / distances[-1]
    limit = float(np.abs((step * off[-1] - off[-2]) / (step - 1.0)).max())
    rows.append(row("extrapolated", LIMIT, limit, "<=", 0.0, tolerance=1e-5, at=distances[-1]))
    return CHECKS.table(rows)


def _lemma_2(pair: FloatArray, order: float, distance: float) -> float:
    """Return the relative difference of the ratio of Lemma 2 from its limit."""
    p2, p1 = pair * distance + (1.0 - distance) * np.full(3, 1 / 3)
    renyi = renyi_divergence(p2, p1, order, bits=True)
    ratio = (1.0 - order) * kl_divergence(p2, p1, bits=True) / math.expm1((1.0 - order) * renyi / BITS)
    return ratio * order / BITS - 1.0


def _theorem_instance(p: FloatArray, limits: FloatArray) -> dict[tuple[str, str], float]:
    sdp = euclidean_sdp(p, limits)
    values: dict[tuple[str, str], float] = {}
    if len(p) == 2:
        closed = euclidean_binary(p, limits)
        a = cp.Variable(p.shape[1])
        scale = np.sqrt(2.0 * limits / BITS)
        cones = [cp.SOC(cp.Constant(s), a @ np.diag(np.sqrt(row))) for row, s in zip(p, scale, strict=True)]
        program = cp.Problem(cp.Maximize((p[1] - p[0]) @ a), cones)
        direct = float(program.solve(solver=cp.CLARABEL)) ** 2 / 2.0 * BITS  # type: ignore[no-untyped-call]
        values["Li-T1", "relative distance from the SDP"] = abs(closed.value / sdp.value - 1.0)
        values["Li-T1", "relative distance from the direct program"] = abs(closed.value / direct - 1.0)
        values["Li-T1", "rank"] = float(sdp.rank)
    if p.shape[1] == 2:
        bernoulli = euclidean_bernoulli(p, limits)
        values["Li-T3", "relative distance of (44) from the SDP"] = abs(bernoulli.value / sdp.value - 1.0)
    w0 = np.full(sdp.rank + 1, 1.0 / (sdp.rank + 1))
    matrix = sdp.matrix(w0)
    A = (matrix - w0) / np.sqrt(w0)
    value = float(np.square((p[1:] - p[0]) @ A).sum(axis=1).min()) / 2.0 * BITS
    leaks = p @ np.square(A).sum(axis=1) / 2.0 * BITS
    values |= {
        ("Li-T3", "relative distance of the construction's value from the SDP's"): abs(
            value / sdp.value - 1.0
        ),
        ("Li-T3", "relative leakage above the limit"): float((leaks / limits).max()) - 1.0,
        ("Li-T3", "|A sqrt(w_0)|"): float(np.abs(A @ np.sqrt(w0)).max()),
        ("Li-T3", "outputs over M + 1"): (sdp.rank + 1) / (p.shape[1] + 1),
        ("Li-T3", "minus the least entry of the channel"): -float(matrix.min()),
    }
    return values
