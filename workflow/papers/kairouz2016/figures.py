"""Figures of kairouz2016."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from ldpfrontier.base.types import FloatArray
from papers.kairouz2016.styles import ACHIEVED, OWN_LOOKS, POSSIBLE, SCALE, STAIRCASES, UTILITIES
from papers.kairouz2016.summaries import ratios
from reproduction.figure_style import EPSILON, PAGE_WIDTH, style
from reproduction.look import Look
from reproduction.plotting import graded, handle
from reproduction.results.batches import Rows, gather

_LEVEL = f"privacy level {EPSILON} (nats)"
_STATED_MINIMUM = "lowest that the paper states"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


# Figures 3, 4, 6 and 7: curves over epsilon ---------------------------------------------------------------


def averages(table: Rows, utility: str, stated: Mapping[str, float]) -> Figure:
    """Draw Figure 3 or 6: averages over the instances, and each instance relative to its optimum.

    On the right, of binary and randomized response as in the paper, and of the user's own mechanisms, thin
    lines are instances and the marked line is the lowest of them. `stated` has the lowest ratio to the
    optimum that the paper reads off its figure, by mechanism.
    """
    normalized = gather(table, ["mechanism", "epsilon", "value"], metric="normalized")
    own = {name: look for name, look in OWN_LOOKS.items() if name in set(normalized["mechanism"])}
    shown = {name: STAIRCASES[name] for name in ("optimal", "binary", "rr", "geometric")} | own
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.9))
        left, right = figure.subplots(1, 2)
        for order, (name, look) in enumerate(shown.items()):
            rows = normalized[normalized["mechanism"] == name]
            mean = rows.groupby("epsilon")["value"].mean()
            _plot_with_markers(left, mean, look, order)
        left.set(
            xlabel=_LEVEL, ylabel=f"{ACHIEVED[utility]} / {POSSIBLE[utility]}, average", ylim=(0.0, 1.02)
        )
        shares = ratios(table, utility)
        for order, name in enumerate(("rr", "binary", *own)):
            _plot_instances(right, _by_instance(shares[name]), {**STAIRCASES, **own}[name], order)
            if name in stated:
                _draw_stated_minimum(right, stated[name], STAIRCASES[name])
        right.set(xlabel=_LEVEL, ylabel=f"{ACHIEVED[utility]} / OPT", ylim=(0.0, 1.02))
        for ax, letter, title in zip(
            (left, right),
            _LETTERS,
            ("average", f"{'' if own else 'binary and RR, '}each instance; marked: lowest"),
            strict=False,
        ):
            ax.set_title(f"({letter}) {title}", loc="left")
            ax.set_xlim(0.0, shares.index.get_level_values("epsilon").max())
        figure.legend(
            handles=[*map(handle, shown.values()), tuple(map(_stated_minimum_entry, ("binary", "rr")))],
            labels=[*(look.label for look in shown.values()), _STATED_MINIMUM],
            loc="outside upper center", ncols=3 if own else 5, columnspacing=1.4, handlelength=2.8,
            handler_map={tuple: HandlerTuple(ndivide=None)},
        )  # fmt: skip
    return figure


def mixed(
    table: Rows, utility: str, stated: Mapping[str, float], axis: Sequence[float] = (0.5, 1.02)
) -> Figure:
    """Draw Figure 4 or 7: the better of binary and randomized response relative to the optimum.

    There is a panel per size; thin lines are instances and the marked line is the lowest of them. `stated`
    has the lowest ratio that the paper states, by size; `axis` the ends of its vertical axis, which lower
    instances extend.
    """
    curves = _by_instance(ratios(table, utility)[["binary", "rr"]].max(axis=1))
    sizes = sorted(curves.columns.unique("size"), key=int)
    columns = min(2, len(sizes))
    height = math.ceil(len(sizes) / columns)
    look = STAIRCASES["mixed"]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH * columns / 2, 0.45 + 2.0 * height))
        axes = figure.subplots(height, columns, squeeze=False, sharex=True, sharey=True).ravel()
        # Room below the lowest instance, and below the lowest line.
        low = min(
            axis[0], math.floor(20.0 * float(curves.min().min())) / 20.0, *(x - 0.02 for x in stated.values())
        )
        for ax, letter, size in zip(axes, _LETTERS, sizes, strict=False):
            _plot_instances(ax, curves.loc[:, [size]], look, 0)
            if size in stated:
                _draw_stated_minimum(ax, stated[size], look)
            ax.set_title(f"({letter}) {_alphabet_text(size)}", loc="left")
            ax.set(xlim=(0.0, curves.index.max()), ylim=(low, axis[1]))
        for ax in axes[len(sizes) :]:
            ax.set_axis_off()
        figure.supxlabel(_LEVEL, fontsize=9)
        figure.supylabel(f"{ACHIEVED[utility]} / OPT,\nbetter of binary and randomized response", fontsize=9)
        thin = Line2D([], [], color=look.colour, linewidth=0.5, alpha=0.6, label="one instance")
        lowest = handle(look)
        lowest.set_label("lowest of all")
        figure.legend(
            handles=[thin, lowest, _stated_minimum_entry("mixed")],
            loc="outside upper center",
            ncols=3,
            handlelength=2.8,
        )
    return figure


def _alphabet_sizes(table: pd.DataFrame) -> list[str]:
    return sorted(table["size"].unique(), key=int)


def _alphabet_text(size: str) -> str:
    return rf"$|\,\mathcal{{X}}\,|={size}$"


def _by_instance(values: pd.Series[float]) -> pd.DataFrame:
    """Return a column per size and instance, a row per epsilon."""
    return values.rename("ratio").reset_index().pivot_table("ratio", "epsilon", ["size", "instance"])


def _plot_with_markers(ax: Axes, curve: pd.Series[Any], look: Look, order: int) -> None:
    # Markers of neighbouring curves are shifted against each other, where there are many.
    every = max(1, len(curve) // 10)
    ax.plot(
        curve.index, curve, zorder=4 + order, markevery=((2 * order + 1) * every // 6 % every, every),
        **look.line(),
    )  # fmt: skip


def _plot_instances(ax: Axes, curves: pd.DataFrame, look: Look, order: int) -> None:
    """Draw a thin line per instance, and the lowest of them with the marker of the mechanism."""
    epsilon = curves.index.to_numpy(dtype=float)
    lines = [np.column_stack([epsilon, curves[name]]) for name in curves]
    # As one picture inside a PDF or SVG: as vectors, 100 instances are megabytes.
    thin = LineCollection(lines, colors=look.colour, linewidths=0.5, alpha=0.3, zorder=2 + order / 10)
    thin.set_rasterized(True)
    ax.add_collection(thin)
    _plot_with_markers(ax, curves.min(axis=1), look, order)


def _draw_stated_minimum(ax: Axes, level: float, look: Look) -> None:
    ax.axhline(level, color=look.colour, linewidth=0.8, linestyle=(0, (1, 2.5)), zorder=3)


def _stated_minimum_entry(name: str) -> Line2D:
    return Line2D(
        [], [], color=STAIRCASES[name].colour, linewidth=1.0, linestyle=(0, (1, 2.5)), label=_STATED_MINIMUM
    )


# Figures 5 and 8: points over what sets the scale ---------------------------------------------------------


_EXPANSIONS: dict[str, dict[str, Any]] = {
    "predicted": {"color": "#000000", "linewidth": 0.8, "label": "leading order (a)"},
    "printed": {"color": "#555555", "linewidth": 0.8, "linestyle": (0, (4, 2)), "label": "as printed (a)"},
}
_NO_LOSS: dict[str, Any] = {
    "color": "#777777", "linewidth": 0.8, "linestyle": (0, (1, 2)), "label": "no loss (b)",
}  # fmt: skip


def scaling(table: pd.DataFrame, utility: str, axes: Sequence[Sequence[float]]) -> Figure:
    """Draw Figure 5 (in nats) or 8 (in bits, as the paper): one point per instance and mechanism.

    Lines are the expansion as printed and to leading order with its errata (left), and no loss (right).
    `axes` are the ends (left, right, bottom, top) of the paper's axes, in the units of the figure; points
    beyond extend them.
    """
    nats, name = (math.log(2.0), "bits") if utility == "mutual_information" else (1.0, "nats")
    facts = table[table["mechanism"] == "identity"].pivot_table("value", "instance", "metric")
    narrow = facts["balance" if utility == "mutual_information" else "tv"]
    full = facts[utility][np.isfinite(facts[utility])] / nats
    small, large = sorted(e for e in table["epsilon"].unique() if math.isfinite(e))
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.9))
        left, right = figure.subplots(1, 2)
        for ax, letter, epsilon, abscissa, mechanism, ends in (
            (left, "a", small, narrow, "binary", axes[0]),
            (right, "b", large, full, "rr", axes[1]),
        ):
            rows = table[(table["epsilon"] == epsilon) & (table["metric"] == utility)]
            points = rows.pivot_table("value", "instance", "mechanism") / nats
            x = abscissa.sort_values()
            points = points.reindex(x.index)
            exponent = math.floor(math.log10(points.max(axis=None)))
            exponent = exponent if exponent < -1 else 0
            points /= 10.0**exponent
            if ax is left:
                # Both expansions are a constant times this power of the abscissa.
                share = np.linspace(0.0, 1.0, 101)
                power = 1 if utility == "mutual_information" else 2
                for expansion, options in _EXPANSIONS.items():
                    top = points[expansion].iloc[-1]
                    ax.plot(share * x.iloc[-1], share**power * top, zorder=2, **options)
            else:
                ax.plot([0.0, x.max()], [0.0, x.max() / 10.0**exponent], zorder=2, **_NO_LOSS)
            for shown in ("geometric", mechanism):
                options = STAIRCASES[shown].line(linestyle="", markersize=5.2, markeredgewidth=0.7)
                ax.plot(x, points[shown], clip_on=False, **options)
            ax.plot(x, points["optimal"], clip_on=False, **_plus_marker())
            unit = rf"$10^{{{exponent}}}$ {name}" if exponent else name
            ax.set_title(f"({letter}) {EPSILON} = {epsilon:g}", loc="left")
            ax.set(ylabel=f"{ACHIEVED[utility]} ({unit})")
            shown = points[["geometric", mechanism, "optimal"]]
            ax.set_xlim(*_axis_limits(x.to_numpy(), ends[:2]))
            ax.set_ylim(*_axis_limits(shown.to_numpy(), [end / 10.0**exponent for end in ends[2:]]))
        left.set_xlabel(SCALE[utility])
        right.set_xlabel(f"{POSSIBLE[utility]} ({name})")
        dots = [Line2D([], [], **STAIRCASES[m].line(linestyle="")) for m in ("binary", "rr", "geometric")]
        lines = [Line2D([], [], **options) for options in (*_EXPANSIONS.values(), _NO_LOSS)]
        figure.legend(
            handles=[Line2D([], [], **_plus_marker()), *dots, *lines], loc="outside upper center", ncols=7,
            columnspacing=1.1, handlelength=1.8, handletextpad=0.5,
        )  # fmt: skip
    return figure


def _axis_limits(values: FloatArray, ends: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis, moved out where values are beyond them."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.03 * (high - low)
    return (ends[0] if low >= ends[0] else low - room), (ends[1] if high <= ends[1] else high + room)


def _plus_marker() -> dict[str, Any]:
    look = STAIRCASES["optimal"]
    return look.line(linestyle="", marker="+", markersize=2.6, markeredgewidth=0.7, zorder=5)


# Thresholds -----------------------------------------------------------------------------------------------


def thresholds(table: pd.DataFrame) -> Figure:
    """Draw the distribution over the instances of the thresholds of Theorems 5, 8, 12 and 14.

    There is a column per utility, a row per mechanism, and per size the share of instances on which it is
    optimal: of binary those with a threshold of epsilon or more, of RR those with one of epsilon or less.
    """
    sizes = _alphabet_sizes(table)
    known = set(table["metric"])
    utilities = [name for name in UTILITIES if name in known]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.9))
        axes = figure.subplots(2, len(utilities), squeeze=False, sharey=True)
        empty: list[Axes] = []
        for row, (mechanism, title) in enumerate((("binary", "binary is optimal"), ("rr", "RR is optimal"))):
            rows = table[table["mechanism"] == mechanism]
            inside = rows["value"][np.isfinite(rows["value"]) & (rows["value"] > 0)]
            limits = 0.8 * inside.min(), 1.25 * inside.max()
            for ax, utility in zip(axes[row], utilities, strict=True):
                part = rows[rows["metric"] == utility]
                if part.empty:
                    ax.set_axis_off()
                    empty.append(ax)
                    continue
                for i, size in enumerate(sizes):
                    values = part["value"][part["size"] == size]
                    # Thresholds of 0 and of infinity leave through the sides of the panel.
                    steps = np.clip(np.sort(values), limits[0] / 2.0, 2.0 * limits[1])
                    heights = np.arange(len(steps) + 1) / len(steps)
                    if mechanism == "binary":
                        heights = 1.0 - heights
                    x = [limits[0] / 2.0, *steps, 2.0 * limits[1]]
                    ax.step(x, [*heights, heights[-1]], where="post", **graded(i, len(sizes)))
                ax.set_xscale("log")
                ax.xaxis.set_major_locator(LogLocator(numticks=8))
                ax.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0), numticks=8))
                ax.xaxis.set_major_formatter("{x:g}")
                # On an axis of many decades numbers between them would run into each other.
                wide = limits[1] > 100.0 * limits[0]
                ax.xaxis.set_minor_formatter(NullFormatter() if wide else "{x:g}")
                ax.tick_params(axis="x", which="minor", labelsize=7)
                ax.set(xlim=limits, ylim=(0.0, 1.02))
                ax.set_title(UTILITIES[utility], loc="left")
            axes[row][0].set_ylabel(f"share of instances\non which {title}")
        figure.supxlabel(f"privacy level {EPSILON} (nats)", fontsize=9)
        handles = [
            Line2D([], [], label=_alphabet_text(size), **graded(i, len(sizes)))
            for i, size in enumerate(sizes)
        ]
        if empty:
            empty[0].legend(handles=handles, loc="center", handlelength=2.8)
        else:
            figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handlelength=2.8)
    return figure
