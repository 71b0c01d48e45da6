"""The data that a figure shows, as a text that its PNG carries and that another PNG is compared with.

The pixels of equal data differ between machines: by the last digits of the data, and by the font rasterizer.
What is drawn does not, when its positions are given as shares of the axes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

#: Shares of the axes, and of a scale of colours, by which data may differ: far less than a reader sees.
TOLERANCE = 0.005

#: What is farther away from the axes than this many times their width is beyond them all the same.
_BEYOND = 2.0

#: Bytes before the first chunk of a PNG.
_SIGNATURE = 8

_DECIMAL = re.compile(r"\d+\.\d+")


def drawn_data(figure: Figure) -> str:
    """Return what a figure shows, as JSON: the limits, texts, curves, areas and colours of all its axes."""
    axes = [(ax, *(inset for inset in ax.child_axes if isinstance(inset, Axes))) for ax in figure.axes]
    return json.dumps([_axes(ax) for group in axes for ax in group], separators=(",", ":"))


def _axes(ax: Axes) -> dict[str, Any]:
    texts = [text.get_text() for text in ax.texts]
    titles = [ax.get_title(loc="left"), ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
    # Asking for the limits computes them; their positions on the scale serve logarithmic axes as well.
    limits = np.array([ax.get_xlim(), ax.get_ylim()]).T
    return {
        "texts": [*filter(None, titles), *texts],
        "limits": [float(f"{x:.5g}") for x in ax.transScale.transform(limits).ravel()],
        "drawn": {
            f"{place} {type(artist).__name__} {artist.get_label()}": _rounded(_numbers(artist, ax))
            for place, artist in enumerate((*ax.lines, *ax.collections, *ax.patches, *ax.images))
        },
    }


def _numbers(artist: Artist, ax: Axes) -> Iterator[np.ndarray]:
    """Yield the positions of an artist as shares of the axes, and its colours or their places on a scale."""
    to_axes = ax.transAxes.inverted()
    if isinstance(artist, Line2D | Patch):
        path = artist.get_path()
        yield (artist.get_transform() + to_axes).transform(np.asarray(path.vertices))
    elif isinstance(artist, Collection):
        yield (artist.get_offset_transform() + to_axes).transform(np.asarray(artist.get_offsets()))
        if artist.get_transform().contains_branch(ax.transData):
            for path in artist.get_paths():
                yield (artist.get_transform() + to_axes).transform(np.asarray(path.vertices))
    if isinstance(artist, Collection | AxesImage) and (shades := artist.get_array()) is not None:
        yield np.ma.filled(np.ma.asarray(artist.norm(shades), dtype=float), np.nan)
    elif isinstance(artist, Collection):
        yield np.asarray(artist.get_facecolor(), dtype=float)


def _rounded(arrays: Iterable[np.ndarray]) -> list[float | None]:
    """Return numbers with four decimals, those far away cut off; None for what is not drawn."""
    numbers = np.concatenate([array.ravel() for array in arrays] or [np.empty(0)])
    cut = np.clip(numbers, -_BEYOND, 1.0 + _BEYOND)
    return [None if np.isnan(x) else round(float(x), 4) for x in cut]


def data_of(path: Path | str) -> str | None:
    """Return what the figure in a PNG shows, as `drawn_data` has it; None if the file does not say."""
    content, place = Path(path).read_bytes(), _SIGNATURE
    while place + 8 <= len(content):
        # A chunk: the length of its data, four letters, the data, and a checksum.
        length, kind = int.from_bytes(content[place : place + 4], "big"), content[place + 4 : place + 8]
        data = content[place + 8 : place + 8 + length]
        if kind == b"tEXt" and data.startswith(b"Comment\0"):
            return data.partition(b"\0")[2].decode("ascii")
        place += length + 12
    return None


def difference(one: str, other: str) -> str:
    """Return in what two figures differ by more than `TOLERANCE`, in words; empty if they do not.

    Parameters
    ----------
    one, other : str
        As `drawn_data` returns them.
    """
    first, second = json.loads(one), json.loads(other)
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} axes"
    for number, (a, b) in enumerate(zip(first, second, strict=True), start=1):
        name = f"axes {number}"
        for text, another in zip_longest(a["texts"], b["texts"], fillvalue=""):
            if not _are_alike(text, another):
                return f"the texts {text!r} and {another!r} of {name}"
        if _distance(a["limits"], b["limits"]) > TOLERANCE * np.ptp(a["limits"]):
            return f"the limits of {name}"
        if [*a["drawn"]] != [*b["drawn"]]:
            return f"what {name} contain"
        for key, numbers in a["drawn"].items():
            if (found := _distance(numbers, b["drawn"][key])) > TOLERANCE:
                return f"{key} of {name}, by {found:.2g} of the axes"
    return ""


def _are_alike(one: str, other: str) -> bool:
    """Whether two texts have the same words and whole numbers, and decimals that differ by a last digit."""
    numbers, others = _DECIMAL.findall(one), _DECIMAL.findall(other)
    if _DECIMAL.split(one) != _DECIMAL.split(other):
        return False
    units = [10.0 ** -len(number.partition(".")[2]) for number in numbers]
    return all(
        abs(float(a) - float(b)) < 1.5 * unit for a, b, unit in zip(numbers, others, units, strict=True)
    )


def _distance(one: list[float | None], other: list[float | None]) -> float:
    """Return the largest distance of two lists of numbers; infinite if they are not of the same places."""
    a, b = np.array(one, dtype=float), np.array(other, dtype=float)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    return float(np.nanmax(np.abs(a - b), initial=0.0))
