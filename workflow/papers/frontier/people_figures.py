"""Figure about how many people must report for an estimate."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from papers.lopuhaa2024.catalogue import CELLS, DESIGNS, designed
from papers.lopuhaa2024.panels import LOOKS, by_pair, entry, line, plot_panels
from reproduction.plotting import Look
from reproduction.results.tables import select

#: The least errors by their names in tables and the level given U: equal to epsilon, or none asked for.
_DESIGNS = {
    (designed(name), both): Look(
        f"{DESIGNS[name].label}{', and insiders' if both else ''}",
        DESIGNS[name].colour,
        DESIGNS[name].marker,
        (0, (5, 1.5)) if both else DESIGNS[name].dash,
        filled=not both,
    )
    for name, both in (
        ("set", False),
        ("set", True),
        ("acquaintances", False),
        ("anyone", False),
        ("ldp", False),
    )
}

#: The optimum over F for information: single points, as it need not be the only one, nor determine the table.
_INFORMATIVE = Look("most informative over F", LOOKS["exact"].colour, "o", "", filled=False)

_REPORTS = "people for a standard error\nof one percentage point"


def people(table: pd.DataFrame) -> Figure:
    """Plot how many people must report for a standard error of one percentage point, against the level.

    Shown are the pairs that have least errors of all cells: these by whom they protect from, and at the
    levels of that over F the optimum over F for information. What the reports do not determine has no point.
    """
    cells = select(table, target=CELLS)
    panels = {title: rows for title, rows in by_pair(cells).items() if rows["bound"].notna().any()}
    shown = dict[str, Look]()

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        rows = rows[rows["determined"]].sort_values("epsilon")
        for (name, both), look in _DESIGNS.items():
            curve = select(rows, mechanism=name)
            curve = curve[np.isfinite(curve["conditional_epsilon"]) == both]
            if len(curve):
                shown[look.label] = look
                ax.plot(curve["epsilon"], curve["people"], **line(look))
                low = curve["people"] * curve["bound"] / curve["error"]
                ax.fill_between(curve["epsilon"], low, curve["people"], color=look.colour, alpha=0.2, lw=0)
        own = select(rows, mechanism="exact", conditional_epsilon=math.inf)
        own = own[own["epsilon"].isin(select(rows, mechanism=designed("set"))["epsilon"])]
        if len(own):
            shown[_INFORMATIVE.label] = _INFORMATIVE
            ax.plot(
                own["epsilon"], own["people"], **line(_INFORMATIVE, markersize=7.0, markerfacecolor="none")
            )
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.yaxis.set_minor_locator(NullLocator())

    # A first drawing finds what the legend has.
    plot_panels(panels, panel, "")
    legend = [Line2D([], [], linestyle="", label="protects from:")]
    legend += [entry(look) for look in _DESIGNS.values() if look.label in shown]
    legend += [entry(_INFORMATIVE, markersize=7.0)] * (_INFORMATIVE.label in shown)
    return plot_panels(panels, panel, _REPORTS, legend=legend)
