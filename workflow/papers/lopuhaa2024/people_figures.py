"""Figure of lopuhaa2024 about how many people must report for an estimate."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from papers.lopuhaa2024.catalogue import CELLS, DESIGNS, FOR_SENSITIVE, SENSITIVE, designed
from papers.lopuhaa2024.panels import LOOKS, by_pair, entry, line, plot_panels
from reproduction.plotting import Look
from reproduction.results.tables import select

#: The least errors by their names in tables and the level given U: equal to epsilon, or none asked for.
_DESIGNS = {
    (designed(name), both): Look(
        f"{design.label}{', and insiders' if both else ''}",
        design.colour,
        design.marker,
        (0, (5, 1.5)) if both else design.dash,
        filled=not both,
    )
    for name, design in DESIGNS.items()
    for both in ((False, True) if design.both_levels else (False,))
}
_ANY_PROMISE = Look("any promise (S alone)", "#009E73", "s", "-")

#: Of what is made for information.
_THIN = {"linewidth": 0.7, "markersize": 2.2, "markeredgewidth": 0.6, "alpha": 0.75, "zorder": 1.5}
_THICK = {"linewidth": 1.8, "zorder": 3}

_REPORTS = "people for a standard error of one percentage point"


def people(table: pd.DataFrame) -> Figure:
    """Plot how many people must report for a standard error of one percentage point, against the level.

    Parameters
    ----------
    table : DataFrame
        As `people.PEOPLE`, of one setting. Shown are the pairs and the range of privacy levels that have a
        least error of all cells. Left are all cells, right the distribution of S. What is not determined has
        no point.

    Returns
    -------
    matplotlib.figure.Figure
    """
    least = table[table["bound"].notna() & (table["target"] == CELLS)]
    table = table[table["epsilon"].between(least["epsilon"].min(), least["epsilon"].max())]
    panels = {
        f"{title}: {words}": select(rows, target=target)
        for title, rows in by_pair(table).items()
        if select(rows, target=CELLS)["bound"].notna().any()
        for target, words in ((CELLS, "all cells"), (SENSITIVE, "$S$ alone"))
    }
    shown_designs, shown_mechanisms = set[tuple[str, bool]](), set[str]()

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        rows = rows[rows["determined"]].sort_values("epsilon")
        for name, look in LOOKS.items():
            curve = select(rows, mechanism=name, conditional_epsilon=math.inf)
            if len(curve):
                shown_mechanisms.add(name)
                ax.plot(curve["epsilon"], curve["people"], **line(look) | _THIN)
        certified = rows[rows["bound"].notna()]
        for (name, both), look in {**_DESIGNS, (FOR_SENSITIVE, False): _ANY_PROMISE}.items():
            curve = select(certified, mechanism=name)
            curve = curve[np.isfinite(curve["conditional_epsilon"]) == both]
            if len(curve):
                shown_designs.add((name, both))
                ax.plot(curve["epsilon"], curve["people"], **line(look) | _THICK)
                low = curve["people"] * curve["bound"] / curve["error"]
                ax.fill_between(curve["epsilon"], low, curve["people"], color=look.colour, alpha=0.2, lw=0)
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.yaxis.set_minor_locator(NullLocator())

    # A first drawing finds what the legend has.
    plot_panels(panels, panel, "")
    legend = [Line2D([], [], linestyle="", label="least error, protects from:")]
    looks = {**_DESIGNS, (FOR_SENSITIVE, False): _ANY_PROMISE}
    legend += [entry(look, linewidth=1.8) for key, look in looks.items() if key in shown_designs]
    legend += [Line2D([], [], linestyle="", label="made for information:")]
    legend += [entry(LOOKS[name]) for name in LOOKS if name in shown_mechanisms]
    return plot_panels(panels, panel, _REPORTS, legend=legend, share_y=False)
