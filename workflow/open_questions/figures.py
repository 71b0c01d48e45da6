"""Figures of what the papers left open."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reproduction.results.tables import select

#: The utilities of kairouz2016, and how their points look; that of total variation loses nothing.
_UTILITIES = {
    "kl": ("KL divergence", "o"),
    "chi2": (r"$\chi^2$ divergence", "^"),
    "mutual information": ("mutual information", "s"),
}


def approximate(table: pd.DataFrame) -> Figure:
    """Plot how much less than the optimum the mixture with the truth has, against delta."""
    figure, ax = plt.subplots(figsize=(4.6, 2.6))
    for name, (label, marker) in _UTILITIES.items():
        rows = select(table, utility=name)
        ax.plot(
            rows["delta"], 1.0 - rows["mixture"] / rows["value"], marker, label=label, markerfacecolor="none"
        )
    ax.set_xscale("log")
    ax.set_xlabel(r"$\delta$")
    ax.set_ylabel("loss of the mixture")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend()
    return figure


#: What is compared in the test of independence, and how it looks.
_PAIRS = {
    "value": ("best pair of mechanisms", "-"),
    "alone": ("best for each value", "--"),
    "response": ("randomized response", ":"),
}


def distributed(table: pd.DataFrame) -> Figure:
    """Plot what two people tell of the dependence of their values, and its share of the most, by letters."""
    rows = select(table, instance="independence", kind="kl")
    sizes = sorted(set(rows["letters"]) - {2})  # of two letters all are the same
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(2.5 * len(sizes), 3.8), sharex=True, sharey="row", squeeze=False
    )
    for (above, below), letters in zip(axes.T, sizes, strict=True):
        part = select(rows, letters=letters).sort_values("epsilon")
        for column, (label, line) in _PAIRS.items():
            above.plot(part["epsilon"], part[column], line, label=label)
            below.plot(part["epsilon"], part[column] / part["value"], line, label=label)
        above.set_yscale("log")
        above.set_title(f"{letters} letters")
        below.set_ylim(0.0, 1.05)
        below.set_xlabel(r"$\varepsilon$ (nats)")
    axes[0, 0].set_ylabel("KL divergence (nats)")
    axes[1, 0].set_ylabel("share of the best pair")
    axes[1, 0].yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[1, -1].legend()
    return figure
