"""Figures of the gain over PolyOpt, and of what promises keep, over many pairs of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from beyond.catalogue import PROMISES
from papers.lopuhaa2024.panels import LOOKS, plot_panels
from papers.lopuhaa2024.summaries import cells, require_one
from reproduction.figure_style import EPSILON
from reproduction.results.tables import select

#: Half the width of a box and of the strip of points over it, and what the others look like.
_BOX, _STRIP = 0.36, 0.26
_SMALL: dict[str, Any] = {"color": "#333333", "marker": "o", "markersize": 2.6, "linestyle": ""}
_LARGE: dict[str, Any] = {**_SMALL, "markerfacecolor": "none", "markeredgewidth": 0.5}

#: Ticks of the axis of factors.
_FACTORS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
#: Ticks of the axis of shares.
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)

#: The two tables of the other figures.
_MARKED = {
    "sex, race": {**_SMALL, "color": "#D55E00", "marker": "^", "markersize": 4.5, "zorder": 4},
    "income, relationship": {**_SMALL, "color": "#009E73", "marker": "D", "markersize": 4.0, "zorder": 4},
}

#: Short names of the promises whose share of the information with outsiders and insiders is shown.
_SHORT = {
    "outsiders": "outsiders",
    "known": "odds ratios\nknown",
    "intervals": "odds ratios\nin intervals",
    "set": "all odds\nratios of $F$",
    "anyone": "anyone",
}


def gain(table: pd.DataFrame, small: int) -> Figure:
    """Plot the gain of the best mechanism found over F over calibrated PolyOpt, with a point for every pair.

    Points of tables of up to `small` cells are full; a thin line reaches from these to the bound.
    """
    require_one(table, "beta", "order")
    rows = select(table, mechanism="polyopt")
    rows = rows[rows["nmi_calibrated"].notna()]
    rows = rows.assign(
        value=rows["exact"] / rows["nmi_calibrated"],
        limit=(rows["bound"] / rows["nmi_calibrated"]).where(rows["size"].map(cells) <= small),
    )

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        levels = sorted(set(rows["epsilon"]))
        for at, level in enumerate(levels):
            _draw_pairs(ax, at, select(rows, epsilon=level), small, LOOKS["exact"].colour)
        _label_categories(ax, [f"{EPSILON} = {level:g}" for level in levels])
        ax.set_yscale("log")
        most = 1.05 * max(float(rows["value"].max()), float(rows["limit"].max()))
        ax.set_ylim(0.97, most)
        ax.set_yticks([x for x in _FACTORS if x <= most])
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"×{value:g}"))
        ax.yaxis.set_minor_locator(NullLocator())

    label = "information of the best\nfound, over that of PolyOpt"
    return plot_panels({"pairs of Adult": rows}, panel, label, xlabel=None, legend=_legend(rows, small))


def promises(table: pd.DataFrame, small: int) -> Figure:
    """Plot the share of information that promises keep, a panel per level, with a point for every pair."""
    require_one(table, "beta", "order")
    rows = table[table["promise"].isin(_SHORT)]
    rows = rows.assign(value=rows["kept"])
    least, most = float(rows["value"].min()), float(rows["value"].max())
    panels = {f"{EPSILON} = {level:g}": part for level, part in rows.groupby("epsilon")}

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for at, name in enumerate(_SHORT):
            _draw_pairs(ax, at, select(rows, promise=name), small, PROMISES[name].colour)
        _label_categories(ax, [*_SHORT.values()])
        ax.set_yscale("log")
        ax.set_ylim(0.9 * least, 1.1 * most)
        ax.set_yticks([x for x in _SHARES if least <= x <= most])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.yaxis.set_minor_locator(NullLocator())

    label = "information, over that with\noutsiders and insiders"
    return plot_panels(panels, panel, label, xlabel=None, legend=_legend(rows, small))


def _legend(rows: pd.DataFrame, small: int) -> list[Artist]:
    """Return the entries of the legend of a table with a row per point."""
    present = set(rows["instance"])
    legend: list[Artist] = [
        Line2D([], [], label=name, **look) for name, look in _MARKED.items() if name in present
    ]
    legend.append(Line2D([], [], label=f"other tables, at most {small} cells", **_SMALL))
    if (rows["size"].map(cells) > small).any():
        legend.append(Line2D([], [], label="larger tables", **_LARGE))
    return [*legend, Patch(facecolor="#DDDDDD", label="between the quartiles; line: median")]


def _label_categories(ax: Axes, labels: list[str]) -> None:
    """Label the places of an axis of categories."""
    ax.set_xticks(range(len(labels)), labels, fontsize=7.0)
    ax.set_xlim(-0.6, len(labels) - 0.4)
    ax.grid(visible=False, axis="x")


def _draw_pairs(ax: Axes, at: int, rows: pd.DataFrame, small: int, colour: str) -> None:
    """Draw a box of quartiles at a place of the axis, and over it a point for every pair, up to its limit."""
    if rows.empty:
        return
    rows = rows.sort_values("value", kind="stable")
    lower, median, upper = rows["value"].quantile([0.25, 0.5, 0.75])
    ax.fill_between([at - _BOX, at + _BOX], lower, upper, color=colour, alpha=0.25, linewidth=0.0)
    ax.plot([at - _BOX, at + _BOX], [median, median], color=colour, linewidth=1.6)
    # Neighbours in the order lie apart.
    across = at + _STRIP * (2.0 * (np.arange(len(rows)) * 0.618034 % 1.0) - 1.0)
    if "limit" in rows:
        ax.vlines(across, rows["value"], rows["limit"], color="#333333", linewidth=0.6)
    for x, instance, size, value in zip(across, rows["instance"], rows["size"], rows["value"], strict=True):
        look = _MARKED.get(instance) or (_SMALL if cells(size) <= small else _LARGE)
        ax.plot([x], [value], **look)
