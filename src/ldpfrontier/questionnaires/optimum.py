r"""Mechanisms that ask each person some of the questions, by lot, and have the least error of the tables.

Over weights w of sets of answers (`sets`), each about the questions of one class in all its places, ::

    minimize sum_T c_T / m_T   subject to   m = sum_j w_j m(S_j),  sum_j w_j = 1,  w >= 0.

This is a small convex program, as questions that are treated alike share their interactions. Its columns are
the sets, priced all at once: with the prices lam_T = c_T / m_T^2 no column has more than max_S lam . m(S), so
that

    optimum >= (sum_T c_T / m_T)^2 / max_S lam . m(S).

If at most 16 combinations are possible, all their sets are columns, and this bounds every mechanism at this
level: at the uniform distribution, tables of all questions and answers are wanted alike, so that averaging
over permutations of the answers loses nothing, and the columns of LDP are 1 + (e^epsilon - 1) 1_S. Otherwise
the bound is that of all interactions together,

    sum_T m_T dim T <= max_a (e^epsilon - 1)^2 a (1 - a) / (1 + (e^epsilon - 1) a)^2
                     = (e^epsilon - 1)^2 / (4 e^epsilon),

and for questions of two answers, where |T| = 1 and b is the smaller one of a and 1 - a, ::

    sum_j |P_j 1_S|^2 <= b / 2   and   <= 2 b^2 ln(1/b),

by docs/beyond/theorems.md, statement 13, and by the level-1 inequality (O'Donnell 2014, *Analysis of Boolean
functions*, section 5.4). The bound has the smaller one of the maxima over b.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.optimum import BROKEN, LEAST_EPSILON, keeps_time_limit
from ldpfrontier.numerics.arguments import as_count, as_number
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.questionnaires.interactions import Kinds, Questionnaire
from ldpfrontier.questionnaires.mechanism import Lot, QuestionnaireMechanism
from ldpfrontier.questionnaires.sets import candidate_sets
from ldpfrontier.questionnaires.settings import SETTINGS

#: Largest level of a mechanism for a questionnaire, nats.
MOST_EPSILON = 20.0

#: What weights that are tried tell at least, in units of the most that a column tells.
_LEAST_TOLD = 1e-9


@dataclass(frozen=True, eq=False)
class QuestionnaireOptimum:
    """A mechanism for a questionnaire, and a bound on the error of all others.

    Attributes
    ----------
    mechanism : QuestionnaireMechanism
    bound : float
        No mechanism at this level has less `error`, at the uniform distribution.
    """

    mechanism: QuestionnaireMechanism
    bound: float

    @property
    def error(self) -> float:
        """Return that of the mechanism."""
        return self.mechanism.error


@keeps_time_limit
def optimal_questionnaire(
    sizes: Sequence[int],
    epsilon: float,
    order: int = 2,
    tables: Sequence[Sequence[int]] | None = None,
    *,
    asked: int | None = None,
    max_seconds: float | None = None,
) -> QuestionnaireOptimum:
    """Find the mechanism for several questions that needs the fewest people for tables of some of them.

    Parameters
    ----------
    sizes : sequence of int
        The number of answers to each question, from 2 to 36; up to 60 questions.
    epsilon : float
        The level in nats for all answers of a person together.
    order : {1, 2, 3}
        All tables of so many questions are wanted: the shares of each question, the tables of two, of three.
    tables : sequence of sequences of int, optional
        The questions of each table, numbers from 0, if others are wanted. Three or more questions are then
        asked together if tables connect them.
    asked : int, optional
        Most questions that a person is asked, 1 to 4; by default 4. Of more than 16 combinations it is 3 at
        most.
    max_seconds : float, optional
        Seconds after which the best weights so far are returned; 0 or more. Listing the sets takes seconds
        whatever it is.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from ldpfrontier import optimal_questionnaire
    >>> round(optimal_questionnaire([2, 2, 2], 1.0).error, 2)
    48.41
    """
    allowed = f"a number from {LEAST_EPSILON:g} to {MOST_EPSILON:g}"
    epsilon = as_number(epsilon, "epsilon", allowed, least=LEAST_EPSILON, most=MOST_EPSILON)
    if asked is not None:
        asked = as_count(asked, "asked", "a whole number from 1 to 4", least=1, most=4)
    every = Questionnaire.of_order(sizes, order)
    questionnaire = every if tables is None else Questionnaire(every.sizes, tables)  # type: ignore[arg-type]
    together = max(map(len, questionnaire.tables))
    if asked is not None and asked < together:
        raise ValueError(f"asked is {asked}; a table of {together} questions needs {together} at least.")
    c = np.array(list(questionnaire.wanted.values()))
    origin, columns = _columns(questionnaire, epsilon, asked)
    weights, least = _best_weights(columns, c)
    lots = []
    for weight, (kinds, number) in zip(weights, origin, strict=True):
        if weight > 0:
            lots.append(
                Lot(float(weight), kinds, candidate_sets(questionnaire.sizes_of(kinds)).made[number]())
            )
    mechanism = QuestionnaireMechanism(questionnaire, epsilon, tuple(lots))
    bound = _bound_of_all(questionnaire, epsilon)
    if questionnaire.combinations <= SETTINGS.listed_cells and asked is None:
        bound = max(bound, least * (1.0 - BROKEN))
    return QuestionnaireOptimum(mechanism, min(bound, mechanism.error))


def _columns(
    questionnaire: Questionnaire, epsilon: float, asked: int | None
) -> tuple[list[tuple[Kinds, int]], FloatArray]:
    """Return where columns come from, and what each tells of every interaction, (columns, interactions)."""
    place = {kinds: i for i, kinds in enumerate(questionnaire.wanted)}
    number = np.array([questionnaire.sets_of(kinds) * questionnaire.dimension(kinds) for kinds in place])
    origin, rows = list[tuple[Kinds, int]](), list[FloatArray]()
    listed = SETTINGS.asked_together if asked is None else asked
    many = min(listed, SETTINGS.asked_of_many)
    every = questionnaire.has_all_tables or questionnaire.combinations <= SETTINGS.listed_cells
    for kinds in questionnaire.classes(listed):
        # Of chosen tables each question is a kind of its own.
        if not every and len(kinds) > 2 and not questionnaire.are_connected(kinds):
            continue
        sizes = questionnaire.sizes_of(kinds)
        if len(kinds) > (listed if math.prod(sizes) <= SETTINGS.listed_cells else many):
            continue
        found = candidate_sets(sizes)
        told = found.told_in_all(epsilon)
        row = np.zeros((len(told), len(place)))
        for axis, some in enumerate(found.axes):
            own = tuple(sorted(kinds[j] for j in some))
            if own in place:
                row[:, place[own]] += told[:, axis]
        row /= number
        keep = np.sort(np.unique(row.round(15), axis=0, return_index=True)[1])
        keep = keep[row[keep].any(axis=1)]
        origin += [(kinds, int(j)) for j in keep]
        rows.append(row[keep])
    return origin, np.vstack(rows)


def _best_weights(columns: FloatArray, c: FloatArray) -> tuple[FloatArray, float]:
    """Return the weights of columns with the least sum of c / m, and a bound on that."""
    unit = columns.max(axis=0)
    active = sorted({int(j) for j in columns.argmax(axis=0)} | {int((columns / unit).sum(axis=1).argmax())})
    found, weights, bound = np.full(len(active), 1.0 / len(active)), np.zeros(len(columns)), 0.0
    for _ in range(100):  # a limit against a stall
        found = _least(columns[active], c, np.append(found, np.zeros(len(active) - len(found))))
        m = found @ columns[active]
        value, prices = float((c / m).sum()), c / m**2
        worth = columns @ prices
        bound = max(bound, value**2 / float(worth.max()))
        weights = np.zeros(len(columns))
        weights[active] = found
        if value <= bound * (1.0 + SETTINGS.gap) or time_is_up():
            break
        best = np.argsort(-worth, kind="stable")[:5]
        active += [int(j) for j in best if int(j) not in active]
    weights = _fewer(columns, c, weights)
    # Rounded, so that the last digits of a processor change nothing.
    rounded = weights.round(6)
    weights = rounded if (rounded @ columns).all() else weights
    return weights / weights.sum(), bound


def _least(columns: FloatArray, c: FloatArray, start: FloatArray) -> FloatArray:
    """Return the best weights of few columns, from others that tell something of everything."""
    from scipy.optimize import LinearConstraint, minimize

    unit = columns.max(axis=0)
    scaled, costs = columns / unit, c / unit
    costs /= (costs / (start @ scaled)).sum()

    def error(w: FloatArray) -> float:
        return float((costs / np.maximum(w @ scaled, _LEAST_TOLD)).sum())

    def slopes(w: FloatArray) -> FloatArray:
        return np.asarray(-(scaled @ (costs / np.maximum(w @ scaled, _LEAST_TOLD) ** 2)))

    ones = LinearConstraint(np.ones((1, len(start))), 1.0, 1.0)
    inside = 0.9 * start + 0.1 / len(start)
    done = minimize(
        error, inside, jac=slopes, method="SLSQP", bounds=[(0.0, 1.0)] * len(start), constraints=ones,
        options={"ftol": 1e-10, "maxiter": 300},
    )  # fmt: skip
    found = np.maximum(done.x, 0.0)
    found /= found.sum()
    return found if error(found) <= error(start) and (found @ scaled > 2.0 * _LEAST_TOLD).all() else start


def _fewer(columns: FloatArray, c: FloatArray, weights: FloatArray) -> FloatArray:
    """Leave columns of little weight out."""
    most = (c / (weights @ columns)).sum() * (1.0 + SETTINGS.fewer)
    for place in np.argsort(weights):
        if weights[place] > 0:
            fewer = np.where(np.arange(len(weights)) == place, 0.0, weights)
            fewer /= max(fewer.sum(), 1e-300)
            told = fewer @ columns
            if told.all() and (c / told).sum() <= most:
                weights = fewer
    return weights


def _bound_of_all(questionnaire: Questionnaire, epsilon: float) -> float:
    """Return the bound by the sum of all interactions and, of questions of two answers, of those of one."""
    gain = math.expm1(epsilon)
    total = gain**2 / (4.0 * math.exp(epsilon))
    # For x_T = m_T dim T times the number of such T, c_T / m_T is this square over x_T.
    roots = {
        kinds: math.sqrt(cost * questionnaire.sets_of(kinds) * questionnaire.dimension(kinds))
        for kinds, cost in questionnaire.wanted.items()
    }
    one = sum(root for kinds, root in roots.items() if len(kinds) == 1)
    others = sum(roots.values()) - one
    share = total * one / (one + others)
    if set(questionnaire.sizes) == {2}:
        share = min(share, _most_of_one(gain))
    return (one**2 / share + (others**2 / (total - share) if others else 0.0)) * (1.0 - BROKEN)


def _most_of_one(gain: float) -> float:
    """Return the most that a set tells of single questions of two answers."""
    # Sets of more than half of the combinations tell less than their complements.
    best = min(1.0 / gain, 0.5)
    # Between points of a grid, b and the factor are at most what they are at one of the ends.
    a = np.linspace(0.0, 0.5, 10_001)
    energy = 2.0 * a[1:] ** 2 * np.log(1.0 / a[1:])
    level_one = float((energy * (gain / (1.0 + gain * a[:-1])) ** 2).max())
    return min(0.5 * best * (gain / (1.0 + gain * best)) ** 2, level_one)
