"""Searches for levels: the least one for a utility or an error, and that of one of several reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ldpfrontier import TimeIsUp, entropy, time_limit
from ldpsurvey.base.layout import remark
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.allowance import Allowance, check_several, level_of_reports
from ldpsurvey.channel.attackers import Attacker
from ldpsurvey.data.tables import CountTable
from ldpsurvey.design.candidates import Design
from ldpsurvey.design.design import design_channel, information_bound
from ldpsurvey.design.methods import BOUNDING, Purpose, attacker_of


def least_epsilon(
    table: CountTable,
    utility: float | None = None,
    *,
    error: float | None = None,
    against: Attacker | None = None,
    mechanism: str | None = None,
    progress: Callable[[float], None] | None = None,
    max_seconds: float | None = None,
    **choice: Any,
) -> float:
    """Find the least privacy level at which a mechanism reaches a utility, or an error, to 0.001.

    The search is a bisection. It relies on utilities that grow with epsilon and on errors that decrease. For
    optima this is always true of the utility; for closed forms it was true in all cases that were examined.

    Parameters
    ----------
    table : CountTable
    utility, error : float, optional
        One of the two, in (0, 1): the normalized mutual information I(X; Y) / H(X), or the root mean square
        error, to reach.
    against : str, optional
        As in `design_channel`, of which `choice` has further arguments.
    mechanism : str, optional
        By default the mechanism that is best for the aim.
    progress : callable, optional
        A function that is called with every level that is tried.
    max_seconds : float, optional
        Seconds after which the search ends with the least level at which the aim is known to be reached; 0 or
        more.

    Returns
    -------
    float
        A multiple of 0.001, in nats. The aim is reached at this level and, unless the time limit ended the
        search, is not reached 0.001 below it.

    Raises
    ------
    TimeIsUp
        If the time is up before the aim is reached at any level.
    ValueError
        If an argument is out of range, or the aim is not reached at any level up to 16.
    """
    aim = utility if error is None else error
    if (utility is None) == (error is None) or aim is None or not 0 < aim < 1:
        raise ValueError("Either a utility or an error is needed, a number strictly between 0 and 1.")
    what = f"{'a utility' if error is None else 'an error'} of {aim}"
    whom, unit = attacker_of(table, against), SETTINGS.levels_per_nat
    names = [mechanism] if mechanism is not None else _quick_first(table, error is None, whom)
    h = entropy(table.distribution)

    def reached(step: int) -> bool:
        level = step / unit
        if progress:
            progress(level)
        if error is None and information_bound(table, level, whom) / h < aim:
            return False
        # One after the other: the last one takes longest, and mostly the first one tells. What is found
        # decides, and not what is proved.
        for name in names:
            made = design_channel(table, level, against=against, mechanisms=[name], max_nodes=0, **choice)
            for c in (c for c in made.candidates if c.private):
                if c.nmi >= aim if error is None else made.error_of(c) <= aim:
                    return True
        return False

    # From above: levels near 0 take longest.
    low, high, known = 0, unit, False
    with time_limit(max_seconds) as limit:
        while not (known := reached(high)) and not limit.reached:
            if 2 * high > SETTINGS.max_epsilon * unit:
                raise ValueError(f"{what.capitalize()} is not reached at any level up to {high / unit:g}.")
            low, high = high, 2 * high
        while known and high - low > 1 and not limit.reached:
            middle = (low + high) // 2
            if reached(middle):
                high = middle
            elif not limit.reached:  # what was cut short might have reached the aim
                low = middle
    if limit.reached and not known:
        raise TimeIsUp(
            f"The time limit ended the search before {what} was reached; it may be reached at the level"
            f" {high / unit:g}, or only above."
        )
    if limit.reached:
        remark(
            f"the time limit ended the search: {what} is reached at the level {high / unit:g}, and may be"
            " reached below it."
        )
    return high / unit


def _quick_first(table: CountTable, information: bool, against: Attacker) -> list[str]:
    """Return mechanisms of which one has the most information, or the least error, the quick ones first."""
    quick = table.counts.size <= SETTINGS.max_quick_cells
    if not information:
        return ["closed", "frequencies"] if quick else ["closed"]
    if not table.useful:
        return ["ldp", "grr"]
    return [*(["polyopt"] if against == "outsider" and quick else []), BOUNDING[against]]


def design_for_reports(
    table: CountTable,
    epsilon: float,
    reports: int,
    best_for: Purpose = "frequencies",
    **choice: Any,
) -> Design:
    """Compute mechanisms of which one person may give several reports that keep a level together.

    For anyone, and for insiders, each report has its share of the level. For acquaintances the level
    of one is the largest one found at which all together, by the mechanism that is chosen, have at most
    epsilon: it is searched for by designs, and reached to a share of `calibration_gap` of the settings.

    Parameters
    ----------
    table : CountTable
    epsilon : float
        Level of all reports of a person together, nats.
    reports : int
        How many they are, from 2 to 100.
    best_for : {"frequencies", "information"}
        By which the mechanism is chosen (`Design.best`).
    **choice
        Further arguments of `design_channel`: against, purpose, precise, records, and others.

    Raises
    ------
    ValueError
        If an argument is out of range, the promise is one to outsiders, or no level of one report is found.
    """
    against = attacker_of(table, choice.get("against"))
    # Without a useful value, outsiders are anyone.
    check_several(against if table.useful else "anyone", reports)
    if not reports * SETTINGS.least_epsilon <= epsilon <= SETTINGS.max_epsilon:
        raise ValueError(
            f"epsilon is {epsilon:g} for {reports} reports of a person; it must be a number from"
            f" {reports * SETTINGS.least_epsilon:g} to {SETTINGS.max_epsilon:g}."
        )
    gap, found = SETTINGS.calibration_gap, None
    low, high, level = 0.0, epsilon, max((1.0 - 1e-9) * epsilon / reports, SETTINGS.least_epsilon)
    for _ in range(SETTINGS.calibrations):
        made = design_channel(table, level, **choice)
        channel = made.best(best_for).channel
        assert channel is not None
        together = level_of_reports(channel, reports, table, made.population, made.against)
        if together <= epsilon:
            found, low = made, level
            if together >= epsilon * (1.0 - gap) or made.against != "acquaintance":
                break
        else:
            high = level
        # Nearly proportional: aimed between what was asked for and what is allowed.
        level *= epsilon * (1.0 - gap / 2.0) / together
        if not low < level < high:
            level = 0.5 * (low + high)
        if level < SETTINGS.least_epsilon:
            break
    if found is None:
        raise ValueError(
            f"No level of one report was found at which {reports} reports together have the level"
            f" {epsilon:g}; a larger one, or fewer reports, may be possible."
        )
    return replace(found, allowance=Allowance(epsilon, reports))
