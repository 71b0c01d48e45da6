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

from ldpfrontier.practice.figure_style import PAGE_WIDTH, style
from reproduction.plotting import Look, handle
from reproduction.results.tables import select

#: Colours of the two utilities; the mechanisms differ in marker and dash.
RELATIVE, RENYI = "#0072B2", "#D55E00"

MECHANISMS = {
    "optimal": Look("$W^*$, any number of outputs", "#7A7A7A", "", "-"),
    "optimal_2": Look("$W^*$, 2 × 2", "#7A7A7A", "o", (0, (1, 1.6)), filled=False),
    "eit": Look("$W'$ (E-IT)", "#7A7A7A", "^", (0, (4, 1.5))),
}

#: In the strips only.
SEARCH = Look("$W^*$, search in steps of 1/{}", "#009E73", "", "-")

INSTANCES = {
    "Pair 1": Look("Pair 1", "#0072B2", "o", "-"),
    "Pair 2": Look("Pair 2", "#009E73", "s", (0, (5, 1.5)), filled=False),
    "Pair 3": Look("Pair 3", "#E69F00", "D", (0, (4, 1.5, 1, 1.5))),
    "Pair 4": Look("Pair 4", "#D55E00", "^", "-"),
    "Triple 1": Look("Triple 1", "#56B4E9", "v", (0, (2, 1.2)), filled=False),
    "Triple 2": Look("Triple 2", "#CC79A7", "P", "-"),
}

#: Titles of instances whose names do not say enough.
_TITLES = {"Three letters, rare": "Three letters, one of them rare (5%, 1%)"}

_PERCENT = FuncFormatter(lambda x, _: f"{100 * x:g}%")
_LEAKAGE = r"leakage $\epsilon\,/\,\min_k H(p_k)$"


def fig1(table: pd.DataFrame) -> Figure:
    """Draw Figure 1: the nominal row w_0, and how the rows of W' are moved away from it.

    Parameters
    ----------
    table : DataFrame
        The table ``fig1``, with three outputs.

    Returns
    -------
    matplotlib.figure.Figure
    """
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
            left.annotate(
                "", end, xytext=centre, zorder=3,
                arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.4, "shrinkA": 0, "shrinkB": 2},
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
    steps: int | None = None,
    named: Mapping[str, float] | None = None,
    columns: int = 2,
) -> Figure:
    """Draw normalized utility against normalized leakage, one panel per instance (Figures 2 and 3).

    Relative entropy is on the left axis; Renyi divergence, where there is one, on the right axis, whose scale
    keeps the curves apart. What the text says is about leakages that are next to nothing on these axes: below
    each panel is a strip with shares of the 2 x 2 optimum on a logarithmic one.

    Parameters
    ----------
    table, grid : DataFrame
        The tables ``sweeps`` and ``grid``, of any number of instances.
    instances : sequence of str
        Panels in their order.
    steps : int, optional
        Of the exhaustive search in the strips; without it there are none.
    named : mapping of str to float, optional
        By instance the leakage over min H that the text names.
    columns : int
        Panels beside each other.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = math.ceil(len(instances) / columns)
    shown = select(table, instance=instances)
    has_renyi = (shown["metric"] == "normalized_renyi").any()
    with style():
        strips = 2 if steps else 1
        figure = Figure(figsize=(PAGE_WIDTH, 0.75 + (2.2 + 0.95 * (strips - 1)) * rows))
        ratios = [2.2, 0.95][:strips] * rows
        axes = figure.subplots(rows * strips, columns, squeeze=False, height_ratios=ratios)
        panels, below = axes[::strips].ravel(), axes[strips - 1 :: strips].ravel()
        for place, (letter, instance) in enumerate(zip("abcdefghijklmnop", instances, strict=False)):
            part = select(shown, instance=instance)
            _panel(panels[place], part)
            panels[place].set_title(f"({letter}) {_TITLES.get(instance, instance)}", loc="left")
            if steps:
                search = select(grid, instance=instance, mechanism=f"grid_{steps}")
                _strip(below[place], pd.concat([part, search]), f"grid_{steps}", (named or {}).get(instance))
        for ax in (*panels[len(instances) :], *below[len(instances) :]):
            ax.set_axis_off()
        figure.supxlabel(_LEAKAGE, fontsize=9)
        # Grey stands for both colours; where there is one, the legend has it.
        looks = [look for name, look in MECHANISMS.items() if name in set(shown["mechanism"])]
        handles = [handle(look if has_renyi else replace(look, colour=RELATIVE)) for look in looks]
        if steps:
            handles.append(handle(replace(SEARCH, label=SEARCH.label.format(steps))))
        if has_renyi:
            handles += [
                Line2D([], [], color=RELATIVE, linewidth=2.6, label="relative entropy (left axis)"),
                Line2D([], [], color=RENYI, linewidth=0.7, label="Rényi divergence (right axis)"),
            ]
            figure.supylabel("utility / utility without privacy", fontsize=9)
        else:
            figure.supylabel(r"$\min_k D(p_kW\,\|\,p_1W)\,/\,\min_k D(p_k\|p_1)$", fontsize=9)
        beside = 3 if has_renyi else len(handles)
        figure.legend(
            handles=handles, loc="outside upper center", ncols=beside, columnspacing=1.4, handlelength=2.5
        )
    return figure


def _panel(ax: Axes, rows: pd.DataFrame) -> None:
    least = float(select(rows, metric="min_entropy")["value"].iloc[0])
    for metric, colour in (("normalized_relative_entropy", RELATIVE), ("normalized_renyi", RENYI)):
        part = select(rows[np.isfinite(rows["epsilon"])], metric=metric)
        if part.empty:
            continue
        on = ax if colour == RELATIVE else ax.twinx()
        top = float(part["value"].max())
        # Markers evenly along the axis, although the grid of leakages is geometric.
        marks = np.linspace(0.0, 1.0, 9)[1:]
        for order, (name, look) in enumerate(MECHANISMS.items()):
            curve = part[part["mechanism"] == name].sort_values("epsilon")
            if curve.empty:
                continue
            x, y = curve["epsilon"].to_numpy() / least, curve["value"].to_numpy()
            at = np.unique(np.abs(x[:, None] - x[-1] * (marks - 0.04 * order)).argmin(axis=0)).tolist()
            x, y = np.append(0.0, x), np.append(0.0, y)
            # In grey, the two divergences are told apart by the width.
            on.plot(
                x, y, zorder=3 + order,
                **(look.line(color=colour, linewidth=1.3 if colour == RELATIVE else 0.7)
                   | {"markeredgecolor": colour}),
                markevery=[k + 1 for k in at],
            )  # fmt: skip
            on.lines[-1].set_markerfacecolor(colour if look.filled else "white")
        on.set_ylim(0.0, top * (1.04 if colour == RELATIVE else 1.45))
        if set(rows["metric"]) >= {"normalized_relative_entropy", "normalized_renyi"}:
            on.tick_params(axis="y", colors=colour)
        if colour == RENYI:
            on.spines["right"].set_visible(True)
            on.grid(visible=False)
    ax.set_xlim(left=0.0)
    ax.xaxis.set_major_formatter(_PERCENT)


def _strip(ax: Axes, rows: pd.DataFrame, search: str, named: float | None) -> None:
    """Draw shares of the 2 x 2 optimum in relative entropy: of W', and of an exhaustive search."""
    least = float(select(rows, metric="min_entropy")["value"].iloc[0])
    part = select(rows[np.isfinite(rows["epsilon"])], metric="relative_entropy")
    wide = part.pivot_table("value", "epsilon", "mechanism").dropna(subset=["eit"])
    for name, look in ((search, SEARCH), ("eit", MECHANISMS["eit"])):
        options = look.line(marker="", linewidth=1.0) | ({"color": RELATIVE} if name == "eit" else {})
        share = wide[name] / wide["optimal_2"]
        # Where a search finds no channel but the constant ones, it has no share to show.
        ax.plot(wide.index / least, share.where(share > 1e-6), **options)
    if named is not None:
        ax.axvline(named, color="#333333", linewidth=0.9, linestyle=(0, (1, 1.5)))
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.1)
    ax.set_yticks([0.0, 0.5, 1.0])
    ax.set_ylabel("share of\n$W^*$, 2 × 2", fontsize=7)
    ax.tick_params(labelsize=7)
    ax.xaxis.set_major_formatter(_PERCENT)


def shares(table: pd.DataFrame, instances: Sequence[str]) -> Figure:
    """Draw the share of the optimum that W' has, against leakage on a logarithmic axis.

    Parameters
    ----------
    table : DataFrame
        The table ``sweeps``, of any number of instances.
    instances : sequence of str
        The curves, of `INSTANCES`.

    Returns
    -------
    matplotlib.figure.Figure
    """
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
