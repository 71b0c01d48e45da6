"""The style all figures share: symbols, looks, sizes, and files that are equal byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ldpfrontier.atomic import replacing

EPSILON = r"$\varepsilon$"

#: Width of a full page of text, inches.
PAGE_WIDTH = 6.9


@dataclass(frozen=True)
class Look:
    """Label, colour (Okabe and Ito, colour-blind safe), marker and dash of a mechanism."""

    label: str
    colour: str
    marker: str
    dash: Any
    filled: bool = True

    def line(self, **options: Any) -> dict[str, Any]:
        """Return the options of a matplotlib line."""
        return {
            "label": self.label,
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.dash,
            "markerfacecolor": self.colour if self.filled else "white",
            **options,
        }


_DASHES: tuple[Any, ...] = ((0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (5, 1.5)), "-")

_SETTINGS = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.6,
    "lines.markeredgewidth": 0.8,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    # Names of SVG elements are hashes of the content and this salt instead of random.
    "svg.hashsalt": "ldpfrontier",
    "svg.fonttype": "path",
}

# The only bytes that would change from run to run.
_TIMELESS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {},
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the shared style, and nothing of the user's own, inside the block."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)  # type: ignore[arg-type]
        yield


def graded(index: int, count: int) -> dict[str, Any]:
    """Return line options for one of `count` ordered curves: light to dark, the last one solid."""
    # What is light or dotted is drawn thicker, or it would be faint.
    colour = matplotlib.colormaps["cividis"](0.72 * (count - 1 - index) / max(count - 1, 1))
    width = 1.2 + 0.8 * (count - 1 - index) / max(count - 1, 1)
    return {"color": colour, "linestyle": _DASHES[(index - count) % len(_DASHES)], "linewidth": width}


def handle(look: Look) -> Line2D:
    """Return the legend entry of a mechanism."""
    return Line2D([], [], **look.line())


def save(figure: Figure, path: Path | str, dpi: int = 200) -> None:
    """Write a figure in the format of its suffix, all or nothing; equal figures give equal bytes."""
    kind = Path(path).suffix.removeprefix(".")
    with style(), replacing(path) as partial:
        figure.savefig(partial, format=kind, dpi=dpi, metadata=_TIMELESS[kind])
