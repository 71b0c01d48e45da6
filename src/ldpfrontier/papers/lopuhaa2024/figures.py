"""Figures of lopuhaa2024."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ldpfrontier.plotting import EPSILON, MECHANISMS, NMI, PAGE_WIDTH, handle, style

#: What Figures 3, 4 and 5 show unless told otherwise: the mechanisms of the paper there, and the new ones.
AVERAGED = tuple(name for name in MECHANISMS if name != "ir_tight")
REALISED = ("nr", "polyopt", "polyopt_distinct")
COMPARED = ("polyopt_distinct", "polyopt", "ir", "srr")


def fig2(table: pd.DataFrame, instances: Sequence[str] | None = None) -> Figure:
    """Draw Figure 2: normalized mutual information against epsilon, one panel per pair of attributes.

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


def fig3(
    summary: pd.DataFrame, sizes: Sequence[str] | None = None, mechanisms: Sequence[str] = AVERAGED
) -> Figure:
    """Draw Figure 3: mean normalized mutual information on synthetic data, one panel per size.

    Parameters
    ----------
    summary : DataFrame
        As `ldpfrontier.experiments.lopuhaa2024_synthetic.nmi_summary` returns it, of one setting; the band is
        the middle half of the instances. What was computed on fewer instances than PolyOpt is left out: the
        means of different tables do not compare.
    sizes : sequence of str, optional
        Sizes in the order of the panels; by default the small ones first.
    mechanisms : sequence of str
        What to draw.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the summary has several settings (so in all figures of summaries).
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for name, curve in _curves(rows):
            look = MECHANISMS[name]
            ax.plot(curve["epsilon"], curve["mean"], markevery=_every(name, len(curve)), **look.line())
            ax.fill_between(
                curve["epsilon"], curve["low"], curve["high"], color=look.colour, alpha=0.13, linewidth=0
            )
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)

    needed = summary[summary["mechanism"] == "polyopt"].groupby("size")["instances"].max()
    enough = summary["instances"] >= summary["size"].map(needed).fillna(0)
    rows = summary[summary["mechanism"].isin(mechanisms) & enough]
    return _figure(rows, panel, f"mean of {NMI}", sizes=sizes)


def fig4(
    summary: pd.DataFrame, sizes: Sequence[str] | None = None, mechanisms: Sequence[str] = REALISED
) -> Figure:
    r"""Draw Figure 4: the middle half of the realized privacy parameter, divided by the level asked for.

    Below 1 a mechanism keeps its promise. The division, which the paper does not make, leaves the small
    levels legible; the axes are logarithmic for the same reason. An infinite quantile leaves the panel at the
    top.

    Parameters
    ----------
    summary : DataFrame
        As `ldpfrontier.experiments.lopuhaa2024_synthetic.privacy_summary` returns it, of one setting.
    sizes : sequence of str, optional
        Sizes in the order of the panels; by default the small ones first.
    mechanisms : sequence of str
        What to draw.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = summary[summary["mechanism"].isin(mechanisms)]
    ratios = (rows[["low", "high"]].to_numpy() / rows[["epsilon"]].to_numpy()).ravel()
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    bottom, top = min(ratios.min(initial=0.5), 0.8), max(ratios.max(initial=2.0), 1.25)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axhline(1.0, color="#333333", linewidth=0.7, zorder=2)
        for name, curve in _curves(rows):
            look = MECHANISMS[name]
            epsilon = curve["epsilon"].to_numpy()
            low, high = (
                np.clip(curve[end].to_numpy() / epsilon, bottom / 10.0, top * 10.0) for end in ("low", "high")
            )
            ax.fill_between(epsilon, low, high, color=look.colour, alpha=0.18, linewidth=0)
            for end, place in ((low, 0), (high, 1)):
                ax.plot(epsilon, end, markevery=_every(name, len(curve), place), **look.line())
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.15, top * 1.15)
        _plain_ticks(ax.xaxis, ax.get_xlim(), (0.1, 0.2, 0.5, 1, 2, 5))
        _plain_ticks(ax.yaxis, ax.get_ylim(), (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))

    label = rf"realized $\varepsilon^*$ / {EPSILON}, middle half"
    return _figure(rows, panel, label, sizes=sizes)


def fig5(
    table: pd.DataFrame,
    epsilon: float = 1.5,
    sizes: Sequence[str] | None = None,
    mechanisms: Sequence[str] = COMPARED,
) -> Figure:
    """Draw Figure 5: the relative difference of utility under P-hat and under P*, one box per mechanism.

    Parameters
    ----------
    table : DataFrame
        Results of `ldpfrontier.experiments.lopuhaa2024_synthetic.synthetic_sweep`, of one setting.
    epsilon : float
        The level to show.
    sizes : sequence of str, optional
        Sizes in the order of the panels; by default the small ones first.
    mechanisms : sequence of str
        What to draw, from left to right. A box holds the middle half, the whiskers reach the extremes, the
        points are the instances.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table has no such rows.
    """
    rows = table[
        (table["metric"] == "utility_difference")
        & np.isclose(table["epsilon"], epsilon)
        & table["mechanism"].isin(mechanisms)
    ].dropna(subset=["value"])
    if rows.empty:
        raise ValueError(f"The table has no differences of utility at epsilon = {epsilon:g}.")
    rows = rows.assign(size=rows["instance"].str.rpartition(", ")[0])

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axhline(0.0, color="#333333", linewidth=0.7, zorder=1)
        shown = [name for name in mechanisms if name in set(rows["mechanism"])]
        for place, name in enumerate(shown):
            values = 100.0 * rows.loc[rows["mechanism"] == name, "value"].to_numpy()
            look = MECHANISMS[name]
            # Evenly spread instead of at random, so that equal tables give equal figures.
            spread = 0.5 * (np.argsort(np.argsort(values)) * 0.6180339887 % 1.0 - 0.5)
            ax.plot(place + spread, values, ".", color=look.colour, alpha=0.45, markersize=3, zorder=2)
            ax.boxplot(
                values, positions=[place], widths=0.6, whis=(0.0, 100.0), showfliers=False, zorder=3,
                boxprops={"color": look.colour}, whiskerprops={"color": look.colour},
                capprops={"color": look.colour}, medianprops={"color": look.colour, "linewidth": 1.6},
                manage_ticks=False,
            )  # fmt: skip
        ax.set_xticks(range(len(shown)), [MECHANISMS[name].label.replace(", ", ",\n") for name in shown])
        ax.set_xlim(-0.6, len(shown) - 0.4)
        reach = 1.08 * max(float(np.abs(100.0 * rows["value"]).max()), 1e-3)
        ax.set_ylim(-reach, reach)
        ax.grid(visible=False, axis="x")

    label = r"$(I_{\hat P} - I_{P^*})\,/\,I_{\hat P}$  (%)"
    return _figure(rows, panel, label, sizes=sizes, xlabel=None, legend=False, share=False)


def gain(summary: pd.DataFrame, sizes: Sequence[str] | None = None) -> Figure:
    """Draw what PolyOpt gains over distinct pairs: the relative gain, and the share of the way to NR.

    Parameters
    ----------
    summary : DataFrame
        As `ldpfrontier.experiments.lopuhaa2024_synthetic.gain_summary` returns it, of one setting. The band
        is the middle half of the gains of the instances, the line the gain of the mean.
    sizes : sequence of str, optional
        Sizes in the order of the legend; by default the small ones first.

    Returns
    -------
    matplotlib.figure.Figure
    """
    _one_setting(summary)
    sizes = _sizes(summary, sizes)
    colours = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.6))
        left, right = figure.subplots(1, 2)
        for size, colour, marker in zip(sizes, colours, "os^Dvp", strict=False):
            rows = summary[summary["size"] == size].sort_values("epsilon")
            label = f"{size.replace(' x ', ' × ')} ({rows['instances'].max()})"
            look = {"color": colour, "marker": marker, "label": label}
            left.plot(rows["epsilon"], 100.0 * rows["gain"], **look)
            left.fill_between(
                rows["epsilon"],
                100.0 * rows["low"],
                100.0 * rows["high"],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
            right.plot(rows["epsilon"], 100.0 * rows["closed"], **look)
        left.set_title("(a) gain of distinct pairs over PolyOpt", loc="left")
        left.set_ylabel("gain in NMI (%)")
        right.set_title("(b) share of the distance to NR that it closes", loc="left")
        right.set_ylabel("share closed (%)")
        right.set_ylim(bottom=0.0)
        # Linear where the gains are nothing, logarithmic where they are large.
        left.set_yscale("symlog", linthresh=1.0)
        left.set_ylim(bottom=0.0)
        _plain_ticks(left.yaxis, left.get_ylim(), (0, 1, 3, 10, 30, 100, 300, 1000))
        for ax in (left, right):
            ax.set_xscale("log")
            _plain_ticks(ax.xaxis, ax.get_xlim(), (0.1, 0.2, 0.5, 1, 2, 5))
            ax.set_xlabel(f"privacy level {EPSILON} (nats)")
        left.legend(loc="upper right", title="size (tables)")
    return figure


def _figure(
    summary: pd.DataFrame,
    panel: Callable[[Axes, pd.DataFrame], None],
    ylabel: str,
    *,
    sizes: Sequence[str] | None,
    xlabel: str | None = f"privacy level {EPSILON} (nats)",
    legend: bool = True,
    share: bool = True,
) -> Figure:
    """Draw one panel per size, two to a row, under one legend."""
    _one_setting(summary)
    sizes = _sizes(summary, sizes)
    columns = min(2, len(sizes))
    height = math.ceil(len(sizes) / columns)
    with style():
        figure = Figure(figsize=(PAGE_WIDTH * columns / 2, 0.45 + 2.15 * height))
        axes = figure.subplots(height, columns, squeeze=False, sharex=share, sharey=share).ravel()
        for ax, letter, size in zip(axes, "abcdefghijklmnopqrstuvwxyz", sizes, strict=False):
            panel(ax, summary[summary["size"] == size])
            ax.set_title(f"({letter}) {size.replace(' x ', ' × ')}", loc="left")
        for ax in axes[len(sizes) :]:
            ax.set_axis_off()
        # Panels with nothing below them carry the labels of the shared axis.
        for ax in axes[max(len(sizes) - columns, 0) : len(sizes)]:
            ax.tick_params(labelbottom=True)
        if xlabel:
            figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
        if legend:
            shown = [look for name, look in MECHANISMS.items() if name in set(summary["mechanism"])]
            figure.legend(
                handles=[handle(look) for look in shown], loc="outside upper center",
                ncols=len(shown) if len(shown) < 7 else 4, columnspacing=1.3, handlelength=2.6,
            )  # fmt: skip
    return figure


def _one_setting(summary: pd.DataFrame) -> None:
    for name in ("experiment", "beta", "order"):
        if name in summary and (found := summary[name].unique()).size > 1:
            raise ValueError(
                f"The figure would mix several values of {name}: {', '.join(map(str, found))}; select one."
            )


def _sizes(summary: pd.DataFrame, sizes: Sequence[str] | None) -> Sequence[str]:
    if sizes is not None:
        return sizes
    return sorted(summary["size"].unique(), key=lambda size: (_cells(f"({size})"), size))


def _curves(rows: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """Give the mechanisms that are there, the first of the legend last, so that it is drawn on top."""
    for name in reversed(MECHANISMS):
        curve = rows[rows["mechanism"] == name].sort_values("epsilon")
        if not curve.empty:
            yield name, curve


def _every(name: str, points: int, place: int = 0) -> tuple[int, int]:
    """Shift the markers of neighbouring curves against each other, where there are many points."""
    every = max(1, points // 8)
    return (list(MECHANISMS).index(name) + place) % every, every


def _plain_ticks(axis: Axis, limits: tuple[float, float], values: Iterable[float]) -> None:
    """Set the ticks of a logarithmic axis to plain numbers, those within the limits."""
    inside = [value for value in values if limits[0] <= value <= limits[1]]
    axis.set_ticks(inside, [f"{value:g}" for value in inside])
    axis.set_minor_locator(NullLocator())
