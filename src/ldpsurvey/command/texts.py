"""The texts that the commands print."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ldpfrontier.verify import visible
from ldpsurvey.base.layout import columns, number, reports_text, wrapped
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.promises import factor_text, upwards
from ldpsurvey.data.reading import said
from ldpsurvey.design.answer import COEFFICIENTS, TARGETS, few_digits
from ldpsurvey.design.detecting import DETECTED, LEVEL, POWER

if TYPE_CHECKING:
    from ldpsurvey.channel.channel_file import PrivateChannel
    from ldpsurvey.design.candidates import Candidate, Design
    from ldpsurvey.design.detecting_channels import DetectingChannels
    from ldpsurvey.estimate.auditing import Audit


def design_text(made: Design, best: Candidate, error: float) -> str:
    """Return two tables of mechanisms, the chosen one marked, and how the optima among them were found.

    The second table says how many reports give the root mean square error `error`.
    """
    table = made.table
    size = f"{len(table.rows)} x {len(table.columns)}" if table.useful else f"{len(table.rows)}"
    head = f"{table.source}: {table.records:,} records, {size} values of {', '.join(table.attributes)}"
    if not table.counted:
        known, numbers = "without a table", "values that are equally frequent"
        if table.source:
            known, numbers = f"from {table.source}", "its shares"
        head = (
            f"{size} values of {', '.join(table.attributes)}, {known}: all numbers below are those of"
            f" {numbers}. The levels for insiders, for anyone and for the record hold for every distribution."
        )
    # By the NMI that is printed: rounding does not decide between equal ones.
    order = sorted(made.candidates, key=lambda c: -round(c.nmi, 4) if c.channel else math.inf)
    parts = [wrapped(head), _protection(made, order, best), _usefulness(made, order, best, error)]
    if ran := [f"{c.name}: {c.method}." for c in order if c.method]:
        words = (
            "HOW THE OPTIMA WERE FOUND. The class of mechanisms, the algorithm, and for which inputs it is"
            " used."
        )
        parts.append("\n".join(map(wrapped, [words, *ran])))
    return "\n\n".join(parts)


def pair_text(found: DetectingChannels, paths: Sequence[str], error: float) -> str:
    """Return what two channels, which are in two files, show and cost."""
    share, first, second = f"{DETECTED:.0%}", *map(visible, paths)
    pair, always = found.pair, found.always
    values = found.channels[0].outputs
    said_by = [
        ", ".join(
            f"{visible(value)} {chance:.2f}"
            for value, chance in zip(values, one.channel.matrix[:, values.index(always)], strict=True)
        )
        for one in found.channels
    ]
    detect, estimate, needed = map(few_digits, (pair.to_detect, pair.to_estimate, pair.needed))
    more = pair.to_estimate / found.alone - 1.0
    price = "less than 1%" if abs(more) < 0.01 else f"{abs(more):.0%} {'more' if more > 0.0 else 'fewer'}"
    deviation = pair.error / math.sqrt(pair.needed)
    name = repr(visible(always))
    lines = [
        f"Two channels. Draw by lot who reports by which, and let nobody report by both: with probability"
        f" {pair.lot:.2f} by {first}, otherwise by {second}. Each keeps the promise below.",
        f"The chance of the report {name} is, by value: {said_by[0]} in the first; {said_by[1]} in the"
        " second.",
        f"That {share} always report {name} is noticed from {detect} people with probability {POWER:.0%}, by"
        f" a test that finds some in {LEVEL:.0%} of surveys without them.",
        f"The shares of values have a standard error of {error:g} from {estimate} people. With one channel,"
        f" if nobody deviates, from {few_digits(found.alone)}: the price is {price}.",
        f"{needed} people are enough for both. With {share} of such people, their share has a standard"
        f" error of {deviation:.2g} then.",
        "It is the best pair of those that were searched; that no other pair is better is not proved.",
        "These people are taken to give the same report by both channels, and nobody deviates otherwise.",
        f"Next: apply each channel to its people, and ldp-frontier estimate --channel {first} --data FILE"
        f" --second {second} FILE2 --always {shlex.quote(visible(always))}",
    ]
    return "\n".join(map(wrapped, lines))


def _protection(made: Design, order: list[Candidate], best: Candidate) -> str:
    """Return the table of the levels of mechanisms for all attackers, with its explanation."""
    table = made.table
    secret = said(table.sensitive)
    words = [
        "WHOM IT PROTECTS FROM. A level L means that a report changes the odds between any two values of"
        f" {secret} by at most a factor of e^L; 'none' means that some report gives a value away, or nearly"
        f" so (L above {SETTINGS.max_epsilon:g}). Required is at most a factor of"
        f" {factor_text(made.epsilon)}, for {_WHOM[made.against]}."
    ]
    head = ["", "mechanism", "record"]
    if table.useful:
        words.append(
            "An outsider knows nothing else about the person, an insider knows the person's"
            f" {said(table.useful)}, an acquaintance knows something about it, such as that it is one of two"
            " values, and anyone may know or believe anything; 'record' is the level for the whole record,"
            f" {', '.join(table.attributes)} together.{_SAMPLE if table.sampled else ''} 'Best guess' shows"
            f" how often the best guess of {secret} is right, without > with a report."
        )
        head = ["", "mechanism", "outsider", "insider", "acquaintance", "anyone", "record"]
        head += ["best guess: outsider", "insider"]
    lines = [[*head, "description"]]
    for c in order:
        mark = "->" if c is best else ""
        if c.levels is None:
            lines.append([mark, c.name, *["-"] * (len(head) - 2), c.note])
            continue
        levels = asdict(c.levels).values() if table.useful else [c.levels.record]
        guesses = [f"{guess.before:.3f} > {guess.after:.3f}" for guess in c.guesses]
        lines.append([mark, c.name, *(_shown_level(level) for level in levels), *guesses, c.title])
    return "\n".join([*map(wrapped, words), columns(lines)])


#: What a level for outsiders or acquaintances holds under.
_SAMPLE = (
    " The table is a sample. For outsiders a level holds under every distribution in F, the set of those that"
    " the table does not rule out, and for acquaintances under every distribution with odds ratios that it"
    " does not rule out."
)


def _shown_level(level: float) -> str:
    return "none" if level > SETTINGS.max_epsilon else number(upwards(level, 3), 3)


def _usefulness(made: Design, order: list[Candidate], best: Candidate, error: float) -> str:
    """Return the table of the information and the errors of mechanisms, with its explanation."""
    table = made.table
    groups = [table.attributes, table.sensitive, table.useful][: 3 if table.useful else 1]
    precise = {
        "cells": said(table.attributes),
        "S": said(table.sensitive),
        "U": said(table.useful),
        "rates": f"rates of {said(table.sensitive)} given {said(table.useful)}",
        **TARGETS,
    }.get(made.precise, COEFFICIENTS)
    words = (
        "HOW USEFUL IT IS. The NMI is the share of the information in a record that its report carries; no"
        f" mechanism of the required level reaches more than {upwards(made.bound, 4):g}. The error is the"
        " root mean square error of the best unbiased estimates of frequencies from"
        f" {reports_text(made.records)}; '-' means that they cannot be estimated, however many reports there"
        " are. The second line shows the range of these frequencies in the table. The last column shows how"
        f" many reports give an error of {error:g} for {precise}."
    )
    if table.useful:
        words += (
            f" All are as made for the level {made.epsilon:g}: those that have a lower one for"
            f" {_WHOM[made.against].partition(',')[0]} could be asked for more."
        )
    joint = table.distribution
    sums = [joint, joint.sum(axis=1), joint.sum(axis=0)][: len(groups)]
    lines = [["", "mechanism", "NMI", *(f"error: {', '.join(group)}" for group in groups), "reports"]]
    lines.append(["", "", "", *(f"of {p.min():.4f} to {p.max():.4f}" for p in sums), f"for {error:g}"])
    for c in order:
        if c.channel is None:
            continue
        errors = [">1" if e > 1 else number(e, 4) for e in c.errors]
        needed = made.reports_for(c, error)
        reports = "-" if math.isinf(needed) else f"{needed:,.0f}"
        lines.append(["->" if c is best else "", c.name, f"{c.nmi:.4f}", *errors, reports])
    return wrapped(words) + "\n" + columns(lines)


#: Attackers in words.
_WHOM = {
    "outsider": "outsiders",
    "insider-only": "insiders",
    "acquaintance": "acquaintances, whether they know nothing, something or all of the useful value",
    "anyone": "anyone",
}


def kept_promise(found: Audit, private: PrivateChannel) -> str:
    """Return the strongest promise of an audited channel, by the stated levels if some of them are wrong."""
    return (private if found.problems else private.with_levels(found.levels)).promise()


def audit_text(found: Audit, private: PrivateChannel) -> str:
    """Return the text of an audit: what was promised and what was found."""
    useful = private.table.useful
    levels = {"outsiders": found.levels.outsider, "insiders": found.levels.insider}
    levels |= {"acquaintances": found.levels.acquaintance}
    levels |= {"anyone": found.levels.anyone, "the whole record": found.levels.record}
    shown = levels if useful else {"anyone": found.levels.record}
    words = ", ".join(f"{number(upwards(level, 6), 6)} for {name}" for name, level in shown.items())
    lines = [
        f"The promise: {kept_promise(found, private)}",
        f"The level of the stored matrix, computed from its whole numbers, is {words}.",
    ]
    if found.proved:
        lines.append(f"The following is proved in exact arithmetic: {found.proved}.")
    if found.samples:
        lines.append(
            f"According to {found.samples:,} samples, the level is at least {found.lower:.6f}, with"
            f" confidence {found.confidence:g}. Samples of this matrix deviate from it as much as these, or"
            f" more, with probability {found.fit:.3g}."
        )
    lines += [f"WRONG: {problem}" for problem in found.problems]
    if not found.problems:
        more = f"; {found.samples:,} samples do not contradict it" if found.samples else ""
        lines.append(f"The matrix satisfies the promised level{more}.")
    return "\n".join(map(wrapped, lines))
