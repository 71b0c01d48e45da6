"""Figures of kalantari2018: leakage against distortion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldpfrontier.base.types import FloatArray
from papers.kalantari2018.summaries import DP, MI
from reproduction.figure_style import PAGE_WIDTH, style
from reproduction.look import Look
from reproduction.plotting import handle
from reproduction.results.tables import select

DISTORTION = r"distortion $D$"

# Classes in the order of the legend; marker and dash differ too, so that curves can be told apart in grey.
CLASSES = {
    "I": Look("Class I", "#000000", "", (0, (1, 1.2))),
    "III c": Look("Class III c", "#CC79A7", "D", (0, (4, 1.5, 1, 1.5))),
    "III b": Look("Class III b", "#009E73", "s", (0, (5, 1.5)), filled=False),
    "III a": Look("Class III a", "#D55E00", "^", "-", filled=False),
    "II": Look("Class II", "#0072B2", "o", "-"),
}

#: Of MI leakage, beside those of DP leakage.
MI_CLASSES = {
    "I": Look("Class I, MI", "#000000", "x", (0, (4, 1.5, 1, 1.5))),
    "II": Look("Class II, MI", "#0072B2", "+", (0, (5, 1.5))),
}

BOUNDS = {
    "theorem3_upper": Look("upper bound (Theorem 3)", "#D55E00", "v", (0, (5, 1.5)), filled=False),
    "optimal": Look("exact", "#000000", "", "-"),
    "theorem3_lower": Look("lower bound (Theorem 3)", "#0072B2", "^", (0, (2, 1.2)), filled=False),
}

_TITLES = {
    "wide": "(a) permutations form a group: bounds hold",
    "cycle": "(b) no group: the lower bound fails",
}


def leakage(table: pd.DataFrame, size: str) -> Figure:
    """Draw Figures 4 and 5: least DP leakage against distortion, the classes of one number M of letters."""
    curves = _optima(table, size, DP)
    looks = {name: look for name, look in CLASSES.items() if name in curves}
    with style():
        figure = Figure(figsize=(0.72 * PAGE_WIDTH, 3.2))
        ax = figure.subplots()
        plot_curves(ax, [(look, curves[name], {}) for name, look in looks.items()])
        ax.set_xlabel(DISTORTION)
        ax.set_ylabel(r"least DP leakage $\varepsilon^*_{\mathrm{DP}}$ (nats)")
        ax.set_title(f"$M = {size}$", loc="left")
        # In the order of the paper; the curves are drawn the other way round, with the least leakage on top.
        _legend(figure, reversed(looks.values()))
    return figure


def comparison(table: pd.DataFrame, size: str) -> Figure:
    """Draw Figures 6 and 7: least DP and MI leakage against distortion, Class I and II of one size."""
    looks = {
        DP: {name: replace(CLASSES[name], label=f"{CLASSES[name].label}, DP") for name in MI_CLASSES},
        MI: MI_CLASSES,
    }
    thin = {"linewidth": 0.9, "markersize": 4.5}
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.8))
        left, right = figure.subplots(1, 2)
        for ax, measures in ((left, (DP, MI)), (right, (MI,))):
            entries = []
            for measure in measures:
                curves = _optima(table, size, measure)
                options = thin if measure == MI else {}
                entries += [(look, curves[n], options) for n, look in looks[measure].items() if n in curves]
            plot_curves(ax, entries)
            ax.set_xlabel(DISTORTION)
        left.set_ylabel("least leakage (nats)")
        left.set_title(f"(a) DP and MI, $M = {size}$", loc="left")
        right.set_title(f"(b) MI, $M = {size}$, enlarged", loc="left")
        _legend(figure, [*looks[DP].values(), *looks[MI].values()])
    return figure


def bounds(table: pd.DataFrame) -> Figure:
    """Draw the bounds of Theorem 3 beside the exact leakage, one panel per source set."""
    rows = select(table, metric=DP)
    names = sorted(rows["instance"].unique(), key=lambda name: [*_TITLES, name].index(name))
    with style():
        figure = Figure(figsize=(PAGE_WIDTH * max(len(names), 2) / 2, 2.9))
        for ax, name in zip(figure.subplots(1, len(names), squeeze=False).ravel(), names, strict=True):
            wide = select(rows, instance=name).pivot_table(
                index="distortion", columns="mechanism", values="value"
            )
            ax.fill_between(
                wide.index, wide["theorem3_lower"], wide["theorem3_upper"], color="#DDDDDD", linewidth=0
            )
            # The curves go on beyond the axes.
            plot_curves(
                ax, [(look, wide[mechanism], {"clip_on": True}) for mechanism, look in BOUNDS.items()]
            )
            # The bounds leave each other where the leakage is moderate.
            ax.set_xlim(0.2, 0.75)
            ax.set_ylim(0.0, 2.6)
            ax.set_title(_TITLES.get(name, name), loc="left", fontsize=8)
            ax.set_xlabel(DISTORTION)
        figure.axes[0].set_ylabel("DP leakage (nats)")
        _legend(figure, BOUNDS.values())
    return figure


def _optima(table: pd.DataFrame, size: str, metric: str) -> Mapping[str, pd.Series[float]]:
    """Return what the optimal channels of one size leak by class, indexed by the distortion."""
    rows = select(table, metric=metric, mechanism="optimal", size=size)
    return {
        str(name): part.set_index("distortion")["value"].sort_index()
        for name, part in rows.groupby("instance")
    }


def plot_curves(ax: Axes, entries: Iterable[tuple[Look, pd.Series[float], dict[str, Any]]]) -> None:
    """Draw curves in their order, and where one jumps to 0 as a jump."""
    for order, (look, curve, options) in enumerate(entries):
        every = max(1, len(curve) // 12)
        x, y, jump = _cut_at_jump(curve)
        marks = np.arange(order * every // 5, len(x), every)
        if jump is not None:
            # No marker where it would hide the ends of a jump.
            marks = marks[np.abs(x[marks] - jump[0]) > 0.02 * float(np.nanmax(x))]
        # Markers of curves at zero are whole: they are drawn beyond the axis.
        line = look.line(**{"clip_on": False, **options})
        ax.plot(x, y, zorder=3 + order, markevery=marks.tolist(), **line)
        if jump is not None:
            place, top = jump
            drop: dict[str, Any] = {"color": look.colour, "zorder": 3.5 + order, "clip_on": False}
            ax.plot([place, place], [0.0, top], linestyle=(0, (1, 1.5)), linewidth=1.1, **drop)
            ends: dict[str, Any] = {"marker": "o", "markersize": 4.5, "linestyle": "", **drop}
            ax.plot([place], [top], markerfacecolor="white", **ends)
            ax.plot([place], [0.0], **ends)
    ax.set_xlim(left=0.0)
    ax.set_ylim(bottom=0.0)


def _cut_at_jump(curve: pd.Series[float]) -> tuple[FloatArray, FloatArray, tuple[float, float] | None]:
    """Return a curve, cut where it jumps to 0: the place and the limit of the values before it.

    A curve that bends to 0 is there when its last step is continued.
    """
    x, y = np.asarray(curve.index, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    ends = np.flatnonzero((y[:-1] > 1e-9) & (y[1:] <= 1e-9))
    if not ends.size or ends[0] == 0:
        return x, y, None
    last = int(ends[0])
    slope = (y[last] - y[last - 1]) / (x[last] - x[last - 1])
    limit = y[last] + slope * (x[last + 1] - x[last])
    if limit <= 0.5 * y[last]:
        return x, y, None
    place = float(x[last + 1])
    cut = last + 1
    x = np.concatenate([x[:cut], [place, math.nan], x[cut:]])
    y = np.concatenate([y[:cut], [limit, math.nan], y[cut:]])
    return x, y, (place, float(limit))


def _legend(figure: Figure, looks: Iterable[Look]) -> None:
    handles = [handle(look) for look in looks]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.3, handlelength=2.6
    )
