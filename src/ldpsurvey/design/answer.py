"""The answer of `design` in a few lines: what can be estimated, what a report tells, and what was written."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from ldpfrontier.verify import visible
from ldpsurvey.base.layout import WIDTH, reports_text
from ldpsurvey.channel.promises import (
    Promising,
    kept_by_all,
    kept_by_one,
    percent,
    protects_all,
    raised,
    readers_of,
    rests_on_table,
)
from ldpsurvey.data.reading import said
from ldpsurvey.data.values import listed_values, shortened
from ldpsurvey.estimate.targets import is_formula

if TYPE_CHECKING:
    from ldpsurvey.channel.channel_file import PrivateChannel
    from ldpsurvey.design.candidates import Candidate, Design

#: What the names that `--precise` takes are called in sentences, but for those of columns.
TARGETS = {
    "differences": "differences of rates",
    "shares": "shares of each column",
    "pairs": "tables of two columns",
    "triples": "tables of three columns",
}

#: The same of a formula.
COEFFICIENTS = "coefficients per standard deviation of a term"

#: Letters of a name in a line.
NAME = 24

#: Errors below this are rounding: those of the one value of a column.
ROUNDING = 1e-12

#: Lines of the answer at most.
LINES = 12


def answer_text(made: Design, best: Candidate, private: PrivateChannel, error: float, written: str) -> str:
    """Return the answer in lines of at most 80 letters, unless the name of the channel's file is longer.

    `private` is the chosen candidate as it is written, to the file `written`. The answer says how many
    reports give the root mean square error `error`.
    """
    table = made.table
    kinds = f"{len(table.rows)} values of {_named(table.sensitive)}"
    if table.useful:
        kinds += f", {len(table.columns)} of {_named(table.useful)}"
    origin = f"{table.records:,} records of {visible(shortened(table.source, NAME))}"
    counts = "It contains the counts of the table, which are public then."
    if not table.counted and table.source:
        known = "from an unknown number of people"
        if table.effective is not None:
            known = f"which count for {table.effective:,.0f} people drawn at random"
        origin = f"Shares of {visible(shortened(table.source, NAME))}, {known}"
        counts = "It contains these shares, which are public then."
    elif not table.counted:
        origin, counts = "No table; all values are taken to be equally frequent", "It contains no counts."
    parts = [
        f"{origin}: {kinds}.",
        _precision(made, best, error),
        _chances(private),
        several_text(private, _rarest(private)[0]),
        _useful(private),
        f"Written: {visible(written)} and the files beside it. {counts}",
    ]
    wrap = textwrap.TextWrapper(
        WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ).wrap
    # A name that was shortened ends in three points, and so does the sentence then.
    head, *others = (wrap(part.replace("....", "...")) for part in parts)
    lines = [*head, *itertools.chain(*others)]
    values = list(listed_values(table.attributes, table.labels, WIDTH))
    if len(lines) + len(values) < LINES:  # otherwise --details has them
        lines[len(head) : len(head)] = values
    return "\n".join([*lines, next_text(private, written)])


def next_text(private: Promising, written: str) -> str:
    """Return the command that draws reports with a channel in a file."""
    start, end = f"Next: ldp-frontier apply --channel {visible(written)}", "--data FILE --out OUT.csv"
    end += "" if private.certificate.allowance is None else " --memo MEMO --id COLUMN --wave NAME"
    between = " " if len(start) + len(end) < WIDTH else " \\\n    "  # a shell reads both lines as one
    return start + between + end


def points(share: float) -> str:
    """Return a share in percentage points, with two digits that mean something; rounding is 0."""
    if share < ROUNDING:
        return "0"
    return f"{100.0 * share:.2g}" if share < 0.995 else "100 or more"


def few_digits(number: float) -> str:
    """Return a number with two digits that mean something, rounded upwards."""
    unit = 10.0 ** max(math.floor(math.log10(number)) - 1, 0)
    return f"{math.ceil(number / unit - 1e-9) * unit:,.0f}"


def _named(label: tuple[str, ...]) -> str:
    return visible(shortened(said(label), NAME))


def _undetermined(names: list[str]) -> str:
    return f"Shares of {', '.join(names)} cannot be estimated, however many report."


def _precision(made: Design, best: Candidate, error: float) -> str:
    """Return the errors, and how many reports give the one asked for."""
    table = made.table
    names = [_named(table.sensitive)]
    if table.useful:
        names = ["both together", *names, _named(table.useful)]
    shown = [
        f"{points(e)} for {name}" for name, e in zip(names, best.errors, strict=True) if math.isfinite(e)
    ]
    hidden = [name for name, e in zip(names, best.errors, strict=True) if not math.isfinite(e)]
    text = f"From {reports_text(made.records)}, shares have standard errors in percentage points of"
    text = f"{text} {', '.join(shown)}." if shown else _undetermined(hidden)
    if shown and hidden:
        text += f" {_undetermined(hidden)}"
    if made.precise == "rates":
        text += f" Rates of {names[1]} given {names[2]} have {points(best.rates)}."
    formula = is_formula(made.precise)
    in_words = (lambda e: f"{e:.2g}") if formula else points
    asked = COEFFICIENTS if formula else TARGETS.get(made.precise, "")
    if math.isfinite(best.asked):
        text += f" {asked.capitalize()} have {in_words(best.asked)}."
    if math.isfinite(made.error_of(best)):
        few = made.precise == "cells" and best.error > 0.5 / table.counts.size
        what = {
            "cells": "",
            "S": f" for {names[-2:][0]}",
            "U": f" for {names[-1]}",
            "rates": " for rates",
        }.get(made.precise, f" for {asked}")
        text += " Too few: the mean share is" if few else ""
        text += f" {points(1.0 / table.counts.size)}." if few else ""
        needed = few_digits(made.reports_for(best, error))
        text += f" {'1 report gives' if needed == '1' else f'{needed} reports give'} {in_words(error)}{what}."
    return text


def _chances(private: PrivateChannel) -> str:
    """Return how much likelier a report makes the rarest sensitive value, by what somebody knows."""
    table, kept, levels = private.table, kept_by_one(private), private.certificate.levels
    p, value = _rarest(private)
    if p == 1.0 or kept is None:
        return ""  # no other value has records
    name = _named(table.sensitive) if table.useful else "the record"
    rests = rests_on_table(private)
    basis = f" {name} is not asked: that holds as far as the table does." if rests else ""
    is_value = f"{name} is '{visible(shortened(said(value), NAME))}'"
    first, limit = f"A chance of {percent(p)} that {is_value} rises to at most", raised(p, kept.level)
    useful = _named(table.useful)
    if kept.against == "anyone":
        more = f" The same holds for {useful}, and for both together."
        more = more if table.useful and protects_all(private) else ""
        return f"{first} {limit} with a report, whatever somebody knows or believes.{more}"
    if kept.against == "insider-only":
        return f"{first} {limit} with a report, for whoever knows {useful}."
    limits = [raised(p, level) for level in (levels.outsider, levels.acquaintance, levels.insider)]
    if kept.against == "acquaintance" or len(set(limits)) == 1:
        # That level holds for those who know nothing, too, over the distributions that it is about.
        whom = f"whoever knows nothing, something or all of {useful}"
        return f"{first} {limits[1]} with a report, for {whom}.{basis}"
    return (
        f"{first} {limits[0]} with a report for whoever knows nothing else, {limits[1]} for whoever knows"
        f" something about {useful}, {limits[2]} for whoever knows it.{basis}"
    )


def _rarest(private: PrivateChannel) -> tuple[float, tuple[str, ...]]:
    """Return the smallest positive share of a sensitive value, and the value."""
    shares = private.table.distribution.sum(axis=1)
    rarest = int(np.where(shares > 0, shares, 1.0).argmin())
    return float(shares[rarest]), private.table.rows[rarest]


def several_text(private: Promising, p: float) -> str:
    """Return how often a person may report, and how much likelier all reports make what has a chance p."""
    kept, stated = kept_by_all(private), private.certificate
    if kept is None or stated.allowance is None:
        return ""
    limit = f"raise that chance to at most {raised(p, kept.level)} for {readers_of(private, kept)}."
    if stated.allowance.reports is not None:
        may = f"A person may report {stated.allowance.reports} times with this channel, and with no other"
        return f"{may} one." + (f" All these reports together {limit}" if p < 1.0 else "")
    may = (
        f"A person may report with all channels of the budget {kept.level:g} while their levels, here"
        f" {stated.epsilon:g}, add up to no more."
    )
    return may + (f" All of them {limit}" if p < 1.0 else "")


def _useful(private: PrivateChannel) -> str:
    """Return how often the useful value is guessed right, with a report and without."""
    table = private.table
    if not table.useful or protects_all(private):
        return ""
    name, matrix = _named(table.useful), private.channel.matrix
    joint = table.distribution.ravel()[:, None] * matrix
    by_value = joint.reshape(*table.counts.shape, -1).sum(axis=0)
    before, after = float(by_value.sum(axis=1).max()), float(by_value.max(axis=0).sum())
    be, it = ("are", "they are") if len(table.useful) > 1 else ("is", "it is")
    words = f"{name} {be} not protected: with a report {it} guessed right for {percent(after)} of people"
    protect = "If it has to be protected, name it"
    if len(table.useful) > 1:
        protect = "If they have to be protected, name them"
    if private.protects == "insider-only":
        told = f"and with it what {name} tells about {_named(table.sensitive)}"
        return f"{words} ({percent(before)} without), {told}."
    return f"{words} ({percent(before)} without). {protect} in --sensitive."
