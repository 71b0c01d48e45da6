"""Panels of the figures of lopuhaa2024: one per pair of attributes or per size, under one legend."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.summaries import require_one, small_first
from reproduction.figure_style import EPSILON, PAGE_WIDTH, style
from reproduction.look import Look
from reproduction.results.tables import select

#: How the mechanisms look, in the order of the legend.
LOOKS: Mapping[str, Look] = MECHANISMS

#: Where a level is the one that was asked for: a wide line behind the curves.
EQUALITY = Look(f"level asked for, {EPSILON}", "#BBBBBB", "", "-")

NMI = r"$I_{\hat P}(X;Y)\,/\,H(X)$"
LEVEL = f"privacy level {EPSILON}"

#: Of the panels, in their order.
LETTERS = "abcdefghijklmnopqrstuvwxyz"

#: Most letters of a line above a panel.
_TITLE = 46

#: Sizes of markers that look smaller than they are, points.
_SIZES = {"*": 6.0, "X": 4.5}


def plot_panels(
    panels: Mapping[str, pd.DataFrame],
    panel: Callable[[Axes, pd.DataFrame], None],
    ylabel: str,
    *,
    xlabel: str | None = LEVEL,
    legend: Sequence[Artist] = (),
    share_x: bool = True,
    share_y: bool = True,
) -> Figure:
    """Plot panels by title, two to a row, under one legend, if it has entries.

    A single panel is half as wide as a page. The legend has fewer entries in a row, or the figure is wider,
    where the legend would not fit otherwise.
    """
    if not panels:
        raise ValueError("The table has no rows of the mechanisms that the figure shows.")
    columns = min(2, len(panels))
    height = math.ceil(len(panels) / columns)
    with style():
        figure, width, lines = Figure(), PAGE_WIDTH * columns / 2, 0
        if legend:
            usual = 2 if columns == 1 else len(legend) if len(legend) < 7 else 4
            needed, beside = _add_legend(figure, legend, usual)
            width, lines = max(width, needed), math.ceil(len(legend) / beside)
        figure.set_size_inches(width, 0.11 + 0.17 * max(lines, 2) + 2.15 * height)
        axes = figure.subplots(height, columns, squeeze=False, sharex=share_x, sharey=share_y).ravel()
        for ax, letter, (title, rows) in zip(axes, LETTERS, panels.items(), strict=False):
            panel(ax, rows)
            words = f"({letter}) {title.replace(' x ', ' × ')}"
            ax.set_title(textwrap.fill(words, _TITLE, break_on_hyphens=False), loc="left")
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        # Panels with nothing below them carry the labels of the shared axis.
        for ax in axes[max(len(panels) - columns, 0) : len(panels)]:
            ax.tick_params(labelbottom=True)
        if xlabel:
            figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
    return figure


def _add_legend(figure: Figure, entries: Sequence[Artist], usual: int) -> tuple[float, int]:
    """Add a legend with the usual number of entries in a row, or with fewer if it is wider than a page.

    Return its width in inches, and how many entries are in a row.
    """
    for beside in range(usual, 0, -1):
        legend = figure.legend(
            handles=list(entries), loc="outside upper center", ncols=beside,
            columnspacing=1.3, handlelength=2.6,
        )  # fmt: skip
        # At another resolution, letters may be a little wider.
        width = 1.02 * legend.get_window_extent().width / figure.dpi
        if width <= PAGE_WIDTH:
            break
        if beside > 1:
            legend.remove()
    return width, beside


def mechanisms_in(panels: Mapping[str, pd.DataFrame]) -> list[Artist]:
    """Return the entries of a legend of the mechanisms that panels show."""
    present = {name for rows in panels.values() for name in rows["mechanism"]}
    return [entry(look) for name, look in LOOKS.items() if name in present]


def by_size(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a table of one setting by size, the small ones first."""
    require_one(table, "beta", "order")
    return {size: select(table, size=size) for size in sorted(table["size"].unique(), key=small_first)}


def note(ax: Axes, text: str, *, top: bool = False) -> None:
    """Write a remark into a corner of a panel: on the left at the top, or on the right at the bottom."""
    place = (0.02, 0.98, "left", "top") if top else (0.98, 0.02, "right", "bottom")
    ax.text(*place[:2], text, transform=ax.transAxes, ha=place[2], va=place[3], fontsize=6.5, zorder=6)


def by_pair(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a table of one setting by pair of attributes and size, the small ones first."""
    require_one(table, "beta", "order")
    pairs = table[["size", "instance"]].drop_duplicates().itertuples(index=False, name=None)
    return {
        # The columns of a user's own table may have any name, but begin no formula.
        f"{instance} ({size})".replace("$", r"\$"): select(table, size=size, instance=instance)
        for size, instance in sorted(pairs, key=lambda pair: (small_first(pair[0])[0], pair[1]))
    }


def entry(look: Look, **options: Any) -> Line2D:
    """Return the legend entry of a look, with options of its own, and markers as large as in panels."""
    with style():
        return Line2D([], [], **line(look, **options))


def line(look: Look, **options: Any) -> dict[str, Any]:
    """Return the options of a line whose markers look equally large."""
    sizes: dict[str, Any] = {"markersize": _SIZES[look.marker]} if look.marker in _SIZES else {}
    if look is EQUALITY:
        sizes = {"linewidth": 2.5, "zorder": 1}
    return look.line(**sizes, **options)


def set_plain_ticks(axis: Axis, limits: tuple[float, float], values: Iterable[float]) -> None:
    """Set the ticks of a logarithmic axis to plain numbers, those within the limits."""
    inside = [value for value in values if limits[0] <= value <= limits[1]]
    axis.set_ticks(inside, [np.format_float_positional(value, trim="-") for value in inside])
    axis.set_minor_locator(NullLocator())
