r"""Pricing of staircase columns, the extreme rays of local differential privacy, for many inputs.

A column is v = 1 + t x with t = e^eps - 1 and x in {0, 1}^n. As W 1 = 0, and with z = 1 + t p . x, the column
scaled to p . v = 1 has the excess ::

    (t^2 |W x|^2 - (sum(lam) + t lam . x) z) / z^2.

- Up to `max_enumerated_inputs`, all columns are priced: x = (a, b) in halves, for all a and b at once.
- Beyond, columns are searched by ascent over single inputs; `staircase_relaxation` bounds the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.column_weights import Prices
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS


@dataclass(eq=False)
class Staircases:
    """Staircase columns, priced by enumeration, or by ascent without a bound: a `SquareFamily`."""

    p: FloatArray  # (n,)
    ratio: float  # e^eps

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)

    @property
    def exact(self) -> bool:
        """Whether all columns are priced."""
        return self.p.size <= SETTINGS.max_enumerated_inputs

    @property
    def t(self) -> float:
        """The rise e^eps - 1."""
        return self.ratio - 1.0

    def vectors(self, x: FloatArray) -> FloatArray:
        """Return the columns of sets of inputs, (m, n), with p . v = 1."""
        v = 1.0 + self.t * x
        return np.asarray(v / (v @ self.p)[:, None])

    def price(self, prices: Prices, known: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest excess and the best columns of all; or inf, and columns that ascent finds."""
        if not self.exact:
            return math.inf, self.vectors(self._ascended(prices, known))
        excess, sets = self._enumerated(prices)
        top = np.full((1, self.p.size), self.ratio / (1.0 + self.t * self.p.min()))
        W, lam, n = np.abs(prices.W), np.abs(prices.lam), self.p.size
        size = float(((top @ W.T) ** 2).sum() + (top @ lam).sum())
        return excess + gamma(8 * n + 64) * size, self.vectors(sets)

    def _enumerated(self, prices: Prices) -> tuple[float, FloatArray]:
        """Return the largest excess of all sets, and the best sets, (m, n)."""
        n, t, p, lam = self.p.size, self.t, self.p, prices.lam
        G = t * t * (prices.W.T @ prices.W)
        total = float(lam.sum())
        left = n // 2
        a, b = _all_sets(left), _all_sets(n - left)
        forms = [np.einsum("mi,ij,mj->m", s, g, s) for s, g in ((a, G[:left, :left]), (b, G[left:, left:]))]
        z_b, lam_b = t * (b @ p[left:]), t * (b @ lam[left:])
        cross = 2.0 * (b @ G[left:, :left])
        most, best = -np.inf, list[tuple[float, int, int]]()
        step = max(NUMERICS.piece // len(b), 1)
        for first in range(0, len(a), step):
            part = a[first : first + step]
            z = 1.0 + (t * (part @ p[:left]))[:, None] + z_b
            price = total + (t * (part @ lam[:left]))[:, None] + lam_b
            form = forms[0][first : first + step, None] + forms[1] + part @ cross.T
            value = (form / z - price) / z
            most = max(most, float(value.max()))
            columns = np.argpartition(-value, min(3, len(b) - 1), axis=1)[:, :4]
            rows = np.arange(len(part))[:, None]
            best += [
                (float(value[i, j]), first + int(i), int(j))
                for i, j in zip(np.repeat(rows, columns.shape[1]), columns.ravel(), strict=True)
            ]
        best.sort(reverse=True)
        chosen = best[: SETTINGS.new_columns * n]
        return most, np.array([np.append(a[i], b[j]) for _, i, j in chosen])

    def _ascended(self, prices: Prices, known: FloatArray) -> FloatArray:
        """Return sets of inputs at which no single input can be added or removed with gain, (m, n)."""
        n, t, p, lam = self.p.size, self.t, self.p, prices.lam
        G = t * t * (prices.W.T @ prices.W)
        total, diagonal = float(lam.sum()), np.diag(G)
        # Starts: known columns, as many with some entries changed, and random ones.
        starts = (known > known.mean(axis=1, keepdims=True)).astype(np.float64)[:400]
        moved = np.abs(starts - (self.rng.random(starts.shape) < 0.08))
        random = self.rng.random((400, n)) < 1.0 / self.ratio
        x = np.vstack([starts, moved, random.astype(np.float64)])
        Gx = x @ G
        form, z, price = (Gx * x).sum(axis=1), 1.0 + t * (x @ p), total + t * (x @ lam)
        rows = np.arange(len(x))
        # Steps of an ascent, for each input.
        for _ in range(4 * n):
            sign = 1.0 - 2.0 * x[rows]
            forms = form[rows, None] + 2.0 * sign * Gx[rows] + diagonal
            zs = z[rows, None] + t * sign * p
            values = (forms / zs - (price[rows, None] + t * sign * lam)) / zs
            i = values.argmax(axis=1)
            here = (form[rows] / z[rows] - price[rows]) / z[rows]
            up = values[np.arange(len(rows)), i] > here + 1e-12 * np.abs(here) + 1e-300
            rows, i = rows[up], i[up]
            if not rows.size:
                break
            s = sign[up, i]
            form[rows], z[rows] = forms[up, i], zs[up, i]
            price[rows] += t * s * lam[i]
            x[rows, i] += s
            Gx[rows] += s[:, None] * G[i]
        value = (form / z - price) / z
        order = np.argsort(-value, kind="stable")
        distinct = np.unique(x[order], axis=0, return_index=True)[1]
        return np.asarray(x[order][np.sort(distinct)][: SETTINGS.new_columns * n])


def _all_sets(n: int) -> FloatArray:
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
