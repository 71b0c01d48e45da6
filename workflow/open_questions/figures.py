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
