r"""Pricing of all 2^k staircase columns of mutual information with many inputs, by branch and bound.

At dual prices alpha, a set T of probability P(T) has the reduced cost (see `converse` for m) ::

    [m(P(T)) - sum_{x in T} c_x - sum(alpha)] / (1 + (t - 1) P(T)),     c_x = (t - 1) alpha_x.

Inputs are decided one after the other, the likeliest first. With the inputs to come taken for divisible, the
numerator has a closed form: they are taken in the order of c_x / P_x as long as that is below the slope m'.
This bounds every completion of a partial set; sets whose bound is too low are dropped.

What rounding does to prices is added to a bound, by how much m is wrong is a factor that the caller allows
for (`ldpfrontier.numerics.rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.listed.converse import ColumnValue
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.rounding import UNIT_ROUNDOFF, gamma

#: Sets of inputs that are equally likely to 46 bits have the same m to a factor of this above 1.
ALIKE = 2.0**-45


@dataclass(frozen=True, eq=False)
class SetFamily:
    """All 2^k staircase columns, priced by branch and bound, for a prior (k,) and a level > 0 in nats.

    Reduced costs up to the resolution, in nats, are not looked for.
    """

    prior: FloatArray
    epsilon: float
    resolution: float
    efforts: int = len(SETTINGS.pricing_widths)

    @property
    def scale(self) -> FloatArray:
        """The prior, shape (k,)."""
        return self.prior

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all columns from above; offer the best sets found.

        A set is dropped when no completion of it can gain enough, or when too many others are better, which
        the bound then allows for. Before they are scaled columns have Z >= 1, and reduced costs no smaller.
        """
        value = ColumnValue(self.epsilon)
        order = np.argsort(-self.prior, kind="stable")
        mass, cost = self.prior[order], value.rise * duals[order]
        with np.errstate(over="ignore"):
            density = cost / mass
        cheap = np.argsort(density, kind="stable")
        until = value.inverse_slope(density)
        dominant = bool(mass[0] > 0.5)
        p, others = np.zeros(1), np.zeros(1)
        spent, bound = np.full(1, math.fsum(duals)), self.resolution
        width = SETTINGS.pricing_widths[effort] // len(mass)
        history: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        for i in range(len(mass)):
            rest = cheap[cheap > i]
            parent, taken = np.tile(np.arange(len(p)), 2), np.repeat([False, True], len(p))
            p, spent = p[parent] + taken * mass[i], spent[parent] + taken * cost[i]
            others = others[parent] + ~taken * mass[i]
            whole = _best_completion(value, p, others, mass[rest], cost[rest], until[rest], dominant)
            gain = whole - spent
            kept = np.flatnonzero(gain > self.resolution)
            if len(kept) > width:
                # Of sets that are equally likely, the cheapest is as good as any.
                likely = _rounded(p[kept], others[kept])
                ranked = np.lexsort((spent[kept], likely))
                kept = kept[ranked[np.append(True, np.diff(likely[ranked]) > 0)]]
            if len(kept) > width:
                gain = gain[kept] / (1.0 + value.rise * p[kept])
                ranked = np.argsort(-gain, kind="stable")
                kept, bound = kept[ranked[:width]], max(bound, float(gain[ranked[width]]))
            history.append((parent[kept], taken[kept]))
            p, others, spent = p[kept], others[kept], spent[kept]
        reduced = (value(p, others) - spent) / (1.0 + value.rise * p)
        bound = max(bound, float(reduced.max(initial=0.0))) + self._error(value, duals)
        best = np.argsort(-reduced, kind="stable")[: GENERATION.batch]
        sets = np.zeros((len(best), len(mass)), dtype=bool)
        for x, (parent, taken) in zip(order[::-1], reversed(history), strict=True):
            sets[:, x] = taken[best]
            best = parent[best]
        utility = MutualInformation(self.prior)
        return bound, utility.columns(np.where(sets, 1.0, math.exp(-self.epsilon)))

    def _error(self, value: ColumnValue, duals: FloatArray) -> float:
        """Return the error of the reduced costs per unit of Z, in nats."""
        size = -math.expm1(-self.epsilon) * float(np.abs(duals).sum())
        error = gamma(2 * len(duals) + 16) * size + max(math.fsum(duals) - float(duals.sum()), 0.0)
        if self.prior.max() <= 0.5:
            # The shorter formula for m, and beyond 1/2 sets that are alike.
            error += 4.0 * UNIT_ROUNDOFF * min(value.rise, 1.0) + ALIKE * min(self.epsilon, 1.0) ** 2
        return error


def _rounded(p: FloatArray, others: FloatArray) -> FloatArray:
    """Return probabilities of sets, above 1/2 as minus that of the complement, rounded to 46 bits."""
    share, power = np.frexp(np.where(p > 0.5, -others - 1e-300, p))
    return np.asarray(np.ldexp(np.rint(share * 2.0**46), power))


def _best_completion(
    value: ColumnValue,
    p: FloatArray,
    others: FloatArray,
    mass: FloatArray,
    cost: FloatArray,
    until: FloatArray,
    dominant: bool,
) -> FloatArray:
    """Return the largest m(p + s) less the cost of s, for s made of divisible items, for all p.

    The inputs decided against have the probabilities `others`, which count if one outweighs the rest.

    The items are in the order of cost / mass, the slope of m at `until`: they are taken as long as p + s is
    below that.
    """
    before = np.concatenate([np.zeros(1), np.cumsum(mass)])
    paid = np.concatenate([np.zeros(1), np.cumsum(cost)])
    # Item j is begun where p + before[j] < until[j], and taken whole where p + before[j + 1] < until[j].
    turns = np.column_stack([until - before[:-1], until - before[1:]]).ravel()
    count = np.searchsorted(-np.minimum.accumulate(turns), -p, side="left")
    whole, part = count // 2, count % 2 == 1
    taken, price = before[whole], paid[whole]
    j = whole[part]
    taken[part] = until[j] - p[part]
    price[part] += cost[j] / mass[j] * (taken[part] - before[j])
    if dominant:
        left = others + np.maximum(float(mass.sum()) - taken, 0.0)
        return np.asarray(value(p + taken, left) - price)
    x = value.rise * (p + taken)
    # `ColumnValue` keeps more digits where x is small, which is of no use here and takes longer.
    return np.asarray((p + taken) * value.slope_at_zero - ((1.0 + x) * np.log1p(x) - x) - price)
