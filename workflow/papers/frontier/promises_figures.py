"""Figure about whom mechanisms protect from, and what they tell those whom they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from papers.lopuhaa2024.catalogue import PROMISES
from papers.lopuhaa2024.panels import EQUALITY, NMI, by_pair, entry, line, plot_panels
from reproduction.plotting import Look
from reproduction.results.tables import select

#: How the optima of the promises look, in the order of the legend.
_LOOKS = {
    name: Look(promise.label, promise.colour, promise.marker, promise.dash, promise.filled)
    for name, promise in PROMISES.items()
}

#: The upper end of the axis of levels: so many times the largest privacy level, nats.
_TOP = 1.6


def promises(table: pd.DataFrame) -> Figure:
    """Plot six promises: the information of their optima, and below it what these tell acquaintances.

    Parameters
    ----------
    table : DataFrame
        As `attackers.PROMISES_KEPT`, of one setting.

    Returns
    -------
    matplotlib.figure.Figure
    """
    above = by_pair(table)
    below = {f"{title}: level": rows.assign(told=True) for title, rows in above.items()}
    top = _TOP * float(table["epsilon"].max())

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        of_levels = "told" in rows
        for name, look in _LOOKS.items():
            curve = select(rows, promise=name).sort_values("epsilon")
            if curve.empty:
                continue
            values = np.minimum(curve["one_of_two"], top) if of_levels else curve["nmi"]
            ax.plot(curve["epsilon"], values, **line(look, clip_on=False))
        ax.set_xlim(left=0.0)
        if of_levels:
            ends = [0.0, float(rows["epsilon"].max())]
            ax.plot(ends, ends, **line(EQUALITY))
            ax.set_ylim(0.0, top)
            ticks = np.linspace(0.0, top, 5)
            ax.set_yticks(ticks, [f"{tick:g}{' or more' if tick == top else ''}" for tick in ticks])
            ax.set_ylabel("level for those who know\nthat $U$ is one of two")
        else:
            ax.set_ylim(0.0, 1.02)
            ax.set_ylabel(NMI)

    shown = [Line2D([], [], linestyle="", label="protects from:"), *map(entry, _LOOKS.values())]
    shown.append(entry(EQUALITY))
    panels = {**above, **below}
    return plot_panels(panels, panel, "", legend=shown, share_y=False)
