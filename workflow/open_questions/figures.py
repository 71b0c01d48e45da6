"""Figures of what the papers left open."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter

from open_questions.summaries import DP_DISTORTION, INFORMATION, LOCAL, MI_DISTORTION, MUTUAL_INFORMATION
from papers.kalantari2018.figures import CLASSES, plot_curves
from reproduction.figure_style import EPSILON, PAGE_WIDTH, style
from reproduction.look import Look
from reproduction.plotting import graded, handle
from reproduction.results.tables import select

#: The utilities of kairouz2016, and how their points look; total variation loses nothing.
_UTILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "kl": ("KL divergence", {"marker": "o", "color": "C0"}),
    "chi2": (r"$\chi^2$ divergence", {"marker": "^", "color": "C1"}),
    MUTUAL_INFORMATION: ("mutual information", {"marker": "s", "color": "C2"}),
}

#: The distortions of kalantari2018's sources, by their names in the table.
_MEASURES = {"line": "$|x - y|$", "tree": "tree of two groups"}

#: Mechanisms that are optimal under a metric.
_METRICS = {
    INFORMATION: Look("optimal: mutual information", "#0072B2", "o", "-"),
    LOCAL: Look("optimal: local privacy", "#D55E00", "s", "-", filled=False),
    DP_DISTORTION: Look("optimal: DP leakage at a distortion", "#009E73", "^", "-", filled=False),
    MI_DISTORTION: Look("optimal: MI leakage at a distortion", "#CC79A7", "x", "-"),
}


def approximate(grid: pd.DataFrame, random: pd.DataFrame, search: pd.DataFrame) -> Figure:
    """Plot what a chance delta gains for mutual information, and what the mixture with the truth loses."""
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.6))
        left, right = figure.subplots(1, 2)
        _draw_gain(left, grid)
        _draw_losses(right, random, search)
        return figure


def _draw_gain(ax: Axes, grid: pd.DataFrame) -> None:
    letters = int(grid["letters"].min())
    rows = select(grid, utility=MUTUAL_INFORMATION, letters=letters)
    share = (rows["value"] / rows["truth"]).groupby([rows["delta"], rows["epsilon"]]).mean()
    deltas = sorted(rows["delta"].unique(), reverse=True)
    for i, delta in enumerate(deltas):
        ax.plot(share[delta], label=f"{delta:g}", **graded(i, len(deltas)))
    ax.set_xlim(left=0.0)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel(f"privacy level {EPSILON}")
    ax.set_ylabel(r"$I(X;Y)\,/\,H(X)$")
    ax.legend(title=r"$\delta$", loc="lower right")
    ax.set_title(f"(a) the optimum, {letters} letters", loc="left")


def _draw_losses(ax: Axes, random: pd.DataFrame, search: pd.DataFrame) -> None:
    for name, (label, look) in _UTILITIES.items():
        for table, filled in ((random, False), (search, True)):
            rows = select(table, utility=name)
            face: dict[str, Any] = {} if filled else {"markerfacecolor": "none"}
            named: dict[str, Any] = {} if filled else {"label": label}
            loss = 1.0 - rows["mixture"] / rows["value"]
            ax.plot(rows["delta"], loss, linestyle="", **look, **face, **named)
    ax.set_xscale("log")
    ax.set_xlim(0.018, 1.0)
    ax.xaxis.set_major_locator(FixedLocator([0.02, 0.05, 0.1, 0.2, 0.5, 1.0]))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(r"chance $\delta$")
    ax.set_ylabel("loss of the mixture")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    ax.legend(loc="upper left")
    ax.set_title("(b) the mixture with the truth", loc="left")


#: What is compared in the test of independence, and how it looks.
_PAIRS = {
    "value": Look("best pair of mechanisms", "#0072B2", "", "-"),
    "alone": Look("best for each value alone", "#D55E00", "", "--"),
    "response": Look("randomized response", "#009E73", "", ":"),
}


def distributed(table: pd.DataFrame) -> Figure:
    """Plot what two people tell of the dependence of their values, and its share of the most, by letters."""
    rows = select(table, instance="independence", kind="kl")
    sizes = sorted(set(rows["letters"]) - {2})  # of two letters all are the same
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 4.0))
        axes = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False)
        for (above, below), letters in zip(axes.T, sizes, strict=True):
            part = select(rows, letters=letters).sort_values("epsilon")
            for column, look in _PAIRS.items():
                above.plot(part["epsilon"], part[column], **look.line())
                below.plot(part["epsilon"], part[column] / part["value"], **look.line())
            above.set_yscale("log")
            above.set_title(f"{letters} letters", loc="left")
            below.set_ylim(0.0, 1.05)
            below.set_xlabel(f"privacy level {EPSILON}")
        axes[0, 0].set_ylabel("KL divergence (nats)")
        axes[1, 0].set_ylabel("share of the best pair")
        axes[1, 0].yaxis.set_major_formatter(PercentFormatter(1.0))
        handles = [handle(look) for look in _PAIRS.values()]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def distortions(table: pd.DataFrame) -> Figure:
    """Plot the least DP leakage against the distortion: a row for each distortion, a column for each size."""
    sizes, measures = (
        sorted(table["letters"].unique()),
        [m for m in _MEASURES if (table["measure"] == m).any()],
    )
    looks = {name: look for name, look in CLASSES.items() if (table["sources"] == name).any()}
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.4 * len(measures) + 0.3))
        axes = figure.subplots(len(measures), len(sizes), squeeze=False, sharex=True)
        for row, measure in zip(axes, measures, strict=True):
            for ax, letters in zip(row, sizes, strict=True):
                curves = select(table, measure=measure, letters=letters).set_index("limit")
                plot_curves(
                    ax,
                    [
                        (look, select(curves, sources=n)["value"].sort_index(), {})
                        for n, look in looks.items()
                    ],
                )
                ax.set_title(f"{_MEASURES[measure]}, $M = {letters}$", loc="left")
            row[0].set_ylabel("least DP leakage (nats)")
        for ax in axes[-1]:
            ax.set_xlabel("largest expected distortion")
        handles = [handle(look) for look in reversed(looks.values())]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handlelength=2.6)
    return figure


def metrics(table: pd.DataFrame) -> Figure:
    """Plot the share of the best utility at what a mechanism leaks, by two metrics, against that leakage."""
    edge = 20.0
    panels = {
        "best_information": (INFORMATION, "information", "largest mutual information (bits)"),
        "best_local": (LOCAL, "epsilon", f"level of local privacy {EPSILON} (nats)"),
    }
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.2))
        for ax, (best, (own, leakage, label)) in zip(
            figure.subplots(1, 2, sharey=True), panels.items(), strict=True
        ):
            for metric, look in _METRICS.items():
                if metric == own:
                    continue
                for _, rows in select(table, metric=metric).groupby("instance"):
                    rows = rows.assign(x=rows[leakage].clip(upper=edge)).sort_values("x")
                    ax.plot(rows["x"], rows["utility"] / rows[best], **look.line(linewidth=0.5))
            ax.set_xscale("log")
            ax.set_xlabel(label)
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
            ax.set_ylim(bottom=0.0)
        ticks = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, edge]
        figure.axes[1].set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), r"$\infty$"])
        figure.axes[1].set_xticks([], minor=True)
        figure.axes[0].set_ylabel("share of the best utility")
        figure.axes[0].set_title("(a) at the same mutual information", loc="left")
        figure.axes[1].set_title(f"(b) at the same {EPSILON}", loc="left")
        handles = [handle(look) for look in _METRICS.values()]
        figure.legend(handles=handles, loc="outside upper center", ncols=2, handlelength=2.2)
    return figure
