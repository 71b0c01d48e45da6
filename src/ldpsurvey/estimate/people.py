r"""How many people have to report, for a standard error, the width of an interval, or the power of a test.

With V the variance of an estimate from one report, n people give the standard error sqrt(V / n). Intervals
of `estimate` are wider than Wald's with few reports, and vary: what share of them is at most so wide, or
misses a value, is found from surveys of n people that are drawn from what is expected, by the mean m and the
standard deviation s of a margin: of what the width is below the largest one, or of the distance of the
interval from the value. A share g reaches the aim if m >= z_g s, z_g a normal quantile. A line through
margins by estimates, whose mean and variance are known, makes few surveys enough. Qiu, Zou and Tang (2014),
*Sample size determination for estimating prevalence*, plan widths with such a probability, and Blair, Imai
and Zhou (2015), *Design and analysis of the randomized response technique*, power, both with Wald's
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import columns, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.distribution import FittedReports, Inversion, check_confidence
from ldpsurvey.estimate.estimates import Measure
from ldpsurvey.estimate.intervals import upper_limits
from ldpsurvey.estimate.rates import distances, rates_of
from ldpsurvey.estimate.targets import check_precise, frequencies, is_formula, likelihood_target, target_of


@dataclass(frozen=True)
class Need:
    """How many people an estimate needs: a whole number, or inf if no number is enough.

    `deviation` is that of the estimate from one report, sqrt(n) times the standard error from n.
    """

    name: str
    expected: float
    deviation: float
    people: float


@dataclass(frozen=True)
class Aim:
    """What the reports have to give, one of three.

    A standard error `error`; intervals of which the share `probability` is at most `width` wide; or the
    probability `power` that an interval does not contain `value`.
    """

    error: float | None = None
    width: float | None = None
    power: float | None = None
    probability: float = 0.9
    value: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        given = [x for x in (self.error, self.width, self.power) if x is not None]
        if len(given) != 1:
            raise ValueError("One of --error, --width and --power is needed.")
        check_confidence(self.confidence)
        if not 0 < given[0] < math.inf:
            raise ValueError(f"The aim is {given[0]}; it must be a number above 0.")
        for name, share in (("power", self.power), ("probability", self.probability)):
            if share is not None and not 0.5 <= share < 1:
                raise ValueError(f"The {name} is {share}; it must be a number from 0.5 to below 1.")
        if not math.isfinite(self.value):
            raise ValueError(f"The value is {self.value}; it must be a finite number.")

    def margin(self, variance: FloatArray, moves: FloatArray, margins: FloatArray) -> FloatArray:
        """Return by how much surveys exceed the aim, (k,): above 0 where enough of them reach it.

        The margins of surveys, (surveys, k), are above 0 where one reaches it. The moves, (surveys, k), are
        those of unbiased estimates, with the variances (k,) and the mean 0.
        """
        share = self.power or self.probability
        centred = moves - moves.mean(axis=0)
        slope = (centred * margins).sum(axis=0) / np.maximum((centred**2).sum(axis=0), np.finfo(float).tiny)
        mean = margins.mean(axis=0) - slope * moves.mean(axis=0)
        rest = margins - margins.mean(axis=0) - slope * centred
        spread = np.sqrt(slope**2 * variance + (rest**2).sum(axis=0) / (len(rest) - 2))
        return np.asarray(mean - ndtri(share) * spread)


def people_needed(
    private: PrivateChannel, precise: str, aim: Aim, progress: Callable[[int], None] | None = None
) -> TableRows[Need]:
    """Return how many people the estimates from the reports of a channel need.

    They are those of `estimate` at the distribution that is expected of the table of the channel
    (`with_expected`); of a formula, those of maximum likelihood with Wald's intervals, if the formula holds.
    """
    table, matrix = private.table, private.channel.matrix
    check_precise(table, precise)
    if precise in ("pairs", "triples") and aim.error is None:
        raise ValueError(f"There are no intervals of {precise} to plan with; --error is possible.")
    target, reports = target_of(table, precise), table.expected.ravel() @ matrix
    linear, variances = _linear_estimates(table, matrix, precise)
    least = -1.0 if precise == "differences" else 0.0
    if aim.power is not None and not is_formula(precise) and not least <= aim.value <= 1.0:
        raise ValueError(f"The value is {aim.value:g}; {precise} are never below {least:g} or above 1.")

    def surveys(n: int) -> tuple[FloatArray, FloatArray]:
        if progress:
            progress(n)
        rng = np.random.default_rng(0)  # the same answer each time
        drawn = rng.multinomial(n, reports, size=SETTINGS.planned_surveys)
        moves = (drawn / n - reports) @ linear.weights.T
        of_survey = _formula_margins if is_formula(precise) else _margins
        return moves, of_survey(private, precise, aim, target.values, drawn, moves)

    return needs_of(precise, target.names, target.values, variances, aim, surveys)


def needs_of(
    precise: str,
    names: Sequence[str],
    values: FloatArray,
    variances: FloatArray,
    aim: Aim,
    surveys: Callable[[int], tuple[FloatArray, FloatArray]],
) -> TableRows[Need]:
    """Return how many people estimates need that have these values, and variances from one report, (k,).

    What is `precise` is for the title. `surveys` returns the moves and the margins, (surveys, k) each, of
    estimates from so many people, as of `Aim.margin`. A variance that is NaN is that of what cannot be
    estimated.
    """
    shown = np.isfinite(variances)
    people = np.full(len(variances), math.inf)
    if aim.error is not None:
        people[shown] = np.maximum(np.ceil(variances[shown] / aim.error**2), 1.0)
    effects = np.abs(values - aim.value)
    if aim.power is not None:
        shown &= effects > SETTINGS.rounding  # else no number is enough
    if aim.error is None and shown.any():
        size = aim.width or effects[shown].max()

        def margin(n: int) -> FloatArray:
            moves, margins = surveys(n)
            return aim.margin(variances[shown] / n, moves[:, shown], margins[:, shown])

        people[shown] = _least_people(margin, float(variances[shown].min()) * (_quantile(aim) / size) ** 2)
    rows = zip(names, values, np.sqrt(variances), people, strict=True)
    needs = (Need(name, float(value), float(one), float(n)) for name, value, one, n in rows)
    return TableRows(needs, f"people who have to report, for {precise}")


def _least_people(margin: Callable[[int], FloatArray], first: float) -> FloatArray:
    """Return the least numbers of people with a margin above 0, (k,), by interpolation.

    Margins are about linear in 1 / sqrt(n) between numbers of people that grow by a factor.
    """
    n = int(np.clip(first, SETTINGS.least_people, SETTINGS.most_people))
    before = margin(n)
    while (before > 0).any() and n > SETTINGS.least_people:
        n = max(n // SETTINGS.people_factor, SETTINGS.least_people)
        before = margin(n)
    found = np.where(before > 0, float(n), math.inf)
    while np.isinf(found).any() and n < SETTINGS.most_people:
        n, last = n * SETTINGS.people_factor, n
        now = margin(n)
        new = np.isinf(found) & (now > 0)
        share = before[new] / (before[new] - now[new])
        root = (1.0 - share) / math.sqrt(last) + share / math.sqrt(n)
        found[new] = np.ceil(root**-2)
        before = now
    return found


def _margins(
    private: PrivateChannel, precise: str, aim: Aim, expected: FloatArray, drawn: IntArray, _: FloatArray
) -> FloatArray:
    """Return margins of surveys, (surveys, k), which are above 0 if and only if a survey reaches the aim.

    For a power, a margin is the distance of a limit from the value. Limits may be outside of what is
    possible; ends of intervals are not, so that those of small surveys would all be the same.
    """
    table, tail = private.table, 0.5 * (1.0 - aim.confidence)
    of_rates = precise in ("rates", "differences")
    measure: Measure = "rate" if precise == "rates" else "difference"
    asked = [] if of_rates else frequencies(table, precise)[0]
    first, found = None, list[FloatArray]()
    for counts in drawn:
        fit = FittedReports(private, counts, first)
        first = first or fit
        places = [fit.asked.index(quantity) for quantity in asked]
        if aim.width is not None and of_rates:
            rows = rates_of(fit, table.most_frequent, aim.confidence, simultaneous=False).of(measure)
            found.append(aim.width - np.array([row.high - row.low for row in rows]))
            continue
        if aim.width is not None:
            every = fit.distribution(aim.confidence, simultaneous=False).frequencies
            widths = [every[place].high - every[place].low for place in places]
            found.append(aim.width - np.array(widths))
            continue
        if of_rates:
            above, below = distances(fit, table.most_frequent, measure, aim.value, tail)
        else:
            down, up = (upper_limits(w[places], fit.counts, fit.fitted, tail) for w in fit.weights(tail))
            above, below = -down - aim.value, aim.value - up
        found.append(np.where(expected > aim.value, above, below))
    return np.array(found)


def _formula_margins(
    private: PrivateChannel, precise: str, aim: Aim, expected: FloatArray, drawn: IntArray, moves: FloatArray
) -> FloatArray:
    """Return what `_margins` does, of coefficients to first order, with Wald's intervals."""
    table, matrix = private.table, private.channel.matrix
    z, n, p = float(ndtri(0.5 + 0.5 * aim.confidence)), int(drawn[0].sum()), table.expected.ravel()
    linear = Inversion(matrix, p, np.eye(p.size))
    found = list[FloatArray]()
    for counts, move in zip(drawn, moves, strict=True):
        at = np.maximum(linear.weights @ counts / n, 0.5 / n)
        moved = replace(table, assumed=(at / at.sum()).reshape(table.counts.shape))
        half = z * np.sqrt(_linear_estimates(moved, matrix, precise)[1] / n)
        if aim.width is not None:
            found.append(aim.width - 2.0 * half)
        else:
            found.append(np.sign(expected - aim.value) * (expected + move - aim.value) - half)
    return np.array(found)


def _quantile(aim: Aim) -> float:
    """Return Wald's number of standard errors that the aim has to exceed."""
    z = float(ndtri(0.5 + 0.5 * aim.confidence))
    return 2.0 * z if aim.power is None else z + float(ndtri(aim.power))


def _linear_estimates(table: CountTable, matrix: FloatArray, precise: str) -> tuple[Inversion, FloatArray]:
    """Return unbiased estimates to first order, and their variances from one report, (k,).

    A variance is NaN if the channel does not show the estimate.
    """
    if is_formula(precise):
        rows, p = likelihood_target(table, precise, matrix)
    else:
        rows, p = target_of(table, precise).rows, table.expected.ravel()
    linear = Inversion(matrix, p, rows)
    return linear, np.asarray(linear.error(p @ matrix, 1) ** 2)


def people_text(found: Sequence[Need], aim: Aim, precise: str) -> str:
    """Return a table of how many people each estimate needs."""
    confidence = f"{100.0 * aim.confidence:g}% interval"
    if aim.error is not None:
        goal = f"a standard error of {aim.error:g}"
    elif aim.width is not None:
        goal = f"a {confidence} that is at most {aim.width:g} wide with probability {aim.probability:g}"
    else:
        goal = f"a {confidence} without {aim.value:g} with probability {aim.power:g}"
    rows = [["", "expected", "error from 1", "people"]]
    for one in found:
        shown = math.isfinite(one.deviation)
        people = f"{one.people:,.0f}" if math.isfinite(one.people) else "-"
        rows.append([one.name, f"{one.expected:.4g}", f"{one.deviation:.4g}" if shown else "-", people])
    words = (
        f"How many people have to report for {goal}, each of what is listed; for many reports, if what is"
        " expected is right. The standard error is that from 1 report divided by the root of the number of"
        " reports; '-' means that no number is enough."
    )
    if is_formula(precise):
        words += " Regressions are by maximum likelihood, under the formula."
    return f"{wrapped(words)}\n\n{columns(rows)}"
