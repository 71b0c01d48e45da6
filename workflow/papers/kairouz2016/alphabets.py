"""Figures of kairouz2016 past its sizes: what the two simple mechanisms are worth against the alphabet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from papers.kairouz2016.styles import ACHIEVED, STAIRCASES, UTILITIES
from papers.kairouz2016.summaries import ratios
from reproduction.figure_style import EPSILON, PAGE_WIDTH, style
from reproduction.plotting import graded, handle
from reproduction.results.tables import select

_SIZE = r"size of the alphabet $|\,\mathcal{X}\,|$"
_CROSSES: dict[str, Any] = {
    "color": "#000000", "marker": "x", "linestyle": "", "markersize": 5.0, "zorder": 5,
    "label": "lowest that the paper states",
}  # fmt: skip

#: Ticks of the thresholds, nats.
_LEVELS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def lowest(*sweeps: pd.DataFrame, stated: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw Figures 4 and 7 for many sizes: the better of binary and RR relative to the optimum.

    Every sweep is a row: at the left lowest ratios over epsilon, at the right those over the size. `stated`
    has the lowest ratio that the paper states, by utility and size.
    """
    look = STAIRCASES["mixed"]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 0.6 + 2.2 * len(sweeps)))
        axes = figure.subplots(len(sweeps), 2, squeeze=False, sharey="row")
        letters = iter("abcdefgh")
        sizes: set[int] = set()
        for (left, right), table in zip(axes, sweeps, strict=True):
            (utility,) = table["experiment"].unique()
            shares = ratios(table, utility)[["binary", "rr"]].max(axis=1).rename("ratio").reset_index()
            shares["size"] = shares["size"].astype(int)
            sizes |= set(shares["size"])
            for i, (_, part) in enumerate(shares.groupby("size")):
                curve = part.groupby("epsilon")["ratio"].min()
                left.plot(curve.index, curve, **graded(i, shares["size"].nunique()))
            worst = shares.groupby(["size", "instance"])["ratio"].min().reset_index()
            by_size = worst.groupby("size")["ratio"]
            right.plot(worst["size"], worst["ratio"], ".", color=look.colour, alpha=0.35, markersize=3)
            right.plot(by_size.median(), color=look.colour, linewidth=0.7)
            right.plot(by_size.min(), **look.line())
            ends = shares["size"].min(), shares["size"].max()
            said = {
                int(size): share
                for size, share in stated.get(utility, {}).items()
                if ends[0] <= int(size) <= ends[1]
            }
            right.plot([*said], [*said.values()], **_CROSSES)
            _set_size_axis(right, shares["size"])
            left.set(ylabel=f"{ACHIEVED[utility]} / OPT", xlim=(0.0, shares["epsilon"].max()))
            left.set_title(
                f"({next(letters)}) {UTILITIES[utility]}, lowest of {_count_text(worst)}", loc="left"
            )
            right.set_title(f"({next(letters)}) {UTILITIES[utility]}, lowest over {EPSILON}", loc="left")
            least = min(worst["ratio"].min(), *said.values(), 1.0)
            left.set_ylim(np.floor(10.0 * least - 0.2) / 10.0, 1.02)
        axes[-1, 0].set_xlabel(f"privacy level {EPSILON} (nats)")
        axes[-1, 1].set_xlabel(_SIZE)
        curves = [
            Line2D([], [], label=rf"$|\,\mathcal{{X}}\,|={size}$", **graded(i, len(sizes)))
            for i, size in enumerate(sorted(sizes))
        ]
        marked = handle(look)
        marked.set_label("lowest of all")
        median = Line2D([], [], color=look.colour, linewidth=0.7, label="median")
        figure.legend(
            handles=[*curves, marked, median, Line2D([], [], **_CROSSES)], ncols=5,
            loc="outside upper center", columnspacing=1.3, handlelength=2.6,
        )  # fmt: skip
    return figure


def thresholds(table: pd.DataFrame) -> Figure:
    """Draw the thresholds of binary and randomized response against the size, a panel per utility.

    Lines are medians, bands reach from the smallest to the largest threshold; an infinite one leaves the
    panel at the top.
    """
    known = set(table["metric"])
    utilities = [name for name in UTILITIES if name in known]
    rows = table.assign(size=table["size"].astype(int))
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.9))
        axes = figure.subplots(1, len(utilities), squeeze=False, sharey=True)[0]
        finite = rows["value"][np.isfinite(rows["value"]) & (rows["value"] > 0)]
        bottom, top = finite.min() / 1.3, 1.3 * finite.max()
        for ax, utility in zip(axes, utilities, strict=True):
            for mechanism in ("binary", "rr"):
                part = select(rows, metric=utility, mechanism=mechanism).groupby("size")["value"]
                if not part.ngroups:
                    continue
                look = STAIRCASES[mechanism]
                low, high = (np.clip(end, bottom / 10.0, 10.0 * top) for end in (part.min(), part.max()))
                ax.fill_between(low.index, low, high, color=look.colour, alpha=0.15, linewidth=0)
                ax.plot(part.median(), **look.line())
            found = select(rows, metric=utility, mechanism="binary")["size"]
            if found.empty or found.max() < rows["size"].max():
                text = (
                    "binary: not computed"
                    if found.empty
                    else f"binary: computed\nup to {found.max()} letters"
                )
                ax.text(0.97, 0.02, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=6.5)
            ax.set_yscale("log")
            ax.set_yticks(*_number_labels(tick for tick in _LEVELS if bottom <= tick <= top))
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_ylim(bottom, top)
            _set_size_axis(ax, rows["size"], few=True)
            ax.set_title(UTILITIES[utility], loc="left")
        axes[0].set_ylabel(f"threshold {EPSILON} (nats)")
        figure.supxlabel(f"{_SIZE}; {_count_text(rows)} per size", fontsize=9)
        handles = [handle(STAIRCASES[name]) for name in ("binary", "rr")]
        words = "binary optimal up to", "randomized response optimal from"
        for entry, label in zip(handles, words, strict=True):
            entry.set_label(label)
        figure.legend(handles=handles, loc="outside upper center", ncols=2, handlelength=2.8)
    return figure


def _count_text(rows: pd.DataFrame) -> str:
    """Say how many instances a size has."""
    found = sorted(set(rows.groupby("size")["instance"].nunique()))
    return f"{' to '.join(map(str, (found[0], found[-1])[: len(found)]))} instances"


def _set_size_axis(ax: Axes, sizes: Iterable[int], few: bool = False) -> None:
    """Make the horizontal axis one of sizes, logarithmic; with few, every other one has a number."""
    found = sorted(set(sizes))
    ax.set_xscale("log")
    ax.set_xticks(*_number_labels(found[:: 2 if few and len(found) > 5 else 1]))
    ax.xaxis.set_minor_locator(NullLocator())


def _number_labels(values: Iterable[float]) -> tuple[list[float], list[str]]:
    shown = [*values]
    return shown, [f"{value:,g}" if value >= 1000 else f"{value:g}" for value in shown]
