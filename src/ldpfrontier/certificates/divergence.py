r"""Prices and lines that prove the optimum of an f-divergence under local differential privacy.

A column v of the values e^-eps and 1 is worth mu(v) = z1 f(z0 / z1), z_i = P_i . v. On an interval [a, b] of
the ratio r = z0 / z1, a line r0 + s r that is not below f at a and b has mu(v) <= r0 z1 + s z0, and a bound
on mu(v) - c . v is left that is a sum over the inputs. It is convex in the slope s, of which the best is
found by bisection. Nothing is lost but by the width of intervals: the program over v in [e^-eps, 1]^k at a
given ratio has a solution with one entry in between, and mu(v) - c . v is convex in that. So intervals are
halved until the bound is negative. The ratios of the columns of the mechanism, where mu(v) - c . v is zero,
are ends of intervals from the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ldpfrontier.certificates.numbers import text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.ldp.f_divergence import best_partition, certify, merge_equal_ratios
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.utility import FDivergence


def divergence_proof(
    utility: FDivergence, epsilon: float, slacks: Sequence[float]
) -> tuple[FloatArray, list[list[str]]]:
    """Return prices of the inputs, and pieces, that prove that no mechanism has more than their sum.

    Parameters
    ----------
    utility : FDivergence
        With a kind.
    epsilon : float
        In nats, > 0.
    slacks : sequence of float
        By how much of the bound prices may be raised: the least is tried first.

    Raises
    ------
    Intractable
        If the proof would be too large.
    """
    merged, groups = merge_equal_ratios(utility)
    partition = best_partition(merged, epsilon)
    duals = np.zeros(1)
    if partition.value > 0.0:
        duals = certify(merged, partition, epsilon, 1e-10, GENERATION.usual_rounds)[2]
    share = np.divide(utility.prior, merged.prior[groups], out=np.zeros(len(groups)), where=utility.prior > 0)
    prices = duals[groups] * share
    bound = float(prices.sum())
    for slack in slacks:
        try:
            return _proved(utility, epsilon, prices, slack * max(bound, SETTINGS.least_bound))
        except Intractable:
            pass
    raise Intractable("The proof of this bound is too large.")


def _proved(
    utility: FDivergence, epsilon: float, prices: FloatArray, slack: float
) -> tuple[FloatArray, list[list[str]]]:
    """Raise prices in proportion to P0 + P1 until pieces prove them."""
    lines = _Lines(utility, epsilon)
    margin = (
        SETTINGS.rounding_share * slack * math.exp(-epsilon)
    )  # columns have at least that much of P0 + P1
    for _ in range(SETTINGS.program_rounds):
        prices = prices + slack * utility.prior
        pieces = lines.pieces(prices, margin)
        if pieces is not None:
            return prices, pieces
        slack *= 2.0
    raise Intractable("No prices were found that prove the bound.")


class _Lines:
    """Bounds by lines of an f-divergence at a level, per unit of columns with the values e^-eps and 1."""

    def __init__(self, utility: FDivergence, epsilon: float) -> None:
        self.utility, self.floor, self.t = utility, math.exp(-epsilon), math.exp(epsilon)
        self.ratios = [self.floor, 1.0, self.t]
        merged, groups = merge_equal_ratios(utility)
        partition = best_partition(merged, epsilon)
        for block in range(partition.blocks):
            inside = partition.labels[groups] == block
            z = [self.floor + (1.0 - self.floor) * float(p[inside].sum()) for p in (utility.p0, utility.p1)]
            self.ratios.append(z[0] / z[1])

    def f(self, r: float) -> float:
        """Return f(r), but for a multiple of r - 1."""
        one = np.ones(1)
        return float(self.utility.perspective(one, one * (r - 1.0), one * r)[0])

    def bound(
        self, slope: float, ends: Sequence[tuple[float, float]], prices: FloatArray
    ) -> tuple[float, float]:
        """Return the largest bound of a line of some slope over all columns, and its derivative.

        The ends of its interval are r and f(r).
        """
        p1 = self.utility.p1
        start, r = max((f - slope * (r - 1.0), r) for r, f in ends)
        terms = slope * self.utility.difference + start * p1 - prices
        v = np.where(terms > 0, 1.0, self.floor)
        return float(terms @ v), float((self.utility.difference + (1.0 - r) * p1) @ v)

    def best(self, a: float, b: float, prices: FloatArray, margin: float) -> tuple[float, float]:
        """Return the slope of the least bound between two ratios, and that bound."""
        ends = (a, self.f(a)), (b, self.f(b))
        chord = (ends[1][1] - ends[0][1]) / (b - a)
        low, high, step = chord, chord, max(abs(chord), 1e-3)
        value, rise = self.bound(chord, ends, prices)
        best = (value, chord)
        for _ in range(60):  # a bracket
            if rise == 0.0 or best[0] <= -margin:
                return best[1], best[0]
            low, high = (chord - step, chord) if rise > 0 else (chord, chord + step)
            value, other = self.bound(low if rise > 0 else high, ends, prices)
            best = min(best, (value, low if rise > 0 else high))
            if other * rise <= 0.0:
                break
            step *= 2.0
        for _ in range(80):
            middle = (low + high) / 2.0
            value, rise = self.bound(middle, ends, prices)
            best = min(best, (value, middle))
            if best[0] <= -margin or not low < middle < high:
                break
            low, high = (low, middle) if rise > 0 else (middle, high)
        return best[1], best[0]

    def pieces(self, prices: FloatArray, margin: float) -> list[list[str]] | None:
        """Return pieces that prove some prices, None if there is a column that is worth more."""
        knots = [self.floor]
        for ratio in sorted(self.ratios):
            if (
                ratio > knots[-1] * (1.0 + SETTINGS.least_interval)
                and ratio * (1.0 + SETTINGS.least_interval) < self.t
            ):
                knots.append(ratio)
        todo = list(pairwise([*knots, self.t]))[::-1]
        found: list[list[str]] = []
        while todo:
            a, b = todo.pop()
            slope, value = self.best(a, b, prices, margin)
            if value > -margin:
                middle = math.sqrt(a * b)
                if b <= a * (1.0 + 2.0 * SETTINGS.least_interval):
                    return None
                todo += [(middle, b), (a, middle)]
            else:
                found.append([text(b), text(slope)])
            if len(found) + len(todo) > SETTINGS.max_pieces:
                raise Intractable(f"The proof of this bound has more than {SETTINGS.max_pieces:,} pieces.")
        return found
