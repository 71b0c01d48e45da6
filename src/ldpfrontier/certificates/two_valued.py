r"""Trees that prove mu(v) <= c . v for all columns v with the entries 1 or t.

For every z > 0, with phi(x) = (1 + x) log(1 + x) - x and the probabilities P of the inputs ::

    mu(v) - c . v <= z - 1 - log z + sum_x [P_x phi(v_x - 1) - log(z) P_x (v_x - 1) - c_x v_x],

a sum in which every input takes its better value. The best z is convex in log z. If no input is then in
doubt, the bound is the excess of a column; else the tree splits on the one that is, as in a knapsack problem.
The terms are written so that little cancels at small epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.certificates.numbers import text
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.model.information import relative_excess

Sides = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TwoValued:
    """All columns with the entry 1 or t = e^epsilon for every input."""

    prior: FloatArray
    epsilon: float

    @property
    def rise(self) -> FloatArray:
        """The difference t - 1 of both entries, shape (1,)."""
        return np.expm1([self.epsilon])

    def values(self, sides: Sides) -> FloatArray:
        """Return mu of columns, given which inputs have the entry t, shape (m, k), in nats."""
        mass = sides @ self.prior
        return np.asarray(mass * relative_excess(self.rise) - relative_excess(self.rise * mass))


class _Nodes(NamedTuple):
    """Nodes of one depth; the children of the n-th that splits are nodes 2 n and 2 n + 1 of the next."""

    side: NDArray[np.int8]  # (m, k): 1, 0, or -1 where an input is free, in the order of the search
    z: FloatArray  # (m,): z - 1 of their best bounds
    split: NDArray[np.int64]  # (m,): the input on which they split, -1 for leaves


class _Search:
    """What all nodes of one search share: inputs sorted by the log z at which they change sides."""

    def __init__(self, family: TwoValued, prices: FloatArray) -> None:
        # By how much an input with t is above one with 1, at log z: gain - log(z) step.
        step = family.prior * family.rise
        gain = family.prior * relative_excess(family.rise) - prices * family.rise
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(step > 0, gain / step, np.where(gain > 0, math.inf, -math.inf))
        self.order = np.argsort(-turn, kind="stable")
        self.turn, self.gain, self.step = turn[self.order], gain[self.order], step[self.order]
        self.term = -float(prices.sum())

    def bounds(self, side: NDArray[np.int8]) -> tuple[_Nodes, FloatArray, Sides]:
        """Return nodes with their best z and their splits, their bounds, and which inputs are up at that z.

        The split is -1 if no input is in doubt.
        """
        up, free = side == 1, side < 0
        base = up @ self.step
        # Z - 1 with all free inputs up to this one up: before the last that is, log Z is below its turn.
        reached = base[:, None] + np.cumsum(self.step * free, axis=1)
        taken = free & (np.log1p(reached) < self.turn)
        z = base + taken @ self.step
        left = free & ~taken
        split = np.where(left.any(axis=1), left.argmax(axis=1), -1)
        doubt = (split >= 0) & (np.log1p(z) < self.turn[split])
        z[doubt], split[~doubt] = np.expm1(self.turn[split[doubt]]), -1
        return _Nodes(side, z, split), self.at(side, z), up | taken

    def at(self, side: NDArray[np.int8], z: FloatArray) -> FloatArray:
        """Return the bounds of nodes at 1 + z."""
        log = np.log1p(z)
        up = (side == 1) | ((side < 0) & (self.turn > log[:, None]))
        constant = (1.0 + z) * relative_excess(-z / (1.0 + z))
        return np.asarray(constant + self.term + up @ self.gain - log * (up @ self.step))

    def leaves(self, side: NDArray[np.int8], z: FloatArray, margin: float) -> list[str]:
        """Write the z of leaves with as few digits as prove them."""
        written, left = [""] * len(z), np.arange(len(z))
        for digits in SETTINGS.leaf_digits:
            rounded = [float(f"{x:.{digits}g}") for x in (1.0 + z[left]).tolist()]
            for n, x in zip(left.tolist(), rounded, strict=True):
                written[n] = text(x)
            found = np.array(rounded) - 1.0
            left = left[(found <= -1.0) | (self.at(side[left], np.maximum(found, -0.99)) > -margin)]
            if not left.size:
                break
        return written


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree whose leaves are below 0 by a margin in nats, and columns that are worth more than their prices.

    These have a positive excess mu(v) - c . v, which stands beside them per unit of P . v.
    """

    search: _Search
    depths: list[_Nodes]
    margin: float
    better: list[tuple[Sides, float]]

    def tokens(self) -> list[str]:
        """Return the tree in preorder: "?x" splits on input x, the entry t first; a leaf is its z."""
        names, children = list[list[str]](), list[list[int]]()
        for nodes in self.depths:
            leaf = nodes.split < 0
            written = iter(self.search.leaves(nodes.side[leaf], nodes.z[leaf], self.margin))
            inputs = self.search.order[nodes.split].tolist()
            names.append([next(written) if end else f"?{x}" for end, x in zip(leaf, inputs, strict=True)])
            children.append(np.where(leaf, -1, 2 * np.cumsum(~leaf) - 2).tolist())
        tokens, pending = list[str](), [(0, 0)]
        while pending:
            depth, n = pending.pop()
            tokens.append(names[depth][n])
            if (first := children[depth][n]) >= 0:
                pending += [(depth + 1, first + 1), (depth + 1, first)]
        return tokens


def search_tree(family: TwoValued, prices: FloatArray, margin: float) -> Tree:
    """Search the tree of some prices, all nodes of one depth at once.

    Leaves are by `margin`, in nats, below 0, for the rounding of this search. Intractable if there are too
    many.
    """
    search, k = _Search(family, prices), len(prices)
    most, count = min(SETTINGS.max_leaves, SETTINGS.max_work // k), 0
    side, tree = np.full((1, k), -1, dtype=np.int8), Tree(search, [], margin, [])
    while len(side):
        nodes, bounds, up = search.bounds(side)
        above = bounds > -margin
        for n in np.flatnonzero(above & (nodes.split < 0)):
            sides = np.zeros(k, dtype=bool)
            sides[search.order] = up[n]
            tree.better.append((sides, float((bounds[n] + margin) / (1.0 + nodes.z[n]))))
        nodes.split[~above] = -1
        tree.depths.append(nodes)
        parents = np.flatnonzero(nodes.split >= 0)
        count += len(side) - len(parents)
        if count + 2 * len(parents) > most:
            raise Intractable(f"The proof of this bound has more than {most:,} leaves.")
        side = np.repeat(side[parents], 2, axis=0)
        side[np.arange(len(side)), np.repeat(nodes.split[parents], 2)] = np.tile([1, 0], len(parents))
    return tree


def proved_prices(family: TwoValued, prices: FloatArray, slack: float) -> tuple[FloatArray, list[str]]:
    """Raise prices in proportion to the prior until a tree proves them; return both.

    They are raised by `slack`, in nats, beforehand, so that the tree is small. Intractable if it is not.
    """
    # Share of the raise which rounding in the search of a tree may take.
    margin = 0.1 * slack
    prices = prices + slack * family.prior
    for _ in range(SETTINGS.program_rounds):
        tree = search_tree(family, prices, margin)
        if not tree.better:
            return prices, tree.tokens()
        prices = prices + (max(excess for _, excess in tree.better) + margin) * family.prior
    raise Intractable("No prices were found that prove the bound.")
