"""Checks of the claims of lopuhaa2024 on how the mechanisms are ordered (Sections 8.1 and 8.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.statements import OF_LARGE, OF_SMALL, STATED, YES, Decided, at_levels, decide
from papers.lopuhaa2024.summaries import cells
from reproduction.ledger.claims import (
    ANOTHER_READING,
    REPRODUCED,
    Claim,
    Finding,
    NotCheckable,
    Tables,
    finding_of_parts,
    require_rows,
)

#: By how much levels, and ratios of levels, may differ from those that `paper.yaml` names, relatively: it
#: finds the rows that a claim is about, and is no tolerance of what they say.
SAME = 1e-6

_Curves = Mapping[str, pd.DataFrame]


def _curves(table: pd.DataFrame) -> _Curves:
    """Return the NMI by epsilon and mechanism of what has IR and SRR, by instance (or size) as texts."""
    by = ["instance", "size"] if "instance" in table else ["size"]
    parts = {}
    for key, part in table.groupby(by):
        curves = part.set_index("epsilon")[list(MECHANISMS)].dropna(axis="columns", how="all").sort_index()
        if {"ir", "srr"} <= set(curves.columns):
            require_rows(curves.reset_index(), ", ".join(map(str, key)), "epsilon", *curves.columns)
            parts[f"{key[0]} ({key[1]})" if len(key) == 2 else str(key[0])] = curves
    return parts


def _of_size(table: pd.DataFrame, claim: Claim, *, small: bool) -> _Curves:
    return _curves(table[(table["size"].map(cells) <= claim.arguments["small"]) == small])


def _small_curves(table: pd.DataFrame, claim: Claim) -> _Curves:
    needed = {"polyopt", "nr", "ir", "srr", "grr"}
    curves = {
        name: wide for name, wide in _of_size(table, claim, small=True).items() if needed <= set(wide.columns)
    }
    if not curves:
        raise NotCheckable(
            f"No table of at most {claim.arguments['small']} cells has all of {', '.join(sorted(needed))}."
        )
    return curves


def _small_parts(curves: _Curves, claim: Claim, end: float = math.inf) -> dict[str, bool]:
    """Decide the parts of the statement on small tables with levels up to an end, which all must have."""
    cut = (curve[curve.index <= end * (1 + SAME)] for curve in curves.values())
    return _parts_of(OF_SMALL, [decide(curve, claim.arguments) for curve in cut])


def _parts_of(names: Mapping[str, str], found: Sequence[Mapping[str, Decided]]) -> dict[str, bool]:
    """Return which of some statements hold on all tables, by their words."""
    return {words: all(table[name].answer == YES for table in found) for name, words in names.items()}


def _small_numbers(curves: _Curves, ends: Iterable[float]) -> str:
    """Say what the parts are decided by, at the ends of the grid."""
    texts = []
    for name, wide in curves.items():
        better = wide[["ir", "srr"]].max(axis=1)
        lead, ahead = wide["polyopt"] / better, (wide["srr"] - wide["ir"]) / (wide["polyopt"] - better)
        worst = at_levels(wide)["grr_last"] == YES
        reached = (wide.index[wide.index <= end * (1 + SAME)] for end in ends)
        at = dict.fromkeys(float(levels[-1]) for levels in reached if len(levels))
        shown = "; ".join(f"ε = {e:.3g}: {lead[e]:.3g} and {ahead[e]:.2f}" for e in at)
        last = wide.index[worst].max()
        texts.append(
            f"{name}: PolyOpt over the better of IR and SRR, {lead.iloc[0]:.3g} at the lowest ε, "
            "and what SRR is above "
            f"IR over PolyOpt's lead, {shown}; GRR worst up to ε = {last:.3g}"
        )
    return ". ".join(texts) + "."


def _large_parts(table: pd.DataFrame, claim: Claim) -> tuple[dict[str, bool], str]:
    curves = _of_size(table, claim, small=False)
    if not curves:
        raise NotCheckable(f"No table of more than {claim.arguments['small']} cells has IR and SRR.")
    parts = _parts_of(OF_LARGE, [decide(curve, claim.arguments) for curve in curves.values()])
    share = {name: curve["ir"] / curve["srr"] for name, curve in curves.items()}
    numbers = "; ".join(f"{n}: IR over SRR {x.min():.3g} to {x.max():.3g}" for n, x in share.items())
    return parts, f"{numbers}."


def _at_ends(curves: _Curves, claim: Claim, large: dict[str, bool], numbers: str) -> Finding:
    """Decide a statement on the whole grid, and with a grid up to the highest level that the paper names."""
    ends, named = claim.arguments["ends"], claim.arguments["named"]
    whole = _small_parts(curves, claim) | large
    # A grid that has no levels says nothing.
    first = max(wide.index.min() for wide in curves.values())
    held = [
        end
        for end in ends
        if end >= first * (1 - SAME) and all((_small_parts(curves, claim, end) | large).values())
    ]
    words = ", ".join(f"{end:g}" for end in held)
    measured = (
        f"{_small_numbers(curves, ends)} {numbers} "
        f"Of grids up to ε = {', '.join(f'{end:g}' for end in ends)}, all parts hold "
        f"with those up to {words or 'none'}."
    )
    found = finding_of_parts(whole, " ".join(measured.split()), claim.arguments["remark"], n=len(curves))
    if found.verdict == REPRODUCED:
        return found
    if named in held:
        reading = (
            f"The paper does not print its grid. All parts hold with one that ends at ε = {named:g}, the "
            "highest level that it names; that was seen with the outcome known. On ours, up to "
            f"{max(max(c.index) for c in curves.values()):g}: "
        )
        return replace(found, verdict=ANOTHER_READING, explanation=reading + found.explanation)
    chosen = (
        f" With a grid up to {words} alone all parts hold; the paper names no such end, and one taken for "
        "its outcome is no reading."
    )
    return replace(found, explanation=found.explanation + chosen * bool(held))


def small_tables(tables: Tables, claim: Claim) -> Finding:
    """Check the orderings of the mechanisms on small tables (Section 8.1), with several ends of the grid."""
    return _at_ends(_small_curves(tables[claim.tables[0]], claim), claim, {}, "")


def large_tables(tables: Tables, claim: Claim) -> Finding:
    """Compare independent with secret randomized response on large tables (Section 8.1)."""
    parts, numbers = _large_parts(tables[claim.tables[0]], claim)
    return _of_named_pairs(parts, numbers, tables, claim)


def grr_on_large_tables(tables: Tables, claim: Claim) -> Finding:
    """Compare GRR with the robust mechanisms of the paper on large tables (Section 8.1)."""
    clearly = claim.arguments["clearly"]
    curves = {
        name: wide
        for name, wide in _of_size(tables[claim.tables[0]], claim, small=False).items()
        if "grr" in wide
    }
    if not curves:
        raise NotCheckable(f"No table of more than {claim.arguments['small']} cells has IR, SRR and GRR.")
    worst = {name: wide[["ir", "srr"]].min(axis=1) / wide["grr"] for name, wide in curves.items()}
    last = {name: decide(wide, claim.arguments)["grr_last"] for name, wide in curves.items()}
    best = {name: wide[["ir", "srr"]].max(axis=1) / wide["grr"] for name, wide in curves.items()}
    parts = {
        STATED["grr_last"]: all(found.answer == YES for found in last.values()),
        f"the better of IR and SRR above it by {clearly:.0%} or more in the median": all(
            x.median() >= 1 + clearly for x in best.values()
        ),
    }
    numbers = "; ".join(
        f"{name}: over GRR the worse of IR and SRR at least {worst[name].min():.3g}, the better one "
        f"{best[name].median():.3g} in the median"
        for name in curves
    )
    return _of_named_pairs(parts, f"{numbers}.", tables, claim)


def _of_named_pairs(parts: dict[str, bool], numbers: str, tables: Tables, claim: Claim) -> Finding:
    """Decide a statement on large tables; with pairs that the paper does not name it is another reading."""
    curves = _of_size(tables[claim.tables[0]], claim, small=False)
    ours = [name for name in curves if not name.startswith(claim.arguments["pair"])]
    reading = (
        f"The paper has two large pairs and names {claim.arguments['pair']} only. Ours are "
        f"{', '.join(curves)}, chosen by us; that it holds depends on the pair (docs/beyond/numbers.md)."
    )
    return finding_of_parts(parts, numbers, "", reading if ours else "", n=len(curves))


def synthetic_means(tables: Tables, claim: Claim) -> Finding:
    """Check the same orderings of means over the instances (Section 8.2)."""
    own = tables[claim.tables[0]]
    curves = _small_curves(own, claim)
    return _at_ends(curves, claim, *_large_parts(own, claim))
