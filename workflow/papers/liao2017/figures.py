"""Figures of liao2017."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from reproduction.figure_style import PAGE_WIDTH, style
from reproduction.look import Look
from reproduction.plotting import handle
from reproduction.results.tables import select

#: In black what is optimal, as in the figures of the other papers.
MECHANISMS = {
    "optimal": Look("$W^*$, any number of outputs", "#000000", "", "-"),
    "optimal_2": Look("$W^*$, 2 × 2", "#000000", "o", (0, (1, 1.6)), filled=False),
    "eit": Look("$W'$ (E-IT)", "#D55E00", "^", (0, (4, 1.5))),
}

#: An exhaustive search for W*, with 2 x 2 channels.
SEARCH = Look("$W^*$, search in steps of 1/{}", "#009E73", "", "-")

#: The best channel with any number of outputs is a band behind the others, with which it nearly coincides.
_BEHIND = {"linewidth": 4.0, "alpha": 0.25, "solid_capstyle": "butt"}

INSTANCES = {
    "Pair 1": Look("Pair 1", "#0072B2", "o", "-"),
    "Pair 2": Look("Pair 2", "#009E73", "s", (0, (5, 1.5)), filled=False),
    "Pair 3": Look("Pair 3", "#E69F00", "D", (0, (4, 1.5, 1, 1.5))),
    "Pair 4": Look("Pair 4", "#D55E00", "^", "-"),
    "Triple 1": Look("Triple 1", "#56B4E9", "v", (0, (2, 1.2)), filled=False),
    "Triple 2": Look("Triple 2", "#CC79A7", "P", "-"),
}

#: By the metric of a utility that is normalized, in the order of the panels.
_DIVERGENCES = {
    "normalized_relative_entropy": "relative entropy",
    "normalized_renyi": "Rényi divergence",
}

_PERCENT = FuncFormatter(lambda x, _: f"{100 * x:g}%")
_LEAKAGE = r"leakage $\epsilon\,/\,\min_k H(p_k)$"


def fig1(table: pd.DataFrame) -> Figure:
    """Draw Figure 1: the nominal row w_0, and how the rows of W' are moved away from it; three outputs."""
    wide = table.pivot_table(index="instance", columns="metric", values="value")
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
    points = wide[["w1", "w2", "w3"]].to_numpy() @ corners
    letters = wide.drop("w0")
    ends, centre = points[wide.index != "w0"], points[wide.index == "w0"][0]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.9))
        left, right = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
        left.fill(*corners.T, facecolor="#F4F4F4", edgecolor="#555555", linewidth=0.8)
        for corner, text, move in zip(
            corners, ("output 1", "output 2", "output 3"), ((0, -11), (0, -11), (0, 4)), strict=True
        ):
            left.annotate(text, corner, xytext=move, textcoords="offset points", ha="center", fontsize=8)
        along = ends[int(np.square(ends - centre).sum(axis=1).argmax())] - centre
        reach = np.array([centre - 2.2 * along, centre + 1.3 * along])
        left.plot(*reach.T, color="#AAAAAA", linewidth=0.8, linestyle=(0, (4, 2)), zorder=2)
        left.annotate(
            r"direction $\mathbf{v}\,[\sqrt{w_0}]$", reach[0], xytext=(-3, 3), textcoords="offset points",
            ha="right", fontsize=8, color="#666666",
        )  # fmt: skip
        colours = ["#0072B2", "#009E73", "#CC79A7", "#D55E00", "#E69F00", "#56B4E9"]
        normal = np.array([-along[1], along[0]]) / math.hypot(*along)
        for letter, (end, colour) in enumerate(zip(ends, colours, strict=False), start=1):
            # All rows are moved along one line; beside each other, no arrow hides another.
            beside = (0.018 if letter % 2 else -0.018) * normal * (1 + (letter - 1) // 2)
            left.annotate(
                "", end + beside, xytext=centre + beside, zorder=3, arrowprops={
                    "arrowstyle": "-|>,head_length=0.3,head_width=0.15", "color": colour, "lw": 1.2,
                    "shrinkA": 0, "shrinkB": 0,
                },
            )  # fmt: skip
            left.plot(*end, marker="o", color=colour, markersize=4, zorder=4)
            left.annotate(
                f"$W'_{{{letter}}}$", end, xytext=tuple((-14 if letter % 2 else 14) * normal),
                textcoords="offset points", ha="center", va="center", fontsize=9, color=colour,
            )  # fmt: skip
        left.plot(*centre, marker="o", color="black", markersize=5, zorder=5)
        left.annotate("$w_0$", centre, xytext=(22, 22), textcoords="offset points", ha="left",
            arrowprops={"arrowstyle": "-", "lw": 0.6, "color": "#555555", "shrinkB": 4})  # fmt: skip
        left.set_aspect("equal")
        left.set_axis_off()
        left.set_title("(a) rows of $W'$ in the simplex of outputs", loc="left")
        where = np.arange(1, len(letters) + 1)
        for shift, name, colour in ((-0.26, "p1", "#CCCCCC"), (0.0, "p2", "#888888")):
            right.bar(where + shift, letters[name], 0.24, color=colour)
        right.bar(where + 0.26, letters["a"], 0.24, color=colours[: len(letters)])
        right.axhline(0.0, color="#555555", linewidth=0.6)
        right.set_xticks(where, [f"letter {k}" for k in where])
        right.grid(axis="x", visible=False)
        right.set_title("(b) hypotheses and step sizes", loc="left")
        handles = [
            Line2D([], [], color=colour, linewidth=5, label=text)
            for colour, text in (
                ("#CCCCCC", "$p_1$"),
                ("#888888", "$p_2$"),
                (colours[0], "$a^*$ (in colour)"),
            )
        ]
        right.margins(y=0.2)
        right.legend(handles=handles, loc="upper center", ncols=3, handlelength=0.9, columnspacing=1.2)
    return figure


def utilities(
    table: pd.DataFrame,
    grid: pd.DataFrame,
    instances: Sequence[str],
    *,
    steps: int,
    named: Mapping[str, float],
) -> Figure:
    """Draw normalized utility against normalized leakage, one row of panels per instance (Figures 2 and 3).

    Relative entropy and, where there is one, Renyi divergence stand side by side on equal axes. What the text
    says is about leakages that are next to nothing on these axes: a third panel has shares of the 2 x 2
    optimum on a logarithmic one. `steps` are those of the exhaustive search, and `named` has, by instance,
    the leakage over min H that the text names.
    """
    shown = select(table, instance=instances)
    search = f"grid_{steps}"
    looks = {**MECHANISMS, search: replace(SEARCH, label=SEARCH.label.format(steps))}
    divergences = {
        metric: words for metric, words in _DIVERGENCES.items() if (shown["metric"] == metric).any()
    }
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 0.75 + 1.75 * len(instances)))
        axes = figure.subplots(len(instances), len(divergences) + 1, squeeze=False)
        for row, letter, instance in zip(axes, "abcdefghijklmnop", instances, strict=False):
            searched = select(grid, instance=instance, mechanism=search)
            part = pd.concat([select(shown, instance=instance), searched])
            _utility_panels(row[: len(divergences)], part, divergences, looks)
            row[0].set_title(f"({letter}) {instance}", loc="left")
            _shares_panel(row[-1], part, looks, named.get(instance))
        figure.supxlabel(_LEAKAGE, fontsize=9)
        if len(divergences) > 1:
            figure.supylabel("utility / utility without privacy", fontsize=9)
        else:
            figure.supylabel(r"$\min_k D(p_kW\,\|\,p_1W)\,/\,\min_k D(p_k\|p_1)$", fontsize=9)
        found = {*shown["mechanism"], search}
        figure.legend(
            handles=[
                Line2D([], [], **look.line(**(_BEHIND if name == "optimal" else {})))
                for name, look in looks.items()
                if name in found
            ],
            loc="outside upper center", ncols=4, columnspacing=1.4, handlelength=2.5,
        )  # fmt: skip
    return figure


def _utility_panels(
    panels: Sequence[Axes], rows: pd.DataFrame, divergences: Mapping[str, str], looks: Mapping[str, Look]
) -> None:
    """Draw the utility of every mechanism, a panel for each divergence, on equal axes."""
    least = float(select(rows, metric="min_entropy")["value"].iloc[0])
    rows = rows[np.isfinite(rows["epsilon"]) & rows["metric"].isin(divergences)]
    # The search is made at larger leakages, too, which the text names.
    rows = rows[rows["epsilon"] <= select(rows, mechanism="optimal")["epsilon"].max()]
    top = 1.06 * float(rows["value"].max())
    # Markers evenly along the axis, although the grid of leakages is geometric.
    marks = np.linspace(0.0, 1.0, 9)[1:]
    for ax, (metric, words) in zip(panels, divergences.items(), strict=True):
        part = select(rows, metric=metric)
        if part.empty:
            ax.set_axis_off()
            continue
        for order, (name, look) in enumerate(looks.items()):
            curve = part[part["mechanism"] == name].sort_values("epsilon")
            if curve.empty:
                continue
            x, y = curve["epsilon"].to_numpy() / least, curve["value"].to_numpy()
            at = np.unique(np.abs(x[:, None] - x[-1] * (marks - 0.04 * order)).argmin(axis=0)).tolist()
            ax.plot(
                np.append(0.0, x), np.append(0.0, y), zorder=3 + order, markevery=[k + 1 for k in at],
                **look.line(**(_BEHIND if name == "optimal" else {})),
            )  # fmt: skip
        ax.text(0.04, 0.96, words, transform=ax.transAxes, ha="left", va="top", fontsize=8)
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, top)
        ax.xaxis.set_major_formatter(_PERCENT)


def _shares_panel(ax: Axes, rows: pd.DataFrame, looks: Mapping[str, Look], named: float | None) -> None:
    """Draw the shares of the 2 x 2 optimum that other mechanisms have, in relative entropy."""
    least = float(select(rows, metric="min_entropy")["value"].iloc[0])
    part = select(rows[np.isfinite(rows["epsilon"])], metric="relative_entropy")
    wide = part.pivot_table("value", "epsilon", "mechanism").dropna(subset=["eit"])
    for name, look in looks.items():
        if name == "optimal_2":
            continue
        share = wide[name] / wide["optimal_2"]
        # Where a search finds no channel but the constant ones, it has no share to show.
        ax.plot(
            wide.index / least, share.where(share > 1e-6),
            **look.line(marker="", **(_BEHIND if name == "optimal" else {})),
        )  # fmt: skip
    if named is not None:
        ax.axvline(named, color="#333333", linewidth=0.9, linestyle=(0, (1, 1.5)))
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.1)
    ax.set_ylabel("share of $W^*$, 2 × 2")
    ax.xaxis.set_major_formatter(_PERCENT)


def shares(table: pd.DataFrame, instances: Sequence[str]) -> Figure:
    """Draw the share of the optimum that W' has, against leakage on a logarithmic axis."""
    titles = {"relative_entropy": "(a) relative entropy", "renyi": "(b) Rényi divergence"}
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.75))
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (metric, title) in zip(axes, titles.items(), strict=True):
            missing: list[str] = []
            for order, name in enumerate(instances):
                part = select(table, instance=name)
                least = float(select(part, metric="min_entropy")["value"].iloc[0])
                wide = select(part, metric=metric).pivot_table(
                    index="epsilon", columns="mechanism", values="value"
                )
                if "eit" not in wide:
                    missing.append(name)
                    continue
                wide = wide.dropna(subset=["eit"])
                look = INSTANCES[name]
                ax.plot(
                    wide.index.to_numpy() / least, wide["eit"] / wide["optimal"],
                    **look.line(), markevery=(order, 6),
                )  # fmt: skip
            ax.set_xscale("log")
            ax.set_ylim(0.0, 1.05)
            ax.set_title(title, loc="left")
            ax.set_xlabel(_LEAKAGE)
            if missing:
                words = f"{', '.join(missing)}: not computed,\nthe divergence is one of two hypotheses"
                ax.text(0.98, 0.03, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=6.5)
        axes[0].set_ylabel("utility of $W'$ over that of $W^*$")
        figure.legend(
            handles=[handle(INSTANCES[name]) for name in instances],
            loc="outside upper center", ncols=len(instances), columnspacing=1.3, handlelength=2.6,
        )  # fmt: skip
    return figure
