"""Designs for a known number of reports of a person, whose level together is the one asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ldpfrontier.survey.allowance import Allowance, check_several, level_of_reports
from ldpfrontier.survey.design import Design, design_channel
from ldpfrontier.survey.methods import Purpose, attacker_of
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import CountTable


def design_for_reports(
    table: CountTable,
    epsilon: float,
    reports: int,
    best_for: Purpose = "frequencies",
    **choice: Any,
) -> Design:
    """Compute mechanisms of which one person may give several reports that keep a level together.

    For anyone, and for those who know U, each report has its share of the level. For acquaintances the level
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
