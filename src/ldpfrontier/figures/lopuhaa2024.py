"""Figures of lopuhaa2024."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import EPSILON, MECHANISMS, NMI, PAGE_WIDTH, handle, style


def fig2(table: pd.DataFrame, instances: Sequence[str] | None = None) -> Figure:
    """Draw Figure 2: normalised mutual information against epsilon, one panel per pair of attributes.

    Parameters
    ----------
    table : DataFrame
        Results of `ldpfrontier.experiments.lopuhaa2024.adult_sweep`; skipped rows leave no curve, and a
        certified bound that is visibly above its curve is drawn as a band.
    instances : sequence of str, optional
        Pairs in the order of the panels; by default the small tables first.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = table[table["metric"] == "nmi"].dropna(subset=["value"])
    if instances is None:
        instances = sorted(rows["instance"].unique(), key=lambda name: (_cells(name), name))
    columns = min(2, len(instances))
    height = math.ceil(len(instances) / columns)
    with style():
        figure = Figure(figsize=(PAGE_WIDTH * columns / 2, 0.45 + 2.15 * height))
        axes = figure.subplots(height, columns, squeeze=False, sharex=True).ravel()
        for ax, letter, instance in zip(axes, "abcdefghijklmnopqrstuvwxyz", instances, strict=False):
            _panel(ax, rows[rows["instance"] == instance])
            ax.set_title(f"({letter}) {instance.replace(' x ', ' × ')}", loc="left")
        for ax in axes[len(instances) :]:
            ax.set_axis_off()
        figure.supxlabel(f"privacy level {EPSILON} (nats)", fontsize=9)
        figure.supylabel(NMI, fontsize=9)
        shown = [look for name, look in MECHANISMS.items() if name in set(rows["mechanism"])]
        figure.legend(
            handles=[handle(look) for look in shown], loc="outside upper center", ncols=len(shown),
            columnspacing=1.3, handlelength=2.6,
        )  # fmt: skip
    return figure


def _cells(instance: str) -> int:
    """Return the number of cells that the instance has in its name, as in ``"sex, race (2 x 5)"``."""
    first, second = instance.rpartition("(")[2].rstrip(")").split(" x ")
    return int(first) * int(second)


def _panel(ax: Axes, rows: pd.DataFrame) -> None:
    for order, (name, look) in enumerate(reversed(MECHANISMS.items())):
        curve = rows[rows["mechanism"] == name].sort_values("epsilon")
        if curve.empty:
            continue
        epsilon, value = curve["epsilon"].to_numpy(), curve["value"].to_numpy()
        # Markers of neighbouring curves are shifted against each other, where there are many.
        every = max(1, len(epsilon) // 8)
        ax.plot(epsilon, value, zorder=3 + order, markevery=(order % every, every), **look.line())
        if name.startswith("polyopt"):
            bound = curve["upper_bound"].to_numpy()
            ax.fill_between(
                epsilon, value, np.minimum(bound, 1.0), color=look.colour, alpha=0.18, linewidth=0
            )
    ax.set_xlim(left=0.0)
    ax.set_ylim(0.0, 1.02)
