"""Figures of lopuhaa2024."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from papers.lopuhaa2024.catalogue import COMPUTED, MECHANISMS, OF_THE_PAPER, OPTIMA, OWN
from papers.lopuhaa2024.panels import (
    EQUALITY,
    LOOKS,
    NMI,
    by_pair,
    by_size,
    entry,
    line,
    mechanisms_in,
    note,
    plot_panels,
    set_plain_ticks,
)
from reproduction.results.batches import Rows, gather
from reproduction.results.tables import SKIPPED, select

#: What Figures 3, 4 and 5 show unless told otherwise: the mechanisms of the paper there, the new ones,
#: and the user's own.
AVERAGED = tuple(name for name in COMPUTED if name != "ir_tight")
REALIZED = ("nr", "polyopt", *OWN)
COMPARED = ("polyopt", "ir", "srr", *OWN)

#: Mechanisms of the paper and the user's own: on top of ours in every figure.
_ON_TOP = {*OF_THE_PAPER, *OWN}

#: Instances from which on a box says more than points.
_BOX = 20

#: Width of curves of fewer tables than that.
_THIN = 0.7

#: Ticks of a logarithmic axis of privacy levels, nats.
_LEVELS = (0.1, 0.2, 0.5, 1, 2, 5)


def fig2(table: pd.DataFrame) -> Figure:
    """Plot Figure 2: normalized mutual information against epsilon, one panel per pair of attributes.

    It has the mechanisms of the paper, and the user's own.
    """
    return information(table, mechanisms=[*OF_THE_PAPER, *OWN])


def own_fig2(table: pd.DataFrame) -> Figure:
    """Plot Figure 2 for tables of the user's own, with the mechanisms of the paper and all others."""
    return information(table)


#: Given the axes, a mechanism and its curve: draws what is beside the curve, and returns what is said of it.
Beside = Callable[[Axes, str, pd.DataFrame], str]


def band_to_bound(ax: Axes, name: str, curve: pd.DataFrame) -> str:
    """Draw the band between the curve of an optimum and its certified bound, of which nothing is said."""
    if name in OPTIMA:
        bound = np.minimum(curve["bound"].to_numpy(), 1.0)
        epsilon, value = curve["epsilon"].to_numpy(), curve["value"].to_numpy()
        ax.fill_between(epsilon, value, bound, color=LOOKS[name].colour, alpha=0.18, linewidth=0)
    return ""


def information(
    table: pd.DataFrame,
    mechanisms: Sequence[str] = tuple(LOOKS),
    beside: Beside = band_to_bound,
    more: Sequence[Artist] = (),
) -> Figure:
    """Plot normalized mutual information against epsilon, one panel per pair of attributes.

    Small tables come first, and skipped rows leave no curve. The legend has entries for `more`.
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        remarks = [_absent(nmi, rows)]
        for name, curve in _curves(rows):
            epsilon, value = curve["epsilon"].to_numpy(), curve["value"].to_numpy()
            ax.plot(epsilon, value, markevery=_marker_places(name, len(curve)), **line(LOOKS[name]))
            remarks.append(beside(ax, name, curve))
        _set_level_axis(ax, rows["epsilon"])
        ax.set_ylim(0.0, 1.02)
        note(ax, "\n".join(filter(None, remarks)), top=True)

    nmi = select(table, metric="nmi", mechanism=list(mechanisms))
    panels = by_pair(nmi.dropna(subset=["value"]))
    return plot_panels(panels, panel, NMI, share_y=False, legend=[*mechanisms_in(panels), *more])


def _set_level_axis(ax: Axes, epsilons: pd.Series[float]) -> None:
    """Make the horizontal axis one of privacy levels, logarithmic where there are several."""
    ends = float(epsilons.min()), float(epsilons.max())
    if 0.0 < ends[0] < ends[1]:
        ax.set_xscale("log")
        limits = ends[0] / 1.08, ends[1] * 1.08
        ax.set_xlim(*limits)
        set_plain_ticks(ax.xaxis, limits, _LEVELS)


def fig3(summary: pd.DataFrame, mechanisms: Sequence[str] = AVERAGED) -> Figure:
    """Plot Figure 3: mean normalized mutual information on synthetic data, one panel per size.

    The band is the middle half of the instances. What was computed on fewer instances than PolyOpt is left
    out.
    """

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        for name, curve in _curves(rows):
            look = LOOKS[name]
            places = _marker_places(name, len(curve))
            ax.plot(curve["epsilon"], curve["mean"], markevery=places, **line(look, **_width(curve)))
            ax.fill_between(
                curve["epsilon"], curve["low"], curve["high"], color=look.colour, alpha=0.13, linewidth=0
            )
        ax.set_xlim(left=0.0)
        ax.set_ylim(0.0, 1.02)
        note(ax, _basis(rows, shown), top=True)

    rows = select(_comparable_rows(summary), mechanism=list(mechanisms))
    panels, shown = by_size(rows), set(rows["mechanism"])
    return plot_panels(panels, panel, f"mean of {NMI}", legend=[*mechanisms_in(panels), *_thin_entry(rows)])


def fig4(summary: pd.DataFrame, mechanisms: Sequence[str] = REALIZED) -> Figure:
    r"""Plot Figure 4: the middle half of the realized privacy parameter against the level asked for.

    Below the line of equality a mechanism keeps its promise. The axes, which are linear in the paper, are
    logarithmic: they leave the small levels legible. An infinite quantile leaves the panel at the top.
    Quartiles of fewer than 20 tables have no band, and a single table is one line. What was computed on fewer
    instances than PolyOpt is left out.
    """
    rows = select(_comparable_rows(summary), mechanism=list(mechanisms))
    ends = rows[["low", "high", "epsilon"]].to_numpy().ravel()
    ends = ends[np.isfinite(ends) & (ends > 0)]
    bottom, top = ends.min(initial=0.05), ends.max(initial=5.0)

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axline((1.0, 1.0), (2.0, 2.0), **line(EQUALITY))
        for name, curve in _curves(rows):
            look = LOOKS[name]
            epsilon = curve["epsilon"].to_numpy()
            low, high = (np.clip(curve[end].to_numpy(), bottom / 10.0, top * 10.0) for end in ("low", "high"))
            most = curve["instances"].max()
            if most >= _BOX:
                ax.fill_between(epsilon, low, high, color=look.colour, alpha=0.18, linewidth=0)
            for end, place in ((low, 0), (high, 1))[: 1 if most == 1 else 2]:
                places = _marker_places(name, len(curve), place)
                ax.plot(epsilon, end, markevery=places, **line(look, **_width(curve)))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.15, top * 1.15)
        set_plain_ticks(ax.xaxis, ax.get_xlim(), _LEVELS)
        set_plain_ticks(ax.yaxis, ax.get_ylim(), (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
        note(ax, _basis(rows, shown))

    panels, label = by_size(rows), r"realized $\varepsilon^*$, middle half"
    shown = set(rows["mechanism"])
    more: list[Artist] = [entry(EQUALITY), *_thin_entry(rows)]
    return plot_panels(panels, panel, label, legend=[*mechanisms_in(panels), *more])


def fig5(table: Rows, epsilon: float, mechanisms: Sequence[str] = COMPARED) -> Figure:
    """Plot Figure 5: the relative difference of utility under P-hat and under P* at a level, by mechanism.

    The points are the instances; where there are 20 or more, a box holds the middle half, and the whiskers
    reach the extremes.
    """
    columns = ["size", "instance", "beta", "order", "mechanism", "epsilon", "value"]
    rows = gather(table, columns, metric="utility_difference", mechanism=list(mechanisms))
    rows = rows.dropna(subset=["value"])
    rows = rows[np.isclose(rows["epsilon"], epsilon)]
    if rows.empty:
        raise ValueError(f"The table has no differences of utility at epsilon = {epsilon:g}.")

    def panel(ax: Axes, rows: pd.DataFrame) -> None:
        ax.axhline(0.0, color="#333333", linewidth=0.7, zorder=1)
        shown = [name for name in mechanisms if name in set(rows["mechanism"])]
        for place, name in enumerate(shown):
            values = 100.0 * rows.loc[rows["mechanism"] == name, "value"].to_numpy()
            look = LOOKS[name]
            # Evenly spread instead of at random, so that equal tables give equal figures.
            spread = 0.5 * (np.argsort(np.argsort(values)) * 0.6180339887 % 1.0 - 0.5)
            few = len(values) < _BOX
            points: dict[str, Any] = {"alpha": 0.9 if few else 0.45, "markersize": 5 if few else 3}
            ax.plot(place + spread, values, ".", color=look.colour, zorder=2, **points)
            if few:
                continue
            ax.boxplot(
                values, positions=[place], widths=0.6, whis=(0.0, 100.0), showfliers=False, zorder=3,
                boxprops={"color": look.colour}, whiskerprops={"color": look.colour},
                capprops={"color": look.colour}, medianprops={"color": look.colour, "linewidth": 1.6},
                manage_ticks=False,
            )  # fmt: skip
        counts = rows.groupby("mechanism")["instance"].nunique()
        labels = [LOOKS[name].label.replace(", ", ",\n") for name in shown]
        # How many tables it is of stands in one line below all names.
        lines = max(label.count("\n") for label in labels)
        labels = [
            label + "\n" * (1 + lines - label.count("\n")) + f"({counts[name]})"
            for label, name in zip(labels, shown, strict=True)
        ]
        ax.set_xticks(range(len(shown)), labels)
        ax.set_xlim(-0.6, len(shown) - 0.4)
        reach = 1.08 * max(float(np.abs(100.0 * rows["value"]).max()), 1e-3)
        ax.set_ylim(-reach, reach)
        ax.grid(visible=False, axis="x")

    label = r"$(I_{\hat P} - I_{P^*})\,/\,I_{\hat P}$  (%)"
    return plot_panels(by_size(rows), panel, label, xlabel=None, share_x=False, share_y=False)


def _width(curve: pd.DataFrame) -> dict[str, float]:
    """Return the options of a curve of few tables: a thin line."""
    return {"linewidth": _THIN} if curve["instances"].max() < _BOX else {}


def _thin_entry(rows: pd.DataFrame) -> list[Artist]:
    """Return the legend entry of thin lines, if there are some beside others."""
    counts = rows.groupby(["size", "mechanism"])["instances"].max()
    if not ((counts < _BOX).any() and (counts >= _BOX).any()):
        return []
    return [
        Line2D([], [], color="#333333", linewidth=_THIN, label=f"thin, no band: fewer than {_BOX} tables")
    ]


def _basis(rows: pd.DataFrame, shown: Set[str]) -> str:
    """Say on how many tables the curves of a panel rest, and which of the others' it lacks."""
    missing = [MECHANISMS[name].label for name in MECHANISMS if name in shown - set(rows["mechanism"])]
    lines = [_tables(rows.groupby("mechanism")["instances"].max())]
    return "\n".join([f"{', '.join(missing)}: not computed here", *lines] if missing else lines)


def _comparable_rows(summary: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was computed on fewer tables than PolyOpt: means of different tables do not compare."""
    needed = select(summary, mechanism="polyopt").groupby("size")["instances"].max()
    return summary[summary["instances"] >= summary["size"].map(needed).fillna(0)]


def _curves(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the mechanisms that are there, those on top last."""
    last_first = [*LOOKS][::-1]
    for name in sorted(last_first, key=_ON_TOP.__contains__):
        curve = select(rows, mechanism=name).sort_values("epsilon")
        if not curve.empty:
            yield name, curve


def _marker_places(name: str, points: int, place: int = 0) -> tuple[int, int]:
    """Shift the markers of neighbouring curves against each other, where there are many points."""
    every = max(1, points // 8)
    return (list(LOOKS).index(name) + place) % every, every


# Remarks in the panels ------------------------------------------------------------------------------------


def _absent(table: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Say which mechanisms of other panels of Figure 2 a panel lacks, and why, in a line per reason.

    `table` has all rows of NMI, with the skipped ones, and `rows` those of the panel that have a value.
    """
    own = select(table, instance=rows["instance"].iloc[0], size=rows["size"].iloc[0], status=SKIPPED)
    reasons = dict(zip(own["mechanism"], own["note"], strict=True))
    missing = set(table.loc[table["value"].notna(), "mechanism"]) - set(rows["mechanism"])
    lines: dict[str, list[str]] = {}
    for name in MECHANISMS:
        if name in missing:
            lines.setdefault(reasons.get(name, "not computed here"), []).append(MECHANISMS[name].label)
    return "\n".join(f"{', '.join(labels)}: {reason}" for reason, labels in lines.items())


def _tables(counts: pd.Series[Any]) -> str:
    """Say on how many random tables curves rest, by mechanism: all on as many, or which on fewer.

    There is a line per number, the largest one last.
    """
    most = int(counts.max())
    fewer: dict[int, list[str]] = {}
    for name in MECHANISMS:
        if counts.get(name, most) < most:
            fewer.setdefault(int(counts[name]), []).append(MECHANISMS[name].label)
    lines = [f"{', '.join(labels)}: {_number(count)}" for count, labels in fewer.items()]
    return "\n".join([*lines, f"{'others: ' if lines else ''}{_number(most)}"])


def _number(count: int) -> str:
    return f"{count} table{'s' if count > 1 else ''}"
