"""What tests of rounding share, with 60 digits.

Extremes over Renyi balls, by bisection; utilities and optima under local privacy; vertices of blocks.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from itertools import product as combinations

import numpy as np
from mpmath import exp, expm1, fsum, log, mp, mpf

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.pricing import BlockProduct

mp.dps = 60


def xlogx(x: mpf) -> mpf:
    """x log x, and 0 at 0."""
    return x * log(x) if x else mpf(0)


def vertex_rows(product: BlockProduct, duals: FloatArray) -> list[list[tuple[mpf, mpf]]]:
    """f and z of all vertices of every block, from their entries, the duals and P as they are."""
    found, prices = [], duals.reshape(product.centre.shape)
    for block, prior, own in zip(product.blocks, product.centre, prices, strict=True):
        rows = []
        for w in block.vectors(np.arange(len(block))).tolist():
            cells = [tuple(map(mpf, cell)) for cell in zip(w, prior.tolist(), own.tolist(), strict=True)]
            rows.append((fsum(p * xlogx(x) - c * x for x, p, c in cells), fsum(p * x for x, p, _ in cells)))
        found.append(rows)
    return found


def largest_reduced_cost(product: BlockProduct, duals: FloatArray) -> mpf:
    """The largest reduced cost per unit of Z over all columns of a product, by listing their vertices."""
    return max(
        fsum(f for f, _ in chosen) / (Z := fsum(z for _, z in chosen)) - log(Z)
        for chosen in combinations(*vertex_rows(product, duals))
    )


def normalized(p: Sequence[float]) -> list[mpf]:
    """The distribution that floats are rounded from: their sum is 1."""
    total = fsum(map(mpf, p))
    return [mpf(x) / total for x in p]


def divergence(r: Sequence[mpf], R: Sequence[mpf], order: float) -> mpf:
    """D_order(r || R) for positive r and R."""
    pairs, a = list(zip(r, R, strict=True)), mpf(order)
    if a == 1:
        return fsum(p * log(p / q) for p, q in pairs)
    return log(fsum(p**a * q ** (1 - a) for p, q in pairs)) / (a - 1)


def projected_radius(share: float, radius: float, p: float, order: float) -> mpf:
    """k^-1(share k(radius) / p), see `ldpfrontier.uncertainty.renyi_ball`."""
    if order == 1:
        return mpf(share) * mpf(radius) / mpf(p)
    g = (mpf(order) - 1) / mpf(order)
    return log(1 + mpf(share) * expm1(g * mpf(radius)) / mpf(p)) / g


def least_mean(r: Sequence[float], q: Sequence[float], B: float, order: float) -> mpf:
    """Least R . q with D_order(r || R) <= B, for r > 0 and q with several values."""
    r, q = normalized(r), [mpf(x) for x in q]
    low = min(q)

    def tilted(tau: mpf) -> list[mpf]:
        weights = [p * (1 + exp(tau) * (x - low)) ** (-1 / mpf(order)) for p, x in zip(r, q, strict=True)]
        sum_ = fsum(weights)
        return [w / sum_ for w in weights]

    lo, hi = mpf(-200), mpf(1000)
    for _ in range(150):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if divergence(r, tilted(middle), order) < B else (lo, middle)
    return fsum(w * x for w, x in zip(tilted(lo), q, strict=True))


# Utilities of channels, and optima under local privacy ---------------------------------------------------


def information(p: Sequence[float], matrix: Sequence[Sequence[float]]) -> mpf:
    """I(X;Y) of the channel whose rows are proportional to those of a matrix of positive floats."""
    prior, rows = normalized(p), [normalized(row) for row in matrix]
    total = []
    for column in zip(*rows, strict=True):
        z = fsum(x * v for x, v in zip(prior, column, strict=True))
        logs = {v: v * log(v / z) for v in set(column) if v}
        total += [x * logs[v] for x, v in zip(prior, column, strict=True) if v]
    return fsum(total)


def column_divergence(kind: str, z0: mpf, z1: mpf) -> mpf:
    """z1 f(z0 / z1) of a generator of `FDivergence`, up to a multiple of z0 - z1."""
    if kind == "kl":
        return z0 * log(z0 / z1) - z0 + z1
    if kind == "tv":
        return abs(z0 - z1) / 2
    return (z0 - z1) ** 2 / z1 if kind == "chi2" else (z0.sqrt() - z1.sqrt()) ** 2 / 2


def output_divergence(
    kind: str, p0: Sequence[float], p1: Sequence[float], matrix: Sequence[Sequence[float]]
) -> mpf:
    """D_f of the output distributions, rows as those of `information`."""
    priors, rows = (normalized(p0), normalized(p1)), [normalized(row) for row in matrix]
    return fsum(
        column_divergence(kind, *(fsum(x * v for x, v in zip(p, column, strict=True)) for p in priors))
        for column in zip(*rows, strict=True)
    )


def best_with_one_likely(epsilon: float, others: int, value: Callable[[mpf, mpf, int], mpf]) -> mpf:
    """The optimum of all eps-LDP mechanisms, where all inputs but one are alike.

    The mean over all permutations of the others is as good as any mechanism. It has two rows that count,
    of the likely input and of the mean of the others, and is a mean of columns with entries 1 and e^-eps.
    `value` is mu of the column with the entries `likely`, 1 for j of the others and `floor` for the rest.
    """
    floor = exp(-mpf(epsilon))
    points = []
    for likely in (mpf(1), floor):
        for j in range(others + 1):
            mean = (j + (others - j) * floor) / others
            half = (likely + mean) / 2
            points.append((likely / half, value(likely, floor, j) / half))
    # The upper hull at 1, as both rows add up to the same.
    hull: list[tuple[mpf, mpf]] = []
    for x, y in sorted(points):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) <= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((x, y))
    for (a, b), (c, d) in pairwise(hull):
        if a <= 1 <= c and a < c:
            return b + (1 - a) * (d - b) / (c - a)
    raise AssertionError("The constant column lies at 1.")


def information_with_one_likely(epsilon: float, p: Sequence[float]) -> mpf:
    """The largest I(X;Y) where all inputs but the first are equally likely."""
    first, other, *_ = normalized(p)
    n = len(p) - 1

    def value(likely: mpf, floor: mpf, j: int) -> mpf:
        z = first * likely + other * (j + (n - j) * floor)
        return first * likely * log(likely) + other * (n - j) * floor * log(floor) - z * log(z)

    return best_with_one_likely(epsilon, n, value)


def divergence_with_one_likely(kind: str, epsilon: float, p0: Sequence[float], p1: Sequence[float]) -> mpf:
    """The largest D_f where all inputs but the first have one ratio P0 / P1 and are as likely."""
    pairs = [normalized(p)[:2] for p in (p0, p1)]
    n = len(p0) - 1

    def value(likely: mpf, floor: mpf, j: int) -> mpf:
        z = [first * likely + other * (j + (n - j) * floor) for first, other in pairs]
        return column_divergence(kind, *z)

    return best_with_one_likely(epsilon, n, value)
