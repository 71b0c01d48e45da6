"""What decides the claims of lopuhaa2024: the orderings of Section 8, the worked example, the theorems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ldpfrontier.claims import (
    ANOTHER_READING,
    REPRODUCED,
    Claim,
    Finding,
    NotCheckable,
    Tables,
    enough,
    parts_verdict,
    some,
    verdict,
)
from ldpfrontier.papers.lopuhaa2024.catalogue import MECHANISMS
from ldpfrontier.papers.lopuhaa2024.summaries import cells, small_first
from ldpfrontier.tables import select

#: For levels and ratios of levels that come from a file: the same number but for rounding.
_SAME = 1e-6

# The worked example and the theorems ----------------------------------------------------------------------


def example(tables: Tables, claim: Claim) -> Finding:
    """Compare every printed number of a worked example at its printed digits.

    ``arguments`` may have ``repeated``: quantities that the example repeats from another one, whose own
    results do not use them, and ``from``, that example.
    """
    table = select(tables["example"], where=claim.where)
    stated = some(table[table["printed"].notna()], claim.where)
    differs = stated[~stated["agrees"]]
    measured = f"{len(stated) - len(differs)} of {len(stated)} printed numbers agree at the printed digits."
    notes = "; ".join(
        f"{', '.join(part['quantity'])} ({note})" for note, part in differs.groupby("note", sort=False)
    )
    repeated = set(differs["quantity"]) <= set(claim.arguments.get("repeated", ()))
    reading = (
        "Everything the example derives agrees; what differs is repeated from "
        f"{claim.arguments['from']}: {notes}."
        if repeated and len(differs)
        else ""
    )
    return verdict(measured, repeated, f"Different: {notes}.", reading)


def theorem(tables: Tables, claim: Claim) -> Finding:
    """Compare a theorem with direct optimization over the uncertainty set.

    ``arguments`` may have ``reading``: how the statement is read where its print is another one.
    """
    rows = some(select(tables[claim.tables[0]], claim=claim.id), claim.id)
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
    return verdict(measured, kept == len(rows), f"Broken: {broken}.", claim.arguments.get("reading", ""))


def few_outputs(tables: Tables, claim: Claim) -> Finding:
    """Compare the outputs of every PolyOpt that was computed with the number of inputs (Theorem 3)."""
    checks, *others = claim.tables
    rows = some(select(tables[checks], claim=claim.id), claim.id)
    shares, solves = [float((rows["measured"] / rows["limit"]).max())], len(rows)
    for name in others:
        if name in tables:
            part = select(tables[name], mechanism="polyopt", metric="nmi").dropna(subset=["outputs"])
            shares += list(part["outputs"].astype("float64") / part["size"].map(cells))
            solves += len(part)
    measured = f"Outputs over the number of values of X: at most {max(shares):.3g}, over {solves} solves."
    return verdict(measured, max(shares) <= 1, "A PolyOpt has more outputs than X has values.")


def cone_size(tables: Tables, claim: Claim) -> Finding:
    """Compare the dimensions a and the inequalities a² + a of the cone with the stated ones (Section 8.1)."""
    instance = claim.arguments["instance"]
    rows = some(select(tables[claim.tables[0]], instance=instance), f"the pair {instance}")
    size = str(rows["size"].iloc[0])
    found = cells(size), cells(size) ** 2 + cells(size)
    measured = f"{instance} ({size}): {found[0]} dimensions, {found[1]:,} inequalities."
    stated = claim.arguments["dimensions"], claim.arguments["inequalities"]
    return verdict(measured, found == stated, "The numbers of values differ from print.")


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


def _small_parts(table: pd.DataFrame, claim: Claim) -> tuple[dict[str, bool], str]:
    needed = {"polyopt", "nr", "ir", "srr", "grr"}
    curves = {
        name: wide for name, wide in _of_size(table, claim, small=True).items() if needed <= set(wide.columns)
    }
    if not curves:
        raise NotCheckable(
            f"No table of at most {claim.arguments['small']} cells has all of {', '.join(sorted(needed))}."
        )
    near, below = claim.arguments["marginal"], claim.arguments["slightly"]
    lead = {name: wide["polyopt"] / wide[["ir", "srr"]].max(axis=1) for name, wide in curves.items()}
    share = {name: wide["ir"] / wide["srr"] for name, wide in curves.items()}
    short = {name: 1 - wide["polyopt"] / wide["nr"] for name, wide in curves.items()}
    worst = {
        name: wide.index[wide[["polyopt", "nr", "ir", "srr"]].min(axis=1) > wide["grr"]]
        for name, wide in curves.items()
    }
    parts = {
        "PolyOpt above IR and SRR at every ε": all(x.min() > 1 for x in lead.values()),
        "most so at low ε": all(x.iloc[0] > x.iloc[-1] for x in lead.values()),
        "IR above SRR at the lowest ε": all(x.iloc[0] > 1 for x in share.values()),
        f"IR slightly (within {below:.0%}) below SRR at the highest ε": all(
            1 - below <= x.iloc[-1] < 1 for x in share.values()
        ),
        "NR not below PolyOpt": all(x.min() >= -1e-9 for x in short.values()),
        f"NR within {near:.0%} of PolyOpt at the highest ε": all(x.iloc[-1] <= near for x in short.values()),
        "GRR worst at every ε": all(len(worst[name]) == len(wide) for name, wide in curves.items()),
    }
    numbers = "; ".join(
        f"{name}: PolyOpt over the better of IR and SRR {lead[name].iloc[0]:.3g} at the lowest ε, "
        f"{lead[name].iloc[-1]:.3g} at the highest, IR over SRR {share[name].iloc[0]:.3g} and "
        f"{share[name].iloc[-1]:.3g}, GRR worst at {len(worst[name])} of {len(curves[name])} values of ε"
        for name in curves
    )
    return parts, f"{numbers}."


def _large_parts(table: pd.DataFrame, claim: Claim) -> tuple[dict[str, bool], str]:
    clearly = claim.arguments["clearly"]
    share = {n: wide["ir"] / wide["srr"] for n, wide in _of_size(table, claim, small=False).items()}
    if not share:
        raise NotCheckable(f"No table of more than {claim.arguments['small']} cells has IR and SRR.")
    parts = {
        f"IR above SRR on large tables at every ε, by {clearly:.0%} or more in the median": all(
            x.min() > 1 and x.median() > 1 + clearly for x in share.values()
        )
    }
    numbers = "; ".join(f"{n}: IR over SRR {x.min():.3g} to {x.max():.3g}" for n, x in share.items())
    return parts, f"{numbers}."


def small_tables(tables: Tables, claim: Claim) -> Finding:
    """Check the orderings of the mechanisms on small tables (Section 8.1)."""
    parts, numbers = _small_parts(tables[claim.tables[0]], claim)
    return parts_verdict(parts, numbers, claim.arguments["remark"])


def large_tables(tables: Tables, claim: Claim) -> Finding:
    """Compare independent with secret randomized response on large tables (Section 8.1)."""
    parts, numbers = _large_parts(tables[claim.tables[0]], claim)
    return parts_verdict(parts, numbers, "")


def synthetic_means(tables: Tables, claim: Claim) -> Finding:
    """Check the same orderings of means over the instances (Section 8.2).

    Where they fail as they fail on Adult, the second table of the claim, the statement holds as it stands.
    """
    own, adult = claim.tables
    small, numbers = _small_parts(tables[own], claim)
    large, more = _large_parts(tables[own], claim)
    finding = parts_verdict(small | large, f"{numbers} {more}", claim.arguments["remark"])
    if finding.verdict == REPRODUCED or adult not in tables:
        return finding
    if small | large == _small_parts(tables[adult], claim)[0] | _large_parts(tables[adult], claim)[0]:
        reading = "The means are ordered as what is computed on Adult, also where section 8.1 says otherwise."
        return replace(finding, verdict=ANOTHER_READING, explanation=f"{reading} {finding.explanation}")
    return finding


# Privacy and utility under the truth ----------------------------------------------------------------------


def _usual(table: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Return the rows of the paper's setting: `beta` and `order` of the arguments, and `epsilon` if given."""
    names = [name for name in ("beta", "order", "epsilon") if name in claim.arguments]
    for name in names:
        table = table[np.isclose(table[name], claim.arguments[name], rtol=_SAME)]
    signs = {"beta": "β", "epsilon": "ε"}
    setting = ", ".join(f"{signs.get(name, name)} = {claim.arguments[name]:g}" for name in names)
    return some(table, f"the setting {setting}")


def realized_privacy(tables: Tables, claim: Claim) -> Finding:
    """Compare the quartiles of the realized ε* of NR and PolyOpt with ε (Section 8.3)."""
    summary = _usual(tables[claim.tables[0]], claim)
    nr, robust = (some(select(summary, mechanism=name), name) for name in ("nr", "polyopt"))
    enough(int(nr["instances"].max()), claim.arguments["instances"])
    over = nr[nr["low"] <= nr["epsilon"]]
    under = robust[robust["high"] >= robust["epsilon"]]
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
    return verdict(measured, not cases, otherwise)


def nr_quantile(tables: Tables, claim: Claim) -> Finding:
    """Compare the printed quantile of NR with those of the sizes (Section 8.3)."""
    said, close, exact = (claim.arguments[name] for name in ("value", "close", "exact"))
    rows = some(select(_usual(tables[claim.tables[0]], claim), mechanism="nr"), "NR")
    enough(int(rows["instances"].min()), claim.arguments["instances"])
    high = rows.set_index("size")["high"]
    measured = "75% quantile: " + "; ".join(f"{size} {value:.4f}" for size, value in high.items()) + "."
    off = (high / said - 1).abs()
    between = high.min() <= said <= high.max()
    otherwise = f"No size is within {close:.0%} of it. The paper names neither the size nor its samples" + (
        ", and the value lies between those of our sizes." if between else "."
    )
    reading = (
        f"The paper does not name the size; it is read as {off.idxmin()}, and as one random sample of "
        f"{claim.arguments['instances']} tables, {off.min():.1%} off."
    )
    return verdict(measured, bool(off.min() <= close), otherwise, reading if off.min() > exact else "")


def utility_difference(tables: Tables, claim: Claim) -> Finding:
    """Compare utility under the estimate and under the truth (Section 8.4)."""
    arguments = claim.arguments
    summary = _usual(tables[claim.tables[0]], claim)
    full = summary[summary["instances"] >= arguments["instances"]]
    enough(int(summary["instances"].max()), arguments["instances"])
    # A share of fair coin tosses has the standard deviation 1/2 over the root of their number.
    deviation = 0.5 / np.sqrt(full["instances"].astype("float64"))
    uneven = (full["positive"] - 0.5).abs() > arguments["deviations"] * deviation + 1e-9
    # On large tables the paper has some of the mechanisms only.
    own = (full["size"].map(cells) <= arguments["small"]) | full["mechanism"].isin(arguments["large"])
    wide = summary[summary["extreme"] >= arguments["largest"]]
    measured = (
        f"Largest relative difference {summary['extreme'].max():.2%}; share of positive ones "
        f"{full.loc[own, 'positive'].min():.2f} to {full.loc[own, 'positive'].max():.2f}."
    )
    cases = [f"{where}: {x:.1%} at the extreme" for where, x in _cases(wide, "extreme")]
    cases += [f"{where}: {x:.0%} positive" for where, x in _cases(full[uneven & own], "positive")]
    beyond = "; ".join(f"{where}: {x:.0%} positive" for where, x in _cases(full[uneven & ~own], "positive"))
    reading = (
        "Read for the mechanisms that the paper computes on each size. Beyond them it is not symmetric: "
        f"{beyond}."
        if beyond
        else ""
    )
    otherwise = f"Beyond {arguments['largest']:.0%}, or not symmetric: {'; '.join(cases)}."
    return verdict(measured, not cases, otherwise, reading)


def _cases(rows: pd.DataFrame, name: str) -> Iterator[tuple[str, float]]:
    for mechanism, size, value in zip(rows["mechanism"], rows["size"], rows[name], strict=True):
        yield f"{MECHANISMS[mechanism].label} on {size}", value


# Significance level ---------------------------------------------------------------------------------------


def significance(tables: Tables, claim: Claim) -> Finding:
    """Measure how NMI changes with the significance level (Section 8.5)."""
    arguments = claim.arguments
    factor, largest = arguments["factor"], arguments["largest"]
    change = _changes(_usual(tables[claim.tables[0]], claim), factor)
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
        "less for larger X": ir[-1] < ir[0],
    }
    numbers = "; ".join(
        f"{size}: "
        + ", ".join(f"{MECHANISMS[name].label} {value:.2%}" for name, value in sorted(change[size].items()))
        for size in ordered
    )
    finding = parts_verdict(parts, f"Change by a factor of {factor:g} in β: {numbers}.", arguments["remark"])
    beyond = _largest(change[size]["polyopt"] for size in both if size not in small)
    if finding.verdict == REPRODUCED and beyond > largest:
        reading = (
            "Read for the tables on which the paper could compute PolyOpt. On the larger ones PolyOpt "
            f"depends more on β than IR: by up to {beyond:.1%}."
        )
        return replace(finding, verdict=ANOTHER_READING, explanation=reading)
    return finding


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
