"""Figures of what lies past PolyOpt: the optimum over F, drift, two levels, people, several reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullLocator, PercentFormatter

from beyond.catalogue import ACQUAINTANCES, CELLS, DESIGNS, PROMISES, WHOLE, designed
from beyond.several_tables import ADAPTIVE, ANYONE, CALIBRATED, ONCE
from papers.lopuhaa2024.figures import band_to_bound, information
from papers.lopuhaa2024.panels import (
    EQUALITY,
    LOOKS,
    NMI,
    by_pair,
    entry,
    line,
    plot_panels,
    set_plain_ticks,
)
from reproduction.figure_style import EPSILON
from reproduction.look import Look
from reproduction.plotting import graded
from reproduction.results.tables import select

#: What no robust mechanism passes: the bound of the optimum over F.
UPPER_BOUND = Look("Upper bound over F", LOOKS["exact"].colour, "", "-")

#: A bound that is so many times the best mechanism found says little about it.
_WEAK = 2.0

#: In the legend, of mechanisms as they are.
_HOLLOW = Look("hollow: uncalibrated", "#333333", "o", "", filled=False)

#: The optimum against acquaintances, in the colour that this promise has in all figures.
_ACQUAINTANCES = Look("Optimum against acquaintances", PROMISES["set"].colour, PROMISES["set"].marker, "-")

#: The horizontal axis of the figure of drifts.
_SURVIVED = f"share of drifted distributions at which the level is at most {EPSILON}"

#: What the numbers of a figure are.
_CALIBRATED_FACTOR = "×: factor over calibrated PolyOpt"

#: The relative gap up to which the best mechanism found is called the optimum.
_CERTIFIED = 1e-3

#: The marker of equal levels, and the columns and dashes of what has no conditional level, by label.
_SAME_LEVEL: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 7.5, "markerfacecolor": "none"}
_WITHOUT_SECOND_LEVEL: Mapping[str, tuple[str, Any]] = {
    "PolyOpt": ("polyopt", (0, (5, 1.5))),
    "unconditional optimum": ("unconditional", (0, (1, 1.2))),
}

#: Ticks of a logarithmic axis of NMI, of one or two decades and of more, and its upper end.
_FEW_SHARES, _SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1), (1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)
_TOP = 1.4


def optimum(table: pd.DataFrame, bounds: pd.DataFrame) -> Figure:
    """Plot all mechanisms of Figure 2 of lopuhaa2024, with the best one found over F and what bounds it.

    The bound over F, which no robust mechanism passes, is a thin line, with a band below. Each of the
    `bounds` on robust mechanisms holds at its level and at all lower ones.
    """

    def beside(ax: Axes, name: str, curve: pd.DataFrame) -> str:
        if name != "exact":
            return band_to_bound(ax, name, curve)
        first = curve.iloc[0]
        own = select(bounds, size=first["size"], instance=first["instance"]).sort_values("epsilon")
        return _draw_upper_bound(ax, curve, own)

    more: list[Artist] = []
    if not select(table, metric="nmi", mechanism="exact").dropna(subset=["value"]).empty:
        band: dict[str, Any] = {"facecolor": UPPER_BOUND.colour, "alpha": 0.18, "linewidth": 0}
        more = [entry(UPPER_BOUND, linewidth=0.9), Patch(**band, label="The optimum over F is in here")]
    return information(table, beside=beside, more=more)


def _draw_upper_bound(ax: Axes, curve: pd.DataFrame, bounds: pd.DataFrame) -> str:
    """Draw what no robust mechanism passes, and the band to the best one found; say where the bound is weak.

    The bounds of a curve are near each other and joined by lines, as the curves are. The others may be far
    apart: each is a step, which ends at its level. A bound is weak if it is more than `_WEAK` times the best
    mechanism.
    """
    levels, value = curve["epsilon"].to_numpy(), curve["value"].to_numpy()
    own = np.minimum(curve["bound"].to_numpy(), 1.0)
    ends = bounds["epsilon"].to_numpy()
    # On either side of the end of every step.
    grid = np.unique(np.concatenate([levels, ends, ends * (1.0 + 1e-9)]))
    grid = grid[(levels[0] <= grid) & (grid <= levels[-1])]
    upper, lower = np.interp(grid, levels, own), np.interp(grid, levels, value)
    for end, bound in zip(ends, bounds["bound"], strict=True):
        upper = np.where(grid <= end, np.minimum(upper, bound), upper)
    ax.fill_between(grid, lower, np.maximum(upper, lower), color=UPPER_BOUND.colour, alpha=0.18, linewidth=0)
    ax.plot(grid, upper, zorder=2.2, **UPPER_BOUND.line(linewidth=0.9))
    weak = upper > _WEAK * lower
    if not weak.any():
        return ""
    most = float((upper[weak] / lower[weak]).max())
    return f"weak bound up to {EPSILON} = {grid[weak].max():.2g}: there up to {most:.2g} times the best found"


def calibrated(table: pd.DataFrame) -> Figure:
    """Plot mechanisms as they are and at equal realized privacy, two panels per pair of attributes.

    The upper axis is logarithmic and shows all of them, the lower one is linear and shows what separates the
    best ones. A mechanism is hollow as it is and full where it leaks what is allowed; the optimum over F and
    the bound on all robust mechanisms are beside them. The number is the factor of the optimum over PolyOpt
    where that leaks what is allowed.
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        levels, linear = sorted(set(rows["epsilon"])), "linear" in rows
        present = [name for name in LOOKS if name in set(rows["mechanism"])]
        shift = dict(zip(present, np.linspace(-0.3, 0.3, len(present)), strict=True))
        for row in rows.to_dict("records"):
            look, place = LOOKS[row["mechanism"]], levels.index(row["epsilon"])
            at = place + shift[row["mechanism"]]
            before, after = row["nmi"], row["nmi_calibrated"]
            if row["mechanism"] == "exact":
                ax.plot([place - 0.4, place + 0.4], [row["bound"]] * 2, **UPPER_BOUND.line(linewidth=0.9))
                before, after = after, before
            ax.plot([at, at], [before, after], color=look.colour, linewidth=0.9, zorder=2)
            for value, face in ((before, "white"), (after, look.colour)):
                ax.plot([at], [value], **line(look, linestyle="", markerfacecolor=face, zorder=3))
            if linear and row["mechanism"] == "polyopt" and math.isfinite(row["exact"] / after):
                ax.annotate(
                    f"×{row['exact'] / after:.2f}", (place, row["bound"]), xytext=(0, 2),
                    textcoords="offset points", ha="center", va="bottom", fontsize=7.5,
                )  # fmt: skip
        _set_level_axis(ax, rows["epsilon"])
        if linear:
            ax.set_ylim(0.0, 1.02)
        else:
            _set_nmi_axis(ax, float(rows["nmi"].min()) / 1.5)

    found = [name for name in LOOKS if name in set(table["mechanism"])]
    best = select(table, mechanism="exact")
    looks = _named(best["nmi"], best["bound"])
    shown = [entry(looks[name], linestyle="", markerfacecolor=looks[name].colour) for name in found]
    shown += [entry(UPPER_BOUND, linewidth=0.9), entry(_HOLLOW, linestyle="")]
    if "polyopt" in found:
        shown += [Line2D([], [], linestyle="", label=_CALIBRATED_FACTOR)]
    above = by_pair(table)
    below = {f"{title}: linear axis": rows.assign(linear=True) for title, rows in above.items()}
    # An odd number of pairs fills its last row with the first linear panel.
    panels = {**above, **below}
    return plot_panels(panels, panel, NMI, share_x=False, share_y=False, legend=shown)


def drift(table: pd.DataFrame) -> Figure:
    """Plot information against the drift survived, one panel per pair of attributes and privacy level.

    The middle spread is shown, of the whole distribution. Along each curve the radius of F grows, from the
    large marker on.
    """
    spreads = sorted(set(table["records"]))
    shown = select(table, drift=WHOLE, records=spreads[len(spreads) // 2])
    present = set(shown["mechanism"])
    looks = {name: look for name, look in {**LOOKS, ACQUAINTANCES: _ACQUAINTANCES}.items() if name in present}
    panels = {
        f"{title}, ε = {epsilon:g}": select(rows, epsilon=epsilon)
        for title, rows in by_pair(shown).items()
        for epsilon in sorted(set(rows["epsilon"]))
    }

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for name, look in looks.items():
            curve = select(rows, mechanism=name).sort_values("factor")
            x, y = curve["survived"].to_numpy(), curve["nmi"].to_numpy()
            ax.plot(x, y, **line(look))
            ax.plot(x[:1], y[:1], **line(look, linestyle="") | {"markersize": 9.0})
        ax.set_xlim(-0.04, 1.04)
        ax.set_ylim(0.0, 1.08 * float(rows["nmi"].max()))
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))

    legend = [entry(look) for look in looks.values()]
    return plot_panels(panels, panel, NMI, xlabel=_SURVIVED, share_y=False, legend=legend)


def two_levels(table: pd.DataFrame) -> Figure:
    """Plot the cost of a level for those who know the useful value, one panel per pair of attributes.

    The horizontal axis is the level k given U, linear below 1 and with infinity at its end; each colour is a
    privacy level epsilon over F, and the open circle is at k = epsilon. Beside the optimum, with a band up to
    its bound, are PolyOpt (dashed) and the unconditional optimum (dotted).
    """
    epsilons = sorted(set(table["epsilon"]))
    colours = {epsilon: graded(i, len(epsilons))["color"] for i, epsilon in enumerate(epsilons)}
    levels = sorted(set(table["conditional_epsilon"]))
    finite = [level for level in levels if math.isfinite(level)]
    end = 2.0 * max(finite, default=1.0)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for epsilon, curve in rows.groupby("epsilon"):
            curve = curve.sort_values("conditional_epsilon")
            colour = colours[epsilon]
            at = np.minimum(curve["conditional_epsilon"].to_numpy(), end)
            # No level lies between the last one and none.
            for part in (at < end, at == end):
                ax.plot(at[part], curve["nmi"][part], color=colour, marker="o", markersize=3.0)
            bound = np.minimum(curve["bound"], 1.0)
            ax.fill_between(at, curve["nmi"], bound, at < end, color=colour, alpha=0.18, lw=0)
            same = curve["conditional_epsilon"] == epsilon
            ax.plot(at[same], curve["nmi"][same], color=colour, **_SAME_LEVEL)
            for name, dash in _WITHOUT_SECOND_LEVEL.values():
                ax.plot([0.0, end], [curve[name].iloc[0]] * 2, color=colour, linestyle=dash, linewidth=0.9)
        ax.set_xscale("symlog", linthresh=1.0)
        ticks = [level for level in finite if level == 0.0 or level >= 0.3]
        ax.set_xticks([*ticks, end], [*(f"{level:g}" for level in ticks), "∞"])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(-0.06, 1.15 * end)
        ax.set_ylim(0.0, 1.02)

    shown: list[Artist] = [
        Line2D([], [], color=colour, marker="o", markersize=3.0, label=f"{EPSILON} = {epsilon:g}")
        for epsilon, colour in colours.items()
    ]
    shown += [Line2D([], [], color="#333333", label=f"$k$ = {EPSILON}", **_SAME_LEVEL)]
    shown += [
        Line2D([], [], color="#333333", linestyle=dash, linewidth=0.9, label=label)
        for label, (_, dash) in _WITHOUT_SECOND_LEVEL.items()
    ]
    label = "level $k$ of $S$ for those who know $U$ (linear to 1, then logarithmic; ∞: no demand)"
    return plot_panels(by_pair(table), panel, NMI, xlabel=label, share_x=False, share_y=False, legend=shown)


# People -----------------------------------------------------------------------------------------------------

#: The least errors by their names in tables and the conditional level: equal to epsilon, or none asked for.
_SET = DESIGNS["set"]
_BOTH = replace(_SET, label=f"{_SET.label}, and insiders", dash=(0, (5, 1.5)), filled=False)
_DESIGNS: dict[tuple[str, bool], Look] = {
    (designed("set"), False): _SET,
    (designed("set"), True): _BOTH,
    **{(designed(name), False): DESIGNS[name] for name in ("acquaintances", "anyone", "ldp")},
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


# Several reports of one person ------------------------------------------------------------------------------

_INTERVALS, _ANYONE = PROMISES["intervals"], PROMISES["anyone"]

#: Mechanisms, and those whom they were made to protect from: of whom the level is shown.
_SHOWN = {
    "polyopt": ("outsiders", LOOKS["polyopt"]),
    "exact": ("outsiders", LOOKS["exact"]),
    "srr": ("outsiders", LOOKS["srr"]),
    _INTERVALS.name: (
        "acquaintances",
        replace(_INTERVALS, label="for acquaintances"),
    ),
    _ANYONE.name: ("anyone", replace(_ANYONE, label="for anyone")),
}

#: Ways to choose the mechanism of each report.
_CHOICES = {
    ONCE: Look("one report, repeated", "#000000", "", (0, (1, 1.2))),
    CALIBRATED: Look("for this number", _INTERVALS.colour, "s", "-"),
    ADAPTIVE: Look("for a budget", _INTERVALS.colour, "o", (0, (4, 1.5)), filled=False),
    ANYONE: replace(_ANYONE, label="for anyone"),
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


# What they share --------------------------------------------------------------------------------------------


def _named(values: pd.Series[float], bounds: pd.Series[float]) -> Mapping[str, Look]:
    """Return the looks of mechanisms; the best one found over F is the optimum where that is certified."""
    if not (values >= (1.0 - _CERTIFIED) * bounds).all():
        return LOOKS
    return {**LOOKS, "exact": replace(LOOKS["exact"], label="Optimum over F")}


def _set_nmi_axis(ax: Axes, lowest: float) -> None:
    """Make the vertical axis one of NMI, logarithmic, from a lowest value on."""
    ax.set_yscale("log")
    ax.set_ylim(lowest, _TOP)
    set_plain_ticks(ax.yaxis, (lowest, _TOP), _FEW_SHARES if lowest > 0.02 else _SHARES)


def _set_level_axis(ax: Axes, epsilons: pd.Series[float]) -> None:
    """Make the horizontal axis one of a few privacy levels, evenly spaced."""
    found = sorted(set(epsilons))
    ax.set_xticks(range(len(found)), [f"{epsilon:g}" for epsilon in found])
    ax.set_xlim(-0.55, len(found) - 0.45)
    ax.grid(visible=False, axis="x")
