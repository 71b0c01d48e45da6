"""Checks of the claims of lopuhaa2024 on section 8, the worked example and the theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from papers.lopuhaa2024.catalogue import MECHANISMS, OWN
from papers.lopuhaa2024.summaries import cells, small_first
from reproduction.ledger.claims import (
    ANOTHER_READING,
    REPRODUCED,
    Claim,
    Finding,
    NotCheckable,
    Tables,
    batches_in,
    finding,
    finding_of_parts,
    require_instances,
    require_rows,
)
from reproduction.results.batches import gather
from reproduction.results.tables import select

PAPER = "lopuhaa2024"

#: By how much levels, and ratios of levels, may differ from those that `paper.yaml` names, relatively: it
#: finds the rows that a claim is about, and is no tolerance of what they say.
_SAME = 1e-6

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
    stated = require_rows(stated[~stated["quantity"].isin(claim.arguments.get("without", ()))], claim.where)
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
            goes_on.append(require_rows(part, f"{where}, {start}"))
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
    rows = require_rows(select(tables[claim.tables[0]], claim=claim.id), claim.id)
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
    found = select(tables[checks], claim=claim.id)
    counted = found["quantity"].str.startswith("outputs")
    rows, values = (
        require_rows(found[counted], claim.id),
        require_rows(found[~counted], f"{claim.id}, values"),
    )
    shares, solves = [float((rows["measured"] / rows["limit"]).max())], len(rows)
    for name in others:
        if name in tables:
            part = gather(batches_in(tables, name), ["size", "outputs"], mechanism="polyopt", metric="nmi")
            part = part.dropna(subset=["outputs"])
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


def cone_size(tables: Tables, claim: Claim) -> Finding:
    """Compare the dimensions a and the inequalities a² + a of the cone with the stated ones (Section 8.1)."""
    instance = claim.arguments["instance"]
    rows = require_rows(select(tables[claim.tables[0]], instance=instance), f"the pair {instance}")
    size = str(rows["size"].iloc[0])
    found = cells(size), cells(size) ** 2 + cells(size)
    measured = f"{instance} ({size}): {found[0]} dimensions, {found[1]:,} inequalities."
    stated = claim.arguments["dimensions"], claim.arguments["inequalities"]
    computed = f"{found[0]} dimensions, {found[1]:,} inequalities"
    return finding(
        measured, found == stated, "The numbers of values differ from print.", computed=computed, n=1
    )


# Orderings ------------------------------------------------------------------------------------------------

_Curves = Mapping[str, pd.DataFrame]


def _curves(table: pd.DataFrame) -> _Curves:
    """Return the NMI by epsilon and mechanism of what has IR and SRR, by instance (or size) as texts."""
    by = ["instance", "size"] if "instance" in table else ["size"]
    parts = {}
    for key, part in table.groupby(by):
        curves = part.set_index("epsilon")[list(MECHANISMS)].dropna(axis="columns", how="all").sort_index()
        if {"ir", "srr"} <= set(curves.columns):
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
    near, share_, clearly = (claim.arguments[name] for name in ("near", "marginal", "clearly"))
    parts: dict[str, list[bool]] = {}
    for curve in curves.values():
        wide = curve[curve.index <= end * (1 + _SAME)]
        better = wide[["ir", "srr"]].max(axis=1)
        lead, ratio = wide["polyopt"] / better, wide["ir"] / wide["srr"]
        behind = (wide["srr"] - wide["ir"]).iloc[-1] / (wide["polyopt"] - better).iloc[-1]
        short = 1 - wide["polyopt"] / wide["nr"]
        for name, holds in {
            f"PolyOpt above IR and SRR at every ε, by {clearly:.0%} or more in the median": lead.min() > 1
            and lead.median() >= 1 + clearly,
            "most so at low ε": lead.iloc[0] > lead.iloc[-1],
            "IR above SRR at the lowest ε": ratio.iloc[0] > 1,
            f"SRR above IR at the highest ε, by at most {share_:.0%} of PolyOpt's lead over both": 0
            < behind
            <= share_,
            "NR not below PolyOpt": short.min() >= -claim.arguments["rounding"],
            f"NR within {near:.0%} of PolyOpt at the highest ε": short.iloc[-1] <= near,
            "GRR worst at every ε": (wide[["polyopt", "nr", "ir", "srr"]].min(axis=1) > wide["grr"]).all(),
        }.items():
            parts.setdefault(name, []).append(bool(holds))
    return {name: all(found) for name, found in parts.items()}


def _small_numbers(curves: _Curves, ends: Iterable[float]) -> str:
    """Say what the parts are decided by, at the ends of the grid."""
    texts = []
    for name, wide in curves.items():
        better = wide[["ir", "srr"]].max(axis=1)
        lead, ahead = wide["polyopt"] / better, (wide["srr"] - wide["ir"]) / (wide["polyopt"] - better)
        worst = wide[["polyopt", "nr", "ir", "srr"]].min(axis=1) > wide["grr"]
        reached = (wide.index[wide.index <= end * (1 + _SAME)] for end in ends)
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
    clearly = claim.arguments["clearly"]
    share = {n: wide["ir"] / wide["srr"] for n, wide in _of_size(table, claim, small=False).items()}
    if not share:
        raise NotCheckable(f"No table of more than {claim.arguments['small']} cells has IR and SRR.")
    parts = {
        f"IR above SRR on large tables at every ε, by {clearly:.0%} or more in the median": all(
            x.min() > 1 and x.median() >= 1 + clearly for x in share.values()
        )
    }
    numbers = "; ".join(f"{n}: IR over SRR {x.min():.3g} to {x.max():.3g}" for n, x in share.items())
    return parts, f"{numbers}."


def _at_ends(curves: _Curves, claim: Claim, large: dict[str, bool], numbers: str) -> Finding:
    """Decide a statement on the whole grid, and otherwise where the grid would have to end for it to hold."""
    ends = claim.arguments["ends"]
    whole = _small_parts(curves, claim) | large
    # A grid that has no levels says nothing.
    first = max(wide.index.min() for wide in curves.values())
    held = [
        end
        for end in ends
        if end >= first * (1 - _SAME) and all((_small_parts(curves, claim, end) | large).values())
    ]
    words = ", ".join(f"{end:g}" for end in held)
    measured = (
        f"{_small_numbers(curves, ends)} {numbers} All parts hold with the grid up to ε = {words or 'none'}."
    )
    finding = finding_of_parts(whole, " ".join(measured.split()), claim.arguments["remark"], n=len(curves))
    if finding.verdict == REPRODUCED or not held:
        return finding
    reading = (
        f"The paper names no level above {claim.arguments['named']:g}, and no end of its grid. Of grids up "
        f"to ε = {', '.join(f'{end:g}' for end in ends)}, all parts hold with those up to {words} only, "
        "which was seen with the outcome known. On ours, up to "
        f"{max(max(c.index) for c in curves.values()):g}: "
    )
    return replace(finding, verdict=ANOTHER_READING, explanation=reading + finding.explanation)


def small_tables(tables: Tables, claim: Claim) -> Finding:
    """Check the orderings of the mechanisms on small tables (Section 8.1), with several ends of the grid."""
    return _at_ends(_small_curves(tables[claim.tables[0]], claim), claim, {}, "")


def large_tables(tables: Tables, claim: Claim) -> Finding:
    """Compare independent with secret randomized response on large tables (Section 8.1)."""
    parts, numbers = _large_parts(tables[claim.tables[0]], claim)
    return finding_of_parts(parts, numbers, "", n=len(_of_size(tables[claim.tables[0]], claim, small=False)))


def synthetic_means(tables: Tables, claim: Claim) -> Finding:
    """Check the same orderings of means over the instances (Section 8.2)."""
    own = tables[claim.tables[0]]
    curves = _small_curves(own, claim)
    return _at_ends(curves, claim, *_large_parts(own, claim))


# Privacy and utility under the truth ----------------------------------------------------------------------


def _rows_of_setting(table: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Return the rows of the paper's setting: `beta` and `order` of the arguments, and `epsilon` if given."""
    names = [name for name in ("beta", "order", "epsilon") if name in claim.arguments]
    for name in names:
        table = table[np.isclose(table[name], claim.arguments[name], rtol=_SAME)]
    signs = {"beta": "β", "epsilon": "ε"}
    setting = ", ".join(f"{signs.get(name, name)} = {claim.arguments[name]:g}" for name in names)
    return require_rows(table, f"the setting {setting}")


def realized_privacy(tables: Tables, claim: Claim) -> Finding:
    """Compare the quartiles of the realized ε* of NR and PolyOpt with ε (Section 8.3)."""
    summary = _rows_of_setting(tables[claim.tables[0]], claim)
    nr, robust = (require_rows(select(summary, mechanism=name), name) for name in ("nr", "polyopt"))
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
        drawn[drawn["size"].map(cells) <= claim.arguments["small"]], f"samples of {sample} tables"
    )
    require_instances(int(drawn["tables"].min()), claim.arguments["tables"], "tables")
    ranges = "; ".join(
        f"{row.size} {row.low:.4f} to {row.high:.4f} ({row.quantile:.4f} over {row.tables} tables)"
        for row in drawn.itertuples()
    )
    holds = (drawn["low"] <= said) & (said <= drawn["high"])
    sizes = ", ".join(drawn.loc[holds, "size"])
    return finding(
        f"75% quantile of 95% of the samples of {sample} tables: {ranges}.",
        bool(holds.any()),
        "It is in the range of no size on which the paper has NR.",
        "" if holds.all() else f"The paper does not name the size; it is in the range of {sizes} only.",
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
            select(own, mechanism=name), f"{arguments['instances']} tables of {MECHANISMS[name].label}"
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
        nmi = part.set_index("beta")["nmi"].sort_index()
        pairs = [(x, y) for x in nmi.index for y in nmi.index if math.isclose(y / x, factor, rel_tol=_SAME)]
        if pairs:
            largest = _largest(abs(float(nmi[x]) / float(nmi[y]) - 1) for x, y in pairs)
            change.setdefault(str(size), {})[str(mechanism)] = largest
    return change


def _largest(values: Iterable[float]) -> float:
    return max(values, default=0.0)
