"""Checks of those claims of kalantari2018 that need more than a comparison of numbers."""

from __future__ import annotations

import pandas as pd

from papers.kalantari2018.summaries import (
    LOWER,
    LOWER_NO_GROUP,
    ORDERED,
    PRINTED,
    UPPER,
    WIDTH,
)
from reproduction.ledger.claims import Claim, Finding, Tables, finding, require_checks, require_rows
from reproduction.results.tables import select


def class_two(tables: Tables, claim: Claim) -> Finding:
    """Theorem 2, as (11) prints it; with the constraint that it does not print, it is measured, too."""
    rows = require_checks(select(tables["checks"], claim=claim.id), claim.id)
    ordered, printed = (require_rows(select(rows, quantity=name), name) for name in (ORDERED, PRINTED))
    short, where = _largest(printed)
    measured = (
        f"Distance from the exact optimum: at most {ordered['measured'].max():.2g} nats with $D_1 \\le D_i$; "
        f"(11) as printed is up to {short:.3f} nats too small ({where})."
    )
    otherwise = f"(11) as printed is up to {short:.3f} nats below what any channel can have."
    if ordered["holds"].all():
        otherwise += (
            " It does not repeat the constraint $D_1 \\le \\dots \\le D_M$, which Lemma 4 supplies and its "
            "proof uses. With $D_1 \\le D_i$ the formula is exact."
        )
    return finding(
        measured,
        bool(ordered["holds"].all() and printed["holds"].all()),
        otherwise,
        computed=f"off by at most {ordered['measured'].max():.1g} nats with $D_1 \\le D_i$",
        n=len(ordered),
    )


def class_three(tables: Tables, claim: Claim) -> Finding:
    """Theorem 3: the bounds hold on every set, and agree where the folded sets do."""
    rows = require_checks(select(tables["checks"], claim=claim.id), claim.id)
    lower, upper, width = (require_rows(select(rows, quantity=name), name) for name in (LOWER, UPPER, WIDTH))
    loose = select(rows, quantity=LOWER_NO_GROUP)
    elsewhere = "not computed" if loose.empty else f"{loose['measured'].max():.3g}"
    measured = (
        f"Lower bound minus optimum: at most {lower['measured'].max():.2g} nats on the paper's sets and"
        f" groups, {elsewhere} on others; upper bound minus optimum: at least {upper['measured'].min():.2g};"
        f" width where the folded sets agree: at most {width['measured'].max():.2g}."
    )
    computed = f"bounds at most {width['measured'].max():.1g} nats apart where the folded sets agree"
    otherwise = "A bound fails, or is not tight, also where the folding permutations form a group."
    holds = all(part["holds"].all() for part in (lower, upper, width))
    if holds and not loose["holds"].all():
        excess, where = _largest(loose)
        otherwise = (
            "The lower bound needs the folding permutations to form a group, because the proof uses"
            " invariance under them, and the paper does not ask for one. Without one it exceeds the optimum"
            f" by up to {excess:.3f} nats ({where}). With a group, and on the paper's own sets, it holds."
        )
        holds = False
    return finding(measured, holds, otherwise, computed=computed, n=len(lower))


def _largest(rows: pd.DataFrame) -> tuple[float, str]:
    """Return the largest number measured, and where that is."""
    row = rows.iloc[int(rows["measured"].to_numpy().argmax())]
    letters = f", M = {row['size']}" if row["size"] else ""
    return float(row["measured"]), f"{row['instance']}{letters}"
