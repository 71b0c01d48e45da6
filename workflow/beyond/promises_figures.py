"""Figures about whom mechanisms protect from, and what they tell those whom they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from beyond.attack_tables import NOTHING, ONE_OF_TWO, PROXY, USEFUL
from beyond.catalogue import PROMISES
from beyond.several_tables import INSIDERS
from papers.lopuhaa2024.panels import EQUALITY, LOOKS, NMI, by_pair, entry, line, plot_panels
from papers.lopuhaa2024.summaries import require_one
from reproduction.results.tables import select

#: The upper end of the axis of levels: so many times the largest privacy level, nats.
_TOP = 1.6

#: The mechanisms whose reports attackers see, from above: what to call them, and their colours.
_REPORTED = {
    "polyopt": ("PolyOpt", LOOKS["polyopt"].colour),
    "exact": ("outsiders,\noptimum over $F$", PROMISES["outsiders"].colour),
    INSIDERS: ("outsiders\nand insiders", PROMISES["insiders"].colour),
    PROMISES["set"].name: ("acquaintances", PROMISES["set"].colour),
}

#: The kinds of knowledge that have a panel.
_SHOWN = (NOTHING, PROXY, ONE_OF_TWO, USEFUL)

#: Area of the circle of a report that is certain, and the least of a circle, square points; the least
#: probability of a report that is shown.
_AREA, _LEAST_AREA, _SELDOM = 260.0, 5.0, 1e-3

#: What the allowed changes look like.
_ALLOWED = "#DDDDDD"


def promises(table: pd.DataFrame) -> Figure:
    """Plot six promises: the information of their optima, and below it what these tell acquaintances."""
    above = by_pair(table)
    below = {f"{title}: level": rows.assign(told=True) for title, rows in above.items()}
    top = _TOP * float(table["epsilon"].max())

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        of_levels = "told" in rows
        for name, look in PROMISES.items():
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

    shown = [Line2D([], [], linestyle="", label="protects from:"), *map(entry, PROMISES.values())]
    shown.append(entry(EQUALITY))
    panels = {**above, **below}
    return plot_panels(panels, panel, "", legend=shown, share_y=False)


def attack(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Plot the chance of the sensitive value after each report, as four attackers see it, by mechanism.

    Of every kind of knowledge, the figure shows the one with which the reports of the mechanism for outsiders
    and insiders change the odds most, and of several of these the one that is true of most people. Reports
    that are rarer than one in a thousand are left out.
    """
    require_one(table, "instance", "beta", "order", "epsilon", "value")
    epsilon, value = float(table["epsilon"].iloc[0]), str(table["value"].iloc[0])
    sensitive = str(table["instance"].iloc[0]).rpartition(", ")[0]
    weighed = select(summary, mechanism=INSIDERS)
    weighed = weighed.assign(change=weighed["change"].round(6)).sort_values(
        ["change", "people"], ascending=False
    )
    panels = {}
    for kind in _SHOWN:
        for knowledge in weighed.loc[weighed["knows"] == kind, "knowledge"].head(1):
            title = "knows nothing" if kind == NOTHING else knowledge
            panels[title.replace("$", r"\$")] = select(table, knows=kind, knowledge=knowledge)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        before = float(rows["before"].iloc[0])
        odds = before / (1.0 - before) * np.exp([-epsilon, epsilon])
        ax.axvspan(*(odds / (1.0 + odds)), color=_ALLOWED, linewidth=0.0, zorder=0)
        ax.axvline(before, color="black", linewidth=0.9, linestyle=(0, (3, 1.5)), zorder=1)
        beyond = select(summary, knowledge=rows["knowledge"].iloc[0]).set_index("mechanism")["beyond"]
        for place, (name, (_, colour)) in enumerate(_REPORTED.items()):
            reports = select(rows[rows["probability"] >= _SELDOM], mechanism=name)
            areas = np.maximum(_AREA * reports["probability"], _LEAST_AREA)
            ax.scatter(
                reports["after"], np.full(len(reports), place), s=areas, color=colour, alpha=0.6,
                edgecolors="white", linewidths=0.4, clip_on=False, zorder=3,
            )  # fmt: skip
            ax.text(1.07, place, f"{beyond[name]:.0%}" if name in beyond else "-", va="center", fontsize=8)
        ax.text(1.07, -0.75, "outside", va="center", fontsize=8)
        ax.set_yticks(range(len(_REPORTED)), [label for label, _ in _REPORTED.values()])
        ax.set_ylim(len(_REPORTED) - 0.5, -0.5)
        ax.set_xlim(0.0, 1.0)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(visible=False, axis="y")

    shown = [
        Line2D([], [], color="black", linewidth=0.9, linestyle=(0, (3, 1.5)), label="before the report"),
        Line2D([], [], color="#555555", marker="o", linestyle="", label="after one report (area: how often)"),
        Patch(color=_ALLOWED, label=f"odds changed by at most $e^{{{epsilon:g}}}$"),
    ]
    xlabel = f"chance that {sensitive} is {value}, for the attacker".replace("$", r"\$")
    return plot_panels(panels, panel, "", xlabel=xlabel, legend=shown)
