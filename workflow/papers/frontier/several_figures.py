"""Figure about several reports of one person: what the second report tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from papers.frontier.several_tables import ADAPTIVE, ANYONE, CALIBRATED, ONCE
from papers.lopuhaa2024.catalogue import PROMISES
from papers.lopuhaa2024.panels import EQUALITY, LOOKS, NMI, by_pair, entry, line, plot_panels
from reproduction.plotting import Look
from reproduction.results.tables import select

_INTERVALS, _ANYONE = PROMISES["intervals"], PROMISES["anyone"]

#: Mechanisms, and those whom they were made to protect from: of whom the level is shown.
_SHOWN = {
    "polyopt": ("outsiders", LOOKS["polyopt"]),
    "exact": ("outsiders", LOOKS["exact"]),
    "srr": ("outsiders", LOOKS["srr"]),
    _INTERVALS.name: (
        "acquaintances",
        Look("for acquaintances", _INTERVALS.colour, _INTERVALS.marker, _INTERVALS.dash),
    ),
    _ANYONE.name: ("anyone", Look("for anyone", _ANYONE.colour, _ANYONE.marker, _ANYONE.dash)),
}

#: Ways to choose the mechanism of each report.
_CHOICES = {
    ONCE: Look("one report, repeated", "#000000", "", (0, (1, 1.2))),
    CALIBRATED: Look("for this number", _INTERVALS.colour, "s", "-"),
    ADAPTIVE: Look("for a budget", _INTERVALS.colour, "o", (0, (4, 1.5)), filled=False),
    ANYONE: Look("for anyone", _ANYONE.colour, _ANYONE.marker, _ANYONE.dash),
}

#: The level that the figure is about, nats: the nearest one of the table.
_LEVEL = 1.0

#: The upper end of the axis of levels, in levels of one report more than there are reports.
_ABOVE = 2.0


def several_reports(several_levels: pd.DataFrame, several_designs: pd.DataFrame) -> Figure:
    """Plot levels of 1, 2, ... reports by one mechanism, and below what reports tell at one total level."""
    levels, designs = _nearest(several_levels, "epsilon"), _nearest(several_designs, "total")
    epsilon, total = float(levels["epsilon"].iloc[0]), float(designs["total"].iloc[0])
    most = int(levels["reports"].max())
    top = epsilon * (most + _ABOVE)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        if "choice" in rows:
            for choice, look in _CHOICES.items():
                curve = select(rows, choice=choice).sort_values("reports")
                ax.plot(curve["reports"], curve["nmi"], **line(look))
            ax.set_ylim(bottom=0.0)
            ax.set_ylabel(f"{NMI}\nof all reports, total level {total:g}")
        else:
            for name, (attacker, look) in _SHOWN.items():
                curve = select(rows, mechanism=name).sort_values("reports")
                # PolyOpt is larger, so that it is seen behind the optimum.
                size = {"markersize": 8.0} if name == "polyopt" else {}
                ax.plot(
                    curve["reports"], np.minimum(curve[attacker], top), **line(look, clip_on=False, **size)
                )
            ends = np.array([1, most])
            ax.plot(ends, epsilon * ends, **line(EQUALITY))
            ax.set_ylim(0.0, top)
            ticks = epsilon * np.arange(0, most + _ABOVE + 1, 2)
            ax.set_yticks(ticks, [f"{tick:g}{' or more' if tick == top else ''}" for tick in ticks])
            ax.set_ylabel("level of all reports, for\nthose to be protected from")
        ax.set_xlim(0.9, float(rows["reports"].max()) + 0.1)
        ax.xaxis.set_major_locator(MultipleLocator(1))

    panels = by_pair(levels) | {f"{title}: information": rows for title, rows in by_pair(designs).items()}
    heading = Line2D([], [], linestyle="", label="below:")
    shown = [entry(look) for _, look in _SHOWN.values()]
    shown.append(entry(Look("added up", EQUALITY.colour, "", "-"), linewidth=2.5))
    shown += [heading, *(entry(look) for choice, look in _CHOICES.items() if choice != ANYONE)]
    return plot_panels(
        panels, panel, "", xlabel="reports of one person", legend=shown, share_x=False, share_y=False
    )


def _nearest(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows at the value of a column that is nearest to the level of the figure."""
    values = np.asarray(table[column].unique(), dtype=float)
    return select(table, **{column: values[np.argmin(np.abs(values - _LEVEL))]})
