"""Graded lines, and the legend entries of mechanisms."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.lines import Line2D

from reproduction.look import Look

_DASHES: tuple[Any, ...] = ((0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (5, 1.5)), "-")


def graded(index: int, count: int) -> dict[str, Any]:
    """Return line options for one of `count` ordered curves: light to dark, the last one solid."""
    # What is light or dotted is drawn thicker, or it would be faint.
    colour = matplotlib.colormaps["cividis"](0.72 * (count - 1 - index) / max(count - 1, 1))
    width = 1.2 + 0.8 * (count - 1 - index) / max(count - 1, 1)
    return {"color": colour, "linestyle": _DASHES[(index - count) % len(_DASHES)], "linewidth": width}


def handle(look: Look) -> Line2D:
    """Return the legend entry of a mechanism."""
    return Line2D([], [], **look.line())
