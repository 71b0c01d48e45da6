"""Figures of kalantari2018: leakage against distortion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ldpfrontier.papers.kalantari2018.experiments import DP, MI, curves
from ldpfrontier.plotting import PAGE_WIDTH, Look, handle, style

DISTORTION = r"distortion $D$"

# Classes in the order of the legend; marker and dash differ too, so that curves can be told apart in grey.
CLASSES = {
    "I": Look("Class I", "#000000", "", (0, (1, 1.2))),
    "III c": Look("Class III c", "#CC79A7", "D", (0, (4, 1.5, 1, 1.5))),
    "III b": Look("Class III b", "#009E73", "s", (0, (5, 1.5)), filled=False),
    "III a": Look("Class III a", "#D55E00", "^", "-", filled=False),
    "II": Look("Class II", "#0072B2", "o", "-"),
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


def fig4(table: pd.DataFrame) -> Figure:
    """Draw Figure 4: least DP leakage against distortion, the classes with M = 6.

    Parameters
    ----------
    table : DataFrame
        Results of `ldpfrontier.experiments.kalantari2018.tradeoff`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    return _leakage(table, "P6")


def fig5(table: pd.DataFrame) -> Figure:
    """Draw Figure 5: as `fig4`, M = 10."""
    return _leakage(table, "P10")


def fig6(table: pd.DataFrame) -> Figure:
    """Draw Figure 6: least DP and MI leakage against distortion, Class I and II, M = 6."""
    return _comparison(table, "P6")


def fig7(table: pd.DataFrame) -> Figure:
    """Draw Figure 7: as `fig6`, M = 10."""
    return _comparison(table, "P10")


def bounds(table: pd.DataFrame) -> Figure:
    """Draw the bounds of Theorem 3 beside the exact leakage, one panel per source set.

    Parameters
    ----------
    table : DataFrame
        Results of `tradeoff` for Class III sets; ``wide`` and ``cycle`` have titles of their own.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = curves(table[table["metric"] == DP])
    names = sorted(rows["sources"].unique(), key=lambda name: [*_TITLES, name].index(name))
    with style():
        figure = Figure(figsize=(PAGE_WIDTH * max(len(names), 2) / 2, 2.9))
        for ax, name in zip(figure.subplots(1, len(names), squeeze=False).ravel(), names, strict=True):
            wide = rows[rows["sources"] == name].pivot_table(
                index="distortion", columns="mechanism", values="upper_bound"
            )
            for mechanism in ("theorem3_lower", "theorem3_upper"):
                own = rows[(rows["sources"] == name) & (rows["mechanism"] == mechanism)]
                wide[mechanism] = own.set_index("distortion")["value"]
            ax.fill_between(
                wide.index, wide["theorem3_lower"], wide["theorem3_upper"], color="#DDDDDD", linewidth=0
            )
            _draw(ax, [(look, wide[mechanism], {}) for mechanism, look in BOUNDS.items()])
            # The bounds leave each other where the leakage is moderate.
            ax.set_xlim(0.2, 0.75)
            ax.set_ylim(0.0, 2.6)
            ax.set_title(_TITLES.get(name, name), loc="left", fontsize=8)
            ax.set_xlabel(DISTORTION)
        figure.axes[0].set_ylabel("DP leakage (nats)")
        _legend(figure, BOUNDS.values())
    return figure


def _leakage(table: pd.DataFrame, size: str) -> Figure:
    found = _optima(table, size, DP)
    with style():
        figure = Figure(figsize=(0.72 * PAGE_WIDTH, 3.2))
        ax = figure.subplots()
        _draw(ax, [(look, found[name], {}) for name, look in CLASSES.items() if name in found])
        ax.set_xlabel(DISTORTION)
        ax.set_ylabel(r"least DP leakage $\varepsilon^*_{\mathrm{DP}}$ (nats)")
        _legend(figure, [look for name, look in CLASSES.items() if name in found])
    return figure


def _comparison(table: pd.DataFrame, size: str) -> Figure:
    shown = {name: CLASSES[name] for name in ("I", "II")}
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 2.8))
        left, right = figure.subplots(1, 2)
        for ax, measures in ((left, (DP, MI)), (right, (MI,))):
            entries = []
            for measure in measures:
                found = _optima(table, size, measure)
                for name, look in shown.items():
                    if name in found:
                        # MI leakage: the same colour, thin and without markers.
                        thin = {"marker": "", "linewidth": 0.9, "linestyle": "--"}
                        entries.append((look, found[name], thin if measure == MI else {}))
            _draw(ax, entries)
            ax.set_xlabel(DISTORTION)
        left.set_ylabel("least leakage (nats)")
        left.set_title("(a) DP (thick) and MI (thin, dashed)", loc="left")
        right.set_title("(b) MI, enlarged", loc="left")
        _legend(figure, shown.values())
    return figure


def _optima(table: pd.DataFrame, size: str, metric: str) -> Mapping[str, pd.Series[float]]:
    """Return the attained leakage of the sets of one size by class, indexed by the distortion."""
    rows = curves(table[(table["metric"] == metric) & (table["mechanism"] == "optimal")])
    rows = rows[rows["sources"].str.startswith(f"{size} ")]
    return {
        str(name).removeprefix(f"{size} "): part.set_index("distortion")["upper_bound"].sort_index()
        for name, part in rows.groupby("sources")
    }


def _draw(ax: Axes, entries: Iterable[tuple[Look, pd.Series[float], dict[str, object]]]) -> None:
    for order, (look, curve, options) in enumerate(entries):
        every = max(1, len(curve) // 12)
        ax.plot(
            curve.index, curve.to_numpy(), zorder=3 + order,
            markevery=(order * every // 5, every), **look.line(**options),
        )  # fmt: skip
    ax.set_xlim(left=0.0)
    ax.set_ylim(bottom=0.0)


def _legend(figure: Figure, looks: Iterable[Look]) -> None:
    handles = [handle(look) for look in looks]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.3, handlelength=2.6
    )
