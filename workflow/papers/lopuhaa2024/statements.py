"""What sections 8.1 and 8.2 of lopuhaa2024 say of the order of the mechanisms: decided here and nowhere else.

Tables of orderings have the answers at every level, claims those of tables of counts and of means, and
`beyond` those of many pairs of attributes. One mechanism is above another if its NMI is more, by more than
`ROUNDING` of the other's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from papers.lopuhaa2024.catalogue import OF_THE_PAPER

#: Whether a statement holds; the last: a mechanism that it speaks of is missing.
YES, NO, UNKNOWN = ANSWERS = ("yes", "no", "-")

#: A share of NMI that is rounding.
ROUNDING = 1e-9

#: Statements on one level, by names that `at_levels` explains.
AT_LEVELS = ("polyopt_leads", "ir_above_srr", "nr_leads", "grr_last")

#: What section 8.1 says of small tables, and of large ones, by the name of the statement.
OF_SMALL = {
    "polyopt_leads": "PolyOpt clearly above IR and SRR at every ε",
    "polyopt_leads_more": "PolyOpt leads most at low ε",
    "ir_leads_low": "IR above SRR at the lowest ε",
    "ir_close_high": "IR slightly below SRR at the highest ε",
    "nr_leads": "NR not below PolyOpt",
    "nr_close_high": "NR little above PolyOpt at the highest ε",
    "grr_last": "GRR worst at every ε",
}
OF_LARGE = {"ir_clear": "IR clearly above SRR at every ε"}
STATED = {**OF_SMALL, **OF_LARGE}


class Decided(NamedTuple):
    """Whether a statement holds, as one of `ANSWERS`, and the number that decides or is nearest to it."""

    answer: str
    measured: float


def at_levels(nmi: pd.DataFrame) -> pd.DataFrame:
    """Return whether the statements on one level hold, as `ANSWERS`, for every row of NMI by mechanism.

    ``polyopt_leads``: PolyOpt is above IR and SRR; ``ir_above_srr``: IR is above SRR; ``nr_leads``: PolyOpt
    is not above NR; ``grr_last``: IR and SRR are above GRR, and so are PolyOpt and NR where they are
    computed: the paper has no PolyOpt on large tables.
    """
    nr, polyopt, grr = nmi["nr"], nmi["polyopt"], nmi["grr"]
    better, worse = _better(nmi), nmi[["ir", "srr"]].min(axis=1, skipna=False)
    others = nmi[["nr", "polyopt", "ir", "srr"]].min(axis=1).where(worse.notna())
    holds = {
        "polyopt_leads": (_is_above(polyopt, better), polyopt, better),
        "ir_above_srr": (_is_above(nmi["ir"], nmi["srr"]), nmi["ir"], nmi["srr"]),
        "nr_leads": (~_is_above(polyopt, nr), polyopt, nr),
        "grr_last": (_is_above(others, grr), others, grr),
    }
    return pd.DataFrame(
        {
            name: held.map({True: YES, False: NO}).mask(more.isna() | less.isna(), UNKNOWN)
            for name, (held, more, less) in holds.items()
        }
    )


def decide(nmi: pd.DataFrame, limits: Mapping[str, float]) -> dict[str, Decided]:
    """Decide the statements on one table of counts, by the names in `STATED`.

    `nmi` has a row per level, the lowest first, and a column per mechanism. Of the `limits`, ``clearly`` is
    the share of the lower NMI by which a mechanism is above another in the median, ``marginal`` the share of
    PolyOpt's lead over IR and SRR up to which SRR is above IR at the highest level, and ``near`` the share of
    NR's NMI up to which NR is above PolyOpt there.
    """
    nmi = nmi.reindex(columns=[*OF_THE_PAPER])
    levels, better = at_levels(nmi), _better(nmi)
    nr, polyopt, ir, srr, grr = (nmi[name] for name in ("nr", "polyopt", "ir", "srr", "grr"))
    lead, share = polyopt / better, ir / srr
    behind = float(((srr - ir) / (polyopt - better)).iloc[-1])
    short = float(1.0 - polyopt.iloc[-1] / nr.iloc[-1])
    others = nmi[["nr", "polyopt", "ir", "srr"]].min(axis=1) / grr
    clear = 1.0 + limits["clearly"]
    every = {name: (levels[name] == YES).all() for name in AT_LEVELS}
    missing = (levels == UNKNOWN).any()

    def decided(name: str, holds: object, measured: float) -> Decided:
        return Decided(UNKNOWN if missing[name] else YES if holds else NO, float(measured))

    return {
        "polyopt_leads": decided(
            "polyopt_leads", every["polyopt_leads"] and lead.median() >= clear, lead.min()
        ),
        "polyopt_leads_more": decided(
            "polyopt_leads", lead.iloc[0] > lead.iloc[-1] * (1 + ROUNDING), lead.iloc[0] / lead.iloc[-1]
        ),
        "ir_leads_low": decided("ir_above_srr", levels["ir_above_srr"].iloc[0] == YES, share.iloc[0]),
        "ir_close_high": decided(
            "polyopt_leads", _is_above(srr, ir).iloc[-1] and 0 < behind <= limits["marginal"], behind
        ),
        "nr_leads": decided("nr_leads", every["nr_leads"], (polyopt / nr).max()),
        "nr_close_high": decided("nr_leads", short <= limits["near"], short),
        "grr_last": decided("grr_last", every["grr_last"], others.min()),
        "ir_clear": decided(
            "ir_above_srr", every["ir_above_srr"] and share.median() >= clear, share.median()
        ),
    }


def _is_above(more: pd.Series[float], less: pd.Series[float]) -> pd.Series[bool]:
    return more > less * (1 + ROUNDING)


def _better(nmi: pd.DataFrame) -> pd.Series[float]:
    """Return the larger NMI of IR and SRR."""
    return nmi[["ir", "srr"]].max(axis=1, skipna=False)
