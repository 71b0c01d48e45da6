"""Figures of lopuhaa2024."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from ldpfrontier.practice.figure_style import EPSILON, PAGE_WIDTH, style
from papers.lopuhaa2024.catalogue import MECHANISMS, NESTED_CLASSES
from papers.lopuhaa2024.notes import absent, tables
from papers.lopuhaa2024.summaries import require_one, small_first
from reproduction.plotting import Look
from reproduction.results.tables import select

#: How the mechanisms look, in the order of the legend.
LOOKS = {name: Look(**mechanism.look) for name, mechanism in MECHANISMS.items()}

#: Sizes of markers that look smaller than they are, points.
_SIZES = {"*": 6.0, "X": 4.5}

#: What no robust mechanism passes: the bound of the optimum over F.
FRONTIER = Look("Certified bound", LOOKS["exact"].colour, "", "-")

#: What Figures 3, 4 and 5 show unless told otherwise: the mechanisms of the paper there, and the new ones.
AVERAGED = tuple(name for name in MECHANISMS if name != "ir_tight")
REALIZED = ("nr", "exact", "polyopt")
COMPARED = ("polyopt_distinct", "polyopt", "ir", "srr")

#: Mechanisms of the paper: on top of ours in every figure.
_PUBLISHED = ("nr", "polyopt", "ir", "srr", "grr")

#: Instances from which on a box says more than points.
_BOX = 20

NMI = r"$I_{\hat P}(X;Y)\,/\,H(X)$"
_LEVEL = f"privacy level {EPSILON} (nats)"

#: In the legend, of mechanisms as they are.
_HOLLOW = Look("hollow: as it is", "#333333", "o", "", filled=False)

#: Ticks of a logarithmic axis of NMI, of one or two decades and of more, and its upper end.
_FEW_SHARES, _SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1), (1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)
_TOP = 1.4

#: Ticks of a logarithmic axis of privacy levels, nats.
_LEVELS = (0.1, 0.2, 0.5, 1, 2, 5)

#: What the figure of gains shows, and of which colours its sizes are.
_GAINING = {"polyopt_distinct": "distinct pairs", "exact": "the optimum over F"}
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
            ax.plot(epsilon, value, markevery=_marker_places(name, len(curve)), **_line(look))
            if name in NESTED_CLASSES:
                bound = np.minimum(curve["bound"].to_numpy(), 1.0)
                ax.fill_between(epsilon, value, bound, color=look.colour, alpha=0.18, linewidth=0)
                if name == "exact":
                    ax.plot(epsilon, bound, **FRONTIER.line(linewidth=0.6))
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)
        _note(ax, absent(nmi, rows), top=True)

    nmi = select(table, metric="nmi")
    rows = nmi.dropna(subset=["value"])
    found = set(rows["mechanism"])
    more: list[Artist] = [_entry(FRONTIER, linewidth=0.6)] if "exact" in found else []
    if found & set(NESTED_CLASSES):
        more.append(Patch(color="#666666", alpha=0.3, linewidth=0, label="certified gap"))
    panels = _by_pair(rows)
    return _panels(panels, panel, NMI, share_y=False, legend=[*_mechanisms_in(panels), *more])


def steps(table: pd.DataFrame) -> Figure:
    """Plot what each larger class of mechanisms buys, one panel per pair of attributes.

    Parameters
    ----------
    table : DataFrame
        As `beyond.STEPS`, of one setting. At every level the classes stand side by side, the smallest on the
        left, on a logarithmic axis; the number is the factor of the last over the first, the line above them
        the bound on all, the dotted one NR.

    Returns
    -------
    matplotlib.figure.Figure
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for place, row in enumerate(rows.sort_values("epsilon").to_dict("records")):
            at = place + 0.15 * (np.arange(len(NESTED_CLASSES)) - 2.0)
            values = np.array([row[name] for name in NESTED_CLASSES])
            there = np.isfinite(values)
            ax.plot(at[there], values[there], color="#999999", linewidth=0.7, zorder=2)
            for x, value, name in zip(at, values, NESTED_CLASSES, strict=True):
                ax.plot([x], [value], **_line(LOOKS[name], linestyle="", zorder=3))
            ends = at[[0, -1]] + [-0.08, 0.08]
            ax.plot(ends, [row["bound"]] * 2, **FRONTIER.line(linewidth=0.9))
            ax.plot(ends, [row["nr"]] * 2, **LOOKS["nr"].line())
            ax.annotate(
                f"×{row['gain']:.3g}", (place, row["polyopt"]), xytext=(0, -9), textcoords="offset points",
                ha="center", va="top", fontsize=7.5,
            )  # fmt: skip
        _set_level_axis(ax, rows["epsilon"])
        # The lowest number stands below its marker.
        lowest = float(rows["polyopt"].min())
        _set_nmi_axis(ax, lowest * min((lowest / _TOP) ** 0.2, 0.65))

    shown = [_entry(LOOKS[name], linestyle="") for name in NESTED_CLASSES]
    shown += [_entry(FRONTIER, linewidth=0.9), _entry(LOOKS["nr"])]
    return _panels(_by_pair(table), panel, NMI, share_x=False, share_y=False, legend=shown)


def calibrated(table: pd.DataFrame) -> Figure:
    """Plot mechanisms as they are and at equal realized privacy, one panel per pair of attributes.

    Parameters
    ----------
    table : DataFrame
        As `beyond.CALIBRATED`, of one setting. A mechanism is hollow as it is and full where it leaks what is
        allowed; the optimum over F and the bound on all robust mechanisms are beside them.

    Returns
    -------
    matplotlib.figure.Figure
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        levels = sorted(set(rows["epsilon"]))
        present = [name for name in LOOKS if name in set(rows["mechanism"])]
        shift = dict(zip(present, np.linspace(-0.3, 0.3, len(present)), strict=True))
        for row in rows.to_dict("records"):
            look, place = LOOKS[row["mechanism"]], levels.index(row["epsilon"])
            at = place + shift[row["mechanism"]]
            before, after = row["nmi"], row["nmi_calibrated"]
            if row["mechanism"] == "exact":
                ax.plot([place - 0.4, place + 0.4], [row["bound"]] * 2, **FRONTIER.line(linewidth=0.9))
                before, after = after, before
            ax.plot([at, at], [before, after], color=look.colour, linewidth=0.9, zorder=2)
            for value, face in ((before, "white"), (after, look.colour)):
                ax.plot([at], [value], **_line(look, linestyle="", markerfacecolor=face, zorder=3))
        _set_level_axis(ax, rows["epsilon"])
        _set_nmi_axis(ax, float(rows["nmi"].min()) / 1.5)

    found = [name for name in LOOKS if name in set(table["mechanism"])]
    shown = [_entry(FRONTIER, linewidth=0.9)]
    shown += [_entry(LOOKS[name], linestyle="", markerfacecolor=LOOKS[name].colour) for name in found]
    shown += [_entry(_HOLLOW, linestyle="")]
    return _panels(_by_pair(table), panel, NMI, share_x=False, share_y=False, legend=shown)


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
            ax.plot(
                curve["epsilon"], curve["mean"], markevery=_marker_places(name, len(curve)), **_line(look)
            )
            ax.fill_between(
                curve["epsilon"], curve["low"], curve["high"], color=look.colour, alpha=0.13, linewidth=0
            )
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)
        _note(ax, tables(rows.groupby("mechanism")["instances"].max()), top=True)

    rows = select(_comparable_rows(summary), mechanism=list(mechanisms))
    panels = _by_size(rows)
    return _panels(panels, panel, f"mean of {NMI}", legend=_mechanisms_in(panels))


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
                ax.plot(epsilon, end, markevery=_marker_places(name, len(curve), place), **_line(look))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.15, top * 1.15)
        _set_plain_ticks(ax.xaxis, ax.get_xlim(), _LEVELS)
        _set_plain_ticks(ax.yaxis, ax.get_ylim(), (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
        _note(ax, tables(rows.groupby("mechanism")["instances"].max()))

    panels, label = _by_size(rows), r"realized $\varepsilon^*$ (nats), middle half"
    return _panels(panels, panel, label, legend=_mechanisms_in(panels))


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
        _note(ax, tables(rows.groupby("mechanism")["instance"].nunique()))
        reach = 1.08 * max(float(np.abs(100.0 * rows["value"]).max()), 1e-3)
        ax.set_ylim(-reach, reach)
        ax.grid(visible=False, axis="x")

    label = r"$(I_{\hat P} - I_{P^*})\,/\,I_{\hat P}$  (%)"
    return _panels(_by_size(rows), panel, label, xlabel=None, share_x=False, share_y=False)


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
    sizes = list(_by_size(summary))
    looks = dict(zip(sizes, zip(_COLOURS, "os^Dvp", strict=True), strict=False))
    shown = [name for name in _GAINING if name in set(summary["mechanism"])] or [*_GAINING][:1]
    letters = iter(_LETTERS)
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
            _set_plain_ticks(left.yaxis, left.get_ylim(), (0, 1, 3, 10, 30, 100, 300, 1000, 3000))
            for ax in (left, right):
                ax.set_xscale("log")
                _set_plain_ticks(ax.xaxis, ax.get_xlim(), _LEVELS)
                ax.set_xlabel(_LEVEL)
            if sizes:
                left.legend(loc="lower left", title="size (tables)")
    return figure


def _panels(
    panels: Mapping[str, pd.DataFrame],
    panel: Callable[[Axes, pd.DataFrame], None],
    ylabel: str,
    *,
    xlabel: str | None = _LEVEL,
    legend: Sequence[Artist] = (),
    share_x: bool = True,
    share_y: bool = True,
) -> Figure:
    """Plot panels by title, two to a row, under one legend, if it has entries."""
    if not panels:
        raise ValueError("The table has no rows of the mechanisms that the figure shows.")
    columns = min(2, len(panels))
    height = math.ceil(len(panels) / columns)
    with style():
        # A single panel is half as wide, and so is its legend.
        beside = 2 if columns == 1 else len(legend) if len(legend) < 7 else 4
        lines = math.ceil(len(legend) / beside) if legend else 0
        figure = Figure(figsize=(PAGE_WIDTH * columns / 2, 0.11 + 0.17 * max(lines, 2) + 2.15 * height))
        axes = figure.subplots(height, columns, squeeze=False, sharex=share_x, sharey=share_y).ravel()
        for ax, letter, (title, rows) in zip(axes, _LETTERS, panels.items(), strict=False):
            panel(ax, rows)
            ax.set_title(f"({letter}) {title.replace(' x ', ' × ')}", loc="left")
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        # Panels with nothing below them carry the labels of the shared axis.
        for ax in axes[max(len(panels) - columns, 0) : len(panels)]:
            ax.tick_params(labelbottom=True)
        if xlabel:
            figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
        if legend:
            figure.legend(
                handles=list(legend), loc="outside upper center", ncols=beside,
                columnspacing=1.3, handlelength=2.6,
            )  # fmt: skip
    return figure


def _mechanisms_in(panels: Mapping[str, pd.DataFrame]) -> list[Artist]:
    """Return the entries of a legend of the mechanisms that panels show."""
    present = {name for rows in panels.values() for name in rows["mechanism"]}
    return [_entry(look) for name, look in LOOKS.items() if name in present]


def _by_size(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a table of one setting by size, the small ones first."""
    require_one(table, "beta", "order")
    return {size: select(table, size=size) for size in sorted(table["size"].unique(), key=small_first)}


def _note(ax: Axes, text: str, *, top: bool = False) -> None:
    """Write a remark into a corner of a panel: on the left at the top, or on the right at the bottom."""
    place = (0.02, 0.98, "left", "top") if top else (0.98, 0.02, "right", "bottom")
    ax.text(*place[:2], text, transform=ax.transAxes, ha=place[2], va=place[3], fontsize=6.5, zorder=6)


def _comparable_rows(summary: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was computed on fewer tables than PolyOpt: means of different tables do not compare."""
    needed = select(summary, mechanism="polyopt").groupby("size")["instances"].max()
    return summary[summary["instances"] >= summary["size"].map(needed).fillna(0)]


def _by_pair(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a table of one setting by pair of attributes and size, the small ones first."""
    require_one(table, "beta", "order")
    pairs = table[["size", "instance"]].drop_duplicates().itertuples(index=False, name=None)
    return {
        f"{instance} ({size})": select(table, size=size, instance=instance)
        for size, instance in sorted(pairs, key=lambda pair: (small_first(pair[0])[0], pair[1]))
    }


def _entry(look: Look, **options: Any) -> Line2D:
    """Return the legend entry of a look, with options of its own."""
    return Line2D([], [], **_line(look, **options))


def _line(look: Look, **options: Any) -> dict[str, Any]:
    """Return the options of a line whose markers look equally large."""
    sizes = {"markersize": _SIZES[look.marker]} if look.marker in _SIZES else {}
    return look.line(**sizes, **options)


def _set_nmi_axis(ax: Axes, lowest: float) -> None:
    """Make the vertical axis one of NMI, logarithmic, from a lowest value on."""
    ax.set_yscale("log")
    ax.set_ylim(lowest, _TOP)
    _set_plain_ticks(ax.yaxis, (lowest, _TOP), _FEW_SHARES if lowest > 0.02 else _SHARES)


def _set_level_axis(ax: Axes, epsilons: pd.Series[float]) -> None:
    """Make the horizontal axis one of a few privacy levels, evenly spaced."""
    found = sorted(set(epsilons))
    ax.set_xticks(range(len(found)), [f"{epsilon:g}" for epsilon in found])
    ax.set_xlim(-0.55, len(found) - 0.45)
    ax.grid(visible=False, axis="x")


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


def _set_plain_ticks(axis: Axis, limits: tuple[float, float], values: Iterable[float]) -> None:
    """Set the ticks of a logarithmic axis to plain numbers, those within the limits."""
    inside = [value for value in values if limits[0] <= value <= limits[1]]
    axis.set_ticks(inside, [np.format_float_positional(value, trim="-") for value in inside])
    axis.set_minor_locator(NullLocator())
