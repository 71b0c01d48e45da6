r"""Draw docs/img/certificate.png, the picture of a certificate in docs/beyond/theorems.md.

The example is small enough to list all columns that the closed forms give: income and relationship of Adult
(2 x 6), projections of F, all pairs, level 1. With c the dual prices of the best mixture of these columns,

    f_s(w) = sum_u P_su w_u log w_u - c_s . w   and   z_s(w) = P_s . w

are drawn for the vertices w of both blocks, with their affine upper bounds, and the sums for the columns.
Where columns are split, at a breakpoint, the points between two vertices have to be below the bounds, too.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from reproduction.figure_style import style

ROOT = Path(__file__).resolve().parents[1]
EPSILON = 1.0
#: The z of a block at which the columns are split into two classes.
SPLIT = 1.27
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"

Array = NDArray[np.float64]


class Points(NamedTuple):
    """Points of a block: z, f, and whether they are at the breakpoint, between two vertices."""

    z: Array
    f: Array
    split: NDArray[np.bool_]

    @classmethod
    def of(cls, w: Array, P: Array, c: Array) -> Points:
        """Return the points of a block with these vertices."""
        between = at_breakpoint(w, w @ P)
        w, split = np.vstack([w, between]), np.repeat([False, True], [len(w), len(between)])
        return cls(w @ P, xlogy(w, w) @ P - w @ c, split)

    @property
    def vertices(self) -> tuple[Array, Array]:
        """The z and f of the vertices."""
        return self.z[~self.split], self.f[~self.split]


class Piece(NamedTuple):
    """The affine upper bounds of one class of columns: those whose largest z is in (low, high]."""

    low: float
    high: float
    slope: float
    discount: float
    intercepts: list[float]

    @property
    def total(self) -> float:
        """H, the sum of the intercepts and the discount."""
        return sum(self.intercepts) + self.discount

    @property
    def kappa(self) -> float:
        """Bound of the reduced costs of the class, per unit of Z."""
        return self.slope - 1.0 - math.log(-self.total) if self.total < 0.0 else math.inf


def example() -> tuple[RenyiBall, list[Array]]:
    """Return the uncertainty set, and the vertices of both blocks that have closed forms."""
    counts = pd.read_csv(ROOT / "resources/adult_pair_counts.csv", keep_default_na=False)
    own = counts[(counts.attribute_a == "relationship") & (counts.attribute_b == "income")]
    table = own.pivot_table("count", "value_b", "value_a", aggfunc="sum", fill_value=0)
    ball = RenyiBall.confidence(table.to_numpy())
    pairs = zip(ball.conditionals, ball.projected_radii, strict=True)
    return ball, [closed_forms(r, math.exp(radius)) for r, radius in pairs]


def closed_forms(r: Array, b: float) -> Array:
    """Return the constant vectors of K_s and those with one value on a set of letters and one off it."""
    letters, top = len(r), math.exp(EPSILON)
    found = [np.ones(letters), np.full(letters, top)]
    for mask in range(1, 2**letters - 1):
        chosen = (mask >> np.arange(letters)) & 1
        m = float(r @ chosen)
        root = math.sqrt((b - 1.0) * (b - (2.0 * m - 1.0) ** 2))
        least, largest = (b + 2.0 * m - 1.0 - root) / (2.0 * b), (b + 2.0 * m - 1.0 + root) / (2.0 * b)
        step = (top - 1.0) / (largest - least)
        if least * step <= 1.0:
            found.append(1.0 - least * step + step * chosen)
        elif 1.0 / least <= top / largest:
            found += [chosen / least, chosen * top / largest]
    return np.array(found)


def prices(P: Array, first: Array, second: Array) -> Array:
    """Return the dual prices of the best mixture of the columns made of two lists of blocks."""
    columns = np.hstack([np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1))])
    Z = columns @ P.ravel()
    value = xlogy(columns, columns) @ P.ravel() - xlogy(Z, Z)
    solved = linprog(-value, A_eq=columns.T, b_eq=np.ones(P.size), method="highs")
    return np.asarray(-solved.eqlin.marginals.reshape(P.shape))


def at_breakpoint(w: Array, z: Array) -> Array:
    """Return the points between two vertices whose z is the breakpoint."""
    low, high = w[z <= SPLIT], w[z > SPLIT]
    share = (SPLIT - z[z <= SPLIT])[:, None] / (z[z > SPLIT] - z[z <= SPLIT][:, None])
    return (low[:, None] + share[..., None] * (high - low[:, None])).reshape(-1, w.shape[1])


def piece(blocks: list[Points], low: float, high: float) -> Piece:
    """Return the affine upper bounds of a class that give the least kappa."""
    found = []
    for slope in np.linspace(0.0, 4.0, 401):
        for discount in np.linspace(-1.0, 0.0, 41) if low > 0.0 else (0.0,):
            above = []
            for points in blocks:
                # Just above the breakpoint the discount counts already.
                beyond = (points.z > low) | points.split
                own = points.f - slope * points.z - np.where(beyond, discount, 0.0)
                above.append(float(own[points.z <= high].max()))
            found.append(Piece(low, high, float(slope), float(discount), above))
    return min(found, key=lambda piece: piece.kappa)


def draw_block(axes: Axes, points: Points, s: int, bounds: list[Piece]) -> None:
    """Draw the vertices of one block and what bounds them."""
    z, f = points.vertices
    split = np.flatnonzero(points.split)[np.argsort(-points.f[points.split])[:200:4]]
    axes.plot(
        points.z[split], points.f[split], "_", color="0.5", markersize=4, label="points at the breakpoint"
    )
    axes.plot(z, f, "o", color="0.25", markersize=2.5, label="vertices of a block")
    span = np.linspace(z.min(), z.max(), 400)
    for bound, colour, name in zip(
        bounds, (BLUE, ORANGE), ("no block above the breakpoint", "a block above it"), strict=True
    ):
        line = np.where(span <= bound.high, bound.slope * span + bound.intercepts[s], np.nan)
        line += np.where(span > bound.low, bound.discount, 0.0)
        if bound.low > 0.0:
            line[np.abs(span - bound.low) < 2.0 * (span[1] - span[0])] = np.nan  # it jumps there
        axes.plot(span, line, color=colour, linewidth=1.5, label=f"bound: {name}")
    if z.max() > SPLIT:
        axes.axvline(SPLIT, color="0.6", linestyle=":", linewidth=1.0)
        axes.text(SPLIT + 0.03, f.min(), "breakpoint", color="0.4")
        at, slope, h, d = SPLIT, bounds[1].slope, bounds[1].intercepts[s], bounds[1].discount
        axes.annotate(
            "",
            (at, slope * at + h + d),
            (at, slope * at + h),
            arrowprops={"arrowstyle": "->", "color": ORANGE},
        )
        axes.text(at + 0.03, slope * at + h - 0.1, "discount", color=ORANGE, va="center")
    axes.set_xlabel("$z_s(w)$")
    axes.set_ylabel("$f_s(w)$")


def draw_columns(axes: Axes, blocks: list[Points], bounds: list[Piece]) -> None:
    """Draw all columns made of vertices of the two blocks, and what bounds them."""
    z, f = zip(*(points.vertices for points in blocks), strict=True)
    Z, total = (np.add.outer(*x).ravel() for x in (z, f))
    largest = np.maximum.outer(*z).ravel()
    span = np.linspace(Z.min(), Z.max(), 400)
    for bound, colour in zip(bounds, (BLUE, ORANGE), strict=True):
        own = (bound.low < largest) & (largest <= bound.high)
        axes.plot(Z[own], total[own], ".", color=colour, markersize=1.2, alpha=0.5)
        axes.plot(span, bound.slope * span + bound.total, color=colour, linewidth=1.2)
    kappa = max(bound.kappa for bound in bounds)
    axes.plot(
        span, xlogy(span, span) + kappa * span, color=GREEN, linewidth=1.8, label=r"$Z\,\log Z + \kappa Z$"
    )
    axes.set_xlabel(r"$Z = \sum_s z_s$")
    axes.set_ylabel(r"$\sum_s f_s$")


def main() -> None:
    """Write the picture."""
    ball, vertices = example()
    c = prices(ball.centre, *vertices)
    blocks = [Points.of(*own) for own in zip(vertices, ball.centre, c, strict=True)]
    bounds = [piece(blocks, 0.0, SPLIT), piece(blocks, SPLIT, math.inf)]
    with style():
        figure = Figure(figsize=(9.6, 3.3))
        first, second, columns = figure.subplots(1, 3)
        for s, axes, name in zip(
            (0, 1), (first, second), ("at most $50,000", "more than $50,000"), strict=True
        ):
            draw_block(axes, blocks[s], s, bounds)
            axes.set_title(f"Block of income {name}".replace("$", r"\$"))
        draw_columns(columns, blocks, bounds)
        columns.set_title("Columns: one vertex of each block")
        lines = [*first.get_lines()[:4], *columns.get_lines()[-1:]]
        figure.legend(handles=lines, loc="outside lower center", ncols=5)
        figure.savefig(ROOT / "docs/img/certificate.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
