"""Pictures of a channel and of an estimate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ldpfrontier.extras import extra
from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.estimation import Estimate, Frequency
from ldpfrontier.survey.figure_style import EPSILON, PAGE_WIDTH, SHADES, save, shades_norm, style
from ldpfrontier.survey.rates import Rate, Rates
from ldpfrontier.survey.records import said
from ldpfrontier.verify import visible

with extra("pictures"):
    from matplotlib import font_manager, rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More labels than this are not legible.
MOST_LABELS = 40

#: What a picture may be.
FORMATS = (".pdf", ".svg", ".png")

_INCHES, _DOT, _LOST = 0.17, "#0072B2", "#999999"

#: Fonts for letters that the font of the figures lacks, such as Arabic, Chinese, Hindi; those installed.
_FONTS = (
    "DejaVu Serif",
    "DejaVu Sans",
    "Noto Serif CJK JP",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "WenQuanYi Micro Hei",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Nirmala UI",
)


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
    with _labelled():
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


def estimate_picture(estimate: Estimate, rates: Rates | None = None) -> Figure:
    """Draw estimates with their intervals, a panel for each group of columns, and for rates and differences.

    Parameters
    ----------
    estimate : Estimate
    rates : Rates, optional
    """
    frequencies = [row.quantity.attributes for row in estimate.frequencies]
    panels = [_Panel(said(group), _frequencies(estimate.of(group))) for group in dict.fromkeys(frequencies)]
    if rates is not None:
        given = f"{said(rates.sensitive)} given {said(rates.useful)}"
        panels.append(_Panel(f"rate of {given}", _rates(rates.of("rate"))))
        if differences := rates.of("difference"):
            title = f"difference of the rate from that given {said(rates.compared_with)}"
            panels.append(_Panel(title, _rates(differences), signed=True))
    heights = [len(panel.rows) + 2 for panel in panels]
    with _labelled():
        tall = min(1.2 + 0.3 * len(panels) + _INCHES * sum(heights), 40.0)
        figure = Figure(figsize=(PAGE_WIDTH, tall))
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for ax, panel in zip(axes, panels, strict=True):
            panel.draw(ax)
        lost = any(not told for panel in panels for *_, told in panel.rows)
        axes[-1].set_xlabel(
            f"most likely value and {100.0 * estimate.confidence:g}% interval, {estimate.records:,} reports"
            + "; grey: cannot be estimated" * lost
        )
    return figure


@dataclass(frozen=True)
class _Panel:
    """Estimates that are drawn below one another.

    Attributes
    ----------
    title : str
    rows : list of (str, float, float, float, bool)
        Label, most likely value, interval, and whether it can be estimated.
    signed : bool
        Whether they may be negative.
    """

    title: str
    rows: list[tuple[str, float, float, float, bool]]
    signed: bool = False

    def draw(self, ax: Axes) -> None:
        """Draw them to axes."""
        for at, (_, best, low, high, told) in enumerate(self.rows):
            colour = _DOT if told else _LOST
            ax.hlines(at, low, high, color=colour, linewidth=1.2)
            ax.plot(best, at, "o", color=colour)
        ax.set_yticks(range(len(self.rows)), [_plain(label) for label, *_ in self.rows])
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        if self.signed:
            ax.axvline(0.0, color="black", linewidth=0.6)
        else:
            ax.set_xlim(left=0.0)
        ax.set_title(_plain(self.title))


def _frequencies(rows: list[Frequency]) -> list[tuple[str, float, float, float, bool]]:
    return [(said(row.quantity.value), row.likely, row.low, row.high, row.estimable) for row in rows]


def _rates(rows: list[Rate]) -> list[tuple[str, float, float, float, bool]]:
    named = ((f"{said(row.value)} given {said(row.given)}", row) for row in rows)
    return [(name, row.likely, row.low, row.high, row.estimable) for name, row in named]


@contextmanager
def _labelled() -> Iterator[None]:
    """Apply the style of all figures, with fonts for the letters that its own font lacks."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    with style(), rc_context({"font.family": ["serif", *(name for name in _FONTS if name in installed)]}):
        yield


def _plain(text: str) -> str:
    """Keep matplotlib from reading formulas into a text of the user's, and show all of its characters."""
    return visible(text).replace("$", r"\$")
