r"""Trees that prove mu(v) <= c . v for all columns v with one of two values for every input.

For every z > 0, with phi(x) = (1 + x) log(1 + x) - x and the probabilities P of the inputs ::

    mu(v) - c . v <= z - 1 - log z + sum_x [P_x phi(v_x - 1) - log(z) P_x (v_x - 1) - c_x v_x],

a sum in which every input takes its better value. The best z is convex in log z. If no input is then in
doubt, the bound is the excess of a column; else the tree splits on the one that is, as in a knapsack problem.
The terms are written so that little cancels at small epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.certificates.numbers import text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.information import excess, relative_excess
from ldpfrontier.types import FloatArray, Intractable

Sides = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TwoValued:
    """All columns with the smaller or the larger of two positive values for every input.

    Attributes
    ----------
    prior : ndarray, shape (k,)
    smaller, larger : ndarray, shape (k,)
    """

    prior: FloatArray
    smaller: FloatArray
    larger: FloatArray

    def vectors(self, sides: Sides) -> FloatArray:
        """Return columns, given which inputs have the larger value, shape (m, k)."""
        return np.where(sides, self.larger, self.smaller)

    def values(self, sides: Sides) -> FloatArray:
        """Return mu of columns, shape (m,), in nats."""
        apart = self.vectors(sides) - 1.0
        return np.asarray(relative_excess(apart) @ self.prior - relative_excess(apart @ self.prior))


@dataclass
class Tree:
    """A tree in preorder, and columns that are worth more than their prices.

    Attributes
    ----------
    tokens : list of str
        "?x" splits on input x, the larger value first; a number is the z of a leaf.
    better : list of (ndarray, float)
        Columns with a positive excess mu(v) - c . v, and that excess per unit of P . v.
    """

    tokens: list[str] = field(default_factory=list)
    better: list[tuple[Sides, float]] = field(default_factory=list)


class _Search:
    """What all nodes of one search share: inputs sorted by the log z at which they change sides."""

    def __init__(self, family: TwoValued, prices: FloatArray) -> None:
        p, apart = family.prior, (family.smaller - 1.0, family.larger - 1.0)
        # Of an input at log z: term - log(z) mass, for the smaller and the larger value.
        terms = [p * relative_excess(a) - prices * (a + 1.0) for a in apart]
        gain, step = terms[1] - terms[0], p * (apart[1] - apart[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(step > 0, gain / step, np.where(gain > 0, math.inf, -math.inf))
        self.order = np.argsort(-turn, kind="stable")
        self.turn, self.gain, self.step = turn[self.order], gain[self.order], step[self.order]
        self.term, self.mass = terms[0][self.order], (p * apart[0])[self.order]

    def bound(self, side: NDArray[np.int8]) -> tuple[float, float, int, int]:
        """Return z - 1 of the best bound of a node, the bound, how many free inputs are up, and the split.

        `side` has 1, 0 or -1 (free) for the inputs in this order. The split is -1 if no input is in doubt.
        """
        up, free = side == 1, np.flatnonzero(side < 0)
        base = float(self.mass.sum() + self.step[up].sum())
        apart = base + np.append(0.0, np.cumsum(self.step[free]))  # Z - 1 with the first free inputs up
        turn = self.turn[free]
        count = int(np.searchsorted(np.log1p(apart[1:]) - turn, 0.0))
        # Before the input `count`, log Z is below the turn of the last; with it, it is not below its own.
        split, z = -1, float(apart[count])
        if count < len(free) and math.log1p(z) < turn[count]:
            split, z = int(free[count]), math.expm1(float(turn[count]))
        return z, self.at(side, z), count, split

    def at(self, side: NDArray[np.int8], z: float) -> float:
        """Return the bound of a node at 1 + z."""
        log = math.log1p(z)
        up = (side == 1) | ((side < 0) & (self.turn > log))
        constant = (1.0 + z) * excess(-z / (1.0 + z))
        terms = float((self.term - log * self.mass).sum()) + float((self.gain - log * self.step)[up].sum())
        return constant + terms


def search_tree(family: TwoValued, prices: FloatArray, margin: float) -> Tree:
    """Search the tree of some prices, depth first.

    Parameters
    ----------
    family : TwoValued
    prices : ndarray, shape (k,)
    margin : float
        In nats: by how much leaves are below 0, for the rounding of this search.

    Raises
    ------
    Intractable
        If it has more leaves than there may be.
    """
    search, k = _Search(family, prices), len(prices)
    most = min(SETTINGS.max_leaves, SETTINGS.max_work // k)
    side, path, tree, count = np.full(k, -1, dtype=np.int8), list[int](), Tree(), 0
    while True:
        z, bound, taken, split = search.bound(side)
        if bound > -margin and split >= 0:
            tree.tokens.append(f"?{search.order[split]}")
            side[split] = 1
            path.append(split)
            continue
        if bound > -margin:
            up = side == 1
            up[np.flatnonzero(side < 0)[:taken]] = True
            sides = np.zeros(k, dtype=bool)
            sides[search.order] = up
            tree.better.append((sides, (bound + margin) / (1.0 + z)))
        tree.tokens.append(_leaf(search, side, z, margin))
        if (count := count + 1) > most:
            raise Intractable(f"The proof of this bound has more than {most:,} leaves.")
        while path and side[path[-1]] == 0:
            side[path.pop()] = -1
        if not path:
            return tree
        side[path[-1]] = 0


def proved_prices(
    families: Sequence[TwoValued], prices: FloatArray, slack: float
) -> tuple[FloatArray, list[list[str]]]:
    """Raise prices in proportion to the prior until trees prove them for all families.

    Parameters
    ----------
    families : sequence of TwoValued
        With the same prior.
    prices : ndarray, shape (k,)
    slack : float
        In nats: by how much prices are raised beforehand, so that the trees are small.

    Returns
    -------
    prices : ndarray, shape (k,)
    trees : list of lists of str, one per family

    Raises
    ------
    Intractable
        If a tree has more leaves than there may be.
    """
    prior, margin = families[0].prior, SETTINGS.rounding_share * slack
    prices = prices + slack * prior
    for _ in range(SETTINGS.program_rounds):
        trees = [search_tree(family, prices, margin) for family in families]
        better = [excess for tree in trees for _, excess in tree.better]
        if not better:
            return prices, [tree.tokens for tree in trees]
        prices = prices + (max(better) + margin) * prior
    raise Intractable("No prices were found that prove the bound.")


def _leaf(search: _Search, side: NDArray[np.int8], z: float, margin: float) -> str:
    """Write the z of a leaf with as few digits as prove it."""
    for digits in SETTINGS.leaf_digits:
        written = text(1.0 + z, digits)
        if float(written) > 0 and search.at(side, float(written) - 1.0) <= -margin:
            return written
    return written
