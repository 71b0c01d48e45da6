"""Figures of the atlas: heat maps over pairs of attributes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullLocator

from ldpfrontier.base.types import FloatArray
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.statements import NO, STATED, UNKNOWN, YES
from papers.lopuhaa2024.summaries import require_one
from reproduction.figure_style import EPSILON, PAGE_WIDTH, SHADES, shades_norm, style
from reproduction.results.tables import SKIPPED, select

#: What a pair without a number is marked with, and the colours of answers.
_MISSING: dict[str, Any] = {"marker": "x", "color": "#999999", "s": 3.0, "linewidths": 0.4}
_ANSWERS = {YES: "#009E73", NO: "#D55E00", UNKNOWN: "#DDDDDD"}


def utility(table: pd.DataFrame) -> Figure:
    """Draw NMI on every pair of attributes (table `atlas`): a row of maps per level, a column per mechanism.

    The sensitive attribute is down, the useful one across; a pair without the mechanism has a cross.
    """
    require_one(table, "beta", "order")
    rows = select(table, metric="nmi")
    rows = rows.assign(value=rows["value"].mask(rows["status"] == SKIPPED))
    names = _attributes(rows)
    shown = [name for name in MECHANISMS if name in set(rows["mechanism"])]
    levels = sorted(set(rows["epsilon"]))
    with style():
        side = (PAGE_WIDTH - 1.1) / len(shown)
        figure = Figure(figsize=(PAGE_WIDTH, 1.6 + side * len(levels)))
        axes = figure.subplots(len(levels), len(shown), squeeze=False, sharex=True, sharey=True)
        for (i, epsilon), (j, name) in ((a, b) for a in enumerate(levels) for b in enumerate(shown)):
            grid = _grid(select(rows, epsilon=epsilon, mechanism=name), "value", [*names])
            ax = axes[i, j]
            ax.imshow(grid, cmap=SHADES, norm=shades_norm(), interpolation="nearest")
            _map(ax, names, grid, left=j == 0, below=i == len(levels) - 1)
            if i == 0:
                ax.set_title(MECHANISMS[name].label.replace(", ", ",\n").replace(" (", "\n("), fontsize=7.5)
            if j == len(shown) - 1:
                ax.yaxis.set_label_position("right")
                ax.set_ylabel(f"{EPSILON} = {epsilon:g}", fontsize=8)
        bar = figure.colorbar(
            ScalarMappable(shades_norm(), SHADES),
            ax=axes,
            location="bottom",
            fraction=0.03,
            aspect=50,
            pad=0.02,
        )
        bar.set_ticks([0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
        bar.ax.xaxis.set_major_formatter("{x:g}")
        bar.ax.xaxis.set_minor_locator(NullLocator())
        bar.set_label(r"$I_{\hat P}(X;Y)\,/\,H(X)$; sensitive down, useful across", fontsize=8)
    return figure


def statements(table: pd.DataFrame) -> Figure:
    """Draw on which pairs of attributes the statements of section 8.1 hold: a map per statement.

    The sensitive attribute is down, the useful one across; small tables have a frame. A title has the number
    of pairs on which the statement holds, of those that have an answer.
    """
    require_one(table, "beta", "order")
    names = _attributes(table)
    codes = {answer: float(i) for i, answer in enumerate(_ANSWERS)}
    columns = 4
    with style():
        height = math.ceil(len(STATED) / columns)
        figure = Figure(figsize=(PAGE_WIDTH, 1.15 + 2.1 * height))
        axes = figure.subplots(height, columns, squeeze=False, sharex=True, sharey=True)
        for place, (name, words) in enumerate(STATED.items()):
            ax = axes.ravel()[place]
            rows = table[table["statement"] == name]
            grid = _grid(rows.assign(code=rows["answer"].map(codes)), "code", [*names])
            ax.imshow(grid, cmap=ListedColormap([*_ANSWERS.values()]), vmin=-0.5, vmax=len(codes) - 0.5)
            _map(ax, names, grid, left=place % columns == 0, below=place >= len(STATED) - columns)
            for instance in rows.loc[rows["small"], "instance"]:
                y, x = ([*names].index(part) for part in instance.split(", "))
                ax.add_patch(
                    Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor="#000000", linewidth=0.8)
                )
            # A second sign beside the colour, for those to whom green and orange are alike.
            against = np.argwhere(grid == codes[NO])
            ax.scatter(against[:, 1], against[:, 0], marker="_", color="#000000", s=9.0, linewidths=0.8)
            held, asked = (rows["answer"] == YES).sum(), (rows["answer"] != UNKNOWN).sum()
            ax.set_title(f"{_two_lines(words)}\n{held} of {asked} pairs", fontsize=7.0)
        for ax in axes.ravel()[len(STATED) :]:
            ax.set_axis_off()
        labels = {YES: "holds", NO: "does not (dash)", UNKNOWN: "open, or a mechanism is missing"}
        handles = [Patch(facecolor=colour, label=labels[answer]) for answer, colour in _ANSWERS.items()]
        handles.append(Patch(fill=False, edgecolor="#000000", linewidth=0.8, label="small table"))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


def _two_lines(words: str) -> str:
    """Break a sentence into two lines of about the same length."""
    parts = words.split()
    ends = range(1, len(parts))
    cut = min(ends, key=lambda i: max(len(" ".join(parts[:i])), len(" ".join(parts[i:]))))
    return f"{' '.join(parts[:cut])}\n{' '.join(parts[cut:])}"


def _attributes(table: pd.DataFrame) -> dict[str, str]:
    """Return the attributes of pairs, those with few values first, with labels that tell how many."""
    values: dict[str, int] = {}
    for instance, size in table[["instance", "size"]].drop_duplicates().itertuples(index=False):
        numbers = size.partition(" (")[0].split(" x ")
        values |= {name: int(number) for name, number in zip(instance.split(", "), numbers, strict=True)}
    return {
        name: f"{name} ({values[name]})" for name in sorted(values, key=lambda name: (values[name], name))
    }


def _grid(rows: pd.DataFrame, column: str, names: list[str]) -> FloatArray:
    """Return a column as a matrix over pairs of attributes, nan where there is none."""
    grid = np.full((len(names), len(names)), np.nan)
    for instance, value in zip(rows["instance"], rows[column], strict=True):
        sensitive, useful = instance.split(", ")
        grid[names.index(sensitive), names.index(useful)] = value
    return grid


def _map(ax: Axes, names: dict[str, str], grid: FloatArray, *, left: bool, below: bool) -> None:
    """Label a map, and mark the pairs that it lacks."""
    lacking = np.argwhere(np.isnan(grid) & ~np.eye(len(grid), dtype=bool))
    ax.scatter(lacking[:, 1], lacking[:, 0], **_MISSING)
    ticks = [*range(len(names))]
    ax.set_xticks(ticks, [*names.values()], rotation=90, fontsize=5.5)
    ax.set_yticks(ticks, [*names.values()], fontsize=5.5)
    ax.tick_params(length=0, labelleft=left, labelbottom=below)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_facecolor("white")
