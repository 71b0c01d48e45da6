r"""Pairs of channels, drawn by lot, that show the share of people who give one answer whatever they are told.

In the model of `two_channels`, reports by the channels 1 and 2, of which a person has the first with
probability h, have about (p, z) the Fisher information of a person

    J = h J_1 + (1 - h) J_2,    J_i = M_i diag(1 / q_i) M_i^T,    q_i = M_i^T (p, z),

M_i the channel with a last row for those who always give the report. On the simplex, the most likely shares
have variances (diag J^-1 - (p, z)^2) / n for n people, if n is large.

*Candidates* keep the level epsilon exactly: the value x is kept with probability c, and otherwise a value is
drawn by probabilities proportional to w,

    Q = c I + 1 w^T,    w_x >= c / (e^epsilon - 1).

With equal w, c is largest, and Q is randomized response. With less, the rest is drawn more often of one
value, or less often. The report may stand for any value: reports are numbered anew, so that it is likely of
another value than its own. For two values these are all channels of this level with two reports, but those
that keep less than a tenth of what randomized response keeps: such a pair shows z well, since nearly all
are told the same, and little else.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS

#: Share of people who always give the report, that a test finds, at this level and with this power.
DETECTED, LEVEL, POWER = 0.05, 0.05, 0.8

#: How far weights are shifted to a value, or away from it; more is not looked at.
_MOST_SHIFTED = 0.9
_SHIFTS = np.linspace(-_MOST_SHIFTED, _MOST_SHIFTED, 7)
_LOTS = np.linspace(0.1, 0.9, 9)


@dataclass(frozen=True, eq=False)
class DetectingPair:
    """Two channels of one level, and how many people they need.

    Attributes
    ----------
    matrices : tuple of ndarray, shape (values, values) each
    lot : float
        The probability that a person reports by the first.
    to_detect : float
        People with whom the test finds `DETECTED` of them who always give the report.
    to_estimate : float
        People with whom the shares of values have the root mean square error that was asked for, and
        `DETECTED` always give the report.
    error : float
        Standard error of the share of those who always give it, for one person.
    """

    matrices: tuple[FloatArray, FloatArray]
    lot: float
    to_detect: float
    to_estimate: float
    error: float

    @property
    def needed(self) -> float:
        """People who suffice for both."""
        return max(self.to_detect, self.to_estimate)


def shifted_response(
    values: int, epsilon: float, report: int, stands_for: int, shift: float = 0.0
) -> FloatArray:
    """Return randomized response of a level, shifted to a report (up to 1) or away from it (down to -1).

    `report` and the report of the value that it stands for are exchanged.
    """
    odds = math.expm1(epsilon)
    kept = (1.0 - abs(shift)) * odds / (odds + values)
    drawn = np.full(values, kept / odds)
    rest = 1.0 - kept - float(drawn.sum())
    if shift > 0.0:
        drawn[stands_for] += rest
    else:
        drawn[np.arange(values) != stands_for] += rest / (values - 1)
    order = np.arange(values)
    order[[report, stands_for]] = stands_for, report
    return np.asarray((kept * np.eye(values) + drawn)[:, order])


def information(matrix: FloatArray, report: int, shares: FloatArray) -> FloatArray:
    """Return the information of a report about shares, of which the last always give one report."""
    rows = np.vstack([matrix, np.eye(matrix.shape[1])[report]])
    return np.asarray((rows / (shares @ rows)) @ rows.T)


def variances(informations: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the variances of most likely shares for one person, (..., values + 1); inf if there are none."""
    size = informations.shape[-1]
    inverse = np.linalg.inv(informations + SETTINGS.rounding**1.5 * np.eye(size))
    found = np.diagonal(inverse, axis1=-2, axis2=-1) - shares**2
    return np.where(found.min(axis=-1, keepdims=True) > 0.0, found, math.inf)


def people_needed(
    first: FloatArray, second: FloatArray, lot: float, shares: FloatArray, error: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the people who detect and who estimate, and the variance of the share of one person.

    `first` and `second` are informations, (..., 2, values + 1, values + 1), with nobody and with `DETECTED`
    people who always give the report; `shares` are those of both, (2, values + 1).
    """
    both = lot * first + (1.0 - lot) * second
    none, some = (variances(both[..., z, :, :], shares[z]) for z in (0, 1))
    ends = ndtri(1.0 - LEVEL) * np.sqrt(none[..., -1]) + ndtri(POWER) * np.sqrt(some[..., -1])
    return (ends / DETECTED) ** 2, some[..., :-1].mean(axis=-1) / error**2, some[..., -1]


def detecting_pair(p: FloatArray, epsilon: float, report: int, error: float) -> DetectingPair:
    """Return the pair of channels, among the candidates, that needs the fewest people, as far as was found.

    That many find by a test that `DETECTED` of the people always give a report, and have the shares of values
    with a root mean square error of `error`.

    Parameters
    ----------
    p : ndarray, shape (values,)
        Their distribution.
    epsilon : float
        The level of each channel.
    report : int
        The value whose name the report has.
    error : float
    """
    values = len(p)
    if values > SETTINGS.max_detecting_values:
        raise ValueError(
            f"There are {values} values; two channels are looked for with up to"
            f" {SETTINGS.max_detecting_values}."
        )
    shares = np.array([[*(1.0 - z) * p, z] for z in (0.0, DETECTED)])

    def informations(place: int, shift: float) -> FloatArray:
        matrix = shifted_response(values, epsilon, report, place, shift)
        return np.array([information(matrix, report, some) for some in shares])

    candidates = list(itertools.product(range(values), _SHIFTS.tolist()))
    known = np.array([informations(*one) for one in candidates])
    best: list[tuple[float, int, int, float]] = []
    for (i, first), lot in itertools.product(enumerate(known), _LOTS.tolist()):
        needed = np.maximum(*people_needed(first, known[i:], lot, shares, error)[:2])
        best.append((float(needed.min()), i, i + int(needed.argmin()), lot))

    def pair(places: tuple[int, int], free: FloatArray) -> DetectingPair:
        shifts, lot = np.clip(free[:2], -_MOST_SHIFTED, _MOST_SHIFTED), min(max(float(free[2]), 0.01), 0.99)
        one, other = (informations(x, s) for x, s in zip(places, shifts, strict=True))
        detect, estimate, own = map(float, people_needed(one, other, lot, shares, error))
        made = tuple(
            shifted_response(values, epsilon, report, x, s) for x, s in zip(places, shifts, strict=True)
        )
        return DetectingPair((made[0], made[1]), lot, detect, estimate, math.sqrt(own))

    found = []
    for _, i, j, lot in sorted(best)[:3]:
        (x, first_shift), (y, second_shift) = candidates[i], candidates[j]
        places, start = (x, y), np.array([first_shift, second_shift, lot])

        def logarithm(free: FloatArray, places: tuple[int, int] = places) -> float:
            return math.log(pair(places, free).needed)

        near: Any = minimize(logarithm, start, method="Nelder-Mead")
        # The lot is printed with two digits, and the numbers are those of the printed one.
        found += [pair(places, np.array([*free[:2], round(float(free[2]), 2)])) for free in (start, near.x)]
    least = min(found, key=lambda one: one.needed)
    if not least.needed < SETTINGS.most_people:
        raise ValueError(
            f"At the level {epsilon:g} no two channels were found that need fewer than"
            f" {SETTINGS.most_people:,} people; a higher level is needed."
        )
    return least
