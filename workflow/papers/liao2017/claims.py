"""Checks of the claims of liao2017."""

from __future__ import annotations

import pandas as pd

from papers.liao2017.summaries import OF_ANY, OF_TWO
from reproduction.ledger.claims import Claim, Finding, Tables, finding, require_checks, require_rows
from reproduction.results.tables import select

PAPER = "liao2017"


def near_optimal_regime(tables: Tables, claim: Claim) -> Finding:
    """Compare W' with the optimum of every pair at the least leakage computed (Section VI-A)."""
    table, almost = tables[claim.tables[0]], claim.arguments["almost"]
    pairs = table[table["instance"].str.startswith(claim.arguments["pairs"])]
    require_rows(pairs, claim.id, "share_of_any", "leakage")
    shares = "; ".join(
        f"{row.instance}: {row.share_of_any:.1%} at {row.leakage:.0e} of min $H$"
        for row in pairs.itertuples()
    )
    far = pairs.loc[pairs["share_of_any"] < almost, "instance"]
    otherwise = (
        f"For {', '.join(far)} W' has less than {almost:.0%} of the optimum at the least "
        "leakage computed, too."
    )
    computed = ", ".join(f"{x:.1%}" for x in pairs["share_of_any"])
    return finding(
        f"Share of the optimum that W' has at the least leakage: {shares}.",
        far.empty,
        otherwise,
        computed=f"{computed} of the optimum",
        n=len(pairs),
    )


def approximation(tables: Tables, claim: Claim) -> Finding:
    """Figures 2 and 3: the share of the optimum that W' has where the text says they are equal.

    What an exhaustive search finds in place of the optimum may explain the text, and decides nothing.
    """
    rows = require_checks(select(tables["statements"], claim=claim.id), claim.id)
    two, any_ = (
        require_rows(select(rows, quantity=name), f"{claim.id}, {name}").set_index("instance")
        for name in (OF_TWO, OF_ANY)
    )
    measured = "; ".join(
        f"{name}, {two['note'][name]}: at least {two['measured'][name]:.1%} of the optimum with 2 outputs, "
        f"{any_['measured'][name]:.1%} of that with any outputs"
        for name in two.index
    )
    computed = f"W' has {', '.join(f'{x:.1%}' for x in two['measured'])} of the optimum"
    far = [str(name) for name in two.index[~two["holds"]]]
    if not far:
        reading = "It holds against the optimum with two outputs; more outputs have more utility."
        return finding(
            f"{measured}.", True, "", "" if any_["holds"].all() else reading, computed=computed, n=len(two)
        )
    own = select(tables["searches"], claim=claim.id, instance=far)
    found = "; ".join(
        f"of a search in steps of 1/{row.steps} W' has {row.mean:.1%} on average up to "
        f"{row.leakage:.1%} of min H, "
        f"{row.beyond:.1%} from there to ten times that"
        for row in own.itertuples()
    )
    measured = f"{measured}. {found[:1].upper()}{found[1:]}."
    first = tables["high_privacy"].set_index("instance")["share_of_any"]
    near = ", ".join(f"{x:.1%}" for x in first.reindex(far))
    otherwise = (
        f"For {', '.join(far)} the certified optimum has more utility, and the share of W' does "
        "not go to 1 with the "
        f"leakage: it is {near} at the least leakage computed. The optimum uses a rare output, W' "
        f"two equally likely ones.{_best_row_text(tables['shares'], far)}{_possible_cause(own)}"
    )
    return finding(measured, False, otherwise, computed=computed, n=len(two))


def _possible_cause(own: pd.DataFrame) -> str:
    """Say how near W' comes to what the coarsest search finds, and what the figure would show."""
    if own.empty:
        return ""
    steps = int(own["steps"].min())
    coarse = select(own, steps=steps)
    shares = ", ".join(
        f"{mean:.1%} of what it finds on average and {least:.1%} at least"
        for mean, least in zip(coarse["mean"], coarse["least"], strict=True)
    )
    return (
        " What may explain the text: the paper takes W* from an exhaustive search without naming its step. "
        f"One in steps of 1/{steps} finds better channels than W', too, but misses most of the rare output: "
        f"W' has {shares}. In the figure the curves of W' and of the certified optimum are at most "
        f"{own['apart'].max():.1%} of its height apart."
    )


def _best_row_text(shares: pd.DataFrame, instances: list[str]) -> str:
    """Say what W' has around its best nominal row instead of (1/2, 1/2), at the least leakage compared."""
    rows = select(shares, instance=instances).sort_values("leakage")
    share = (rows["eit_w0"] / rows["optimal"]).groupby(rows["instance"]).first().min()
    return "" if pd.isna(share) else f" With the best $w_0$ instead of (1/2, 1/2) W' has {share:.1%} there."
