"""Pictures of a channel and of an estimate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from ldpfrontier.base.atomic import replacing
from ldpfrontier.base.extras import extra
from ldpfrontier.verify import visible
from ldpsurvey.base.layout import remark
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import said
from ldpsurvey.estimate.deviation_bounds import DeviationBounds
from ldpsurvey.estimate.distribution import Estimate
from ldpsurvey.estimate.estimates import Estimated
from ldpsurvey.estimate.rates import Rates
from ldpsurvey.questionnaire.comparison import NeededPeople
from ldpsurvey.questionnaire.table_estimates import QuestionnaireEstimate

with extra("pictures"):
    from matplotlib import font_manager, get_data_path, rc_context, rcdefaults, rcParams
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font
    from matplotlib.text import Text
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

#: More labels than this are not legible.
MOST_LABELS = 40

#: What a picture may be, with the metadata without which equal pictures have equal bytes.
FORMATS = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}

#: Width of a page, and height of a row, inches; colours.
_WIDTH, _INCHES, _DOT, _LOST = 6.9, 0.17, "#0072B2", "#999999"

#: Panels of bounds beside one another.
_ACROSS = 3

_STYLE = {
    "font.family": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.markersize": 3.6,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    # Names of SVG elements are hashes of the content and this salt instead of random.
    "svg.hashsalt": "ldpfrontier",
}

#: The font of the pictures, and those that come with matplotlib for letters that it lacks.
_FONTS = ("STIXGeneral", "DejaVu Serif", "DejaVu Sans")

#: Letters that a remark names before it says how many more there are.
_NAMED = 10


#: Colours by the square root: linear ones would not show small numbers, nor logarithmic ones large numbers.
_NORM = PowerNorm(0.5, 0.0, 1.0)


def draw(figure: Figure, path: Path | str) -> None:
    """Write a picture in the format of its suffix, all or nothing, with a remark on lacking letters."""
    check_picture(path)
    suffix = Path(path).suffix
    texts: list[Text] = figure.findobj(Text)
    fonts, lacking = fonts_for({letter for text in texts for letter in text.get_text()})
    for text in texts:
        text.set_fontfamily(fonts)
    drawn = BytesIO()  # since a failing write would end in an error of the compression
    with warnings.catch_warnings(), _labelled():
        warnings.filterwarnings("ignore", "Glyph")  # one remark says it
        figure.savefig(drawn, format=suffix[1:], dpi=200, metadata=FORMATS[suffix])
    with replacing(path) as partial:
        partial.write_bytes(drawn.getvalue())
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        remark(
            f"no installed font has the letters {' '.join(lacking[:_NAMED])}{more}, which are drawn as boxes;"
            " install one that has them, such as a Noto font"
        )


def fonts_for(letters: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of installed fonts that have letters, in the order of use, and letters that none has.

    Fonts other than those of matplotlib are looked at if they are needed: the one with the most letters that
    are lacking comes next.
    """
    lacking = {letter for letter in letters if letter.isprintable() and not letter.isspace()}
    fonts = [*_FONTS]
    for name in fonts:
        lacking -= _letters_of(font_manager.findfont(name))
    shipped, others = Path(get_data_path()), dict[str, str]()
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.name, font.fname)):
        plain = font.style == "normal" and font.weight in (400, "normal", "regular", "book")
        if plain and shipped not in Path(font.fname).parents and font.name not in others:
            others[font.name] = font.fname
    while lacking and others:
        name = max(others, key=lambda name: len(lacking & _letters_of(others[name])))
        found = lacking & _letters_of(others.pop(name))
        if not found:
            break
        fonts.append(name)
        lacking -= found
    return fonts, sorted(lacking)


@lru_cache(maxsize=256)
def _letters_of(path: str) -> frozenset[str]:
    """Return the letters that a font has."""
    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (OSError, RuntimeError):  # a file that is damaged, or no longer there
        return frozenset()


def check_picture(path: Path | str) -> None:
    """Check that a path has the suffix of a picture."""
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
        figure = Figure(figsize=(_WIDTH, tall))
        ax = figure.add_subplot()
        image = ax.imshow(matrix, cmap="cividis", norm=_NORM, aspect="auto", interpolation="nearest")
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
            f"{certificate.mechanism}, $\\varepsilon$ = {certificate.level:.4g}, NMI = {certificate.nmi:.3f}"
        )
    return figure


def estimate_picture(estimate: Estimate, rates: Rates | None = None) -> Figure:
    """Draw estimates with their intervals, a panel for each group of columns, of rates and of differences."""
    groups = dict.fromkeys(row.quantity.attributes for row in estimate.frequencies)
    panels = [_Panel(said(group), estimate.of(group)) for group in groups]
    if rates is not None:
        given = f"{said(rates.sensitive)} given {said(rates.useful)}"
        panels.append(_Panel(f"rate of {given}", rates.of("rate")))
        if differences := rates.of("difference"):
            title = f"difference of the rate from that given {said(rates.compared_with)}"
            panels.append(_Panel(title, differences, signed=True))
    return _drawn(panels, estimate.confidence, estimate.records)


def questionnaire_picture(estimate: QuestionnaireEstimate) -> Figure:
    """Draw the shares of every question and the rates with their intervals, a panel for each question."""
    groups = dict.fromkeys(row.quantity.attributes for row in estimate.entries)
    panels = [_Panel(said(group), estimate.of(group)) for group in groups if len(group) == 1]
    if estimate.rates:
        panels.append(_Panel(f"rate of {estimate.title_of_rates}", estimate.rates))
    return _drawn(panels, estimate.confidence, estimate.reports)


def comparison_picture(found: TableRows[NeededPeople]) -> Figure:
    """Draw how many people mechanisms need for the tables of a questionnaire, in the order of the table.

    The axis is logarithmic, and mechanisms that cannot show the tables are left out.
    """
    rows = [one for one in found if one.people < math.inf]
    with _labelled():
        figure = Figure(figsize=(_WIDTH, 1.0 + 0.24 * len(rows)))
        ax = figure.subplots()
        for at, one in enumerate(rows):
            colour = _LOST if one.name else _DOT
            ax.plot(one.people, at, "o", color=colour)
            ax.annotate(
                f"{one.people:,.0f}" if one.people < 1e9 else f"{one.people:.1e}", (one.people, at),
                xytext=(5, 0), textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
        ax.set_xscale("log")
        if max(one.people for one in rows) < 1e3 * rows[0].people:
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlim(rows[0].people / 1.6, max(one.people for one in rows) * 6.0)
        ax.set_yticks(range(len(rows)), [_plain(one.mechanism) for one in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlabel(_plain(found._about()))
    return figure


def bounds_picture(found: Sequence[Sequence[DeviationBounds]]) -> Figure:
    """Draw bounds and intervals by the share of people who may not follow the rule, a panel for each number.

    `found` has the bounds of those who follow the rule, then of everybody, for each of these shares.
    """
    found = sorted(found, key=lambda pair: pair[0].deviating)
    rows = found[0][0].rows
    if len(found) < 2 or len(rows) > MOST_LABELS:
        raise ValueError(
            f"There are {len(found)} shares of people who may not follow the rule, and {len(rows)} numbers; a"
            f" picture needs two or more shares, such as --deviating 0 0.05 0.1, and at most {MOST_LABELS}"
            " numbers."
        )
    shares = [100.0 * pair[0].deviating for pair in found]
    tall = -(-len(rows) // _ACROSS)
    with _labelled():
        figure = Figure(figsize=(_WIDTH, 0.6 + 1.5 * tall))
        axes = figure.subplots(tall, _ACROSS, squeeze=False, sharex=True).ravel()
        for place, (ax, row) in enumerate(zip(axes, rows, strict=False)):
            own, of_all = ([pair[who].rows[place] for pair in found] for who in (0, 1))
            ax.fill_between(
                shares, [x.least for x in own], [x.most for x in own], color=_DOT, alpha=0.3, lw=0
            )
            for some, style in ((own, "-"), (of_all, ":")):
                ax.plot(shares, [x.low for x in some], style, color=_DOT, linewidth=0.9)
                ax.plot(shares, [x.high for x in some], style, color=_DOT, linewidth=0.9)
            compared = f" - {said(row.compared_with)}" if row.compared_with else ""
            ax.set_title(_plain(row.label + compared))
        for ax in axes[len(rows) :]:
            ax.remove()
        first = found[0][0]
        figure.supxlabel(
            f"percent who may not follow the rule; bounds of the others, their {100.0 * first.confidence:g}%"
            f" interval, dotted that of everybody; {first.records:,} reports",
            fontsize=8,
        )
    return figure


def _drawn(panels: list[_Panel], confidence: float, records: int) -> Figure:
    """Draw panels below one another."""
    heights = [len(panel.rows) + 2 for panel in panels]
    with _labelled():
        tall = min(1.2 + 0.3 * len(panels) + _INCHES * sum(heights), 40.0)
        figure = Figure(figsize=(_WIDTH, tall))
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for ax, panel in zip(axes, panels, strict=True):
            panel.draw(ax)
        lost = any(not row.estimable for panel in panels for row in panel.rows)
        axes[-1].set_xlabel(
            f"estimate and {100.0 * confidence:g}% interval, {records:,} reports"
            + "; grey: cannot be estimated" * lost
        )
    return figure


@dataclass(frozen=True)
class _Panel:
    """Estimates that are drawn below one another; signed ones may be negative."""

    title: str
    rows: list[Estimated]
    signed: bool = False

    def draw(self, ax: Axes) -> None:
        """Draw them to axes."""
        for at, row in enumerate(self.rows):
            colour = _DOT if row.estimable else _LOST
            ax.hlines(at, row.low, row.high, color=colour, linewidth=1.2)
            ax.plot(row.estimate, at, "o", color=colour)
        ax.set_yticks(range(len(self.rows)), [_plain(row.label) for row in self.rows])
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        if self.signed:
            ax.axvline(0.0, color="black", linewidth=0.6)
        else:
            ax.set_xlim(left=0.0)
        ax.set_title(_plain(self.title))


@contextmanager
def _labelled() -> Iterator[None]:
    """Apply a style, and nothing of the user's own."""
    with rc_context():
        rcdefaults()
        rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


def _plain(text: str) -> str:
    """Keep matplotlib from reading formulas into a text of the user's, and show all of its characters."""
    return visible(text).replace("$", r"\$")
