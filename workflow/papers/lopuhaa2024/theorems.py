"""The theorems of lopuhaa2024, checked by direct optimization over the uncertainty set.

The reference of a check is found by a solver that knows nothing but the definition of F = {P : D(P-hat || P)
<= B}: it moves P itself, with the probabilities of F as variables and one constraint. Nothing of Theorem 1,
of Proposition 1 or of `RenyiBall` enters. For Theorem 3 it is a bound on mechanisms with any number of
outputs, over the extreme rays of the inequalities of Definition 3.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import permutations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from ldpfrontier.channel import Channel
from ldpfrontier.cones import polyopt_cone
from ldpfrontier.information import mutual_information
from ldpfrontier.mechanisms import secret_randomized_response
from ldpfrontier.optimal.general.solve import optimal_mechanism
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.unconditional import optimal_unconditional, response_threshold
from ldpfrontier.two_reports import independent_reporting
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation
from papers.lopuhaa2024.random_tables import tables_of
from reproduction.results.tables import CHECKS, Check, Relation

#: Digits to which a solver of this kind finds an extremum, relative to 1 + |extremum|.
ACCURACY = 1e-6

PAPER = "lopuhaa2024"

#: Most inputs for which the extreme rays of these cones are listed, and the bound of Theorem 3 is exact.
_LISTED = 9

#: The inequalities of each class.
_CLASSES: dict[str, Literal["all", "distinct"]] = {"polyopt": "all", "polyopt_distinct": "distinct"}

_log = logging.getLogger(__name__)


def check_theorems(
    theorem_tables: pd.DataFrame,
    orders: Sequence[float] = (0.5, 1.0, 2.0, 5.0),
    epsilons: Sequence[float] = (0.3, 1.0),
    *,
    beta: float = 0.05,
) -> pd.DataFrame:
    """Check Theorems 1 to 5 and Propositions 1 and 2 on random tables of counts.

    Parameters
    ----------
    theorem_tables : DataFrame
        Populations of small tables, as `random_tables.theorem_tables` draws them.
    orders : sequence of float
        Renyi orders.
    epsilons : sequence of float
        Privacy levels in nats, of Theorems 2, 3 and 5.
    beta : float
        Significance level of F.

    Returns
    -------
    DataFrame
        As `tables.CHECKS`, with one row per claim, table, order and quantity. `measured` is what
        the theorem gives, or a mechanism has; `limit` what direct optimization finds, or what must be kept.
    """
    rows: list[Check] = []
    for (size, _), drawn in theorem_tables.groupby(["size", "instance"]):
        ((records, truth, counts),) = tables_of(drawn)
        instance = f"{records} records"
        for order in orders:
            ball = RenyiBall.confidence(counts, beta=beta, order=order)
            found = [*_projections(ball), *_mechanisms(ball, epsilons)]
            rows += [replace(row, size=str(size), instance=instance, order=order) for row in found]
        rows += [replace(row, size=str(size), instance=instance) for row in _theorem_4(truth)]
        _log.info("%s, %s: %d checks", size, instance, len(rows))
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
            found = extreme(ball, partial(_group_divergence, s=s, r=r, order=ball.order))
            yield _check_to_accuracy(
                "L-T1", f"radius B_{s + 1} of the projection", ball.projected_radii[s], "=", found, "nats"
            )
        for u, cell in enumerate(np.eye(r.size)):
            found = -extreme(ball, partial(_share, s=s, q=-cell))
            yield _check_to_accuracy(
                "L-P1", f"lower bound L({u + 1}|{s + 1})", ball.lower_bounds[s, u], "=", found
            )
        subsets = np.array(np.meshgrid(*[(0.0, 1.0)] * r.size)).reshape(r.size, -1).T[1:-1]
        excess = [extreme(ball, partial(_share, s=s, q=q)) - float(q @ r) for q in subsets]
        # ||R - r||_1 is twice the largest excess of a subset.
        farthest = 2.0 * max(excess, default=0.0)
        yield _check_to_accuracy("L-P1", f"l1 radius rad_{s + 1}", ball.radii[s], "=", farthest)
        yield _check_to_accuracy(
            "L-P2", f"bound d_{s + 1} on the l1 radius", ball.radius_bounds[s], ">=", farthest
        )
        if ball.order == 2:
            # The condition of the proof has 2 p; that of the print chooses the larger bound more often.
            spread = math.expm1(ball.projected_radii[s])
            exact = spread >= (1.0 - r.min()) ** 2
            printed = float(ball.radius_bounds[s]) if exact else math.sqrt(spread)
            yield _check_to_accuracy(
                "L-P2", f"bound d_{s + 1} with the printed condition", printed, ">=", farthest
            )


def _mechanisms(ball: RenyiBall, epsilons: Sequence[float]) -> Iterator[Check]:
    """Theorems 2, 3 and 5: the worst realized level over F of the mechanisms, and their outputs."""
    for epsilon in epsilons:
        optima = {name: optimal_robust(ball, epsilon, pairs=pairs) for name, pairs in _CLASSES.items()}
        mechanisms = {
            **{name: ("L-T2", optimum.channel) for name, optimum in optima.items()},
            "ir": ("L-T5", independent_reporting(ball, epsilon)),
            "ir_tight": ("L-T5", independent_reporting(ball, epsilon, distance="tight")),
        }
        for name, (claim, channel) in mechanisms.items():
            worst, exact = worst_epsilon(ball, channel), ball.worst_case_epsilon(channel)
            at = f"{name} at epsilon = {epsilon:g}"
            yield _check_to_accuracy(claim, f"largest eps* over F, {at}", worst, "<=", epsilon, "nats")
            note = "by one-dimensional search, against direct optimization"
            yield _check_to_accuracy(
                claim, f"largest eps* by the ball, {at}", exact, "=", worst, "nats", note
            )
        for name, optimum in optima.items():
            at, channel = f"{name} at epsilon = {epsilon:g}", optimum.channel
            yield _check_to_accuracy("L-T3", f"outputs, {at}", channel.n_outputs, "<=", channel.n_inputs)
            if channel.n_inputs > _LISTED:
                continue
            cone = polyopt_cone(ball.lower_bounds, epsilon, pairs=_CLASSES[name])
            bound = optimal_mechanism(MutualInformation(ball.centre), cone).bound
            note = "limit: a bound on mechanisms with any number of outputs"
            yield _check_to_accuracy("L-T3", f"I(X; Y), {at}", optimum.value, ">=", bound, "nats", note)


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

_Objective = Callable[[FloatArray], tuple[float, FloatArray]]


def worst_epsilon(ball: RenyiBall, channel: Channel) -> float:
    """Find the largest realized epsilon of a channel over F by moving P, in nats (lopuhaa2024, section 3).

    The maximum over outputs and pairs of groups of what `extreme` finds: a lower bound on the supremum, and
    equal to it unless every start led to a local maximum.
    """
    Q = channel.merged().matrix.reshape(*ball.centre.shape, -1)
    worst = 0.0
    for s, t in permutations(range(len(Q)), 2):
        for y in range(Q.shape[2]):
            if Q[s, :, y].max() > 0:
                worst = max(worst, extreme(ball, partial(_leak, Q, s, t, y)))
    return worst


def extreme(ball: RenyiBall, objective: _Objective, *, starts: int = 3) -> float:
    """Maximize a function of P over F by sequential quadratic programming from several points of F.

    Parameters
    ----------
    ball : RenyiBall
        Its centre, radius and order define F; nothing else of it is used but boundary points to start from.
    objective : callable
        P of shape (a1, a2) to the value and the gradient.
    starts : int
        Starting points: the centre, slightly moved into the simplex, and members of the boundary.

    Returns
    -------
    float
        The largest value at a point of F, whose radius is kept to 1e-6 of itself.
    """
    shape, centre = ball.centre.shape, ball.centre.ravel()
    # P = x^2 / |x|^2 keeps P in the simplex and small cells of P well scaled.
    constraints: list[Any] = [{"type": "eq", "fun": lambda x: x @ x - 1.0, "jac": lambda x: 2.0 * x}]
    if math.isfinite(ball.radius):

        def room(P: FloatArray) -> tuple[float, FloatArray]:
            value, slope = _divergence(P, centre, ball.order)
            # In units of the radius, and by the root, so that it is about linear near the boundary.
            root = math.sqrt(max(value, 1e-30) / ball.radius)
            return 1.0 - root, -slope / (2.0 * root * ball.radius)

        constraints.append(
            {
                "type": "ineq",
                "fun": lambda x: room(x**2 / (x @ x))[0],
                "jac": lambda x: _chain(x, room(x**2 / (x @ x))[1]),
            }
        )

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        value, slope = objective((x**2 / (x @ x)).reshape(shape))
        return -value, -_chain(x, slope.ravel())

    best = -math.inf
    for start in _starting_points(ball, starts):
        found = minimize(
            loss, np.sqrt(np.maximum(start, 1e-8)), jac=True, method="SLSQP", constraints=constraints,
            options={"maxiter": 300, "ftol": 1e-13},
        )  # fmt: skip
        P = found.x**2 / (found.x @ found.x)
        if _divergence(P, centre, ball.order)[0] <= ball.radius * (1.0 + 1e-6):
            best = max(best, objective(P.reshape(shape))[0])
    return float(best)


@lru_cache(maxsize=1)
def _starting_points(ball: RenyiBall, number: int) -> FloatArray:
    """Return places to start from, shape (number, cells): near the centre, and on the boundary."""
    centre = ball.centre.ravel()
    inside = 0.999 * centre + 0.001 / centre.size
    border = ball.sample(np.random.default_rng(0), 2 * number).reshape(-1, centre.size)[1 : 2 * number : 2]
    return np.vstack([inside, border[: number - 1]])


def _chain(x: FloatArray, slope: FloatArray) -> FloatArray:
    """Turn a gradient in P = x^2 / |x|^2 into one in x."""
    square = x @ x
    return np.asarray(2.0 * x / square * (slope - slope @ x**2 / square))


def _divergence(P: FloatArray, r: FloatArray, order: float) -> tuple[float, FloatArray]:
    """Return D_order(r || P) and its gradient in P, by the definition."""
    q, occurs = np.maximum(P, 1e-300), r > 0.0
    if order == 1.0:
        logs = np.log(np.where(occurs, r, 1.0) / np.where(occurs, q, 1.0))
        return float(r @ logs), -r / q
    terms = r**order * q ** (1.0 - order)
    total = float(terms.sum())
    return math.log(total) / (order - 1.0), -terms / (q * total)


def _share(P: FloatArray, s: int, q: FloatArray) -> tuple[float, FloatArray]:
    """Return sum_u q_u P(u|s) and its gradient."""
    total = float(P[s].sum())
    value = float(P[s] @ q) / total
    gradient = np.zeros_like(P)
    gradient[s] = (q - value) / total
    return value, gradient


def _group_divergence(P: FloatArray, s: int, r: FloatArray, order: float) -> tuple[float, FloatArray]:
    """Return D_order(r || P(.|s)) and its gradient."""
    total = float(P[s].sum())
    R = P[s] / total
    value, slope = _divergence(R, r, order)
    gradient = np.zeros_like(P)
    gradient[s] = (slope - float(slope @ R)) / total
    return value, gradient


def _leak(Q: FloatArray, s: int, t: int, y: int, P: FloatArray) -> tuple[float, FloatArray]:
    """Return log P(y|s) / P(y|t) and its gradient."""
    gradient = np.zeros(P.shape)
    leak = 0.0
    for group, sign in ((s, 1.0), (t, -1.0)):
        total = P[group].sum()
        value = max(float(P[group] @ Q[group, :, y]) / total, 1e-300)
        leak += sign * math.log(value)
        gradient[group] += sign * (Q[group, :, y] - value) / (total * value)
    return leak, gradient
