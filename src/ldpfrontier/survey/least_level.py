"""The least privacy level at which a mechanism for a table reaches a utility, or an error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial

from ldpfrontier.information import entropy
from ldpfrontier.numerics.arguments import as_instance, as_number, check_callable
from ldpfrontier.numerics.deadline import TimeIsUp, check_time
from ldpfrontier.optimum import keeps_time_limit
from ldpfrontier.survey.attackers import Attacker
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.design import Precise, design_channel, information_bound
from ldpfrontier.survey.methods import BOUNDING, attacker_of
from ldpfrontier.survey.population import USUAL_RADIUS, Radius
from ldpfrontier.survey.records import as_text
from ldpfrontier.survey.settings import SETTINGS


@keeps_time_limit
def least_epsilon(
    table: CountTable,
    utility: float | None = None,
    *,
    error: float | None = None,
    against: Attacker | None = None,
    mechanism: str | None = None,
    precise: Precise = "cells",
    beta: float = 0.05,
    order: float = 2.0,
    records: int | None = None,
    progress: Callable[[float], None] | None = None,
    remark: Callable[[str], None] | None = None,
    max_seconds: float | None = None,
    radius: Radius = USUAL_RADIUS,
) -> float:
    """Find the least privacy level at which a mechanism reaches a utility, or an error, to 0.001.

    The search is a bisection. It relies on utilities that grow with epsilon and on errors that decrease.
    For optima this is always true of the utility; for closed forms it was true in all cases that were
    examined.

    Parameters
    ----------
    table : CountTable
    utility : float, optional
        Normalized mutual information I(X; Y) / H(X) to reach, in (0, 1).
    error : float, optional
        The root mean square error of the frequencies of records to reach, in (0, 1), instead of a utility.
    against, beta, order, records, radius
        As in `design_channel`.
    precise : {"cells", "S", "U", "rates"}
        What has the error, as in `design_channel`.
    mechanism : str, optional
        By default the mechanism that is best for the aim.
    progress : callable, optional
        A function that is called with every level that is tried.
    remark : callable, optional
        A function that is called with a sentence if the time limit ended the search; a warning by default.
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
        If an argument is out of range, the aim is not reached at any level up to 16, or not one of the two.
    """
    as_instance(table, CountTable, "The table")
    if mechanism is not None:
        as_text(mechanism, "mechanism")
    if remark is not None:
        check_callable(remark, "remark")
    if (utility is None) == (error is None):
        raise ValueError("A utility or an error is needed; exactly one of the two must be given.")
    name, given = ("utility", utility) if error is None else ("error", error)
    aim = as_number(given, f"The {name}", "a number strictly between 0 and 1")
    if not 0 < aim < 1:
        raise ValueError(f"The {name} is {aim}; it must lie strictly between 0 and 1.")
    whom = attacker_of(table, against)
    names = [mechanism] if mechanism is not None else _quick_first(table, name == "utility", whom)
    h = entropy(table.distribution)

    designed = partial(
        design_channel,
        table,
        against=against,
        precise=precise,
        beta=beta,
        order=order,
        records=records,
        radius=radius,
        proof_seconds=0.0,  # what is found decides, and not what is proved
    )

    def reached(step: int) -> bool:
        level = step / SETTINGS.levels_per_nat
        if progress:
            progress(level)
        if error is None and information_bound(table.distribution, level, whom) / h < aim:
            return False
        made = (designed(level, mechanisms=[name]) for name in names)
        found = ((c, design.error_of(c)) for design in made for c in design.candidates if c.private)
        # One after the other: the last one takes longest, and mostly the first one tells.
        for c, own in found:
            if error is not None and math.isfinite(own):
                errors[step] = min(own, errors.get(step, math.inf))
            if c.nmi >= aim if error is None else own <= aim:
                return True
        check_time()  # what was cut short might have reached it
        return False

    errors = dict[int, float]()

    def between(low: int, high: int) -> int:
        """Return the level to try next: where the errors known, as powers of the level, reach the aim."""
        if low in errors and high in errors and errors[low] > errors[high]:
            share = math.log(errors[low] / aim) / math.log(errors[low] / errors[high])
            guess = round(low * math.pow(high / low, share))
            # Beyond the guess, so that the aim is between two levels that are close.
            near = max((high - low) // 8, 1)
            guess += -near if guess - low > high - guess else near
            return min(max(guess, low + 1), high - 1)
        return (low + high) // 2

    # From above: levels near 0 take longest.
    low, high, known = 0, SETTINGS.levels_per_nat, False
    try:
        while not reached(high):
            if 2 * high > SETTINGS.max_epsilon * SETTINGS.levels_per_nat:
                raise ValueError(
                    f"{'An' if error else 'A'} {name} of {aim} is not reached at any level up to"
                    f" {high / SETTINGS.levels_per_nat:g}."
                )
            low, high = high, 2 * high
        known = True
        for ends in bisected(low, high, reached, between):
            low, high = ends
    except TimeIsUp:
        level = high / SETTINGS.levels_per_nat
        if not known:
            raise TimeIsUp(
                f"The time limit ended the search before {'an' if error else 'a'} {name} of {aim} was"
                f" reached; it may be reached at the level {level:g}, or only above."
            ) from None
        (remark or warnings.warn)(
            f"the time limit ended the search: {'an' if error else 'a'} {name} of {aim} is reached at the"
            f" level {level:g}, and may be reached below it, but not at {low / SETTINGS.levels_per_nat:g}."
        )
    return high / SETTINGS.levels_per_nat


def bisected(
    low: int,
    high: int,
    is_reached: Callable[[int], bool],
    between: Callable[[int, int], int] = lambda low, high: (low + high) // 2,
) -> Iterator[tuple[int, int]]:
    """Yield ends between which the least whole number that reaches an aim lies, until they are neighbours.

    Parameters
    ----------
    low, high : int
        The aim is taken to be reached at the upper end, and not at the lower one.
    is_reached : callable
        Tells whether a number reaches the aim.
    between : callable
        Returns the number to try next, strictly between two ends; the middle by default.

    Raises
    ------
    TimeIsUp
        Where the time limit ends the search; the ends yielded last hold.
    """
    while high - low > 1:
        check_time()
        middle = between(low, high)
        low, high = (low, middle) if is_reached(middle) else (middle, high)
        yield low, high


def _quick_first(table: CountTable, information: bool, against: Attacker) -> list[str]:
    """Return mechanisms of which one has the most information, or the least error, the quick ones first."""
    if not information:
        return ["closed", "frequencies"] if table.counts.size <= SETTINGS.max_quick_cells else ["closed"]
    if not table.useful:
        return ["ldp", "grr"]
    if against in ("anyone", "insider-only"):
        return [BOUNDING[against]]
    first = ["polyopt"] if against == "outsider" and table.counts.size <= SETTINGS.max_quick_cells else []
    return [*first, "association" if against == "acquaintance" else "exact"]
