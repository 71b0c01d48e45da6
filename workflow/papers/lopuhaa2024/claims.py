"""Checks of the claims of lopuhaa2024 on section 8, the worked example and the theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import (
    DIMENSIONS,
    INEQUALITIES,
    LEAST,
    MECHANISMS,
    OWN,
    RADIUS,
    RADIUS_BOUND,
    RADIUS_PRINTED,
)
from papers.lopuhaa2024.claims_on_orderings import (
    SAME,
    grr_on_large_tables,
    large_tables,
    small_tables,
    synthetic_means,
)
from papers.lopuhaa2024.summaries import cells, small_first
from reproduction.ledger.claims import (
    Claim,
    Finding,
    NotCheckable,
    Tables,
    finding,
    finding_of_parts,
    require_checks,
    require_instances,
    require_numbers,
    require_rows,
)
from reproduction.results.batches import gather
from reproduction.results.tables import SKIPPED, select

PAPER = "lopuhaa2024"

__all__ = ["grr_on_large_tables", "large_tables", "small_tables", "synthetic_means"]

# The worked example and the theorems ----------------------------------------------------------------------


def example(tables: Tables, claim: Claim) -> Finding:
    """Compare every printed number of a worked example at its printed digits.

    ``arguments`` may have ``misprints``, quantities whose printed numbers the paper does not go on with, and
    ``goes_on``, by example the first letters of the printed numbers that follow from the right ones: if these
    all agree, the others are misprints. They may also have ``only`` or ``without``, quantities, for an
    example of several claims.
    """
    every = tables["example"]
    table = select(every, where=claim.where)
    stated = require_rows(table[table["printed"].notna()], claim.where)
    if "only" in claim.arguments:
        stated = require_rows(
            select(stated, quantity=claim.arguments["only"]), ", ".join(claim.arguments["only"])
        )
    stated = stated[~stated["quantity"].isin(claim.arguments.get("without", ()))]
    require_rows(stated, claim.where, "computed", "printed", "agrees")
    differs = stated[~stated["agrees"]]
    measured = f"{len(stated) - len(differs)} of {len(stated)} printed numbers agree at the printed digits."
    notes = "; ".join(
        f"{', '.join(part['quantity'])} ({note})" for note, part in differs.groupby("note", sort=False)
    )
    misprinted = set(differs["quantity"]) <= set(claim.arguments.get("misprints", ()))
    reading, goes_on = "", []
    if misprinted and len(differs):
        for where, start in claim.arguments["goes_on"].items():
            part = select(every, where=where)
            part = part[part["printed"].notna() & part["quantity"].str.startswith(start)]
            goes_on.append(require_rows(part, f"{where}, {start}", "computed", "printed", "agrees"))
        misprinted = all(part["agrees"].all() for part in goes_on)
        reading = (
            f"Misprints: {notes}. What the paper goes on to print in "
            f"{' and '.join(claim.arguments['goes_on'])} ({sum(map(len, goes_on))} printed) follows from the "
            "computed ones, and agrees."
        )
    computed = f"{len(stated) - len(differs)} of {len(stated)} printed numbers agree"
    if len(stated) == 1:
        computed = f"{float(stated['computed'].iloc[0]):.4f}"
    return finding(measured, misprinted, f"Different: {notes}.", reading, computed=computed, n=len(stated))


def theorem(tables: Tables, claim: Claim) -> Finding:
    """Compare a theorem with direct optimization over the uncertainty set."""
    rows = require_checks(select(tables[claim.tables[0]], claim=claim.id), claim.id)
    cases = rows[["size", "instance", "order"]].drop_duplicates()
    kept = int(rows["holds"].sum())
    plural = "s" if len(cases) > 1 else ""
    measured = (
        f"{kept} of {len(rows)} comparisons with direct optimization hold, in {len(cases)} case{plural}."
    )
    broken = "; ".join(
        f"{row.quantity} of {row.size}, {row.instance}: {row.measured:.6g} must be {row.relation} "
        f"{row.limit:.6g}"
        for row in rows[~rows["holds"]].head(3).itertuples()
    )
    computed = f"{kept} of {len(rows)} comparisons hold"
    return finding(measured, kept == len(rows), f"Broken: {broken}.", computed=computed, n=len(cases))


def few_outputs(tables: Tables, claim: Claim) -> Finding:
    """Compare PolyOpt with the number of inputs, and with mechanisms of any number of outputs (Theorem 3)."""
    checks, *others = claim.tables
    found = require_checks(select(tables[checks], claim=claim.id), claim.id)
    counted = found["quantity"].str.startswith("outputs")
    rows, values = (
        require_rows(found[counted], claim.id),
        require_rows(found[~counted], f"{claim.id}, values"),
    )
    shares, solves = [float((rows["measured"] / rows["limit"]).max())], len(rows)
    for name in others:
        if name in tables:
            columns = ["size", "outputs", "status"]
            part = gather(tables[name], columns, mechanism="polyopt", metric="nmi")
            part = part[part["status"] != SKIPPED]
            require_numbers(part["outputs"], f"of outputs in {name}")
            sizes = part["size"].map(cells).astype("float64")
            shares += list(part["outputs"].astype("float64") / sizes)
            solves += len(part)
    short = float((1 - values["measured"] / values["limit"]).max())
    measured = (
        f"Outputs over the number of values of X: at most {max(shares):.3g}, over {solves} solves. Below the "
        f"bound on mechanisms with any number of outputs: at most {max(short, 0.0):.1e} of it, over "
        f"{len(values)} solves."
    )
    otherwise = (
        "A PolyOpt has more outputs than X has values, or one with more outputs may have more utility."
    )
    return finding(
        measured,
        max(shares) <= 1 and bool(values["holds"].all()),
        otherwise,
        computed=f"at most {max(shares):.3g} outputs per value of X",
        n=solves,
    )


def proposition_2(tables: Tables, claim: Claim) -> Finding:
    """Proposition 2: its lower bounds, its radius as printed and as (30) has it, its bound on the radius."""
    rows = require_checks(select(tables[claim.tables[0]], claim=claim.id), claim.id)
    least, printed, radius, bound = (
        require_rows(rows[rows["quantity"].str.startswith(name)], f"{claim.id}, {name}")
        for name in (LEAST, RADIUS_PRINTED, RADIUS, RADIUS_BOUND)
    )
    above = float((printed["measured"] - printed["limit"]).abs().max())
    off = float(max((part["measured"] - part["limit"]).abs().max() for part in (least, radius)))
    measured = (
        f"Against direct optimization: {len(least)} lower bounds and, where the condition holds, "
        f"{len(radius)} radii less 2 p are off by at most {off:.1e}; "
        f"the radius as printed by up to {above:.3g}; "
        f"the bound holds on {int(bound['holds'].sum())} of {len(bound)} other groups."
    )
    reading = (
        f"The printed radius lacks $- 2p$, which (30) and the proof of Lemma A7 have; it is up to "
        f"{above:.3g} too large. With it the radius is the largest distance."
    )
    return finding(
        measured,
        bool(least["holds"].all() and radius["holds"].all() and bound["holds"].all()),
        "A formula differs from direct optimization also with $- 2p$, or the bound fails.",
        "" if printed["holds"].all() else reading,
        computed=f"{int(rows['holds'].sum())} of {len(rows)} comparisons hold as printed",
        n=len(rows[["size", "instance"]].drop_duplicates()),
    )


def cone_size(tables: Tables, claim: Claim) -> Finding:
    """Count the dimensions and inequalities of the polyhedron of a pair (Sections 5 and 8.1).

    How both follow from the number a of cells is counted on small tables, whose vertices are listed.
    """
    instance = claim.arguments["instance"]
    pairs, theorems = claim.tables
    rows = require_rows(select(tables[pairs], instance=instance), f"the pair {instance}")
    counted = require_checks(select(tables[theorems], claim=claim.id), claim.id)
    flat, sides = (
        require_rows(select(counted, quantity=name), f"{claim.id}, {name}")
        for name in (DIMENSIONS, INEQUALITIES)
    )
    size = str(rows["size"].iloc[0])
    a = cells(size)
    less = (flat["size"].map(cells) - flat["measured"]).astype(int)
    as_counted = bool((less == less.iloc[0]).all() and sides["holds"].all())
    found = a - int(less.iloc[0]), a * a + a
    stated = claim.arguments["dimensions"], claim.arguments["inequalities"]
    computed = f"{found[0]} dimensions, {found[1]:,} inequalities"
    reading = (
        f"Read of the cone, which has {a} dimensions. The polyhedron, of columns whose entries sum to 1, has "
        f"{found[0]}: one less, as section 5 says."
    )
    return finding(
        f"{instance} ({size}): {computed}, as counted on {len(flat)} small tables.",
        as_counted and stated in (found, (a, found[1])),
        "The numbers differ from print.",
        reading if stated != found else "",
        computed=computed,
        n=1 + len(flat),
    )


# Privacy and utility under the truth ----------------------------------------------------------------------


def _rows_of_setting(table: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Return the rows of the paper's setting: `beta` and `order` of the arguments, and `epsilon` if given."""
    names = [name for name in ("beta", "order", "epsilon") if name in claim.arguments]
    for name in names:
        table = table[np.isclose(table[name], claim.arguments[name], rtol=SAME)]
    signs = {"beta": "β", "epsilon": "ε"}
    setting = ", ".join(f"{signs.get(name, name)} = {claim.arguments[name]:g}" for name in names)
    return require_rows(table, f"the setting {setting}")


def coverage(tables: Tables, claim: Claim) -> Finding:
    """Compare how often F contains the truth with what Sections 3 and 8.3 say (table `coverage`)."""
    arguments = claim.arguments
    rows = select(_rows_of_setting(tables[claim.tables[0]], claim), method=arguments["method"])
    rows = require_rows(rows, f"the radius that is {arguments['method']}", "covered", "samples")
    require_instances(int(rows["samples"].min()), arguments["samples"], "samples")
    stated = 1 - rows["beta"]
    error = np.sqrt(stated * (1 - stated) / rows["samples"].astype("float64"))
    short = rows["covered"] < stated - arguments["deviations"] * error
    least = rows.iloc[int(rows["covered"].to_numpy().argmin())]
    like = rows[rows["truth"] == arguments["like"]]
    best = like.loc[like["records"] == like["records"].max(), "covered"]
    measured = (
        f"F contains the truth in {rows['covered'].min():.1%} to {rows['covered'].max():.1%} of the samples, "
        f"in {int((~short).sum())} of {len(rows)} cases as often as stated."
    )
    otherwise = (
        f"The radius is that of a limit of many records. Of {int(short.sum())} truths it covers fewer, "
        f"{least['covered']:.1%} at least ({least['instance']}, {least['size']}, {least['records']:,} "
        f"records, {least['truth']})."
    )
    if len(best):
        otherwise += f" Truths like the tables, with most records: {best.min():.1%} to {best.max():.1%}."
    return finding(
        measured, not short.any(), otherwise, computed=f"at least {rows['covered'].min():.1%}", n=len(rows)
    )


def realized_privacy(tables: Tables, claim: Claim) -> Finding:
    """Compare the quartiles of the realized ε* of NR and PolyOpt with ε (Section 8.3)."""
    summary = _rows_of_setting(tables[claim.tables[0]], claim)
    # The upper quartile of a mechanism that is not robust may be infinite.
    nr, robust = (
        require_rows(select(summary, mechanism=name), name, quartile, "epsilon", "instances")
        for name, quartile in (("nr", "low"), ("polyopt", "high"))
    )
    for part in (nr, robust):
        require_instances(int(part["instances"].max()), claim.arguments["instances"])
    over = nr[~(nr["low"] > nr["epsilon"])]
    under = robust[~(robust["high"] < robust["epsilon"])]
    measured = (
        f"NR's 25% quantile over ε: at least {(nr['low'] / nr['epsilon']).min():.3g}; PolyOpt's 75% quantile "
        f"over ε: at most {(robust['high'] / robust['epsilon']).max():.3g} ({nr['size'].nunique()} sizes)."
    )
    cases = [
        f"{label} at ε = {epsilon:g} on {size}"
        for label, part in (("NR", over), ("PolyOpt", under))
        for epsilon, size in zip(part["epsilon"], part["size"], strict=True)
    ]
    more = " and more" if len(cases) > 8 else ""
    otherwise = f"The middle half reaches across ε for {', '.join(cases[:8])}{more}."
    computed = (
        f"NR's lower quartile is at least {(nr['low'] / nr['epsilon']).min():.3g} ε, PolyOpt's upper one at "
        "most "
        f"{(robust['high'] / robust['epsilon']).max():.3g} ε"
    )
    return finding(measured, not cases, otherwise, computed=computed, n=int(nr["instances"].max()))


def nr_quantile(tables: Tables, claim: Claim) -> Finding:
    """Compare the printed quantile of NR with the range over samples of as many tables (Section 8.3)."""
    said, sample = claim.arguments["value"], claim.arguments["instances"]
    drawn = select(
        _rows_of_setting(tables[claim.tables[0]], claim), mechanism="nr", drawn=True, sample=sample
    )
    drawn = require_rows(
        drawn[drawn["size"].map(cells) <= claim.arguments["small"]],
        f"samples of {sample} tables",
        "quantile",
        "low",
        "high",
        "tables",
    )
    require_instances(int(drawn["tables"].min()), claim.arguments["tables"], "tables")
    ranges = "; ".join(
        f"{row.size} {row.low:.4f} to {row.high:.4f} ({row.quantile:.4f} over {row.tables} tables)"
        for row in drawn.itertuples()
    )
    low, high = drawn["low"].max(), drawn["high"].min()
    reading = (
        f"Read of one sample of {sample} tables, of any size: the paper names neither. The digits are not "
        f"reproduced; any number from {low:.3f} to {high:.3f} would have passed."
    )
    off = max(high - said, said - low)
    return finding(
        f"75% quantile of 95% of the samples of {sample} tables: {ranges}.",
        bool(low <= said <= high),
        f"It is not in the ranges of all sizes on which the paper has NR, from {low:.3f} to {high:.3f}."
        if low <= high
        else "No number is in the ranges of all sizes on which the paper has NR.",
        "" if off <= claim.arguments["digits"] else reading,
        computed="; ".join(f"{row.size}: {row.low:.3f} to {row.high:.3f}" for row in drawn.itertuples()),
        n=int(drawn["tables"].min()),
    )


def utility_difference(tables: Tables, claim: Claim) -> Finding:
    """Compare utility under the estimate and under the truth (Section 8.4).

    ``arguments``: the setting, the mechanisms of the paper on all sizes and on small ones, the extreme, and
    the standard deviations within which a share of positive differences is even.
    """
    arguments = claim.arguments
    summary = _rows_of_setting(tables[claim.tables[0]], claim)
    is_small = summary["size"].map(cells) <= arguments["small"]
    methods = summary["mechanism"].isin(arguments["methods"]) | (
        is_small & summary["mechanism"].isin(arguments["on_small"])
    )
    own = summary[methods & (summary["instances"] >= arguments["instances"])]
    for name in (*arguments["methods"], *arguments["on_small"]):
        require_rows(
            select(own, mechanism=name),
            f"{arguments['instances']} tables of {MECHANISMS[name].label}",
            "extreme",
            "positive",
        )
    spare = _spare_tables(own, arguments["deviations"])
    uneven = spare < 0
    wide = own[~(own["extreme"] < arguments["largest"])]
    known = ~summary.index.isin(own.index) & ~summary["mechanism"].isin(list(OWN))
    other = summary[known & (summary["instances"] >= arguments["instances"])]
    measured = (
        f"Largest relative difference {own['extreme'].max():.2%}; share of positive ones "
        f"{own['positive'].min():.2f} to {own['positive'].max():.2f}."
    )
    nearest, margin = own.iloc[[int(spare.argmin())]], int(spare.min())
    if margin >= 0:
        ((where, share),), (n,) = _labelled_values(nearest, "positive"), nearest["instances"]
        measured += (
            f" The margin is {margin} tables, on {where} ({share * n:.0f} of {n} positive): if"
            f" {margin + 1} more had the commoner sign, the verdict would turn."
        )
    beyond = other.loc[(other["positive"] - 0.5).abs().nlargest(1).index]
    measured += "".join(
        f" Beyond the paper, {where}: {x:.0%} positive." for where, x in _labelled_values(beyond, "positive")
    )
    cases = [f"{where}: {x:.1%} at the extreme" for where, x in _labelled_values(wide, "extreme")]
    cases += [f"{where}: {x:.0%} positive" for where, x in _labelled_values(own[uneven], "positive")]
    otherwise = f"Beyond {arguments['largest']:.0%}, or not symmetric: {'; '.join(cases)}."
    computed = (
        f"at most {own['extreme'].max():.2%}; "
        f"{own['positive'].min():.0%} to {own['positive'].max():.0%} of the differences are positive"
    )
    return finding(measured, not cases, otherwise, computed=computed, n=int(own["instances"].min()))


def _spare_tables(rows: pd.DataFrame, deviations: int) -> pd.Series[int]:
    """Return how many tables of the rarer sign could have the other one; negative if too few are left.

    Of n fair coin tosses, k heads are within d standard deviations if |2k - n| <= d sqrt(n).
    """
    n = rows["instances"]
    surplus = (2 * (rows["positive"] * n).round().astype(int) - n).abs()
    limit = n.map(lambda tables: math.isqrt(deviations**2 * tables))
    return (limit - surplus) // 2


def _labelled_values(rows: pd.DataFrame, name: str) -> Iterator[tuple[str, float]]:
    for mechanism, size, value in zip(rows["mechanism"], rows["size"], rows[name], strict=True):
        yield f"{MECHANISMS[mechanism].label} on {size}", value


# Significance level ---------------------------------------------------------------------------------------


def significance(tables: Tables, claim: Claim) -> Finding:
    """Measure how NMI changes with the significance level (Section 8.5)."""
    arguments = claim.arguments
    factor, largest = arguments["factor"], arguments["largest"]
    summary = _rows_of_setting(tables[claim.tables[0]], claim)
    change = _changes(summary, factor)
    ordered = sorted(change, key=small_first)
    ir = [change[size]["ir"] for size in ordered if "ir" in change[size]]
    both = [size for size in ordered if len(change[size]) == 2]
    # The paper has no PolyOpt on large tables.
    small = [size for size in both if cells(size) <= arguments["small"]]
    if len(ir) < 2 or not small:
        raise NotCheckable(
            "The statement compares PolyOpt with IR on small tables, and sizes with each other, over a "
            f"factor of {factor:g} in β; the table has {len(small)} and {len(ir)} such sizes."
        )
    parts = {
        f"at most about {arguments['stated']:.0%}": max(*ir, *(change[size]["polyopt"] for size in small))
        <= largest,
        "less for PolyOpt than for IR": all(change[size]["polyopt"] < change[size]["ir"] for size in small),
        "less for larger X": all(x >= y for x, y in pairwise(ir)) and ir[-1] < ir[0],
    }
    numbers = "; ".join(
        f"{size}: "
        + ", ".join(f"{MECHANISMS[name].label} {value:.2%}" for name, value in sorted(change[size].items()))
        for size in ordered
    )
    polyopt = [change[size]["polyopt"] for size in small]
    reading = (
        "Less for larger X is read of IR: the change of PolyOpt goes from "
        f"{' to '.join(f'{x:.2%}' for x in polyopt)} over the sizes on which the paper could compute it."
    )
    finding = finding_of_parts(
        parts,
        f"Change by a factor of {factor:g} in β: {numbers}.",
        arguments["remark"],
        "" if all(x >= y for x, y in pairwise(polyopt)) else reading,
    )
    return replace(finding, computed=f"at most {max(*ir, *polyopt):.1%}", n=int(summary["instances"].min()))


def _changes(summary: pd.DataFrame, factor: float) -> dict[str, dict[str, float]]:
    """Return the largest relative change of NMI between two values of β a factor apart, by size."""
    change: dict[str, dict[str, float]] = {}
    for (size, mechanism), part in select(summary, mechanism=["polyopt", "ir"]).groupby(
        ["size", "mechanism"]
    ):
        require_rows(part, f"{mechanism} on {size}", "nmi", "beta")
        nmi = part.set_index("beta")["nmi"].sort_index()
        pairs = [(x, y) for x in nmi.index for y in nmi.index if math.isclose(y / x, factor, rel_tol=SAME)]
        if pairs:
            largest = _largest(abs(float(nmi[x]) / float(nmi[y]) - 1) for x, y in pairs)
            change.setdefault(str(size), {})[str(mechanism)] = largest
    return change


def _largest(values: Iterable[float]) -> float:
    return max(values, default=0.0)
