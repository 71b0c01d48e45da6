"""Figures 2, 9 and 10 of kairouz2016: mechanisms and regions, which need no result tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.kairouz_mechanisms import quaternary_mechanism
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.privacy import error_region
from ldpfrontier.model.utility import FDivergence
from papers.kairouz2016.styles import STAIRCASES
from reproduction.figure_style import PAGE_WIDTH, style
from reproduction.look import Look

_LETTERS = "ab"


def examples(epsilon: float) -> Figure:
    """Draw Figure 2: the binary mechanism on five inputs and randomized response on four.

    Above, the probability of each output y at a level in nats is a staircase over the inputs x; below are the
    matrices.
    """
    pair = FDivergence(np.array([3, 3, 1, 3, 1]) / 11.0, np.array([1, 1, 3, 1, 3]) / 9.0)
    channels = {"binary": binary_mechanism(pair, epsilon), "rr": randomized_response(4, epsilon)}
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.6))
        axes = figure.subplots(2, 2, height_ratios=(1.35, 1.0))
        top = max(_staircase_height(channel) for channel in channels.values())
        for column, (letter, (name, channel)) in enumerate(zip(_LETTERS, channels.items(), strict=False)):
            look = STAIRCASES[name]
            title = f"({letter}) {look.label}"
            _staircases(axes[0, column], channel, look.colour, top)
            axes[0, column].set_title(title, loc="left")
            _matrix(axes[1, column], channel, look.colour)
    return figure


#: Between the feet of two outputs, as a multiple of the largest probability.
_APART = 1.3


def _staircase_height(channel: Channel) -> float:
    """Return how high the staircases of all outputs are, one above the other."""
    return float(channel.matrix.max()) * (1.0 + _APART * (channel.n_outputs - 1))


def _staircases(ax: Axes, channel: Channel, colour: str, height: float) -> None:
    """Draw the probability of each output over the inputs, one above the other, on an axis this high."""
    Q = channel.matrix
    k, outputs = Q.shape
    high, low = float(Q.max()), float(Q.min())
    for y, foot in enumerate(_APART * high * np.arange(outputs - 1, -1, -1)):
        colours = [colour if q > low else "#BBBBBB" for q in Q[:, y]]
        ax.bar(
            range(1, k + 1), Q[:, y], bottom=foot, width=1.0, color=colours, edgecolor="white", linewidth=0.6
        )
        ax.axhline(foot, color="#000000", linewidth=0.6)
        ax.text(0.35, foot, f"$y={y + 1}$", ha="right", va="bottom")
        # The two values of a row.
        ends = [k + 0.5, k + 0.58]
        ax.plot(
            ends, [foot + high] * 2, ends, [foot + low] * 2, color="#000000", linewidth=0.6, clip_on=False
        )
    top = _APART * high * (outputs - 1)
    for value, numerator in ((high, r"e^\varepsilon"), (low, "1")):
        text = rf"$\frac{{{numerator}}}{{{_denominator(channel)}}}$"
        ax.text(k + 0.65, top + value, text, va="center", fontsize=10)
    ax.set_xticks(range(1, k + 1), ["$x=1$", *(f"${x}$" for x in range(2, k + 1))])
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set(xlim=(0.5, k + 0.5), ylim=(0.0, height))


def _denominator(channel: Channel) -> str:
    return rf"{channel.n_outputs - 1}+e^\varepsilon"


def _matrix(ax: Axes, channel: Channel, colour: str) -> None:
    """Write the transposed matrix in units of its smaller entry."""
    high = (channel.matrix > channel.matrix.min()).T
    rows, columns = high.shape
    middle = (rows - 1) / 2.0
    for (y, x), e in np.ndenumerate(high):
        text, shade = (r"$e^\varepsilon$", colour) if e else ("$1$", "#333333")
        ax.text(x, y, text, ha="center", va="center", color=shade, fontsize=10)
    for edge, inner in ((-0.7, -0.55), (columns - 0.3, columns - 0.45)):
        ends = [-0.5, -0.5, rows - 0.5, rows - 0.5]
        ax.plot([inner, edge, edge, inner], ends, color="#000000", linewidth=0.8)
    factor = rf"$Q^{{\mathrm{{T}}}}=\frac{{1}}{{{_denominator(channel)}}}$"
    ax.text(-0.9, middle, factor, ha="right", va="center", fontsize=12)
    ax.set(xlim=(-3.4, 5.4), ylim=(middle + 2.1, middle - 2.1))
    ax.set_axis_off()


_LIE = r"$\frac{1-\delta}{1+e^\varepsilon}$"


def quaternary(epsilon: float, delta: float) -> Figure:
    """Draw Figure 9: the quaternary mechanism and its error region, up to the line of guessing."""
    channel = quaternary_mechanism(epsilon, delta)
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, 3.2))
        graph, region = figure.subplots(1, 2)
        _graph(graph, channel)
        graph.set_title("(a) privatization mechanism", loc="left")
        look = STAIRCASES["binary"]
        name = r"$\mathcal{R}_{Q_{\mathrm{QT}}}=\mathcal{R}_{\varepsilon,\delta}$"
        _region(region, error_region(channel), look, name)
        middle = (1.0 - delta) / (1.0 + math.exp(epsilon))
        ticks = {0.0: "$0$", middle: _LIE, 1.0 - delta: r"$1-\delta$", 1.0: "$1$"}
        region.set_xticks(list(ticks), list(ticks.values()))
        region.set_yticks(list(ticks), list(ticks.values()))
        region.tick_params(labelsize=10)
        half = (middle + 1.0 - delta) / 2.0
        region.annotate(r"slope $-e^{\varepsilon}$", (middle / 2.0, half), (8, 0), textcoords="offset points")
        region.annotate(
            r"slope $-e^{-\varepsilon}$", (half, middle / 2.0), (0, 8), textcoords="offset points"
        )
        region.text(0.27, 0.38, name, fontsize=10)
        region.set_title("(b) error region", loc="left")
        region.set(xlabel=r"false alarm $P_{\mathrm{FA}}$", ylabel=r"missed detection $P_{\mathrm{MD}}$")
    return figure


def _graph(ax: Axes, channel: Channel) -> None:
    """Draw a channel from two to four letters: width of a line for its probability."""
    heights = {0: 3.0, 3: 2.0, 2: 1.0, 1: 0.0}
    truth, lie = r"$\frac{(1-\delta)\,e^\varepsilon}{1+e^\varepsilon}$", _LIE
    labels = {
        (0, 0): r"$\delta$",
        (1, 1): r"$\delta$",
        (0, 3): truth,
        (1, 2): truth,
        (0, 2): lie,
        (1, 3): lie,
    }
    for (x, y), text in labels.items():
        start, end = 2.25 - 1.5 * x, heights[y]
        colour = {truth: STAIRCASES["binary"].colour, lie: "#777777"}.get(text, "#000000")
        ax.plot([0.0, 1.0], [start, end], color=colour, linewidth=0.6 + 3.0 * channel.matrix[x, y], zorder=2)
        share = 0.32 if text == lie else 0.62
        ax.text(share, start + share * (end - start), text, ha="center", va="center", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, zorder=3)  # fmt: skip
    for x in (0, 1):
        ax.text(-0.04, 2.25 - 1.5 * x, f"$x={x}$", ha="right", va="center")
    for y, height in heights.items():
        ax.text(1.04, height, f"$y={y}$", ha="left", va="center")
    ax.set(xlim=(-0.2, 1.2), ylim=(-0.4, 3.4))
    ax.set_axis_off()


def dominance(p0: Sequence[float], p1: Sequence[float], epsilon: float) -> Figure:
    """Draw Figure 10: the testing region of the binary mechanism around that of randomized response.

    Up to the threshold of Theorem 5, in nats, the one region contains the other.
    """
    pair = FDivergence(np.asarray(p0, dtype=float), np.asarray(p1, dtype=float))
    channels = {
        "binary": (binary_mechanism(pair, epsilon), "binary"),
        "rr": (randomized_response(len(pair.p0), epsilon), "randomized response, within it"),
    }
    with style():
        figure = Figure(figsize=(PAGE_WIDTH / 2, 3.3))
        ax = figure.subplots()
        for name, (channel, label) in channels.items():
            marginals = Channel(np.stack([pair.p1, pair.p0]) @ channel.matrix)
            _region(ax, error_region(marginals), STAIRCASES[name], label)
        # M_0 and M_1 are the output distributions of either mechanism.
        ax.set(xlabel=r"$M_1(S)$", ylabel=r"$M_0(S^{\mathrm{c}})$")
        ax.legend(loc="upper right", handlelength=1.6)
    return figure


def _region(ax: Axes, vertices: FloatArray, look: Look, label: str) -> None:
    ax.add_patch(Polygon(vertices, closed=True, facecolor=look.colour, alpha=0.2, linewidth=0))
    options = look.line(label=label, linestyle="-", markerfacecolor="white", clip_on=False, zorder=3)
    ax.plot(*vertices.T, **options)
    ax.plot([0.0, 1.0], [1.0, 0.0], color="#555555", linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
