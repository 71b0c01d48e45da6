r"""The mechanism from whose reports a table is estimated with the least error.

Over the columns v_j of a cone C that a promise allows, scaled to p . v_j = 1, this is an optimal design in
the sense of Kiefer (1974), A-optimality with the row sums of a channel as one more condition::

    minimize phi(M) = tr(A M^-1 A')   subject to   M = sum_j theta_j v_j v_j',  sum_j theta_j v_j = 1.

It is convex in theta. For any matrix W, with equality at W = A M^-1,

    phi(M) >= 2 tr(A W') - tr(W M W') = 2 tr(A W') - sum_j theta_j |W v_j|^2,

so that prices lam with lam . v >= |W v|^2 / (p . v) on C, the dual prices of the column program with that
utility, bound the error of every mechanism: for the best multiple of W,

    phi(M) >= tr(A W')^2 / sum(lam).

|W v|^2 / (p . v) is convex and homogeneous, and lam . v exceeds it on C if it does at the extreme rays. A is
centred here, A p = 0, so that phi is n MSE. Engines, as of `ldpfrontier.engines.registry`:

- Extreme rays that are few are listed without rounding (`ldpfrontier.engines.listed`).
- Local differential privacy of more inputs: columns are generated from those of closed forms (`staircases`),
  and bounded by a semidefinite program where they are not all priced (`staircase_relaxation`).
- Other cones, up to 16 inputs: columns are searched for (`cut_columns`). A cone that is known by cuts alone,
  as that of F, is round, and the excess of its columns is bounded by branch and bound (`branch_and_bound`).
  One with a conditional level is nearly polyhedral: the bound is the least error over larger polyhedral cones
  (`outer_rays`), which also serves where branch and bound ends too early.
- Larger tables with both levels, for acquaintances, or of polyhedral cones: columns are searched for by
  linear programs (`program_columns`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.designs.column_weights import EstimationProblem, best_weights
from ldpfrontier.engines.designs.cut_columns import CutColumns
from ldpfrontier.engines.designs.error import estimation_error, target_rows
from ldpfrontier.engines.designs.generation import generate
from ldpfrontier.engines.designs.outer_rays import outer_bound
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.engines.listed.staircase_rays import local_ratio
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.block_designs import LARGE_ALPHABETS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.comparisons import implied_levels
from ldpfrontier.model.cones import (
    Cone,
    PolyhedralCone,
    check_cone,
    check_inside,
    local_cone,
    unconditional_cone,
)
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response, uniform_error
from ldpfrontier.model.optimum import (
    BROKEN,
    MAX_EPSILON,
    Method,
    Optimum,
    checked_effort,
    fell_back,
    keeps_time_limit,
    records_fallbacks,
)
from ldpfrontier.numerics.arguments import as_count, as_distribution
from ldpfrontier.numerics.deadline import TimeIsUp
from ldpfrontier.promises.listed_rays import listed_rays
from ldpfrontier.promises.mechanism import quick_mechanism

#: The name of what column generation finds, among closed forms.
GENERATED = "column generation"


@records_fallbacks
@keeps_time_limit
def optimal_estimation(
    prior: ArrayLike,
    cone: Cone,
    target: ArrayLike | None = None,
    *,
    tolerance: float = SETTINGS.tolerance,
    max_rounds: int = SETTINGS.max_rounds,
    max_nodes: int = SETTINGS.max_nodes,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the mechanism whose reports need the fewest people for an estimate, with a certificate.

    The error is that of the best unbiased estimate at the prior, times the number of people
    (`estimation_error`). At other distributions the mechanism is as private, and its error is another one.

    Parameters
    ----------
    prior : array_like, any shape
        The distribution of the records that is expected, flattened row-major.
    cone : Cone
        The columns that are allowed, such as those of `ldpfrontier.model.cones`, `robust_cone`, or ``a & b``.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        What is estimated: probabilities of all inputs if None, the distribution of the sensitive or of the
        useful value of a table, or the products of this matrix with the probabilities of the inputs.
    tolerance : float
        Relative gap at which to stop, 0 or more; 1e-2 is the finest one over cones whose extreme rays are
        not listed, but for local differential privacy.
    max_rounds : int
        Most steps of the interior-point method, where the extreme rays are listed, and most rounds of column
        generation elsewhere, of which there are 60 at most.
    max_nodes : int
        Most nodes of branch and bound, and most extreme rays of a larger polyhedral cone, 0 or more: where
        the rays of the cone are not listed, fewer are a worse bound, and at times a slightly larger error.
        A bound by a semidefinite program is computed for at most as many pairs of inputs, and one given the
        useful value if it prices at most 256 times as many columns.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.
        Where rays are not listed, and no closed form is known, that is a mechanism which tells nothing if
        not even a first one was found.

    Returns
    -------
    Optimum
        The unit is "1" and the direction is "min". Beyond 16 inputs, but for local differential privacy,
        the bound is that of a larger class, and is far from the value: of mechanisms which tell the useful
        value, of a level of local differential privacy which the cone implies, or of the records themselves.

    Raises
    ------
    Intractable
        If the extreme rays of the cone are not listed, and its constant column is on the border, or it is
        none of the cones of large tables: polyhedral ones, local differential privacy among them, those of
        acquaintances, and `robust_cone` with a conditional level.
    ValueError
        If an argument is of another kind or out of range, no mechanism in the cone allows an estimate, or a
        column of the cone has the probability 0.
    ArithmeticError
        As `optimal_mechanism`.

    Examples
    --------
    >>> from ldpfrontier import local_cone, optimal_estimation
    >>> best = optimal_estimation([0.2, 0.3, 0.5], local_cone(3, 1.0))
    >>> best.status, round(best.value, 3)
    ('optimal', 5.034)
    """
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    problem, size = checked_problem(as_distribution(prior, "The prior"), cone, target)
    p, rows, inputs = problem.p, problem.rows * size, problem.p.size
    if not problem.wanted.any():  # known without a report
        return Optimum(Channel(np.ones((inputs, 1))), 0.0, 0.0, "optimal", 0, "1", "min")
    try:
        found, method = solved(problem, cone, tolerance, max_rounds, max_nodes)
    except TimeIsUp:
        channel = quick_mechanism(cone)
        value, least = (estimation_error(own, p, rows) for own in (channel, Channel(np.eye(inputs))))
        return Optimum(channel, value, min(least * (1.0 - BROKEN), value), "bounded", 0, "1", "min")
    check_inside(cone, found.channel)
    value, bound = estimation_error(found.channel, p, rows), found.bound * size**2
    if not bound <= value * (1.0 + BROKEN):
        raise ArithmeticError(f"The value {value!r} is below its bound {bound!r}; the certificate fails.")
    bound = min(bound, value)
    status = "optimal" if value - bound <= tolerance * value else "bounded"
    return Optimum(found.channel, value, bound, status, found.rounds, "1", "min", method=method)


def checked_problem(p: FloatArray, cone: Cone, target: ArrayLike | None) -> tuple[EstimationProblem, float]:
    """Return the problem with its target divided by the largest weight of this, and that weight.

    The prior p is not negative and has a positive sum, in any shape; ValueError if it does not fit the cone
    or the target.
    """
    check_cone(cone)
    inputs = math.prod(cone.shape)
    if p.size != inputs:
        raise ValueError(f"The prior has {p.size} entries and the cone has {inputs} inputs; they must agree.")
    shape = cone.shape if cone.shape[0] > 1 else p.shape
    rows = target_rows(target, inputs, (shape[0], shape[1]) if len(shape) == 2 else None)
    size = max(float(np.abs(rows).max()), 1e-300)
    return EstimationProblem(p.ravel() / p.sum(), rows / size), size


class BoundedChannel(NamedTuple):
    """A channel, a bound of phi of the problem, the steps that it took, and what is the best of several."""

    channel: Channel
    bound: float
    rounds: int
    name: str = ""


def solved(
    problem: EstimationProblem,
    cone: Cone,
    tolerance: float,
    max_rounds: int,
    max_nodes: int,
) -> tuple[BoundedChannel, Method]:
    """Return the channel and the bound that the engine of a cone finds, and the name of this engine."""
    inputs, rays, ratio = problem.p.size, listed_rays(cone), local_ratio(cone)
    local, cuts_alone = ratio is not None, not len(cone.inequalities)
    call = Call(inputs=inputs, listed=rays is not None, local=local, cuts_alone=cuts_alone)
    regime = choose("estimates", call)
    rounds = min(max_rounds, SETTINGS.generation_rounds)
    if rays is not None and isinstance(cone, PolyhedralCone):
        found = _over_listed_rays(problem, cone, rays, tolerance, max_rounds)
    elif ratio is not None:
        found = _large_alphabet(problem, ratio, tolerance, rounds, max_nodes)
    elif inputs > LIMITS.max_joint_cells:
        found = _large_table(problem, cone, tolerance, rounds, max_nodes)
    else:
        found = _over_curved_cone(problem, cone, tolerance, rounds, max_nodes)
    best = f", the least error has {found.name}" if found.name else ""
    return found, regime.method(f"columns of the cone{best}")


def _over_listed_rays(
    problem: EstimationProblem, cone: PolyhedralCone, rays: FloatArray, tolerance: float, max_rounds: int
) -> BoundedChannel:
    """Return the best channel over all extreme rays, a bound, and the steps that it took."""
    vectors = listed_columns(cone, rays, problem.p)
    gap = max(SETTINGS.inner_gap * tolerance, SETTINGS.finest_gap)
    found = best_weights(problem, vectors, problem.frame(vectors), gap, max_rounds)
    excess = float(found.prices.excess(vectors).max())
    channel = cone.mix_inside(found.channel(SETTINGS.inner_gap * tolerance))
    return BoundedChannel(channel, problem.bound(found.prices, excess), found.rounds)


def closed_forms(inputs: int, epsilon: float) -> dict[str, Channel]:
    """Return mechanisms of local differential privacy for many inputs that can be listed, by their names."""
    forms = dict[str, Channel]()
    for name, mechanism in LARGE_ALPHABETS.items():
        with suppress(Intractable):
            forms[name] = mechanism(inputs, epsilon)
    return forms


def _large_alphabet(
    problem: EstimationProblem, ratio: float, tolerance: float, max_rounds: int, max_nodes: int
) -> BoundedChannel:
    """Return the best of closed forms of local differential privacy and of column generation from them."""
    from ldpfrontier.engines.designs.staircase_relaxation import relaxed_bound
    from ldpfrontier.engines.designs.staircases import Staircases

    n, p = problem.p.size, problem.p
    forms = closed_forms(n, math.log(ratio))
    errors = {name: estimation_error(channel, p, problem.rows) for name, channel in forms.items()}
    # Of two with equal errors to rounding, the one with fewer outputs.
    best = min(errors, key=lambda name: (float(f"{errors[name]:.9g}"), forms[name].n_outputs))
    few = max(SETTINGS.kept_columns * n, SETTINGS.least_kept)
    columns = [
        channel.matrix.T
        for name, channel in forms.items()
        if channel.n_outputs <= (4_200 if name == best else few)  # the columns from which generation starts
    ]
    vectors = np.unique(np.vstack([v / (v @ p)[:, None] for v in columns]), axis=0)
    pricing, enough = Staircases(p, ratio), errors[best] * (1.0 - tolerance)
    bound = _symmetric_bound(problem, ratio)
    found = None
    if not pricing.exact and bound < enough:
        few = n * n <= max_nodes
        if not few:
            fell_back(f"a weaker bound, as there are more than {max_nodes:,} pairs of inputs")
        with _weaker_bound():
            bound = max(bound, relaxed_bound(problem, ratio, enough, rounds=3 if few else 0))
    with suppress(TimeIsUp):
        if bound >= enough and not pricing.exact:
            return BoundedChannel(forms[best], bound, 0, best)
        known = 0.0 if pricing.exact else bound
        # More work than elsewhere, as pricing costs little.
        found = generate(problem, vectors, pricing, tolerance, max_rounds, known, 2e12)
    if found is None:
        return BoundedChannel(forms[best], bound, 0, best)
    forms[GENERATED] = found.weighted.channel(SETTINGS.inner_gap * tolerance)
    errors[GENERATED] = estimation_error(forms[GENERATED], p, problem.rows)
    # A closed form with as little error has simpler columns.
    if errors[GENERATED] * (1.0 + BROKEN) < errors[best]:
        best = GENERATED
    return BoundedChannel(forms[best], max(found.bound, bound), found.rounds, best)


def _symmetric_bound(problem: EstimationProblem, ratio: float) -> float:
    """Return the least phi at the uniform distribution, if all inputs are wanted alike; else 0.

    By symmetry phi is then a multiple of that of all inputs, of which `uniform_error` is the least one.
    """
    n, wanted = problem.p.size, problem.wanted
    gram = wanted.T @ wanted
    alike = (np.eye(n) - 1.0 / n) * np.trace(gram) / (n - 1.0)
    if np.ptp(problem.p) > BROKEN / n or np.abs(gram - alike).max() > BROKEN * np.abs(gram).max():
        return 0.0
    scale = float(np.trace(gram)) / (n - 1.0) * (1.0 - 4.0 * BROKEN)
    return scale * uniform_error(n, math.log(ratio))


def _over_curved_cone(
    problem: EstimationProblem,
    cone: Cone,
    tolerance: float,
    max_rounds: int,
    max_nodes: int,
) -> BoundedChannel:
    """Return the best channel that is found, and a bound by branch and bound, or else by larger cones."""
    if not (problem.p > 0).all():
        raise ValueError(
            f"The prior is 0 at input {int(problem.p.argmin())}; over a cone whose extreme rays are not"
            " listed, every input needs a probability above 0."
        )
    if cone.least_constant_slack == 0.0:
        raise Intractable(
            "The constant column meets an inequality of the cone with equality, so that columns cannot be"
            " moved into the cone by mixing; such cones are solved by their extreme rays alone, which are"
            f" listed for at most {LIMITS.max_ray_inputs} inputs and {LIMITS.max_rays:,} rays."
        )
    tolerance = max(tolerance, SETTINGS.outer_tolerance)
    cuts_alone = not len(cone.inequalities)
    share = 1.0 if cuts_alone else SETTINGS.outer_share
    pricing = CutColumns(cone, problem.p, tolerance, max_nodes if cuts_alone else 0)
    start = pricing.start()
    found = generate(problem, start, pricing, share * tolerance, max_rounds)
    weighted, bound = found.weighted, found.bound
    if bound < weighted.phi * (1.0 - tolerance):
        if cuts_alone:
            nodes = max_nodes - pricing.left
            fell_back(f"larger polyhedral cones, as branch and bound ended after {nodes:,} nodes")
        used = np.argsort(-weighted.theta, kind="stable")[: SETTINGS.least_kept]
        known = np.vstack([start, weighted.vectors[used]])
        if max_nodes:
            bound = max(bound, outer_bound(problem, cone, known, weighted.phi, tolerance, max_nodes))
        if bound == 0.0 and isinstance(cone, PolyhedralCone):
            with _weaker_bound():
                bound = _bound_by_ratios(problem, cone, max_nodes)
    return BoundedChannel(
        weighted.channel(SETTINGS.inner_gap * SETTINGS.outer_share * tolerance), bound, found.rounds
    )


@contextmanager
def _weaker_bound() -> Iterator[None]:
    """Let the time limit end a bound; then one that was known before holds."""
    try:
        yield
    except TimeIsUp:
        fell_back("a weaker bound, as the time limit ended the proof")


def _large_table(
    problem: EstimationProblem, cone: Cone, tolerance: float, max_rounds: int, max_nodes: int
) -> BoundedChannel:
    """Return a good channel of a large table, and a weak bound."""
    from ldpfrontier.engines.designs.program_columns import ProgramColumns, programs_of

    known = programs_of(cone, problem.p)
    if known is None:
        raise Intractable(
            f"The cone has {problem.p.size} inputs and its extreme rays are not listed; beyond"
            f" {LIMITS.max_joint_cells} inputs, only these are solved: polyhedral cones with the constant"
            " column inside, cones of acquaintances, and `robust_cone` with a conditional level"
            " (`robust_cone(...) & conditional_cone(...)`)."
        )
    pricing = ProgramColumns(known.program, cone.shape, problem.p)
    forms = closed_forms(problem.p.size, known.level)
    forms["randomized response"] = randomized_response(problem.p.size, known.level)
    errors = {name: estimation_error(form, problem.p, problem.rows) for name, form in forms.items()}
    # Where few rounds are possible, a mechanism for anyone may have less error.
    best = min(errors, key=errors.__getitem__)
    name, channel, rounds = best, forms[best], 0
    with suppress(TimeIsUp):
        start = np.vstack([_known_columns(problem, cone, known.level, forms, errors), pricing.random()])
        if not isinstance(cone, PolyhedralCone):
            # What protects from anyone is in the cone, and takes a fraction of the time to find.
            inner = unconditional_cone(cone.shape, known.level)
            first = _known_columns(problem, inner, known.level, forms, errors)
            start = np.vstack([start, _inner_columns(problem, inner, first, errors, tolerance, max_rounds)])
        found = generate(problem, start, pricing, tolerance, max_rounds)
        made, rounds = found.weighted.channel(SETTINGS.inner_gap * tolerance), found.rounds
        made = cone.mix_inside(made) if isinstance(cone, PolyhedralCone) else made
        if estimation_error(made, problem.p, problem.rows) <= errors[best]:
            name, channel = "", made
    bound = estimation_error(Channel(np.eye(problem.p.size)), problem.p, problem.rows) * (1.0 - BROKEN)
    with _weaker_bound():
        if isinstance(cone, PolyhedralCone):
            bound = max(bound, _bound_by_ratios(problem, cone, max_nodes))
        elif _few_conditional(cone.shape, max_nodes):
            bound = max(bound, _conditional_bound(problem, cone.shape, known.conditional_level))
    return BoundedChannel(channel, bound, rounds, name)


def _inner_columns(
    problem: EstimationProblem,
    inner: PolyhedralCone,
    first: FloatArray,
    errors: dict[str, float],
    tolerance: float,
    max_rounds: int,
) -> FloatArray:
    """Return columns of a good mechanism of a smaller cone, (m, inputs); none if closed forms are as good.

    Columns that are no better than closed forms would take the place of other starts.
    """
    from ldpfrontier.engines.designs.program_columns import PolyhedralProgram, ProgramColumns

    pricing = ProgramColumns(PolyhedralProgram(inner, problem.p), inner.shape, problem.p)
    columns = np.vstack([first, pricing.random()])
    # Its weights only say whether it is better, and need not be exact.
    rough = max(tolerance, SETTINGS.first_gap)
    # Some more rounds only if the first ones find less error than closed forms have. On tables of 24 to 88
    # cells, estimates of S then need 9% to 47% fewer people, and those of all cells as many.
    for rounds in (2, 3):
        weighted = generate(problem, columns, pricing, rough, min(max_rounds, rounds)).weighted
        if weighted.phi > (1.0 - tolerance) * min(errors.values()):
            return np.empty((0, problem.p.size))
        columns = weighted.vectors
    return columns


def _known_columns(
    problem: EstimationProblem, cone: Cone, level: float, forms: dict[str, Channel], errors: dict[str, float]
) -> FloatArray:
    """Return columns of a closed form with few outputs, and of secret randomized response, (m, inputs)."""
    n, p = problem.p.size, problem.p
    most = max(2 * SETTINGS.kept_columns * n, SETTINGS.least_kept)
    few = [name for name, form in forms.items() if form.n_outputs <= most]
    best, secret = forms[min(few, key=errors.__getitem__)], secret_randomized_response(*cone.shape, level)
    columns = np.vstack([best.matrix.T, secret.matrix.T])
    if isinstance(cone, PolyhedralCone):  # secret randomized response tells u
        columns = np.vstack([best.matrix.T, cone.mix_inside(secret).matrix.T])
    return np.unique(columns / (columns @ p)[:, None], axis=0)


def _few_conditional(shape: tuple[int, int], max_nodes: int) -> bool:
    """Tell whether columns given all useful values are few enough for a bound; else it is a weaker one."""
    a1, a2 = shape
    few = a1 <= SETTINGS.max_enumerated_inputs and a2 << a1 <= SETTINGS.priced_columns * max_nodes
    if not few:
        fell_back("a weaker bound, as there are too many columns given the useful value")
    return few


def _bound_by_ratios(problem: EstimationProblem, cone: PolyhedralCone, max_nodes: int) -> float:
    """Return a bound of the larger class in which entries are compared two by two, as the cone implies."""
    levels, (a1, a2) = implied_levels(cone.inequalities), cone.shape
    bounds = [0.0]
    if levels.max() <= MAX_EPSILON:
        from ldpfrontier.engines.designs.staircase_relaxation import relaxed_bound

        bounds.append(relaxed_bound(problem, math.exp(levels.max()), rounds=0))
    given = levels.reshape(a1, a2, a1, a2).diagonal(axis1=1, axis2=3).max()
    if a1 > 1 and given <= MAX_EPSILON and _few_conditional((a1, a2), max_nodes):
        bounds.append(_conditional_bound(problem, cone.shape, float(given)))
    return max(bounds)


def _conditional_bound(problem: EstimationProblem, shape: tuple[int, int], level: float) -> float:
    """Return the least error of mechanisms that tell u, and S at the conditional level, or a bound of it.

    With p_u the distribution of S given u, of weight m_u, and A_u the columns of A for u, columns need have
    entries for one u only, and tr(A M^-1 A') is the sum of m_u tr(A_u M_u^-1 A_u'), each an error under LDP.
    """
    total = 0.0
    for u in range(shape[1]):
        p, rows = problem.p.reshape(shape)[:, u], problem.rows.reshape(-1, *shape)[:, :, u]
        mass = float(p.sum())
        if mass > 0.0 and rows.any():
            given = optimal_estimation(
                p / mass,
                local_cone(len(p), level),
                rows,
                tolerance=SETTINGS.outer_tolerance,
            )
            total += mass * (given.bound + float(((rows @ p / mass) ** 2).sum()))
    return total - float(((problem.rows @ problem.p) ** 2).sum())


def listed_columns(cone: PolyhedralCone, rays: FloatArray, p: FloatArray) -> FloatArray:
    """Return the extreme rays of a cone that a mechanism can have as columns, with p . v = 1, (m, inputs)."""
    # What the constant column meets with equality, all columns of a mechanism meet with equality.
    B = cone.inequalities
    sizes = np.abs(B).sum(axis=1)
    tight = B.sum(axis=1) >= -SETTINGS.equality * sizes
    slack = rays @ B[tight].T
    rays = rays[(slack >= -SETTINGS.equality * (rays @ np.abs(B[tight]).T)).all(axis=1)]
    mass = rays @ p
    if not (mass > 0).all():
        cell = int(rays[int(mass.argmin())].argmax())
        raise ValueError(
            f"The prior is 0 at input {cell}, and the cone has a column that occurs with such inputs only:"
            " the least error is then not the error of a mechanism. Every input needs a probability above 0."
        )
    return np.asarray(rays / mass[:, None])
