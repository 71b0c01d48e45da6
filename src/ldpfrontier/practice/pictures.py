"""Pictures of a channel and of an estimate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ldpfrontier.extras import extra
from ldpfrontier.practice.channel_file import PrivateChannel
from ldpfrontier.practice.estimation import Estimate
from ldpfrontier.practice.figure_style import EPSILON, PAGE_WIDTH, SHADES, save, shades_norm, style
from ldpfrontier.practice.records import said
from ldpfrontier.verify import visible

with extra("pictures"):
    from matplotlib.figure import Figure

#: More labels than this are not legible.
MOST_LABELS = 40

#: What a picture may be.
FORMATS = (".pdf", ".svg", ".png")

_INCHES, _DOT = 0.17, "#0072B2"


def draw(figure: Figure, path: Path | str, remark: Callable[[str], None] = warnings.warn) -> None:
    """Write a picture in the format of its suffix, all or nothing.

    Parameters
    ----------
    figure : Figure
    path : path
    remark : callable, optional
        Called with a sentence if the font lacks letters; it is a warning by default.

    Raises
    ------
    ValueError
        If the suffix is none of a picture.
    """
    check_picture(path)
    save(figure, path, remark=remark)


def check_picture(path: Path | str) -> None:
    """Check that a path has the suffix of a picture.

    Raises
    ------
    ValueError
    """
    if Path(path).suffix not in FORMATS:
        raise ValueError(
            f"{path} ends in {Path(path).suffix!r}; the file of a picture must end in .pdf, .svg or .png."
        )


def channel_picture(private: PrivateChannel) -> Figure:
    """Draw the matrix of a channel: the lighter, the more likely the report is for the record."""
    matrix, certificate = private.channel.matrix, private.certificate
    rows, columns = matrix.shape
    tall = min(2.0 + _INCHES * rows, 9.0)
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, tall))
        ax = figure.add_subplot()
        image = ax.imshow(matrix, cmap=SHADES, norm=shades_norm(), aspect="auto", interpolation="nearest")
        ax.grid(visible=False)
        ax.set_xlabel("report")
        ax.set_ylabel(_plain(said(private.table.attributes)))
        if rows <= MOST_LABELS:
            ax.set_yticks(range(rows), [_plain(said(label)) for label in private.table.labels])
        if columns <= MOST_LABELS:
            ax.set_xticks(range(columns), private.outputs, rotation=90 if columns > 15 else 0)
        bar = figure.colorbar(image, ax=ax)
        bar.set_label("probability, from 0 (dark) to 1 (yellow)")
        ax.set_title(
            f"{certificate.mechanism}, {EPSILON} = {certificate.level:.4g}, NMI = {certificate.nmi:.3f}"
        )
    return figure


def estimate_picture(estimate: Estimate) -> Figure:
    """Draw estimated frequencies with their confidence intervals, a panel for each group of columns."""
    groups = list(dict.fromkeys(row.quantity.attributes for row in estimate.frequencies))
    panels = [estimate.of(group) for group in groups]
    heights = [max(len(panel), 1) for panel in panels]
    with style():
        figure = Figure(figsize=(PAGE_WIDTH, min(1.2 + 0.6 * len(panels) + _INCHES * sum(heights), 40.0)))
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=[h + 2 for h in heights])[:, 0]
        for ax, group, panel in zip(axes, groups, panels, strict=True):
            at = np.arange(len(panel))
            low, high, best = (
                np.array([getattr(row, end) for row in panel]) for end in ("low", "high", "likely")
            )
            ax.hlines(at, low, high, color=_DOT, linewidth=1.2)
            ax.plot(best, at, "o", color=_DOT)
            ax.set_yticks(at, [_plain(said(row.quantity.value)) for row in panel])
            ax.set_ylim(max(len(panel), 1) - 0.5, -0.5)
            ax.set_xlim(left=0.0)
            ax.set_title(_plain(said(group)))
        axes[-1].set_xlabel(
            f"frequency: most likely, and {100.0 * estimate.confidence:g}% interval (n = {estimate.records})"
        )
    return figure


def _plain(text: str) -> str:
    """Keep matplotlib from reading formulas into a text of the user's, and show all of its characters."""
    return visible(text).replace("$", r"\$")
