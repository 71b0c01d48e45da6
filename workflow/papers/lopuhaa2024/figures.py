"""Figures of lopuhaa2024."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ldpfrontier.practice.figure_style import PAGE_WIDTH, style
from papers.lopuhaa2024.catalogue import MECHANISMS, NESTED_CLASSES
from papers.lopuhaa2024.notes import absent, tables
from papers.lopuhaa2024.panels import (
    FRONTIER,
    LETTERS,
    LEVEL,
    LOOKS,
    NMI,
    by_pair,
    by_size,
    entry,
    line,
    mechanisms_in,
    note,
    plot_panels,
    set_plain_ticks,
)
from reproduction.results.tables import select

#: What Figures 3, 4 and 5 show unless told otherwise: the mechanisms of the paper there, and the new ones.
AVERAGED = tuple(name for name in MECHANISMS if name != "ir_tight")
REALIZED = ("nr", "exact", "polyopt")
COMPARED = ("polyopt_distinct", "polyopt", "ir", "srr")

#: Mechanisms of the paper: on top of ours in every figure.
_PUBLISHED = ("nr", "polyopt", "ir", "srr", "grr")

#: Instances from which on a box says more than points.
_BOX = 20

#: Ticks of a logarithmic axis of privacy levels, nats.
_LEVELS = (0.1, 0.2, 0.5, 1, 2, 5)

#: What the figure of gains shows, and of which colours its sizes are.
_GAINING = {"polyopt_distinct": "distinct pairs", "exact": "the optimum over F"}
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def fig2(table: pd.DataFrame) -> Figure:
    """Plot Figure 2: normalized mutual information against epsilon, one panel per pair of attributes.

    Parameters
    ----------
    table : DataFrame
        As `experiments.fig2` returns it, of one setting; skipped rows leave no curve, and a certified bound
        that is visibly above its curve is a band, and that of the optimum over F, which no robust mechanism
        passes, a thin line as well. The small tables come first.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table has several settings, or nothing to show (so in all figures).
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for name, curve in _curves(rows):
            look = LOOKS[name]
            epsilon, value = curve["epsilon"].to_numpy(), curve["value"].to_numpy()
            ax.plot(epsilon, value, markevery=_marker_places(name, len(curve)), **line(look))
            if name in NESTED_CLASSES:
                bound = np.minimum(curve["bound"].to_numpy(), 1.0)
                ax.fill_between(epsilon, value, bound, color=look.colour, alpha=0.18, linewidth=0)
                if name == "exact":
                    ax.plot(epsilon, bound, **FRONTIER.line(linewidth=0.6))
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)
        note(ax, absent(nmi, rows), top=True)

    nmi = select(table, metric="nmi")
    rows = nmi.dropna(subset=["value"])
    found = set(rows["mechanism"])
    more: list[Artist] = [entry(FRONTIER, linewidth=0.6)] if "exact" in found else []
    if found & set(NESTED_CLASSES):
        more.append(Patch(color="#666666", alpha=0.3, linewidth=0, label="certified gap"))
    panels = by_pair(rows)
    return plot_panels(panels, panel, NMI, share_y=False, legend=[*mechanisms_in(panels), *more])


def fig3(summary: pd.DataFrame, mechanisms: Sequence[str] = AVERAGED) -> Figure:
    """Plot Figure 3: mean normalized mutual information on synthetic data, one panel per size.

    Parameters
    ----------
    summary : DataFrame
        As `summaries.FIG3`, of one setting; the band is the middle half of the instances. What was computed
        on fewer instances than PolyOpt is left out.
    mechanisms : sequence of str
        What to show.

    Returns
    -------
    matplotlib.figure.Figure
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for name, curve in _curves(rows):
            look = LOOKS[name]
            ax.plot(curve["epsilon"], curve["mean"], markevery=_marker_places(name, len(curve)), **line(look))
            ax.fill_between(
                curve["epsilon"], curve["low"], curve["high"], color=look.colour, alpha=0.13, linewidth=0
            )
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)
        note(ax, tables(rows.groupby("mechanism")["instances"].max()), top=True)

    rows = select(_comparable_rows(summary), mechanism=list(mechanisms))
    panels = by_size(rows)
    return plot_panels(panels, panel, f"mean of {NMI}", legend=mechanisms_in(panels))


def fig4(summary: pd.DataFrame, mechanisms: Sequence[str] = REALIZED) -> Figure:
    r"""Plot Figure 4: the middle half of the realized privacy parameter against the level asked for.

    Below the line of equality a mechanism keeps its promise. The axes, which are linear in the paper, are
    logarithmic: they leave the small levels legible. An infinite quantile leaves the panel at the top.

    Parameters
    ----------
    summary : DataFrame
        As `summaries.FIG4`, of one setting. What was computed on fewer instances than PolyOpt is left out.
    mechanisms : sequence of str
        What to show.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = select(_comparable_rows(summary), mechanism=list(mechanisms))
    ends = rows[["low", "high", "epsilon"]].to_numpy().ravel()
    ends = ends[np.isfinite(ends) & (ends > 0)]
    bottom, top = ends.min(initial=0.05), ends.max(initial=5.0)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axline((1.0, 1.0), (2.0, 2.0), color="#333333", linewidth=0.7, zorder=2)
        for name, curve in _curves(rows):
            look = LOOKS[name]
            epsilon = curve["epsilon"].to_numpy()
            low, high = (np.clip(curve[end].to_numpy(), bottom / 10.0, top * 10.0) for end in ("low", "high"))
            ax.fill_between(epsilon, low, high, color=look.colour, alpha=0.18, linewidth=0)
            for end, place in ((low, 0), (high, 1)):
                ax.plot(epsilon, end, markevery=_marker_places(name, len(curve), place), **line(look))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.15, top * 1.15)
        set_plain_ticks(ax.xaxis, ax.get_xlim(), _LEVELS)
        set_plain_ticks(ax.yaxis, ax.get_ylim(), (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
        note(ax, tables(rows.groupby("mechanism")["instances"].max()))

    panels, label = by_size(rows), r"realized $\varepsilon^*$ (nats), middle half"
    return plot_panels(panels, panel, label, legend=mechanisms_in(panels))


def fig5(table: pd.DataFrame, epsilon: float, mechanisms: Sequence[str] = COMPARED) -> Figure:
    """Plot Figure 5: the relative difference of utility under P-hat and under P*, one box per mechanism.

    Parameters
    ----------
    table : DataFrame
        As `synthetic.study` returns it, of one setting.
    epsilon : float
        The level to show, nats.
    mechanisms : sequence of str
        What to show, from left to right. The points are the instances; where there are 20 or more, a box
        holds the middle half, and the whiskers reach the extremes.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table has no rows of that level.
    """
    rows = select(table, metric="utility_difference", mechanism=list(mechanisms)).dropna(subset=["value"])
    rows = rows[np.isclose(rows["epsilon"], epsilon)]
    if rows.empty:
        raise ValueError(f"The table has no differences of utility at epsilon = {epsilon:g}.")

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axhline(0.0, color="#333333", linewidth=0.7, zorder=1)
        shown = [name for name in mechanisms if name in set(rows["mechanism"])]
        for place, name in enumerate(shown):
            values = 100.0 * rows.loc[rows["mechanism"] == name, "value"].to_numpy()
            look = LOOKS[name]
            # Evenly spread instead of at random, so that equal tables give equal figures.
            spread = 0.5 * (np.argsort(np.argsort(values)) * 0.6180339887 % 1.0 - 0.5)
            few = len(values) < _BOX
            points: dict[str, Any] = {"alpha": 0.9 if few else 0.45, "markersize": 5 if few else 3}
            ax.plot(place + spread, values, ".", color=look.colour, zorder=2, **points)
            if few:
                continue
            ax.boxplot(
                values, positions=[place], widths=0.6, whis=(0.0, 100.0), showfliers=False, zorder=3,
                boxprops={"color": look.colour}, whiskerprops={"color": look.colour},
                capprops={"color": look.colour}, medianprops={"color": look.colour, "linewidth": 1.6},
                manage_ticks=False,
            )  # fmt: skip
        ax.set_xticks(range(len(shown)), [LOOKS[name].label.replace(", ", ",\n") for name in shown])
        ax.set_xlim(-0.6, len(shown) - 0.4)
        note(ax, tables(rows.groupby("mechanism")["instance"].nunique()))
        reach = 1.08 * max(float(np.abs(100.0 * rows["value"]).max()), 1e-3)
        ax.set_ylim(-reach, reach)
        ax.grid(visible=False, axis="x")

    label = r"$(I_{\hat P} - I_{P^*})\,/\,I_{\hat P}$  (%)"
    return plot_panels(by_size(rows), panel, label, xlabel=None, share_x=False, share_y=False)


def gain(summary: pd.DataFrame) -> Figure:
    """Plot what larger classes gain over PolyOpt: the relative gain, and the share of the way to NR.

    Parameters
    ----------
    summary : DataFrame
        As `summaries.GAIN`, of one setting. A row of panels per mechanism; the band is the middle half of the
        gains of the instances, the line the gain of the mean. Where the gain is not above the certified gap
        of PolyOpt there is nothing: it may be the solver's.

    Returns
    -------
    matplotlib.figure.Figure
    """
    sizes = list(by_size(summary))
    looks = dict(zip(sizes, zip(_COLOURS, "os^Dvp", strict=True), strict=False))
    shown = [name for name in _GAINING if name in set(summary["mechanism"])] or [*_GAINING][:1]
    letters = iter(LETTERS)
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.6 * len(shown)))
        for (left, right), name in zip(figure.subplots(len(shown), 2, squeeze=False), shown, strict=True):
            for size, rows in select(summary, mechanism=name).groupby("size"):
                rows = rows.sort_values("epsilon")
                found = ["gain", "low", "high", "closed"]
                rows = rows.assign(**{name: rows[name].where(rows["at_least"] > 0) for name in found})
                # Quartiles of a few tables are not a band.
                rows.loc[rows["instances"] < _BOX, ["low", "high"]] = np.nan
                label = f"{str(size).replace(' x ', ' × ')} ({rows['instances'].max()})"
                colour, marker = looks[str(size)]
                look = {"color": colour, "marker": marker, "label": label, "zorder": 2.5}
                epsilon, low, high = rows["epsilon"], 100.0 * rows["low"], 100.0 * rows["high"]
                left.plot(epsilon, 100.0 * rows["gain"], **look)
                left.fill_between(epsilon, low, high, color=colour, alpha=0.15, linewidth=0)
                right.plot(epsilon, 100.0 * rows["closed"], **look)
            left.set_title(f"({next(letters)}) gain of {_GAINING[name]} over PolyOpt", loc="left")
            left.set_ylabel("gain in NMI (%), linear below 1")
            right.set_title(f"({next(letters)}) share of the distance to NR that it closes", loc="left")
            right.set_ylabel("share closed (%)")
            right.set_ylim(bottom=0.0)
            # Linear where the gains are nothing, logarithmic where they are large.
            left.set_yscale("symlog", linthresh=1.0)
            left.set_ylim(bottom=0.0)
            set_plain_ticks(left.yaxis, left.get_ylim(), (0, 1, 3, 10, 30, 100, 300, 1000, 3000))
            for ax in (left, right):
                ax.set_xscale("log")
                set_plain_ticks(ax.xaxis, ax.get_xlim(), _LEVELS)
                ax.set_xlabel(LEVEL)
            if sizes:
                left.legend(loc="lower left", title="size (tables)")
    return figure


def _comparable_rows(summary: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was computed on fewer tables than PolyOpt: means of different tables do not compare."""
    needed = select(summary, mechanism="polyopt").groupby("size")["instances"].max()
    return summary[summary["instances"] >= summary["size"].map(needed).fillna(0)]


def _curves(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the mechanisms that are there, ours and then the published, so that these are on top."""
    last_first = [*reversed(LOOKS)]
    for name in sorted(last_first, key=_PUBLISHED.__contains__):
        curve = select(rows, mechanism=name).sort_values("epsilon")
        if not curve.empty:
            yield name, curve


def _marker_places(name: str, points: int, place: int = 0) -> tuple[int, int]:
    """Shift the markers of neighbouring curves against each other, where there are many points."""
    every = max(1, points // 8)
    return (list(LOOKS).index(name) + place) % every, every
