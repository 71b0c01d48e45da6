"""The theorems of lopuhaa2024, checked by direct optimization over the uncertainty set.

The reference of a check is found by a solver that knows nothing but the definition of F = {P : D(P-hat || P)
<= B}: it moves P itself, inside of F (`interior_point`). Nothing of Theorem 1, of Proposition 1 or of the
methods of `RenyiBall` enters. For Theorem 3 it is a bound on mechanisms with any number of
outputs, over the extreme rays of the inequalities of Definition 3.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import secret_randomized_response
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.listed_rays import listed_optimum
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.promises.unconditional import optimal_unconditional, response_threshold
from ldpfrontier.reports.two_reports import independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import DIMENSIONS, INEQUALITIES, LEAST, RADIUS, RADIUS_BOUND, RADIUS_PRINTED
from papers.lopuhaa2024.example import COUNTS
from papers.lopuhaa2024.interior_point import LogSums, divergence, largest_over_ball
from papers.lopuhaa2024.random_tables import tables_of
from reproduction.results.tables import CHECKS, Check, Relation

#: Digits to which a solver of this kind finds an extremum, relative to 1 + |extremum|.
ACCURACY = 1e-6

PAPER = "lopuhaa2024"

#: Most inputs for which the extreme rays of these cones are listed, and the bound of Theorem 3 is exact.
_LISTED = 9

#: Tables with groups that meet the condition of Proposition 2, and with groups that do not.
_FEW_RECORDS = {
    "Example 1": COUNTS,
    "45 records": np.array([[5, 6, 7], [8, 9, 10]]),
    "27 records": np.array([[3, 4], [4, 5], [5, 6]]),
}

_log = logging.getLogger(__name__)


def check_theorems(
    theorem_tables: pd.DataFrame,
    orders: Sequence[float] = (0.5, 1.0, 2.0, 5.0),
    epsilons: Sequence[float] = (0.3, 1.0),
    *,
    beta: float = 0.05,
) -> pd.DataFrame:
    """Check Theorems 1 to 5, Propositions 1 and 2 and the size of PolyOpt's polyhedron on random tables.

    There is one row per claim, table, order and quantity: `measured` is what the theorem gives, or a
    mechanism has; `limit` what direct optimization finds, or what must be kept. The levels are those of
    Theorems 2, 3 and 5.
    """
    rows: list[Check] = []
    for (size, _), drawn in theorem_tables.groupby(["size", "instance"]):
        ((records, truth, counts),) = tables_of(drawn)
        instance = f"{records} records"
        for order in orders:
            ball = RenyiBall.confidence(counts, beta=beta, order=order)
            found = [*_projections(ball), *_mechanisms(ball, epsilons)]
            found += _polyhedron(ball, epsilons[0]) if order == orders[0] else []
            rows += [replace(row, size=str(size), instance=instance, order=order) for row in found]
        rows += [replace(row, size=str(size), instance=instance) for row in _theorem_4(truth)]
        _log.info("%s, %s: %d checks", size, instance, len(rows))
    for name, counts in _FEW_RECORDS.items():
        ball, size = RenyiBall.confidence(counts, beta=beta, order=2.0), " x ".join(map(str, counts.shape))
        rows += [replace(row, size=size, instance=name, order=2.0) for row in _projections(ball)]
    return CHECKS.table(rows)


def _check_to_accuracy(
    claim: str,
    quantity: str,
    measured: float,
    relation: Relation,
    limit: float,
    unit: str = "1",
    note: str = "",
) -> Check:
    """Return a check to the accuracy of the solver; its instance is still to be named."""
    tolerance = ACCURACY * (1.0 + abs(limit)) if math.isfinite(limit) else 0.0
    return Check(
        PAPER, claim, "", quantity, measured, relation, limit, tolerance=tolerance, unit=unit, note=note
    )


def _projections(ball: RenyiBall) -> Iterator[Check]:
    """Theorem 1 and Propositions 1 and 2, for the largest and the smallest group that is not empty."""
    filled = np.flatnonzero(ball.sensitive > 0)
    for s in dict.fromkeys((int(filled[ball.sensitive[filled].argmin()]), int(ball.sensitive.argmax()))):
        r = ball.conditionals[s]
        if np.isfinite(ball.projected_radii[s]):
            found = float(largest_over_ball(_group_divergence(ball, s), ball)[0])
            yield _check_to_accuracy(
                "L-T1", f"radius B_{s + 1} of the projection", ball.projected_radii[s], "=", found, "nats"
            )
        for u, least in enumerate(_shares(ball, s, np.eye(r.size), largest=False).tolist()):
            yield _check_to_accuracy(
                "L-P1", f"lower bound L({u + 1}|{s + 1})", ball.lower_bounds[s, u], "=", least
            )
        subsets = np.array(np.meshgrid(*[(0.0, 1.0)] * r.size)).reshape(r.size, -1).T[1:-1]
        excess = _shares(ball, s, subsets, largest=True) - subsets @ r
        # ||R - r||_1 is twice the largest excess of a subset.
        farthest = 2.0 * float(excess.max(initial=0.0))
        yield _check_to_accuracy("L-P1", f"l1 radius rad_{s + 1}", ball.radii[s], "=", farthest)
        if ball.order == 2:
            yield from _proposition_2(ball, s, farthest)


def _proposition_2(ball: RenyiBall, s: int, farthest: float) -> Iterator[Check]:
    """Proposition 2 as printed, and its radius less 2 p, as (30) has it, for one group."""
    r, b = ball.conditionals[s], math.exp(ball.projected_radii[s])
    if not math.isfinite(b):
        return
    root = np.sqrt((b - 1.0) * (b - (2.0 * r - 1.0) ** 2))
    found = _shares(ball, s, np.eye(r.size), largest=False)
    for u, (formula, least) in enumerate(zip((b + 2.0 * r - 1.0 - root) / (2.0 * b), found, strict=True)):
        name = f"{LEAST} L({u + 1}|{s + 1})"
        yield _check_to_accuracy("L-P2", name, float(formula), "=", float(least))
    rarest = int(r.argmin())
    if b - 1.0 >= (1.0 - r[rarest]) ** 2:
        printed = float((b + 2.0 * r[rarest] - 1.0 + root[rarest]) / b)
        yield _check_to_accuracy("L-P2", f"{RADIUS} rad_{s + 1}", printed - 2.0 * r[rarest], "=", farthest)
        yield _check_to_accuracy("L-P2", f"{RADIUS_PRINTED} rad_{s + 1}", printed, "=", farthest)
    else:
        bound = math.sqrt(b - 1.0)
        yield _check_to_accuracy("L-P2", f"{RADIUS_BOUND} rad_{s + 1}", bound, ">=", farthest)


def _polyhedron(ball: RenyiBall, epsilon: float) -> Iterator[Check]:
    """Count what section 5 says of the polyhedron: a^2 + a inequalities in a - 1 dimensions."""
    cone, a = polyopt_cone(ball.lower_bounds, epsilon), ball.centre.size
    if a > _LISTED:
        return
    # Of (3) the cone leaves out the comparison of a vertex with itself, one per cell.
    inequalities = len(cone.inequalities) + a + a
    yield Check(PAPER, "L-S81a", "", INEQUALITIES, inequalities, "=", a * a + a)
    rays = extreme_rays(cone.inequalities)
    vertices = rays / rays.sum(axis=1, keepdims=True)
    dimensions = int(np.linalg.matrix_rank(vertices - vertices.mean(axis=0)))
    yield Check(PAPER, "L-S81a", "", DIMENSIONS, dimensions, "=", a - 1)


def _mechanisms(ball: RenyiBall, epsilons: Sequence[float]) -> Iterator[Check]:
    """Theorems 2, 3 and 5: the worst realized level over F of the mechanisms, and their outputs."""
    made = []
    for epsilon in epsilons:
        optimum = optimal_polyopt(ball, epsilon)
        mechanisms = {
            "polyopt": ("L-T2", optimum.channel),
            "ir": ("L-T5", independent_reporting(ball, epsilon)),
            "ir_tight": ("L-T5", independent_reporting(ball, epsilon, distance="tight")),
        }
        made.append((epsilon, optimum, mechanisms))
    # All at once: arrays of this size take little longer for more mechanisms.
    levels = iter(worst_epsilons(ball, [channel for *_, m in made for _, channel in m.values()]))
    for epsilon, optimum, mechanisms in made:
        for name, (claim, channel) in mechanisms.items():
            worst, exact = next(levels), ball.worst_case_epsilon(channel)
            at = f"{name} at epsilon = {epsilon:g}"
            yield _check_to_accuracy(claim, f"largest eps* over F, {at}", worst, "<=", epsilon, "nats")
            note = "by one-dimensional search, against direct optimization"
            yield _check_to_accuracy(
                claim, f"largest eps* by the ball, {at}", exact, "=", worst, "nats", note
            )
        at, channel = f"polyopt at epsilon = {epsilon:g}", optimum.channel
        yield _check_to_accuracy("L-T3", f"outputs, {at}", channel.n_outputs, "<=", channel.n_inputs)
        if channel.n_inputs > _LISTED:
            continue
        cone = polyopt_cone(ball.lower_bounds, epsilon)
        listed = listed_optimum(MutualInformation(ball.centre), cone)
        assert listed is not None
        note = "limit: a bound on mechanisms with any number of outputs"
        yield _check_to_accuracy("L-T3", f"I(X; Y), {at}", optimum.value, ">=", listed.bound, "nats", note)


def _theorem_4(prior: FloatArray) -> Iterator[Check]:
    low, high = response_threshold(prior)
    a1, a2 = prior.shape
    note = f"SRR is optimal from epsilon = {high:.4f} on"
    levels: list[tuple[str, float, Relation]] = [
        ("at", high, "="),
        ("at twice", 2 * high, "="),
        ("at half", high / 2, "<="),
    ]
    for where, epsilon, relation in levels:
        value = mutual_information(prior, secret_randomized_response(a1, a2, epsilon))
        best = optimal_unconditional(prior, epsilon).value
        yield _check_to_accuracy(
            "L-T4", f"I(X; Y) of SRR, {where} the threshold", value, relation, best, "nats", note
        )
    yield _check_to_accuracy("L-T4", "threshold, below and above", low, "<=", high, "nats", note)


# Direct optimization over F -------------------------------------------------------------------------------


def worst_epsilons(ball: RenyiBall, channels: Sequence[Channel]) -> list[float]:
    """Find the largest realized epsilons of channels over F by moving P, in nats (lopuhaa2024, section 3).

    The largest log P(y|s) / P(y|t) that `largest_over_ball` finds for an output y and groups s and t: a lower
    bound on the supremum, and equal to it unless every start led to a local maximum.
    """
    leaks = [_leaks(channel.merged().matrix.reshape(*ball.centre.shape, -1)) for channel in channels]
    weights = np.concatenate(leaks)
    worst = np.full(len(weights), np.inf)
    # Without a bound if the output never happens in the second group.
    possible = (weights.max(axis=2) > 0.0).all(axis=1)
    if possible.any():
        worst[possible] = largest_over_ball([_signed(weights[possible], (1, -1, 1, -1))], ball)
    parts = np.split(worst, np.cumsum([len(w) for w in leaks])[:-1])
    return [float(part.max(initial=0.0)) for part in parts]


def _leaks(Q: FloatArray) -> FloatArray:
    """Return the sums of P in log P(y|s) / P(y|t), of which the second and fourth count negatively.

    Q has shape (a1, a2, outputs); the result has shape (leaks, 4, a1 a2).
    """
    found = []
    for s, t in permutations(range(len(Q)), 2):
        for y in np.flatnonzero(Q[s].max(axis=0) > 0):
            sums = np.zeros((4, *Q.shape[:2]))
            sums[0, s], sums[1, s], sums[2, t], sums[3, t] = Q[s, :, y], 1.0, 1.0, Q[t, :, y]
            found.append(sums.reshape(4, -1))
    return np.reshape(found, (-1, 4, Q[..., 0].size))


def _shares(ball: RenyiBall, s: int, chosen: FloatArray, *, largest: bool) -> FloatArray:
    """Find the largest or the smallest probabilities given s over F of sets of U, shape (sets, a2)."""
    sums = np.zeros((len(chosen), 2, *ball.centre.shape))
    sums[:, 0, s], sums[:, 1, s] = chosen, 1.0
    sign = 1 if largest else -1
    shares = _signed(sums.reshape(len(chosen), 2, -1), (sign, -sign))
    return np.exp(sign * largest_over_ball([shares], ball)) if len(chosen) else np.zeros(0)


def _group_divergence(ball: RenyiBall, s: int) -> list[LogSums]:
    """Return D(P-hat(.|s) || P(.|s)), in two parts whose sum it is."""
    inner = divergence(ball.conditionals[s], ball.order)
    weights = np.zeros((1, inner.weights.shape[1], *ball.centre.shape))
    weights[:, :, s] = inner.weights
    total = np.zeros((1, 1, *ball.centre.shape))
    total[:, :, s] = 1.0
    # P(.|s) is P(s, .) / P(s), and D(r || q / c) = D(r || q) + log c.
    return [
        inner._replace(weights=weights.reshape(1, -1, ball.centre.size)),
        _signed(total.reshape(1, 1, -1), (1,)),
    ]


def _signed(sums: FloatArray, signs: tuple[int, ...]) -> LogSums:
    """Return sums of logarithms with the same signs for every function, shape (functions, terms, cells)."""
    return LogSums(np.tile(np.array(signs, dtype=np.float64), (len(sums), 1)), sums)
