"""The style that all figures share, and files of figures that are equal byte for byte."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldpfrontier.base.atomic import replacing
from ldpfrontier.base.extras import extra

with extra("pictures"):
    import matplotlib
    from matplotlib.colors import Normalize, PowerNorm
    from matplotlib.figure import Figure

EPSILON = r"$\varepsilon$"

#: Width of a full page of text, inches.
PAGE_WIDTH = 6.9

#: The colours of numbers from 0, dark, to 1, yellow, in every picture.
SHADES = "cividis"

#: A warning of matplotlib about a letter that a font lacks, and how many letters a sentence names.
_GLYPH, _MOST_LETTERS = re.compile(r"Glyph (\d+) "), 10

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
    # Okabe and Ito: told apart by the colour-blind.
    "axes.prop_cycle": "cycler('color', ['0072B2', 'D55E00', '009E73', 'CC79A7', 'E69F00', '56B4E9'])",
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


#: Where a file says what it was made from.
_COMMENTS = {"png": "Comment", "pdf": "Subject"}


def shades_norm() -> Normalize:
    """Return how `SHADES` stand for numbers from 0 to 1: by the square root.

    Linear colours would not show small numbers, nor logarithmic ones large numbers.
    """
    return PowerNorm(0.5, 0.0, 1.0)


@contextmanager
def style() -> Iterator[None]:
    """Apply the shared style, and nothing of the user's own, inside the block."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)  # type: ignore[arg-type]
        yield


def save(
    figure: Figure,
    path: Path | str,
    dpi: int = 200,
    *,
    comment: str = "",
    remark: Callable[[str], None] = warnings.warn,
) -> None:
    """Write a figure in the format of its suffix, all or nothing; equal figures give equal bytes.

    A PNG has `dpi` pixels per inch. PNG and PDF may carry an ASCII `comment`. If the font lacks letters,
    `remark` is called with a sentence, in place of a warning of matplotlib for each.
    """
    kind = Path(path).suffix.removeprefix(".")
    metadata = _TIMELESS[kind] | ({_COMMENTS[kind]: comment} if comment and kind in _COMMENTS else {})
    with _letters_named_once(remark), style(), replacing(path) as partial:
        figure.savefig(partial, format=kind, dpi=dpi, metadata=metadata)


@contextmanager
def _letters_named_once(remark: Callable[[str], None]) -> Iterator[None]:
    """Call a function with one sentence about the letters that a font lacks, in place of many warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    lacking = dict[str, None]()
    for warning in caught:
        if found := _GLYPH.match(str(warning.message)):
            lacking[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if letters := "".join(lacking):
        remark(
            "the font of the picture lacks some letters of these values, which are drawn as boxes:"
            f" {letters[:_MOST_LETTERS]}{' ...' * (len(letters) > _MOST_LETTERS)}"
        )
