r"""How many people have to report, for a standard error, the width of an interval, or the power of a test.

With V the variance of an estimate from one report, n people give the standard error sqrt(V / n). Intervals
of `estimate` are wider than Wald's with few reports, and vary: what share of them is at most so wide, or
misses a value, is found from surveys of n people that are drawn from what is expected, by the mean m and the
standard deviation s of a margin: of the logarithm of the width, or of the distance of the interval from the
value. A share g reaches the aim if m >= z_g s, z_g a normal quantile. A line through margins by estimates,
whose mean and variance are known, makes few surveys enough. Qiu, Zou and Tang (2014), *Sample size
determination for estimating prevalence*, plan widths with such a probability, and Blair, Imai and Zhou
(2015), *Design and analysis of the randomized response technique*, power, both with Wald's intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.estimation import (
    FittedReports,
    Inversion,
    check_confidence,
)
from ldpfrontier.survey.layout import columns, wrapped
from ldpfrontier.survey.rates import rates_of
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import CountTable
from ldpfrontier.survey.targets import check_precise, frequencies, is_formula, likelihood_target, target_of
from ldpfrontier.types import FloatArray, IntArray


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

    def margin(self, expected: FloatArray, variance: FloatArray, surveys: FloatArray) -> FloatArray:
        """Return by how much surveys exceed the aim, (k,): at least 0 where enough of them reach it.

        What is expected of the estimates, and their variances, are (k,); the surveys, (3, surveys, k), have
        estimates and the ends of their intervals.
        """
        estimates, low, high = surveys
        if self.width is not None:
            margins, share = math.log(self.width) - np.log(high - low), self.probability
        else:
            margins = np.where(expected > self.value, low - self.value, self.value - high)
            share = self.power or 0.5
        moves = estimates - estimates.mean(axis=0)
        slope = (moves * margins).sum(axis=0) / np.maximum((moves**2).sum(axis=0), np.finfo(float).tiny)
        mean = margins.mean(axis=0) + slope * (expected - estimates.mean(axis=0))
        rest = margins - margins.mean(axis=0) - slope * moves
        spread = np.sqrt(slope**2 * variance + (rest**2).sum(axis=0) / (len(rest) - 2))
        return np.asarray(mean - ndtri(share) * spread)


def people_needed(
    private: PrivateChannel, precise: str, aim: Aim, progress: Callable[[int], None] | None = None
) -> list[Need]:
    """Return how many people the estimates from the reports of a channel need.

    They are those of `estimate` at the distribution that is expected of the table of the channel
    (`with_expected`); of a formula, those of maximum likelihood with Wald's intervals, if the formula holds.
    """
    table, matrix = private.table, private.channel.matrix
    check_precise(table, precise)
    if precise in ("pairs", "triples") and aim.error is None:
        raise ValueError(f"There are no intervals of {precise} to plan with; --error is possible.")
    target, variances = target_of(table, precise), _variances(table, matrix, precise)
    shown = np.isfinite(variances)
    people = np.full(len(variances), math.inf)
    if aim.error is not None:
        people[shown] = np.maximum(np.ceil(variances[shown] / aim.error**2), 1.0)
    elif shown.any():
        effects = np.abs(target.values - aim.value)[shown]
        size = max(aim.width or effects.max(), np.finfo(float).tiny)

        def margin(n: int) -> FloatArray:
            if progress:
                progress(n)
            surveys = _surveys(private, precise, aim.confidence, n)[:, :, shown]
            return aim.margin(target.values[shown], variances[shown] / n, surveys)

        people[shown] = _least_people(margin, float(variances[shown].min()) * (_quantile(aim) / size) ** 2)
    deviations = np.sqrt(variances)
    rows = zip(target.names, target.values, deviations, people, strict=True)
    return [Need(name, float(value), float(one), float(n)) for name, value, one, n in rows]


def _least_people(margin: Callable[[int], FloatArray], first: float) -> FloatArray:
    """Return the least numbers of people with a margin of at least 0, (k,), by interpolation.

    Margins are about linear in 1 / sqrt(n) between numbers of people that grow by a factor.
    """
    n = int(np.clip(first, SETTINGS.least_people, SETTINGS.most_people))
    before = margin(n)
    while (before >= 0).any() and n > SETTINGS.least_people:
        n = max(n // SETTINGS.people_factor, SETTINGS.least_people)
        before = margin(n)
    found = np.where(before >= 0, float(n), math.inf)
    while np.isinf(found).any() and n < SETTINGS.most_people:
        n, last = n * SETTINGS.people_factor, n
        now = margin(n)
        share = before / (before - now)
        root = (1.0 - share) / math.sqrt(last) + share / math.sqrt(n)
        found = np.where(np.isinf(found) & (now >= 0), np.ceil(root**-2), found)
        before = now
    return found


def _surveys(private: PrivateChannel, precise: str, confidence: float, n: int) -> FloatArray:
    """Return the estimates of surveys of n people and the ends of their intervals, (3, surveys, k)."""
    table, matrix = private.table, private.channel.matrix
    rng = np.random.default_rng(0)  # the same answer each time
    p = table.expected.ravel()
    drawn = rng.multinomial(n, p @ matrix, size=SETTINGS.planned_surveys)
    if is_formula(precise):
        return _of_formula(table, matrix, precise, confidence, drawn)
    found = list[list[tuple[float, float, float]]]()
    for counts in drawn:
        fit = FittedReports(private, counts)
        if precise in ("rates", "differences"):
            rates = rates_of(fit, table.most_frequent, confidence, simultaneous=False)
            some = rates.of("rate" if precise == "rates" else "difference")
        else:
            estimate = fit.distribution(confidence, simultaneous=False)
            asked = {row.quantity: row for row in estimate.frequencies}
            some = [asked[quantity] for quantity in frequencies(table, precise)[0]]
        found.append([(row.estimate, row.low, row.high) for row in some])
    return np.moveaxis(np.array(found), 2, 0)


def _of_formula(
    table: CountTable, matrix: FloatArray, precise: str, confidence: float, drawn: IntArray
) -> FloatArray:
    """Return estimates of coefficients in surveys, to first order, and the ends of their intervals."""
    z, n = float(ndtri(0.5 + 0.5 * confidence)), int(drawn[0].sum())
    target, p = target_of(table, precise), table.expected.ravel()
    linear = Inversion(matrix, p, np.eye(p.size))
    found = list[FloatArray]()
    for counts in drawn:
        at = np.maximum(linear.weights @ counts / n, 0.5 / n)
        moved = replace(table, assumed=(at / at.sum()).reshape(table.counts.shape))
        half = z * np.sqrt(_variances(moved, matrix, precise) / n)
        estimate = target.values + target.rows @ (at / at.sum() - p)
        found.append(np.stack([estimate, estimate - half, estimate + half]))
    return np.moveaxis(np.array(found), 1, 0)


def _quantile(aim: Aim) -> float:
    """Return Wald's number of standard errors that the aim has to exceed."""
    z = float(ndtri(0.5 + 0.5 * aim.confidence))
    return 2.0 * z if aim.power is None else z + float(ndtri(aim.power))


def _variances(table: CountTable, matrix: FloatArray, precise: str) -> FloatArray:
    """Return the variances of estimates from one report, (k,); NaN if the channel does not show them."""
    if is_formula(precise):
        rows, p = likelihood_target(table, precise, matrix)
    else:
        rows, p = target_of(table, precise).rows, table.expected.ravel()
    linear = Inversion(matrix, p, rows)
    return np.asarray(linear.error(p @ matrix, 1) ** 2)


def people_text(found: list[Need], aim: Aim, precise: str) -> str:
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
